"""Namespaces that Kubernetes, and what is installed in it, have for themselves: rules and renderers know them from here."""

from __future__ import annotations

KUBE = "kube-"
"""What namespaces of Kubernetes' own begin with. Source: Kubernetes documentation, Namespaces: the prefix is reserved."""
NETWORK_OPERATOR = "nvidia-network-operator"
"""In which the network operator's nv-ipam looks for pools. Source: Mellanox/network-operator,
manifests/state-nv-ipam-cni/040-nv-ipam-node.yaml (`--ippools-namespace`)."""
CEPH_CSI = "ceph-csi-rbd"
CEPH_CSI_FILES = "ceph-csi-cephfs"
"""In which ceph-csi runs, for block devices and for file systems, and finds its Secrets. Our own choice: the charts take any."""
OF_CHARTS = {
    "cilium": ("cilium-secrets",),
    "tigera-operator": ("calico-apiserver", "calico-system", "tigera-operator", "tigera-system"),
    "gpu-operator": ("gpu-operator",),
    "network-operator": (NETWORK_OPERATOR,),
    "volcano": ("volcano-monitoring", "volcano-system"),
    "kueue": ("kueue-system",),
    "ceph-csi-rbd": (CEPH_CSI,),
    "ceph-csi-cephfs": (CEPH_CSI_FILES,),
}
"""What each chart of templates/kubernetes/charts.yaml is installed in, beside kube-system, or makes or removes. Source:
cilium/charts, cilium-1.20.0.tgz, templates/cilium-secrets-namespace.yaml; tigera/operator v1.42.3, pkg/common/common.go and
pkg/render/apiserver.go (getDeprecatedResources: the operator deletes calico-apiserver and tigera-system); volcano-sh/volcano
v1.15.0, installer/namespace.yaml; kubernetes-sigs/kueue v0.19.2, charts/kueue/README.md."""
INITIAL = ("default", f"{KUBE}node-lease", f"{KUBE}public", f"{KUBE}system")
"""Source: Kubernetes documentation, Namespaces: initial namespaces."""
QUEUES = ("default", "root")
"""Which Volcano makes for itself. Source: Volcano documentation, Queue."""
TAKEN = tuple(sorted({*INITIAL, *QUEUES, *(name for names in OF_CHARTS.values() for name in names)}))
"""Names that no tenant can have: each is that of its namespace and of its queue."""
PRIVILEGED = ("calico-system", CEPH_CSI_FILES, CEPH_CSI, "gpu-operator", "kube-system", NETWORK_OPERATOR, "tigera-operator")
"""Namespaces whose pods must do what Pod Security refuses, such as mounting the host's devices."""


def is_taken(name: str) -> bool:
    """Return whether a tenant cannot be called so.

    >>> is_taken("cilium-secrets"), is_taken("kube-flannel"), is_taken("team-default")
    (True, True, False)
    """
    return name in TAKEN or name.startswith(KUBE)
