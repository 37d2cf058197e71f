"""The routed networks: what all have, and compute, storage and out-of-band. business.py has the fourth."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from cluster_model.intent.base import Address, Hardware, Model, Name, Number, Prefix

DEFAULT_NOS = "sonic"
Nos = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$")]
Release = Annotated[str, Field(pattern=r"^[0-9][0-9A-Za-z.-]*$")]
"""A release as its maker numbers it: `202605`, `8.4.4`."""


class TierRacks(Model):
    """Rack groups by tier."""

    leaf: Name
    """Rack group of the leafs."""
    spine: Name
    """Rack group of the spines."""
    core: Name | None = None
    """Rack group of the cores; default: the spines'."""


class SwitchCounts(Model):
    """Switch counts chosen by hand; what is left out is derived."""

    spine: Annotated[int, Field(ge=1, le=1024)] | None = None
    """Spines per pod and plane."""
    core: Annotated[int, Field(ge=1, le=1024)] | None = None
    """Cores per core group and plane (three tiers only)."""


class Fabric(Model):
    """What every network has: a Clos of leafs, spines and, at size, cores."""

    leaf: Hardware
    """Leaf model from the catalogue."""
    spine: Hardware | None = None
    """Spine model; default: the leaf's."""
    core: Hardware | None = None
    """Core model; default: the spine's."""
    nos: Nos | None = None
    """Network operating system of its switches; default: `sonic` (InfiniBand has none to choose)."""
    release: Release | None = None
    """Release of the network operating system; default: the one that its platform file is written for. docs/feature-matrix.md has
    the range that configurations are rendered for; another is refused."""
    racks: Name | TierRacks = "network"
    """Rack group that holds its switches, or one per tier. Switches fill racks from the top, neighbours in different racks."""
    pool: Prefix | None = None
    """Every address of this network is cut from here, in fixed slices. Not used by InfiniBand."""
    underlay: Literal["unnumbered", "numbered"] = "unnumbered"
    """Links between switches: IPv6 link-local next hops (RFC 5549), or a /31 each."""
    tiers: Annotated[Literal["auto", 1, 2, 3], Number] = "auto"
    """Switch tiers; `auto` takes the fewest that reach the planned size. 1 leaves the leafs unconnected (rail-only)."""
    speed_gbps: Annotated[int, Field(ge=1, le=1600)] | None = None
    """Speed of a host port; default: the slower of what NIC and leaf can do."""
    fabric_speed_gbps: Annotated[int, Field(ge=1, le=1600)] | None = None
    """Speed of a link between switches; default: that of the fastest host port (out-of-band: the fastest of both ends)."""
    oversubscription: Annotated[float, Field(ge=0.25, le=100)] = 1.0
    """Host bandwidth over uplink bandwidth that a leaf may have; 1 is non-blocking."""
    uplinks: Annotated[int, Field(ge=1, le=512)] | None = None
    """Uplinks per leaf; default: derived from `oversubscription`."""
    switches: SwitchCounts = SwitchCounts()
    """Switch counts chosen by hand."""
    mtu_bytes: Annotated[int, Field(ge=1280, le=9600)] | None = None
    """MTU of its switch ports; default: the lossless profile's; out of band 1500, on InfiniBand 4096."""
    host_mtu_bytes: Annotated[int, Field(ge=1280, le=9600)] | None = None
    """MTU of its host interfaces; default: the lossless profile's; 1500 out of band and on the business network, since routers
    beyond its border take no more; on InfiniBand 4092 (datagrams)."""

    @property
    def system(self) -> str:
        """Return the network operating system of its switches."""
        return self.nos or DEFAULT_NOS


class BalancedFabric(Fabric):
    """A network whose load may be spread by more than a hash."""

    load_balancing: Literal["ecmp", "dynamic", "adaptive"] = "ecmp"
    """How traffic is spread over equal paths. `ecmp`: by a hash, each flow on one path. `dynamic`: a flow moves to a less loaded
    path between two bursts. `adaptive`: each packet takes the least loaded path; packets overtake each other, and NICs must take
    that."""


