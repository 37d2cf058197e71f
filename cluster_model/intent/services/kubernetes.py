"""What an intent says of Kubernetes: who runs it, on which addresses, and who queues for GPUs."""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import Annotated, Any, Literal

from pydantic import Field

from cluster_model.intent.base import Address, Model, Name, Pattern, Prefix

RELEASE = r"^1\.[0-9]{2}(\.[0-9]{1,2})?$"
REGISTRY = (
    r"^([a-z0-9]+(-+[a-z0-9]+)*(\.[a-z0-9]+(-+[a-z0-9]+)*)+(:[0-9]{2,5})?|[a-z0-9]+(-+[a-z0-9]+)*:[0-9]{2,5})"
    r"(/[a-z0-9]+((\.|__?|-+)[a-z0-9]+)*)*$"
)
"""Source: Docker's grammar of references, distribution/reference: what stands first is a host only with a dot or a port in it."""
NODE_NETWORK = r"^(storage|oob|[a-z][a-z0-9-]*/[a-z][a-z0-9-]*)$"
PATTERNS: dict[str, Pattern] = {
    RELEASE: Pattern('a version, such as "1.36" or "1.36.2"', "1.36"),
    REGISTRY: Pattern("a registry and a path in it, such as registry.example.net/k8s", "registry.example.net"),
    NODE_NETWORK: Pattern("storage, oob, or a tenant's subnet such as services/core", "oob"),
}
"""What each pattern means, and a text that fits it."""
EXAMPLES: dict[str, Any] = {
    "kubernetes": {"control": "control", "workers": ["gpu"]},
    "kubernetes.network": "storage",
    "endpoint.address": "10.48.1.10",
    "kubernetes.registry": "registry.example.net/k8s",
    "kubernetes.rdma": "host-device",
    "volumes": ["datasets"],
    "shared_volumes": ["home"],
    "region": "north",
    "zone": "hall-1",
}
"""What an unset key shows in a new cluster.yml."""


class Endpoint(Model):
    """Where nodes and users reach the API server."""

    mode: Literal["local", "vrrp", "bgp"] = "local"
    """`local`: a proxy on every node, which asks whichever control server answers, and needs nothing of the network; `vrrp`: an
    address that one control server has at a time, where all of them are in one subnet; `bgp`: as `local`, and for other hosts of
    the storage network an address that leafs are told of by control servers, beside their pods (`pod_routing: bgp`)."""
    name: Name = "kubernetes"
    """Its name in the site's domain. Certificates and kubeconfigs hold it: it cannot be changed while the cluster lives."""
    address: Address | None = None
    """With `vrrp`: the address, which nothing else has, in the subnet of the control servers."""


class Kubernetes(Model):
    """Kubernetes."""

    control: Name
    """Server group of the control plane."""
    workers: Annotated[list[Name], Field(min_length=1)]
    """Server groups that run pods."""
    version: Annotated[str, Field(pattern=RELEASE)] = "1.36"
    """Version; without a patch release, the one of that minor version that gpuyard knows, or the newest where it knows none."""
    service_pool: Prefix = IPv4Network("10.96.0.0/12")
    """Addresses of services; default: kubeadm's own."""
    pod_pool: Prefix = IPv4Network("10.244.0.0/16")
    """Addresses of pods; default: the one that network plug-ins commonly assume."""
    node_prefix: Annotated[int, Field(ge=20, le=28)] = 24
    """Length of the part of `pod_pool` that each node gets; default: kubeadm's own. It cannot be changed later."""
    pod_routing: Literal["vxlan", "bgp"] = "vxlan"
    """How packets of pods get to other nodes: `vxlan`, in packets of the nodes, so that switches know nothing of pods; `bgp`, as
    they are: each node tells its leafs of the storage network which part of `pod_pool` is its own."""
    node_asn: Annotated[int, Field(ge=64_512, le=4_294_967_294)] = 64_512
    """With `bgp`: the AS number of all nodes, which no switch has; default: Calico's own, the first private one."""
    pods_per_node: Annotated[int, Field(ge=16, le=1000)] = 110
    """Pods that a node runs at most; default: the kubelet's own."""
    network: Annotated[str, Field(pattern=NODE_NETWORK)] | None = None
    """Network with the nodes' addresses, which pods' traffic and images come over: `storage`, `oob`, or a subnet that all nodes
    are in, as TENANT/SUBNET. Default: `storage` where every node has an address in it, else `oob`."""
    endpoint: Endpoint = Endpoint()
    """Where nodes and users reach the API server."""
    numa_policy: Literal["none", "best-effort", "restricted", "single-numa-node"] = "best-effort"
    """How kubelets of servers with GPUs place CPUs, GPUs and NICs of a pod on NUMA nodes: the topology manager's policy."""
    rdma: Literal["host-device", "shared", "none"] | None = None
    """How pods reach the compute network: by taking whole ports of their node, each with the address that it has on the host; on
    InfiniBand by using all ports beside other pods, `shared`; or not at all. Default: `host-device` where the network is RoCE,
    rail-optimized, and every port of the workers can be told apart on its host, else `none`."""
    region: Name | None = None
    """Region that nodes are labeled with; default: the cluster's name."""
    zone: Name | None = None
    """Zone that nodes are labeled with: what fails together, such as a hall; default: the cluster's name."""
    queueing: Literal["volcano", "kueue", "none"] = "volcano"
    """Who lets jobs wait for GPUs: Volcano, a scheduler of its own, or Kueue, which holds jobs back before Kubernetes' scheduler;
    both start all pods of a job or none and know the units of the compute network. With none there are no queues."""
    cni: Literal["cilium", "calico"] = "cilium"
    """Network plug-in, which gives pods their addresses and holds them to network policies."""
    volumes: list[Name] = []
    """Pools of `ceph.pools` that pods have volumes from, as block devices by ceph-csi: a StorageClass for each. Images of a pool
    with an erasure code are named in the first pool of replicas, of these or else of all. Default: none."""
    shared_volumes: list[Name] = []
    """File systems of `ceph.filesystems` in which pods have volumes that many of them mount at once, by ceph-csi: a StorageClass
    for each, and one for each further pool of it. Default: none."""
    registry: Annotated[str, Field(pattern=REGISTRY, max_length=120)] | None = None
    """Registry that mirrors all images, with a path if they lie below one: quay.io/cilium/cilium is pulled as
    REGISTRY/quay.io/cilium/cilium. Default: images come from where their makers publish them."""

    @property
    def groups(self) -> frozenset[str]:
        """The server groups that are its nodes."""
        return frozenset({self.control, *self.workers})

    @property
    def minor(self) -> int:
        """The minor number of the version: 36 of 1.36.3."""
        return int(self.version.split(".")[1])
