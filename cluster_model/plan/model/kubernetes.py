"""Kubernetes as planned: nodes, and what tenants may use."""

from __future__ import annotations

from dataclasses import dataclass

from cluster_model.plan.model.rails import Rail


@dataclass(frozen=True, slots=True)
class Node:
    """A server of the cluster, as Kubernetes knows it. `labels` are (key, value), in the order of their keys.

    `address` is in the network of all nodes, without its length, on `interface` (`lo` where no one port has it); empty where the
    server has none there. `subnet` is what it reaches from it without a router; a /32 where that is nothing. `speed_gbps` is what
    all of its ports on that network have together.
    """

    name: str
    group: str
    is_control: bool
    is_worker: bool
    address: str
    subnet: str
    interface: str
    speed_gbps: int
    labels: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the API server is reached.

    For nodes `name` is `address`, where it listens at `port`. Who comes from outside of the cluster finds an API server at each
    of `others`, at its own port; where there are none, all come to `address`. Hosts of the storage network find those that are
    ready at `announced`, called `announced_name`, at their own port; empty where leafs are told of none.
    """

    mode: str = "local"  # local | vrrp | bgp
    name: str = ""  # in full, with the domain
    address: str = ""
    port: int = 0
    others: tuple[str, ...] = ()
    announced: str = ""
    announced_name: str = ""  # in full

    @property
    def is_proxied(self) -> bool:
        """Return whether nodes reach the API servers by a proxy of their own."""
        return self.mode != "vrrp"


@dataclass(frozen=True, slots=True)
class VolumeClass:
    """What pods have volumes from: a pool with the images' names, and one with what is in them where that is another.

    `pool` is empty where no pool can have the names.
    """

    name: str  # of the StorageClass
    pool: str
    data_pool: str = ""

    @property
    def pools(self) -> tuple[str, ...]:
        """The pools that images are in."""
        return tuple(filter(None, (self.pool, self.data_pool)))


@dataclass(frozen=True, slots=True)
class SharedClass:
    """What pods have volumes from that many of them mount at once: a file system, and one of its pools."""

    name: str  # of the StorageClass
    filesystem: str
    pool: str = ""  # empty: the first of the file system
    driver: str = "kernel"  # kernel | fuse: what mounts it


@dataclass(frozen=True, slots=True)
class Kubernetes:
    """The cluster; nothing in it where the intent has no Kubernetes. `planned` is how many nodes it has in the end."""

    version: str = ""  # MAJOR.MINOR
    patch: str = ""  # the whole version, where the intent names one
    queueing: str = "none"  # volcano | kueue | none
    network: str = ""  # storage | oob | TENANT/SUBNET: of the nodes' addresses
    pod_pool: str = ""
    node_prefix: int = 24
    pods_per_node: int = 110
    pod_routing: str = "vxlan"  # vxlan | bgp
    node_asn: int = 0  # of all nodes towards their leafs; 0 with vxlan
    service_pool: str = ""
    numa_policy: str = "none"
    planned: int = 0
    endpoint: Endpoint = Endpoint()
    nodes: tuple[Node, ...] = ()
    cni: str = "cilium"  # cilium | calico
    registry: str = ""  # with its path: what mirrors all images; empty: none
    rdma: str = "none"  # host-device | shared | none
    rails: tuple[Rail, ...] = ()
    volumes: tuple[VolumeClass, ...] = ()
    shared_volumes: tuple[SharedClass, ...] = ()

    @property
    def shared_filesystems(self) -> tuple[str, ...]:
        """Return the file systems that pods share volumes of."""
        return tuple(dict.fromkeys(volume.filesystem for volume in self.shared_volumes))

    @property
    def minor(self) -> int:
        """The minor number of the version: 36 of 1.36."""
        return int(self.version.partition(".")[2])

    @property
    def announcers(self) -> frozenset[str]:
        """The nodes that tell leafs of the API server's address."""
        return frozenset(node.name for node in self.nodes if node.is_control and self.endpoint.announced)
