"""A whole cluster as planned."""

from __future__ import annotations

from dataclasses import dataclass, field

from cluster_model.plan.model.cabling import BomLine, Cable
from cluster_model.plan.model.ceph import CephCluster
from cluster_model.plan.model.floor import Pdu, Rack, RackPower
from cluster_model.plan.model.kubernetes import Kubernetes
from cluster_model.plan.model.networks import Lossless, Network
from cluster_model.plan.model.overlay import BorderPeer, Meeting, Partition, Tenant
from cluster_model.plan.model.provisioning import Provisioning
from cluster_model.plan.model.servers import NvmeTarget, Server
from cluster_model.plan.model.switches import Switch
from cluster_model.plan.model.topology import Domain


@dataclass(frozen=True, slots=True)
class Site:
    """The site's services, as text."""

    domain: str
    timezone: str
    dns: tuple[str, ...]
    ntp: tuple[str, ...]
    syslog: tuple[str, ...]
    snmp_managers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole cluster. Tuples are in the order of their names' numbers."""

    name: str
    version: str
    digest: str  # of the intent it was made from
    site: Site
    racks: tuple[Rack, ...]
    servers: tuple[Server, ...]
    switches: tuple[Switch, ...]
    pdus: tuple[Pdu, ...]
    cables: tuple[Cable, ...]
    networks: tuple[Network, ...]
    lossless: Lossless
    power: tuple[RackPower, ...]
    bom: tuple[BomLine, ...]
    gpu_driver: str = ""  # driver branch
    gpu_on_feed_loss: str = "cap"  # cap | always-cap | shed
    nvme_targets: tuple[NvmeTarget, ...] = ()
    tenants: tuple[Tenant, ...] = ()
    border_peers: tuple[BorderPeer, ...] = ()
    meetings: tuple[Meeting, ...] = ()
    partitions: tuple[Partition, ...] = ()
    provisioning: Provisioning = field(default_factory=Provisioning)
    topology: tuple[Domain, ...] = ()
    kubernetes: Kubernetes = field(default_factory=Kubernetes)
    ceph: CephCluster = field(default_factory=CephCluster)
    # Not of __init__: a plan made from another by dataclasses.replace looks up its own devices.
    _switches: dict[str, Switch] = field(default_factory=dict, init=False, repr=False, compare=False)
    _servers: dict[str, Server] = field(default_factory=dict, init=False, repr=False, compare=False)

    def network(self, name: str) -> Network | None:
        """Return a network by name."""
        return next((n for n in self.networks if n.name == name), None)

    def switch(self, name: str) -> Switch:
        """Return a switch by name; KeyError where there is none."""
        if not self._switches:
            self._switches.update((switch.name, switch) for switch in self.switches)
        return self._switches[name]

    def server(self, name: str) -> Server:
        """Return a server by name; KeyError where there is none."""
        if not self._servers:
            self._servers.update((server.name, server) for server in self.servers)
        return self._servers[name]

    @property
    def gpus(self) -> int:
        """Return the GPUs built."""
        return sum(server.gpus for server in self.servers)

    @property
    def power_w(self) -> float:
        """Return the highest draw of everything, optics included, W."""
        return round(sum(rack.load_w for rack in self.power), 1)
