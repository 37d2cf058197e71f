"""The plan: every choice made. Frozen, with slots: 100,000 GPUs are 300,000 cables.

Conventions: racks units count from the floor, from 1. Cages and devices count from 1. Rails, GPUs and ports inside a cage
count from 0, as NCCL, nvidia-smi and the NOS do. Addresses are text with their prefix length (`10.64.0.1/31`), gateways
without. Speeds are Gb/s, power W, lengths m, MTU bytes. `where` is the intent path that the object comes from.
An empty string or 0 means "none".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from cluster_model.plan.model.overlay import BorderPeer, Meeting, Overlay, Partition, ServerBond, Tenant
from cluster_model.plan.model.provisioning import Provisioning

Use = Literal["host", "fabric", "peer_link"]
Tier = Literal["leaf", "border", "spine", "core"]
CableKind = Literal["host_leaf", "fabric_manager", "peer_link", "leaf_spine", "spine_core", "upstream"]


@dataclass(frozen=True, slots=True)
class Rack:
    """A rack with its power: `power_w` is what it may draw in all, `feed_w` what one of its `feeds` carries."""

    name: str
    row: str
    position: int
    group: str
    height_u: int
    power_w: float
    feeds: int
    feed_w: float
    pdu: str
    x_m: float
    y_m: float
    blocked: bool
    reason: str
    where: str


@dataclass(frozen=True, slots=True)
class CageMode:
    """How one switch cage runs: `count` ports of `speed_gbps`.

    `first_lane` is the number that SONiC's port names count from; `lane_numbers` are the hardware lanes, of which port i of n
    has the i-th n-th part.
    """

    cage: int
    form_factor: str
    count: int
    speed_gbps: int
    first_lane: int
    lanes: int
    native: bool
    lane_numbers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SwitchPort:
    """A cabled switch port. Ports of a cage that nothing is plugged into have no entry; `Switch.modes` has every cage."""

    name: str
    cage: int
    sub: int
    speed_gbps: int
    use: Use
    peer: str
    peer_port: str
    peer_asn: int = 0  # BGP neighbour's ASN; 0 where no BGP runs (hosts)
    address: str = ""  # own /31; empty where unnumbered or in a VLAN
    peer_address: str = ""  # the other end's, without length
    rail: int = -1
    vlan: int = 0  # access VLAN (out-of-band leafs)
    bond: int = 0  # LACP bond that it is part of (business leafs)
    vrf: str = ""  # VRF that it is routed in (compute isolation); empty: the default one


@dataclass(frozen=True, slots=True)
class Vlan:
    """A VLAN of an out-of-band leaf: `address` is the gateway with its length; DHCP is relayed to `dhcp_servers`."""

    id: int
    name: str
    address: str
    prefix: str
    dhcp_servers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Upstream:
    """A switch's port to the site's router, with its own address and the router's: the next hop of the default route."""

    port: str
    cage: int
    speed_gbps: int
    address: str
    gateway: str


@dataclass(frozen=True, slots=True)
class ServiceRoute:
    """A leaf's route to a host's service address (/32), over one of the host's ports."""

    prefix: str
    next_hop: str
    port: str
    server: str


@dataclass(frozen=True, slots=True)
class Switch:
    """A switch. `loopback` is its /32 and router id; `originates` the aggregates that it advertises."""

    name: str
    network: str
    role: Tier
    plane: int  # from 1
    pod: int  # from 1; core group for cores
    unit: int  # from 1; 0 for spines and cores
    index: int  # from 1, inside unit, pod or core group
    rails: tuple[int, ...]
    model: str
    nos: str
    rack: str
    u: int
    height_u: int
    asn: int
    loopback: str
    mtu_bytes: int
    modes: tuple[CageMode, ...]
    ports: tuple[SwitchPort, ...]  # in panel order
    originates: tuple[str, ...]
    vlans: tuple[Vlan, ...]
    service_routes: tuple[ServiceRoute, ...]
    management: Management | None
    power_w: float  # without optics
    optics_w: float
    serial: str
    guid: str
    where: str
    upstreams: tuple[Upstream, ...] = ()  # ports to the site's router
    overlay: Overlay | None = None  # EVPN: the business network, and compute with isolation vrf

    @property
    def is_edge(self) -> bool:
        """Return whether something other than switches hangs on it: leafs and border leafs."""
        return self.role in {"leaf", "border"}


