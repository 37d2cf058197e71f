#!/bin/sh
# A double of the kernel's device mapper: each volume that LVM knows is a spare device of /srv/spare instead of a part of its drive. LVM itself
# is the real one. Called as lvcreate it makes the volume first; called as anything else, as when the host starts, it maps those that there are.
set -e
case $0 in */lvcreate) /usr/sbin/lvcreate "$@" ;; esac
mkdir -p /srv/volumes
/usr/sbin/lvs --noheadings -o vg_name,lv_name 2>/dev/null >/srv/known
for volume in $(ls /srv/volumes); do
  grep -q " $volume *$" /srv/known || rm "/srv/volumes/$volume"
done
while read -r group name; do
  if [ ! -e "/srv/volumes/$name" ]; then
    for number in $(cat /srv/spare); do
      grep -qx "$number" /srv/volumes/* 2>/dev/null || break
    done
    echo "$number" >"/srv/volumes/$name"
  fi
  mkdir -p "/dev/$group"
  [ -e "/dev/$group/$name" ] || mknod "/dev/$group/$name" b $(tr : ' ' <"/sys/block/zram$(cat "/srv/volumes/$name")/dev")
done </srv/known
