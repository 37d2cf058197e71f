#!/bin/bash
# node.sh NUMBER PROGRAMS IMAGES: what a node in a container has of its own: programs, images, a network of pods, a unit of the kubelet.
set -euo pipefail
number=$1 programs=$2 images=$3 here=$(dirname "$(readlink -f "$0")")
mount --make-rshared /
# The image's own limits of services are for small ones.
rm -rf /etc/systemd/system/service.d
systemctl daemon-reload
systemctl restart haproxy
install -m755 "$programs"/{kubeadm,kubelet,kubectl} /usr/bin/
install -m755 "$here/crictl" /usr/bin/crictl
# No CAP_SYS_RESOURCE here: neither OOM scores below one's own, nor limits above.
ctr oci spec | python3 -c 'import json, sys; spec = json.load(sys.stdin); spec["process"].pop("rlimits", None); print(json.dumps(spec))' >/etc/containerd/base.json
cat >/etc/containerd/config.toml <<'END'
version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "lab.local/pause:3.2"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "/etc/cni/net.d"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    base_runtime_spec = "/etc/containerd/base.json"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
END
systemctl restart containerd
for image in "$images"/*.tar; do ctr -n k8s.io images import "$image" >/dev/null; done
mkdir -p /etc/cni/net.d /opt/cni /etc/systemd/system/kubelet.service.d
ln -sfn /usr/lib/cni /opt/cni/bin
cat >/etc/cni/net.d/10-lab.conflist <<END
{"cniVersion": "0.4.0", "name": "lab", "plugins": [
  {"type": "bridge", "bridge": "cni0", "isGateway": true, "hairpinMode": true, "ipam":
    {"type": "host-local", "ranges": [[{"subnet": "10.244.$number.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
END
cat >/etc/systemd/system/kubelet.service <<'END'
[Service]
Environment=KUBECONFIGS="--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf"
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
ExecStart=/bin/sh -c 'exec /usr/bin/kubelet $KUBECONFIGS --config=/var/lib/kubelet/config.yaml $KUBELET_KUBEADM_ARGS'
Restart=always
RestartSec=2
[Install]
WantedBy=multi-user.target
END
systemctl daemon-reload
systemctl enable -q kubelet
echo 1 >/proc/sys/net/ipv4/ip_forward
