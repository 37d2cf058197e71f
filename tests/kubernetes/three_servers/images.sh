#!/bin/bash
# images.sh PROGRAMS OUT: archives of the control plane's images, once. It runs inside a node.
set -euo pipefail
programs=$1 out=$2 here=$(dirname "$(readlink -f "$0")")
image() { python3 "$here/mkimage.py" "$out/$1.tar" "lab.local/$1:$2" "$3" "${@:4}"; }
# Nobody reaps in this pod: a sandbox holds namespaces, and that is all.
image pause 3.2 '/bin/sleep 2147483647' /bin/busybox=/bin/sleep
for component in kube-apiserver kube-controller-manager kube-scheduler; do
  image $component v1.20.2 '' "$programs/$component=/usr/local/bin/$component"
done
image etcd 3.4.13-0 '' "$programs/etcd=/usr/local/bin/etcd" "$programs/etcdctl=/usr/local/bin/etcdctl"
tools=()
for tool in ip{,6}tables{,-save,-restore}; do tools+=("/usr/sbin/xtables-nft-multi=/usr/sbin/$tool"); done
image kube-proxy v1.20.2 '' "$programs/kube-proxy=/usr/local/bin/kube-proxy" /usr/sbin/conntrack /bin/sh /usr/lib/x86_64-linux-gnu/xtables/*.so "${tools[@]}"
tools=()
for tool in busybox sh httpd sleep; do tools+=("/bin/busybox=/bin/$tool"); done
image busybox 1 '' "${tools[@]}"
