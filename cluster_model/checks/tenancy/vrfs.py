# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about VRFs: their names, and the prefixes that meet where two of them do. The VRF family."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import IPv4Network
from typing import NamedTuple

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.diagnostic import Diagnostic
from cluster_model.plan.model.overlay import BorderPeer, Subnet, Tenant
from cluster_model.plan.tenancy.meetings import passes

TAKEN = re.compile(r"all|default|mgmt")
"""Words for VRFs that every system has."""


def _holders(design: Design) -> Iterator[tuple[Tenant | BorderPeer, str, str, set[str]]]:
    """Yield (tenant or border peer, what it is, where its VRF's name was said, systems that hold the VRF)."""
    networks = [network for network in design.plan.networks if network.name == "business"]
    leafs = {network.nos for network in networks}
    borders = {s.nos for s in design.switches_of.get("business", []) if s.role == "border"}
    compute = {n.nos for n in design.plan.networks if n.name == "compute" and n.isolation == "vrf"}
    for tenant in design.plan.tenants:
        intent = design.cluster.tenants.get(tenant.name)
        where = f"{tenant.where}.vrf" if intent is not None and intent.vrf is not None else f"{tenant.where}@key"
        systems = leafs | (borders if tenant.egress else set()) | (compute if tenant.servers else set())
        yield tenant, f"tenant {tenant.name}", where, systems
    for peer in design.plan.border_peers:
        yield peer, f"border peer {peer.name}", f"{peer.where}@key", borders


class VrfNameTooLong(Rule):
    """Give VRFs names that every switch which holds them can hold.

    What it checks:
        The VRF name of each tenant and border peer, with the prefix that the system puts in front (`Vrf` on SONiC), against
        the longest name that the system takes; on leafs, on border leafs where the tenant leaves by them, and on compute
        leafs where tenants are kept apart there.

    Why it matters:
        The switch refuses the VRF, or cuts its name, and two tenants with a long common beginning get one.

    How to fix:
        Set `vrf` of the tenant to a shorter name, or rename the border peer.

    Source:
        include/uapi/linux/if.h: IFNAMSIZ is 16 with the closing zero; sonic-vrf.yang: `Vrf` in front;
        `vrf_name_length` and `vrf_prefix` of templates/switch/NOS/platform.yml.
    """

    id, title = "VRF001", "VRF name too long for its switches"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for holder, what, where, systems in _holders(design):
            for system in sorted(systems):
                platform = design.catalogue.platforms.get(system)
                if platform is None or len(platform.vrf(holder.vrf)) <= platform.vrf_name_length:
                    continue
                own = platform.vrf_name_length - len(platform.vrf_prefix)
                short = holder.vrf[:own].rstrip("-_")
                fix = f"set vrf of the tenant to a shorter name, such as {short}"
                yield self.finding(
                    where,
                    f"the VRF of {what} is called {platform.vrf(holder.vrf)}, which {platform.name} cannot hold",
                    f"<= {platform.vrf_name_length} characters"
                    + (f", {platform.vrf_prefix} included" * bool(platform.vrf_prefix)),
                    f"{len(platform.vrf(holder.vrf))} characters",
                    fix if isinstance(holder, Tenant) else f"rename the peer, such as {short}",
                )
                break


class VrfNameTaken(Rule):
    """Call no VRF what a switch calls something else.

    What it checks:
        VRF names, as each system spells them and whatever their capitals, against words of all systems (default, mgmt, all) and
        names that the system gives its own devices and tables (bridge, eth0, swp1, vlan10, peerlink, main).

    Why it matters:
        A VRF is a network device on Linux. The second device of a name cannot be made, and which of the two comes first
        changes from boot to boot.

    How to fix:
        Set `vrf` of the tenant to another name, or rename the border peer.

    Source:
        Linux: names of network devices are unique in a namespace; FRR: the first VRF is called default; sonic-vrf.yang and
        mgmt_vrf of SONiC: mgmt; `reserved_names` of templates/switch/NOS/platform.yml.
    """

    id, title = "VRF002", "VRF name that a switch needs itself"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for holder, what, where, systems in _holders(design):
            platforms = [platform for name in sorted(systems) if (platform := design.catalogue.platforms.get(name))]
            for platform in platforms:
                name = platform.vrf(holder.vrf).lower()
                if any(pattern.fullmatch(name) for pattern in (TAKEN, *platform.reserved_names)):
                    yield self.finding(
                        where,
                        f"{platform.name} has something else that is called {holder.vrf}, the VRF of {what}",
                        "a name that no device and no VRF of the system has",
                        holder.vrf,
                        "set vrf of the tenant to another name" if isinstance(holder, Tenant) else "rename the peer",
                    )
                    break


