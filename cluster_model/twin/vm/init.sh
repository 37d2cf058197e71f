#!/bin/busybox sh
# First process of the machine: the host's root file system under a tmpfs, then what the share says.
/bin/busybox --install -s /bin
export PATH=/bin:/usr/sbin:/usr/bin:/sbin
mount -t devtmpfs dev /dev
mount -t proc proc /proc
mount -t sysfs sys /sys
while read -r module; do insmod "/modules/$module"; done < /modules/order
options=trans=virtio,version=9p2000.L,msize=512000,cache=loose
mount -t 9p -o "$options,ro" root /lower
mount -t tmpfs -o size=70% upper /upper
mkdir /upper/data /upper/work
mount -t overlay -o lowerdir=/lower,upperdir=/upper/data,workdir=/upper/work root /new
mkdir -p /new/run
mount -t tmpfs run /new/run
mkdir -p /new/run/share /new/run/kernel
mount -t 9p -o "$options" share /new/run/share
mount -t 9p -o "$options,ro" kernel /new/run/kernel
mkdir -p "/new/lib/modules/$(uname -r)"
mount --bind "/new/run/kernel/lib/modules/$(uname -r)" "/new/lib/modules/$(uname -r)"
mount --move /dev /new/dev
mount --move /proc /new/proc
mount --move /sys /new/sys
exec switch_root /new /bin/sh /run/share/start