@dataclass(frozen=True, slots=True)
class Management:
    """An out-of-band attachment: address with length, gateway, MAC, and the leaf port it is plugged into."""

    address: str
    gateway: str
    mac: str
    peer: str
    peer_port: str


@dataclass(frozen=True, slots=True)
class ServerPort:
    """A cabled port of a server. `route` is what lies behind `gateway`; `table` is its policy-routing table, 0 for main."""

    name: str
    network: str
    cage: int
    sub: int
    rail: int  # -1: no rail
    plane: int  # from 1
    speed_gbps: int
    mtu_bytes: int
    nic: str
    rdma: str
    pci: str
    gpu: int  # -1: none beside it
    numa: int  # -1: unknown
    mac: str
    guid: str
    address: str
    gateway: str
    route: str
    table: int
    peer: str
    peer_port: str


@dataclass(frozen=True, slots=True)
class Service:
    """A service address of a host (/32 on lo): reached over all `gateways` by ECMP; `route` is the whole service range."""

    network: str
    purpose: str  # storage | ceph-cluster
    address: str
    route: str
    gateways: tuple[str, ...]
    ports: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Server:
    """A server."""

    name: str
    group: str
    role: str
    number: int
    unit: int  # compute unit, from 1; 0 without compute ports
    model: str
    rack: str
    u: int
    height_u: int
    bmc: Management | None
    ports: tuple[ServerPort, ...]
    services: tuple[Service, ...]
    gpus: int
    gpu_model: str
    power_w: float  # maximum without optics
    optics_w: float
    gpu_cap_w: int  # per GPU at all times; 0: none needed
    gpu_cap_feed_lost_w: int  # per GPU with a feed lost; 0: none needed
    serial: str
    where: str
    bonds: tuple[ServerBond, ...] = ()  # of its business ports


@dataclass(frozen=True, slots=True)
class Pdu:
    """A PDU: one per rack and feed."""

    name: str
    rack: str
    feed: int  # from 1
    model: str
    management: Management | None
    serial: str
    where: str


@dataclass(frozen=True, slots=True)
class Cable:
    """A cable; `a` is the end nearer the hosts. `medium` is a cable type or an optical standard of the catalogue.

    `a_optic` and `b_optic` name the transceivers (empty for attached cables); a transceiver fills a cage, so it may serve
    several cables. `assembly` is the first end of the assembly that the cable is part of: a splitter or a twin cable has one
    assembly and several cables. `fec` is what its medium needs at both ends (`none`, `fc`, `rs-528`, `rs-544`); empty: nothing is
    planned.
    """

    network: str
    kind: CableKind
    a: str
    a_port: str
    b: str
    b_port: str
    speed_gbps: int
    length_m: float
    medium: str
    a_optic: str
    b_optic: str
    assembly: str
    fec: str = ""

    @property
    def label(self) -> str:
        """Return what is printed on the cable: it names its near end, so it never changes while the cable stands."""
        return f"{self.a}:{self.a_port}"


@dataclass(frozen=True, slots=True)
class Slice:
    """A named part of a network's pool."""

    name: str
    prefix: str


