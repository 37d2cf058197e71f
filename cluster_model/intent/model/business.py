"""The business network: EVPN-VXLAN between leaf pairs, and the border where it meets the world."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from cluster_model.intent.base import Hardware, Id, Model, Name, Number, Prefix, Text
from cluster_model.intent.model.networks import Fabric, Nos, Release

Asn = Annotated[int, Field(ge=1, le=4_294_967_295)]
Mac = Annotated[str, Field(pattern=r"^[0-9a-f]{2}(:[0-9a-f]{2}){5}$")]


class Filter(Model):
    """Prefixes, by one line of a prefix list."""

    prefix: Prefix
    """The prefix; 0.0.0.0/0 alone is the default route."""
    up_to: Annotated[int, Field(ge=0, le=32)] | None = None
    """Longest prefix length inside it that is meant too; default: this prefix alone."""


class BorderLink(Model):
    """A link from a border leaf to an external peer."""

    border: Annotated[int, Field(ge=1, le=2)]
    """Number of the border leaf."""
    prefix: Prefix
    """The link's subnet, a /30 or /31: the peer has its first address, the border leaf the second."""
    cage: Annotated[int, Field(ge=1, le=512)] | None = None
    """Cage of the border leaf that it is plugged into; default: the peer's id."""
    speed_gbps: Annotated[int, Field(ge=1, le=1600)] | None = None
    """Speed; default: that of the fabric's links."""
    mtu_bytes: Annotated[int, Field(ge=1280, le=9600)] = 1500
    """MTU of its two ends, as agreed with the peer. Larger packets of tenants are answered by ICMP, and sent again smaller."""


class BorderPeer(Model):
    """An external BGP peer: the internet edge, a dedicated line. Nothing passes that a filter does not name."""

    id: Id
    """Number of the peer; its VRF follows from it. Never reuse one."""
    asn: Asn
    """The peer's AS number."""
    description: Text = ""
    """What lies behind it."""
    links: Annotated[list[BorderLink], Field(min_length=1)]
    """Its links, one per border leaf."""
    accept: list[Filter] | None = None
    """Routes taken from it: the default route, or parts. Must be given: an empty list takes none."""
    announce: list[Filter] | None = None
    """Routes that may be told to it, of those that its tenants have. Must be given: an empty list tells none."""
    max_routes: Annotated[int, Field(ge=1, le=2_000_000)] = 1000
    """Routes that it may send; above, the session is shut until somebody looks."""
    password: bool = False
    """Sessions are authenticated (TCP MD5) by the secret `bgp-NAME`."""


class Border(Model):
    """Border leafs: as many as a unit has leafs, with no servers below them."""

    leaf: Hardware | None = None
    """Model of the border leafs; default: the network's leaf."""
    nos: Nos | None = None
    """Their network operating system; default: the network's."""
    release: Release | None = None
    """Its release; default: the network's where they run the same, or else the one that its platform file is written for."""
    racks: Name | None = None
    """Rack group that holds them; default: the leafs'."""
    peers: Annotated[dict[Name, BorderPeer], Field(min_length=1)]
    """External peers by name."""


class BusinessNetwork(Fabric):
    """The network of tenants: VXLAN between leafs, routed by EVPN. `pool` holds its loopbacks and links, no tenant's address."""

    design: Literal["evpn"] = "evpn"
    """EVPN-VXLAN with symmetric routing and anycast gateways."""
    unit: Annotated[int, Field(ge=1, le=4096)] | None = None
    """Servers per leaf pair; default: as many as the leaf's ports allow."""
    leafs_per_unit: Annotated[Literal[1, 2], Number] = 2
    """Leafs that a server's ports are dealt over: its LACP bond ends on both."""
    oversubscription: Annotated[float, Field(ge=0.25, le=100)] = 3.0
    """Host bandwidth over uplink bandwidth that a leaf may have."""
    homing: Literal["auto", "esi", "mlag"] = "auto"
    """How two leafs share a bond: EVPN multihoming (ESI, RFC 7432), or MLAG. `auto` takes ESI where the release has it."""
    anycast_mac: Mac = "00:00:5e:00:01:01"
    """MAC of every gateway, the same on all leafs."""
    rt_administrator: Annotated[int, Field(ge=1, le=65535)] = 64512
    """First part of every route target; the second is the VNI. Two bytes, since a four-byte AS number leaves no room for it."""
    border: Border | None = None
    """The way out; without it tenants stay inside."""