class ComputeNetwork(BalancedFabric):
    """The network between GPUs."""

    technology: Literal["roce", "infiniband"]
    """RoCE over Ethernet, or InfiniBand."""
    design: Literal["rail-optimized", "leaf-spine"] = "rail-optimized"
    """Rail-optimised: NIC k of every server of a unit on the same leaf. Leaf-spine: a server's NICs on its unit's own leafs."""
    planes: Annotated[Literal[1, 2, 4], Number] = 1
    """Separate fabrics in parallel; a GPU's port is split over all of them."""
    leafs_per_rail: Annotated[Literal[1, 2], Number] = 1
    """2 is dual-ToR: the two ports of a NIC go to two leafs of the same plane."""
    rails_per_leaf: Annotated[int, Field(ge=1, le=16)] = 1
    """Rails that share a leaf (rail-optimised)."""
    leafs_per_unit: Annotated[int, Field(ge=1, le=64)] = 1
    """Leafs per unit and plane (leaf-spine); a server's ports are dealt over them in turn."""
    isolation: Literal["none", "vrf", "pkeys"] = "none"
    """How tenants are kept apart: not at all; by a VRF per leaf port, over VXLAN; or by partition keys (InfiniBand)."""


class NvmeOf(Model):
    """NVMe over Fabrics on the storage network."""

    targets: Annotated[list[Name], Field(min_length=1)]
    """Server groups that export namespaces."""
    port: Annotated[int, Field(ge=1, le=65535)] = 4420
    """I/O port."""
    discovery_port: Annotated[int, Field(ge=1, le=65535)] = 8009
    """Discovery port."""


class StorageNetwork(BalancedFabric):
    """The network to storage. Hosts have one service address, reached over both their ports by ECMP."""

    technology: Literal["roce", "tcp"] = "tcp"
    """RoCE shares the lossless profile; TCP needs none."""
    unit: Annotated[int, Field(ge=1, le=4096)] | None = None
    """Servers per leaf pair; default: as many as the leaf's ports allow."""
    leafs_per_unit: Annotated[int, Field(ge=1, le=4)] = 2
    """Leafs that a server's ports are dealt over."""
    ceph_cluster: Literal["shared", "separate"] = "shared"
    """Ceph's replication traffic: on the public addresses, or on service addresses of its own."""
    nvme_of: NvmeOf | None = None
    """NVMe over Fabrics, where it is used."""


class OobVlans(Model):
    """VLAN ids of the out-of-band segments; each leaf has all three, with subnets of its own."""

    bmc: Annotated[int, Field(ge=2, le=4000)] = 11
    """BMCs and PDUs."""
    switch: Annotated[int, Field(ge=2, le=4000)] = 12
    """Management ports of switches."""
    host: Annotated[int, Field(ge=2, le=4000)] = 13
    """Provisioning ports of servers."""


class Upstream(Model):
    """A link from the out-of-band network to the site's own router."""

    switch: Name
    """Out-of-band switch that it is plugged into, e.g. `oob-spine-01`."""
    prefix: Prefix
    """The link's subnet, a /30 or /31: the site's router has its first address, the switch the second."""


class OobNetwork(Fabric):
    """The out-of-band network: BMCs, PDUs, switch management and provisioning ports."""

    racks_per_leaf: Annotated[int, Field(ge=1, le=16)] = 1
    """Neighbouring racks of a row that share a leaf, as many as its ports serve; it stands in the first of them."""
    uplinks: Annotated[int, Field(ge=1, le=8)] = 2
    """Uplinks per leaf, dealt over the aggregation switches."""
    oversubscription: Annotated[float, Field(ge=0.25, le=100)] = 10.0
    """Host bandwidth over uplink bandwidth that a leaf may have."""
    vlans: OobVlans = OobVlans()
    """VLAN ids."""
    upstreams: list[Upstream] = []
    """Ways out to the site's resolvers, time servers and log collectors, each with a default route. The site's router routes the
    pool back. Each takes a last free cage of its switch, at the speed of the fabric's links."""
    dhcp_servers: list[Address] = []
    """Where leafs relay DHCP to; default: the control servers' provisioning addresses."""
