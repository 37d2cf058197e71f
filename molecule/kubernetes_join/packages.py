"""packages.py LAB FOLDER: describe packages of Kubernetes, for tests/roles/repository/build.py, of the programs in LAB/programs.

The units are as Kubernetes' own packages have them (kubernetes/release, packages/kubelet, packages/kubeadm).
"""

import sys
from pathlib import Path

import yaml

VERSION = "1.20.2-1.1"
UNIT = """[Unit]
Description=kubelet: The Kubernetes Node Agent
Wants=network-online.target
After=network-online.target

[Service]
ExecStart=/usr/bin/kubelet
Restart=always
StartLimitInterval=0
RestartSec=2

[Install]
WantedBy=multi-user.target
"""
DROP_IN = """[Service]
Environment=KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml
Environment=KUBELET_JOIN_ARGS=--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf
Environment=KUBELET_KUBECONFIG_ARGS=--kubeconfig=/etc/kubernetes/kubelet.conf
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
ExecStart=
ExecStart=/usr/bin/kubelet $KUBELET_JOIN_ARGS $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS
"""


def main(lab: Path, folder: Path) -> None:
    """Write FOLDER/NAME/package.yml of each."""
    programs = {name: {"from": str(lab / "programs" / name), "mode": "0755"} for name in ("kubelet", "kubeadm", "kubectl")}
    packages = {
        "kubelet": {
            "files": {"usr/bin/kubelet": programs["kubelet"], "usr/lib/systemd/system/kubelet.service": {"text": UNIT}},
            # Debian has the plug-ins of CNI elsewhere.
            "postinst": "mkdir -p /opt/cni\nln -sfn /usr/lib/cni /opt/cni/bin\n",
        },
        "kubeadm": {
            "files": {
                "usr/bin/kubeadm": programs["kubeadm"],
                "usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf": {"text": DROP_IN},
            },
            "depends": ["kubelet", "cri-tools"],
        },
        "kubectl": {"files": {"usr/bin/kubectl": programs["kubectl"]}},
        "cri-tools": {"files": {"usr/bin/crictl": {"from": str(lab / "crictl"), "mode": "0755"}}},
    }
    for name, about in packages.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        described = {"name": name, "versions": [VERSION], "repository": "kubernetes-1.20", **about}
        (folder / name / "package.yml").write_text(yaml.safe_dump(described))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