@dataclass(frozen=True, slots=True)
class Network:
    """A network as planned. Counts are of what is built; `planned_*` of what it may grow to."""

    name: str
    technology: str  # roce | tcp | infiniband | ethernet (oob)
    design: str
    underlay: str
    planes: int
    tiers: int
    nos: str
    leaf_model: str
    spine_model: str
    core_model: str
    leafs: int
    spines: int
    cores: int
    host_leaf_cables: int
    fabric_manager_cables: int
    leaf_spine_cables: int
    spine_core_cables: int
    units: int
    planned_units: int
    leafs_per_unit: int  # in one plane
    pods: int
    spines_per_pod: int  # in one plane
    core_groups: int  # in one plane
    cores_per_group: int
    uplinks: int  # per leaf
    spine_uplinks: int  # per spine
    hosts_per_leaf: int  # host ports kept on a full leaf
    host_speed_gbps: int
    fabric_speed_gbps: int
    mtu_bytes: int
    host_mtu_bytes: int
    lossless: bool
    oversubscription: float  # computed, of a full leaf
    oversubscription_allowed: float
    host_bandwidth_gbps: int
    leaf_spine_bandwidth_gbps: int
    spine_core_bandwidth_gbps: int
    bisection_gbps: int
    pool: str
    slices: tuple[Slice, ...]
    where: str
    has_upstream: bool = False  # a default route is announced in it
    borders: int = 0
    border_model: str = ""
    peer_link_cables: int = 0
    homing: str = ""  # esi | mlag | single; empty where hosts have no bonds
    homing_reason: str = ""  # which platform and release decided it, in words
    isolation: str = ""  # none | vrf | pkeys; compute only
    evpn: bool = False  # its switches speak EVPN
    load_balancing: str = "ecmp"  # ecmp | dynamic | adaptive

    @property
    def cables(self) -> dict[str, int]:
        """Return cable counts by kind, under the names of `plan --json`."""
        return {
            "host_leaf": self.host_leaf_cables,
            "fabric_manager": self.fabric_manager_cables,
            **({"peer_link": self.peer_link_cables} if self.peer_link_cables else {}),
            "leaf_spine": self.leaf_spine_cables,
            "spine_core": self.spine_core_cables,
        }


@dataclass(frozen=True, slots=True)
class Lossless:
    """The lossless profile, resolved. `ecn` is (speed_gbps, min_kb, max_kb, probability_percent) of each speed in use."""

    data_dscp: int
    cnp_dscp: int
    priority: int
    cnp_priority: int
    pfc_priorities: tuple[int, ...]
    trust: str
    dscp_to_tc: tuple[int, ...]  # 64 entries
    ecn: tuple[tuple[int, int, int, int], ...]
    watchdog: bool
    watchdog_detect_ms: int
    watchdog_restore_ms: int
    watchdog_action: str
    mtu_bytes: int
    host_mtu_bytes: int

    @property
    def data_tos(self) -> int:
        """Return the IP ToS byte of RoCE data: DSCP shifted left by two, ECN-capable (ECT(0)); 26 gives 106."""
        return self.data_dscp << 2 | 2


@dataclass(frozen=True, slots=True)
class RackPower:
    """Power of one rack, W. A load is a maximum with optics; `feed_*` is of the fullest feed."""

    rack: str
    load_w: float
    optics_w: float
    limit_w: float
    feeds: int
    feed_limit_w: float
    feed_load_w: float
    feed_lost_load_w: float  # fullest remaining feed with one lost, uncapped
    gpu_cap_w: int
    gpu_cap_feed_lost_w: int
    fits: bool
    fits_feed_lost: bool


@dataclass(frozen=True, slots=True)
class BomLine:
    """A line of the bill of materials."""

    kind: str  # server | switch | pdu | transceiver | cable | fibre
    item: str
    length_m: float
    count: int


@dataclass(frozen=True, slots=True)
class NvmeTarget:
    """A server that exports NVMe namespaces: its service address, where initiators connect and where they discover."""

    server: str
    address: str
    port: int
    discovery_port: int


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
    _index: dict[str, dict[str, object]] = field(default_factory=dict, repr=False, compare=False)

    def network(self, name: str) -> Network | None:
        """Return a network by name."""
        return next((n for n in self.networks if n.name == name), None)

    def switch(self, name: str) -> Switch:
        """Return a switch by name; KeyError where there is none."""
        table = self._index.setdefault("switch", {})
        if not table:
            table.update((s.name, s) for s in self.switches)
        found = table[name]
        assert isinstance(found, Switch)
        return found

    def server(self, name: str) -> Server:
        """Return a server by name; KeyError where there is none."""
        table = self._index.setdefault("server", {})
        if not table:
            table.update((s.name, s) for s in self.servers)
        found = table[name]
        assert isinstance(found, Server)
        return found

    @property
    def gpus(self) -> int:
        """Return the GPUs built."""
        return sum(server.gpus for server in self.servers)

    @property
    def power_w(self) -> float:
        """Return the highest draw of everything, optics included, W."""
        return round(sum(rack.load_w for rack in self.power), 1)
