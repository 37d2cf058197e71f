"""What tenants add to a plan: VRFs, VXLANs, bonds and border peerings. Frozen, with slots, as all of the plan.

Where VRFs meet. A VRF never routes into another, with one exception: each meeting of two has a *provider*, and its routes cross
on the leafs where the provider is at home, nowhere else. Providers are border peers (at home on border leafs), shared tenants
(where their servers hang), and of two peering tenants the one with the lower id. There the consumer's VRF takes the provider's
prefixes and announces them (type 5) as its own, so other leafs need nothing but the consumer's VRF; and the provider's VRF takes
the consumer's visible prefixes, for the way back, and announces none of them. What is announced always starts where it is
announced, so no route passes a spine twice.

VRF names here are plain; a platform may put a prefix in front (`vrf_prefix`). Addresses carry their length, gateways and peers
do not. Route targets are `administrator:VNI`, route distinguishers `loopback:number`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

VrfKind = Literal["tenant", "external", "compute"]
Homing = Literal["esi", "mlag", "single"]
VXLAN_OVERHEAD_BYTES = 50
"""Outer Ethernet, IPv4, UDP and VXLAN headers: 14 + 20 + 8 + 8 (RFC 7348, section 5)."""


@dataclass(frozen=True, slots=True)
class Filter:
    """A line of a prefix list: `prefix`, and what is inside it up to length `up_to` (0: the prefix alone)."""

    prefix: str
    up_to: int = 0


@dataclass(frozen=True, slots=True)
class Subnet:
    """A tenant's subnet. `gateway` has its length; `pool` is `first-last`; `vni` and `route_target` are of its L2 VXLAN."""

    name: str
    id: int
    tenant: str
    prefix: str
    gateway: str
    vlan: int
    vni: int
    route_target: str
    visible: bool
    untagged: bool
    addressing: str  # static | dhcp
    pool: str
    dhcp_servers: tuple[str, ...]
    where: str


@dataclass(frozen=True, slots=True)
class Nat:
    """Outside addresses of a tenant at a border peer."""

    peer: str
    prefix: str


@dataclass(frozen=True, slots=True)
class TenantFolder:
    """A tenant's folder in a file system of Ceph: a subvolume in a group, both of the tenant's name.

    `pool` holds its files, in a RADOS namespace that Ceph makes and names. `quota_bytes` is 0 without a quota.
    """

    filesystem: str
    pool: str
    quota_bytes: int


@dataclass(frozen=True, slots=True)
class TenantStorage:
    """A tenant's share of Ceph: pools, RADOS namespace, CephX user, and the service addresses that its own servers come from.

    `object_bytes` is what it may hold in the object store: 0 without a quota, None where it has no user there.
    """

    pools: tuple[str, ...]
    namespace: str
    user: str
    clients: tuple[str, ...]
    folders: tuple[TenantFolder, ...] = ()
    object_bytes: int | None = None

    @property
    def parts(self) -> tuple[str, ...]:
        """Return what it has of Ceph in words: pools, file systems that it has folders in, buckets."""
        buckets = () if self.object_bytes is None else ("buckets",)
        return (*self.pools, *(folder.filesystem for folder in self.folders), *buckets)


@dataclass(frozen=True, slots=True)
class Tenant:
    """A tenant. `vlan`, `vni` and `route_target` are of its VRF (L3 VNI); `table` is the VRF's routing table on Linux.

    `gpus` is -1 without a quota. `servers` are those of its own. `compute_vni` is its L3 VNI on a RoCE compute network whose
    isolation is `vrf`, `pkey` its partition on InfiniBand (with the full-membership bit); 0 where there is none.
    """

    name: str
    id: int
    vrf: str
    shared: bool
    vlan: int
    vni: int
    route_target: str
    table: int
    subnets: tuple[Subnet, ...]
    servers: tuple[str, ...]
    gpus: int
    uses: tuple[str, ...]
    peers: tuple[str, ...]
    egress: tuple[str, ...]
    nat: tuple[Nat, ...]
    compute_vni: int
    compute_route_target: str
    pkey: int
    storage: TenantStorage | None
    where: str

    @property
    def folders(self) -> tuple[TenantFolder, ...]:
        """Return its folders in file systems of Ceph."""
        return self.storage.folders if self.storage is not None else ()


@dataclass(frozen=True, slots=True)
class BorderPeer:
    """An external peer: its VRF on the border leafs, and what may pass. None for a filter that the intent leaves out."""

    name: str
    id: int
    vrf: str
    table: int
    asn: int
    description: str
    accept: tuple[Filter, ...] | None
    announce: tuple[Filter, ...] | None
    max_routes: int
    secret: str  # name of the TCP MD5 secret; empty: none
    tenants: tuple[str, ...]  # that leave by it
    where: str


