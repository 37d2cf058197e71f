# take.sh boot|standby: take what /srv/gpuyard/delivered.tar holds once Kea and BIND have checked it. Prints what was taken, a word
# each. What a checker refuses ends it before anything is replaced; what is replaced stays beside it with `.before`.
set -euo pipefail
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
cd /srv/gpuyard
new=$(mktemp -d /srv/gpuyard/.new.XXXXXX)
# AppArmor lets Kea read /etc/kea, and named /etc/bind.
kea=/etc/kea/gpuyard-candidate.conf zones=/etc/bind/gpuyard.candidate
trap 'rm -rf "$new" "$kea" "$zones"' EXIT
chmod 755 "$new"
tar --extract --file delivered.tar --directory "$new" --no-same-owner
wanted=$new/tree/boot/kea/kea-dhcp4.conf
[ "$1" = boot ] || wanted=$new/tree/boot/kea/kea-dhcp4-standby.conf
taken=

refuse() {
  echo "$1 refuses what was delivered; what runs stays as it was:" >&2
  grep -iE 'error|fail|not loaded|unknown|expect' <<<"$2" | tail -n 20 >&2 || echo "$2" | tail -n 20 >&2
  exit 1
}

replace() { # NEW LIVE
  rm -rf "$2.before"
  [ ! -e "$2" ] || mv "$2" "$2.before"
  mv "$1" "$2"
}

if ! cmp -s "$wanted" /etc/kea/kea-dhcp4.conf; then
  install -m 0640 -g _kea "$wanted" "$kea"
  said=$(kea-dhcp4 -t "$kea" 2>&1) || refuse 'kea-dhcp4 -t' "$said"
  taken="$taken kea"
fi
if ! diff -rq "$new/tree/dns" /etc/bind/gpuyard >/dev/null 2>&1; then
  cp -r "$new/tree/dns" "$zones"
  sed -i "s,/etc/bind/gpuyard/,$zones/,g" "$zones/named.conf" "$zones/zones.conf"
  said=$(named-checkconf -z "$zones/named.conf" 2>&1) || refuse 'named-checkconf -z' "$said"
  rm -rf "$zones"
  cp -r "$new/tree/dns" "$zones"
  taken="$taken dns"
fi
for part in tree intent; do
  diff -rq "$new/$part" "$part" >/dev/null 2>&1 || taken="$taken $part"
done

for what in $taken; do
  case $what in
    kea) replace "$kea" /etc/kea/kea-dhcp4.conf ;;
    dns) replace "$zones" /etc/bind/gpuyard ;;
    *) replace "$new/$what" "$what" ;;
  esac
done
if [ "$1" = boot ]; then
  mkdir -p tftp images deploy
  # Copies: Debian's ipxe.efi is a link that leads out of the folder, where a TFTP server does not follow.
  for loader in ipxe.efi undionly.kpxe; do
    if ! cmp -s "/usr/lib/ipxe/$loader" "tftp/$loader"; then
      install -m 0644 "/usr/lib/ipxe/$loader" "tftp/$loader"
      taken="$taken loaders"
    fi
  done
fi
# The boot server reads both, so they are one to it.
sed 's/intent/tree/' <<<"$taken" | tr ' ' '\n' | sed '/^$/d' | sort -u
