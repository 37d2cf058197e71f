# Cut dpkg off in the middle of configuring a package, as a loss of power does: the package `slow` is left half configured.
set -eu
mkdir -p /var/tmp/slow/DEBIAN
printf 'Package: slow\nVersion: 1\nArchitecture: all\nMaintainer: tests\nDescription: is slow to configure\n' >/var/tmp/slow/DEBIAN/control
printf '#!/bin/sh\n[ -e /var/tmp/power ] || exec sleep 300\n' >/var/tmp/slow/DEBIAN/postinst
chmod 755 /var/tmp/slow/DEBIAN/postinst
dpkg-deb -b /var/tmp/slow /var/tmp/slow.deb >/dev/null
dpkg -i /var/tmp/slow.deb >/dev/null 2>&1 &
tries=0
until pid=$(pgrep -f '^sleep 300$'); do
  [ $((tries += 1)) -lt 600 ] || { echo 'dpkg did not come to configuring the package in two minutes' >&2; exit 1; }
  sleep 0.2
done
kill -9 $! "$pid"
touch /var/tmp/power
[ -n "$(ls /var/lib/dpkg/updates)" ]