@dataclass(frozen=True, slots=True)
class Meeting:
    """Two VRFs whose routes cross, by VRF name. `offered` goes from provider to consumer, `returned` the other way."""

    kind: Literal["shared", "peering", "egress"]
    provider: str
    consumer: str
    offered: tuple[Filter, ...]
    returned: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Bond:
    """An LACP bond to a server as one leaf has it: `number` is that of the server in its unit, the same on both leafs.

    `es_id` and `system_mac` make the Ethernet segment (type 3 ESI); with MLAG the number joins the two halves. Tagged VLANs are
    `vlans`, `untagged` is 0 where there is none.
    """

    number: int
    server: str
    ports: tuple[str, ...]
    speed_gbps: int
    es_id: int
    system_mac: str
    esi: str  # ten bytes; empty where no Ethernet segment is made
    vlans: tuple[int, ...]
    untagged: int


@dataclass(frozen=True, slots=True)
class OverlayVlan:
    """A tenant's subnet on a leaf: VLAN, VXLAN and, with `address`, its anycast gateway in `vrf`."""

    vlan: int
    vni: int
    name: str  # TENANT-SUBNET
    rd: str
    route_target: str
    vrf: str
    address: str
    dhcp_servers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Import:
    """Prefixes that a VRF takes from another VRF of the same switch."""

    vrf: str
    prefixes: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class External:
    """A border leaf's port to an external peer; the session runs inside the peer's VRF."""

    peer: str
    vrf: str
    port: str
    cage: int
    speed_gbps: int
    mtu_bytes: int = field(default=1500, kw_only=True)  # an older plan.json has none
    address: str
    peer_address: str
    asn: int
    accept: tuple[Filter, ...]
    announce: tuple[Filter, ...]
    max_routes: int
    secret: str


@dataclass(frozen=True, slots=True)
class ExternalPort:
    """A border leaf's port to an external peer, as it is plugged in; `External` adds the session."""

    peer: str
    port: str
    cage: int
    speed_gbps: int
    mtu_bytes: int = field(default=1500, kw_only=True)  # an older plan.json has none
    address: str
    peer_address: str


@dataclass(frozen=True, slots=True)
class NatRule:
    """Source NAT on a border leaf: what leaves `vrf` by `peer_vrf` gets an address of `outside`, this border leaf's own part.

    Tenants may have the same inside addresses, so connections are told apart by `mark`; answers to `outside` are routed by
    `table`, the tenant's.
    """

    tenant: str
    vrf: str
    vlan: int  # L3 VLAN of the tenant: where its traffic comes in
    peer: str
    peer_vrf: str
    outside: str
    mark: int
    table: int


@dataclass(frozen=True, slots=True)
class SwitchVrf:
    """A VRF on a switch. `vni`, `vlan`, `rd` and `route_target` are of its L3 VNI; 0 and empty for external VRFs.

    `announced` is what it may tell other leafs (type 5); `ports` are routed ports that lie in it (compute isolation, border);
    `originates` are prefixes that it announces to external peers by itself (NAT), with a blackhole behind them.
    """

    name: str
    kind: VrfKind
    id: int
    table: int
    vlan: int
    vni: int
    rd: str
    route_target: str
    imports: tuple[Import, ...]
    announced: tuple[Filter, ...]
    ports: tuple[str, ...]
    originates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mlag:
    """MLAG between the two leafs of a unit: a peer link, and a VLAN on it that the two speak over."""

    domain: int
    system_mac: str
    ports: tuple[str, ...]
    bond: int  # number of the peer link's bond
    vlan: int
    address: str  # with length
    peer_address: str  # without


@dataclass(frozen=True, slots=True)
class Overlay:
    """EVPN on one switch. Spines of a fabric with EVPN have one with nothing but `homing`: they only pass routes on.

    `vtep` is the address of its tunnels, without length: its loopback, or with MLAG the one that the pair shares.
    """

    vtep: str
    shared_vtep: bool
    anycast_mac: str
    homing: Homing
    vlans: tuple[OverlayVlan, ...] = ()
    vrfs: tuple[SwitchVrf, ...] = ()
    bonds: tuple[Bond, ...] = ()
    mlag: Mlag | None = None
    externals: tuple[External, ...] = ()
    nat: tuple[NatRule, ...] = ()


@dataclass(frozen=True, slots=True)
class ServerVlan:
    """A server's interface in a subnet. `name` is the interface; `address` has its length, empty with DHCP.

    `default` marks the one whose gateway is the way to everything else: of the first visible subnet, its owner's before others',
    by tenant and subnet id.
    """

    name: str
    tenant: str
    subnet: str
    vlan: int
    tagged: bool
    address: str
    gateway: str
    dhcp: bool
    default: bool


@dataclass(frozen=True, slots=True)
class ServerBond:
    """A server's LACP bond over its business ports (802.3ad, hashed by layers 3 and 4)."""

    name: str
    ports: tuple[str, ...]
    mtu_bytes: int
    speed_gbps: int
    vlans: tuple[ServerVlan, ...]


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition of an InfiniBand network: a tenant's key and the ports of its own servers, by GUID where it is known."""

    tenant: str
    pkey: int
    ports: tuple[str, ...]  # SERVER:PORT
    guids: tuple[str, ...]  # beside each; empty: not delivered yet