class VrfNameTwice(Rule):
    """Give every tenant and every border peer a VRF name of its own.

    What it checks:
        VRF names of tenants (`vrf`, or the tenant's name) and of border peers (the peer's name).

    Why it matters:
        Two with one name are one VRF: the routes of one tenant are the other's, or the border peer's.

    How to fix:
        Set `vrf` of one tenant to another name, or rename the border peer.

    Source:
        A switch has one table of VRFs.
    """

    id, title = "VRF003", "VRF name used twice"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        owners: dict[str, str] = {}
        for holder, what, where, _ in _holders(design):
            first = owners.setdefault(holder.vrf, what)
            if first != what:
                yield self.finding(
                    where,
                    f"the VRFs of {first} and {what} are both called {holder.vrf}",
                    "a name of its own",
                    holder.vrf,
                    "set vrf of one tenant to another name"
                    if isinstance(holder, Tenant)
                    else "rename the peer, or set vrf of the tenant",
                )


class _Route(NamedTuple):
    """A prefix that a VRF has: whose, by which subnet, and how it came in."""

    tenant: str
    subnet: Subnet
    network: IPv4Network
    way: str  # own | shared | peering


def _routes(tenant: Tenant, way: str) -> list[_Route]:
    """Return the prefixes of a tenant, all as its own, and what is visible of it to others."""
    subnets = [subnet for subnet in tenant.subnets if way == "own" or subnet.visible]
    return [_Route(tenant.name, subnet, IPv4Network(subnet.prefix), way) for subnet in subnets]


def _collect(design: Design, tenant: Tenant) -> list[_Route]:
    """Return every prefix of tenants that a tenant's VRF has: its own, then those of shared tenants, then others'."""
    tenants = {other.name: other for other in design.plan.tenants}
    found = _routes(tenant, "own")
    for other in sorted(design.plan.tenants, key=lambda other: (not other.shared, other.id)):
        if other is tenant:
            continue
        if (tenant.shared and tenant.name in other.uses) or (other.shared and other.name in tenant.uses):
            found += _routes(other, "shared")
        elif other.name in tenant.peers and tenant.name in tenants[other.name].peers:
            found += _routes(other, "peering")
    return found


def _find_overlaps(routes: list[_Route]) -> Iterator[tuple[_Route, _Route]]:
    """Yield each two routes that overlap, in the order given, in one sweep: of two prefixes that overlap one holds the other."""
    found: list[tuple[int, int]] = []
    holders: list[int] = []
    for index in sorted(range(len(routes)), key=lambda i: (routes[i].network, i)):
        while holders and not routes[index].network.subnet_of(routes[holders[-1]].network):
            holders.pop()
        found += [(min(index, holder), max(index, holder)) for holder in holders]
        holders.append(index)
    for one, two in sorted(found):
        yield routes[one], routes[two]


def _find_clashes(design: Design) -> Iterator[tuple[str, Tenant, _Route, _Route]]:
    """Yield (rule, VRF's tenant, route, other route) for each two prefixes of different tenants that meet and overlap, once."""
    said: set[frozenset[str]] = set()
    for tenant in sorted(design.plan.tenants, key=lambda tenant: (not tenant.shared, tenant.id)):
        for one, two in _find_overlaps(_collect(design, tenant)):
            pair = frozenset((one.subnet.where, two.subnet.where))
            if one.tenant == two.tenant or pair in said:
                continue
            said.add(pair)
            ways = {one.way, two.way}
            if "shared" in ways and (tenant.shared or "own" in ways):
                yield "VRF005", tenant, one, two
            else:
                yield ("VRF004" if ways == {"own", "peering"} else "VRF007"), tenant, one, two


