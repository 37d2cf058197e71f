#!/bin/busybox sh
# First process of the machine: the host's root file system under a tmpfs, then the job.
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
mkdir -p /new/job /new/extra
mount -t 9p -o "$options" share /new/job
mount -t 9p -o "$options,ro" extra /new/extra
mkdir -p "/new/lib/modules/$(uname -r)"
mount --bind "/new/extra/lib/modules/$(uname -r)" "/new/lib/modules/$(uname -r)"
mount --move /dev /new/dev
mount --move /proc /new/proc
mount --move /sys /new/sys
exec switch_root /new /usr/bin/python3 -u /job/fabric.py
