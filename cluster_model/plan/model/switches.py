"""Switches: cages, ports, VLANs, and the routes that begin at them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cluster_model.plan.model.floor import Management
from cluster_model.plan.model.overlay import Overlay

Use = Literal["host", "fabric", "peer_link"]
Tier = Literal["leaf", "border", "spine", "core"]


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
    peer_asn: int = 0  # BGP neighbour's ASN; 0 where no BGP runs (hosts, but Kubernetes' nodes that tell of their pods)
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