def _report(rule: Rule, design: Design) -> Iterator[Diagnostic]:
    """Yield the overlaps that a rule is about."""
    for id_, tenant, one, two in _find_clashes(design):
        if id_ != rule.id:
            continue
        hidden = [f"{route.subnet.where}.visible" for route in (two, one) if route.way != "own" and route.subnet.visible]
        meet = "" if tenant.name in {one.tenant, two.tenant} else f" in the VRF of {tenant.name}"
        yield rule.finding(
            f"{two.subnet.where}.cidr",
            f"{one.tenant}'s {one.subnet.name} and {two.tenant}'s {two.subnet.name} overlap, and meet{meet}",
            f"a prefix clear of {one.network} ({one.tenant})",
            str(two.network),
            f"move one of the two, or set {hidden[0]} to false" if hidden else "move one of the two",
        )


class PeersOverlap(Rule):
    """Peer only tenants whose addresses are apart.

    What it checks:
        All subnets of a tenant, visible or not, against the visible ones of each tenant that it peers with.

    Why it matters:
        The tenant's own subnet always wins, so that part of the peer can never be reached. Where the peer's is longer, it takes
        the tenant's own traffic away.

    How to fix:
        Move one of the two, or set `visible` of the peer's subnet to false and peer by another.

    Source:
        RFC 4364, section 1: VPNs with a site in common must have addresses that are unique among them.
    """

    id, title = "VRF004", "peering tenants that overlap"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        yield from _report(self, design)


class SharedOverlap(Rule):
    """Let tenants meet in a shared one only with addresses of their own.

    What it checks:
        In each shared tenant: its own subnets and the visible ones of all tenants that use it. In each tenant that uses it: all
        subnets of its own against the shared one's visible ones.

    Why it matters:
        The shared VRF has one route per prefix: answers to one tenant go to the other. That is also how one tenant comes to
        see what was meant for its neighbour.

    How to fix:
        Give the tenant a second subnet with addresses of its own for services, and set `visible` of the overlapping one to
        false; or move one.

    Source:
        RFC 4364, section 1: VPNs with a site in common must have addresses that are unique among them.
    """

    id, title = "VRF005", "overlap inside a shared tenant"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        yield from _report(self, design)


class EgressOverlap(Rule):
    """Leave by one border peer with addresses that only one tenant has.

    What it checks:
        Per border peer: visible subnets that are announced to it, of all tenants that leave by it without `nat`.

    Why it matters:
        The peer sends answers to one of the two tenants, whichever it is told last: connections of both break, and packets of
        one end in the other.

    How to fix:
        Add `nat` with an outside prefix for one of the tenants, move its subnet, or set `visible` to false.

    Source:
        RFC 3022: traditional NAT, for insides that overlap.
    """

    id, title = "VRF006", "overlap behind one border peer"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for peer in design.plan.border_peers:
            leaving = [t for t in design.plan.tenants if peer.name in t.egress and all(nat.peer != peer.name for nat in t.nat)]
            routes = [r for t in leaving for r in _routes(t, "visible") if passes(r.subnet.prefix, peer.announce or ())]
            for one, two in _find_overlaps(routes):
                if one.tenant != two.tenant:
                    yield self.finding(
                        f"{two.subnet.where}.cidr",
                        f"{one.tenant} and {two.tenant} both leave by {peer.name} with addresses of {two.network}",
                        f"a prefix clear of {one.network} ({one.tenant}), or nat",
                        str(two.network),
                        f"add nat: {{{peer.name}: PREFIX}} to tenants.{two.tenant}, or move one of the two",
                    )


class MeetingsOverlap(Rule):
    """Let a tenant meet two others only where these are apart.

    What it checks:
        Visible subnets of different tenants that one tenant takes in: of two shared tenants, of two peers, of a peer and a shared
        one.

    Why it matters:
        The tenant's VRF has one route per prefix, so one of the two is out of its reach, though both sides have said yes.

    How to fix:
        Move one of the two, set its `visible` to false, or end one of the meetings.

    Source:
        RFC 4364, section 1: VPNs with a site in common must have addresses that are unique among them.
    """

    id, title = "VRF007", "overlap of two tenants that a third one meets"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        yield from _report(self, design)
