# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about the way out: border peers, their filters, and address translation. The BRD family."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network
from itertools import combinations

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.wording import list_names
from cluster_model.diagnostic import Diagnostic
from cluster_model.plan.meetings import passes, visible_prefixes
from cluster_model.plan.overlay import BorderPeer, Filter, Tenant


class EgressWithoutBorder(Rule):
    """Build a border before tenants leave by it.

    What it checks:
        Where a tenant names border peers under `egress`, the business network has a border.

    Why it matters:
        There is no switch that leads out: the tenant's servers reach nothing beyond the cluster.

    How to fix:
        Add `border` with its peers to `networks.business`, or take `egress` away.

    Source:
        The business network has no other link to the world.
    """

    id, title = "BRD001", "egress without a border"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        business = design.cluster.networks.business
        if business is None or business.border is not None:
            return
        for tenant in design.plan.tenants:
            if tenant.egress:
                yield self.finding(
                    f"tenants.{tenant.name}.egress",
                    f"{tenant.name} leaves by {list_names(tenant.egress)}, and there is no border",
                    "networks.business.border with such a peer",
                    "none",
                    "add border: to networks.business, with its peers, or take egress away",
                )


class PeerWithoutFilters(Rule):
    """Say for every border peer what may come in and what may go out.

    What it checks:
        Each peer has `accept` and `announce`; an empty list is an answer too.

    Why it matters:
        A BGP session without a filter takes whatever the other side sends: its whole table, or your own prefixes back. Without
        one outwards, a mistake of yours becomes the peer's routing table.

    How to fix:
        Write the prefixes under `accept` and `announce`; `accept: [{prefix: 0.0.0.0/0}]` takes the default route alone.

    Source:
        RFC 8212: without an explicit policy an external session passes no route in either direction; RFC 7454, section 6.
    """

    id, title = "BRD002", "border peer without a filter"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for peer in design.plan.border_peers:
            for name, lines, meaning in (
                ("accept", peer.accept, "taken from it"),
                ("announce", peer.announce, "told to it"),
            ):
                if lines is None:
                    yield self.finding(
                        f"{peer.where}.{name}",
                        f"nothing says which routes may be {meaning}: {peer.name} has no {name}",
                        "a list of prefixes, or [] for none",
                        "none",
                        f"add {name}: [{{prefix: ...}}] to {peer.where}",
                    )


class FilterForEverything(Rule):
    """Filter with a filter that leaves something out.

    What it checks:
        No line of `accept` or `announce` takes every prefix: 0.0.0.0/0 with `up_to` 25 or longer.

    Why it matters:
        It is no filter. A peer's leak arrives whole, and `max_routes` shuts the session, which is the outage that the filter was
        there to prevent. Outwards, all that is visible of tenants is announced, now and later.

    How to fix:
        Name the prefixes; for the default route alone leave `up_to` out.

    Source:
        RFC 7454, section 6: prefix filters in both directions, and no prefixes longer than /24 from the internet.
    """

    id, severity, title = "BRD003", "warning", "filter that takes everything"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for peer in design.plan.border_peers:
            for name, lines in (("accept", peer.accept), ("announce", peer.announce)):
                for line in lines or ():
                    if IPv4Network(line.prefix).prefixlen == 0 and line.up_to > 24:
                        yield self.finding(
                            f"{peer.where}.{name}",
                            f"{name} of {peer.name} takes every prefix up to /{line.up_to}",
                            "the prefixes that are meant",
                            f"{line.prefix} up to /{line.up_to}",
                            "name the prefixes, or leave up_to out for the default route alone",
                        )


class PeerUnused(Rule):
    """Connect only peers that somebody leaves by.

    What it checks:
        Each border peer stands under `egress` of a tenant.

    Why it matters:
        The session comes up, and no route of it reaches anybody: a line that is paid for, and one more way in.

    How to fix:
        Add it to `egress` of the tenants that it is for, or take the peer away.

    Source:
        A peer's VRF gives its routes to the tenants that name it, and to nobody else.
    """

    id, severity, title = "BRD004", "warning", "border peer that no tenant uses"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for peer in design.plan.border_peers:
            if not peer.tenants:
                yield self.finding(
                    peer.where,
                    f"no tenant leaves by {peer.name}",
                    "a tenant with it under egress",
                    "none",
                    f"add {peer.name} to egress of a tenant, or take the peer away",
                )


class PeerOnOneLeaf(Rule):
    """Connect every border peer to both border leafs.

    What it checks:
        Where there are two border leafs, each peer has a link to both.

    Why it matters:
        The loss of one border leaf, or its upgrade, cuts off everybody who leaves by that peer.

    How to fix:
        Add a second link under `links`, with `border: 2`.

    Source:
        Derived: what hangs on one switch goes with it.
    """

    id, severity, title = "BRD005", "warning", "border peer on one border leaf"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        borders = [switch for switch in design.switches_of.get("business", []) if switch.role == "border"]
        if len(borders) < 2:
            return
        for peer in design.plan.border_peers:
            here = [s.index for s in borders if s.overlay and any(external.peer == peer.name for external in s.overlay.externals)]
            if len(here) == 1:
                other = next(switch.index for switch in borders if switch.index not in here)
                yield self.finding(
                    f"{peer.where}.links",
                    f"{peer.name} is connected to one border leaf of {len(borders)}",
                    "a link to each border leaf",
                    f"border leaf {here[0]}",
                    f"add a link with border: {other}",
                )


def _may_capture(line: Filter, prefix: IPv4Network) -> bool:
    """Return whether a route that a line lets through can take addresses of a prefix away from it: as long as it, or longer."""
    allowed = IPv4Network(line.prefix)
    if not allowed.overlaps(prefix):
        return False
    return max(line.up_to, allowed.prefixlen) >= prefix.prefixlen


class AcceptCaptures(Rule):
    """Take no route from outside that leads to an address inside.

    What it checks:
        Lines of `accept` let no route through that is as long as, or longer than, a prefix inside which it overlaps: the pools of
        all networks, subnets of the tenants that leave by the peer, and what is visible of those that these meet.

    Why it matters:
        Whoever sends the longer prefix gets the traffic. A mistake or an attack at the peer then leads a tenant's inner traffic
        out of the building.

    How to fix:
        Leave the prefixes of the cluster out of `accept`, or lower `up_to`.

    Source:
        RFC 7454, section 6.1.4: do not accept your own prefixes from an external peer.
    """

    id, title = "BRD006", "filter that lets inner addresses in"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        pools = {f"the pool of {n.name}": IPv4Network(n.pool, strict=False) for n in design.plan.networks if n.pool}
        tenants = {tenant.name: tenant for tenant in design.plan.tenants}
        for peer in design.plan.border_peers:
            inside = dict(pools)
            for name in peer.tenants:
                for other in _met(tenants[name], tenants):
                    inside.update(
                        (f"{other.name}'s {s.name}", IPv4Network(s.prefix))
                        for s in other.subnets
                        if s.visible or other.name in peer.tenants
                    )
            for line in peer.accept or ():
                if IPv4Network(line.prefix).prefixlen == 0:
                    continue  # the default route; with `up_to`, BRD003 finds it
                hit = [f"{what}, {prefix}" for what, prefix in inside.items() if _may_capture(line, prefix)]
                if hit:
                    long = f" up to /{line.up_to}" if line.up_to else ""
                    yield self.finding(
                        f"{peer.where}.accept",
                        f"{peer.name} may send routes for {hit[0]}" + (f", and {len(hit) - 1} others" * (len(hit) > 1)),
                        "prefixes that nothing inside has",
                        f"{line.prefix}{long}",
                        "name the peer's own prefixes, or lower up_to",
                    )


def _met(tenant: Tenant, tenants: dict[str, Tenant]) -> list[Tenant]:
    """Return a tenant with those that it meets."""
    names = [*tenant.uses, *tenant.peers, *(other.name for other in tenants.values() if tenant.name in other.uses)]
    return [tenant, *(tenants[name] for name in dict.fromkeys(names) if name in tenants)]


class PeerWithOurAsn(Rule):
    """Peer with AS numbers that the cluster does not use.

    What it checks:
        `asn` of each border peer against the AS numbers of all switches, and the range between the lowest and the highest.

    Why it matters:
        BGP drops a route that holds its own number: what the peer sends is refused by the switch that has it too, without a
        word. Inside the range, growth gives that number to a switch.

    How to fix:
        Correct `asn`, or move the cluster's numbers by `asn_base`.

    Source:
        RFC 4271, section 9.1.2 (AS loop).
    """

    id, title = "BRD007", "border peer with an AS number of the cluster"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        numbers = {switch.asn: switch.name for switch in design.plan.switches if switch.asn}
        for peer in design.plan.border_peers:
            if numbers and min(design.cluster.asn_base, *numbers) <= peer.asn <= max(numbers):
                own = f", the number of {numbers[peer.asn]}" if peer.asn in numbers else ", inside the cluster's range"
                yield self.finding(
                    f"{peer.where}.asn",
                    f"{peer.name} has AS {peer.asn}{own}",
                    f"a number outside {min(design.cluster.asn_base, *numbers)} to {max(numbers)}",
                    str(peer.asn),
                    "correct asn, or move the cluster's numbers by asn_base",
                )


def _outsides(design: Design) -> list[tuple[Tenant, str, IPv4Network]]:
    """Return (tenant, border peer, outside prefix) of every translation."""
    return [(t, nat.peer, IPv4Network(nat.prefix)) for t in design.plan.tenants for nat in t.nat]


class NatOverlap(Rule):
    """Give every tenant outside addresses of its own.

    What it checks:
        Outside prefixes under `nat` of different tenants, towards whichever peer, share nothing; nor do they with subnets that
        leave by that peer as they are.

    Why it matters:
        An answer carries the outside address alone. Where two tenants have it, one gets the other's answers.

    How to fix:
        Give one of the two another prefix.

    Source:
        RFC 3022: sessions are told apart by their outside address and port.
    """

    id, title = "BRD008", "outside addresses of two tenants"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        outsides = _outsides(design)
        for (one, _, first), (two, peer, second) in combinations(outsides, 2):
            if one is not two and first.overlaps(second):
                yield self._report(two, peer, second, f"{one.name}'s {first}")
        for tenant, peer, outside in outsides:
            for other in design.plan.tenants:
                plain = peer in other.egress and all(nat.peer != peer for nat in other.nat)
                for line in visible_prefixes(other) if plain and other is not tenant else ():
                    if IPv4Network(line.prefix).overlaps(outside):
                        yield self._report(tenant, peer, outside, f"{other.name}'s subnet {line.prefix}")

    def _report(self, tenant: Tenant, peer: str, outside: IPv4Network, other: str) -> Diagnostic:
        return self.finding(
            f"tenants.{tenant.name}.nat.{peer}",
            f"outside addresses {outside} of {tenant.name} are also {other}",
            "a prefix of its own",
            str(outside),
            "give one of the two another prefix",
        )


class NatNotAnnounced(Rule):
    """Announce what tenants leave with.

    What it checks:
        Each half of an outside prefix under `nat` passes `announce` of its border peer.

    Why it matters:
        Packets go out and no answer comes back, since nobody out there knows the way.

    How to fix:
        Add the prefix to `announce`, with `up_to` the length of a half: each border leaf announces its own.

    Source:
        `announce` filters all that is told to a peer.
    """

    id, title = "BRD009", "outside addresses that are not announced"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        peers = {peer.name: peer for peer in design.plan.border_peers}
        for tenant, name, outside in _outsides(design):
            peer = peers.get(name)
            if peer is None or peer.announce is None:
                continue
            halves = list(outside.subnets()) if _borders(design) > 1 and outside.prefixlen < 32 else [outside]
            if not all(passes(str(half), peer.announce) for half in halves):
                yield self.finding(
                    f"{peer.where}.announce",
                    f"{outside}, which {tenant.name} leaves with, may not be told to {name}",
                    f"a line that lets {list_names(map(str, halves))} through",
                    ", ".join(_say(line) for line in peer.announce) or "an empty list",
                    f"add {{prefix: {outside}, up_to: {halves[0].prefixlen}}} to announce",
                )


def _say(line: Filter) -> str:
    return f"{line.prefix} up to /{line.up_to}" if line.up_to else line.prefix


def _borders(design: Design) -> int:
    network = design.plan.network("business")
    return network.borders if network is not None else 0


class NatTooSmall(Rule):
    """Give every border leaf an outside address of a tenant.

    What it checks:
        Where there are two border leafs, outside prefixes under `nat` are a /31 or shorter.

    Why it matters:
        Each border leaf translates to a part of its own, so that answers return to where the session is known. One address
        cannot be parted: the second border leaf would drop the tenant's traffic.

    How to fix:
        Take a prefix of two addresses or more.

    Source:
        RFC 3022: sessions are told apart by address and port, and a port is known where it was given out.
    """

    id, title = "BRD010", "outside prefix that cannot be halved"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for tenant, peer, outside in _outsides(design):
            if _borders(design) > 1 and outside.prefixlen > 31:
                yield self.finding(
                    f"tenants.{tenant.name}.nat.{peer}",
                    f"{outside} of {tenant.name} cannot be parted over {_borders(design)} border leafs",
                    "a /31 or shorter",
                    str(outside),
                    f"take a prefix of two addresses, such as {outside.supernet(new_prefix=31)}",
                )


class NoWayBack(Rule):
    """Tell border peers the way back to the tenants that leave by them.

    What it checks:
        A tenant that leaves by a peer without `nat` has a visible subnet that passes the peer's `announce`.

    Why it matters:
        Its packets go out, and no answer finds the way back.

    How to fix:
        Add the subnet to `announce`, make a subnet visible, or translate by `nat`.

    Source:
        Meetings at the border: the peer's VRF takes the tenant's visible prefixes that may be announced, and nothing else.
    """

    id, severity, title = "BRD011", "warning", "tenant that leaves and cannot be answered"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for peer in design.plan.border_peers:
            for tenant in design.plan.tenants:
                if peer.name in tenant.egress and peer.announce is not None and not _is_answered(tenant, peer):
                    shown = [line.prefix for line in visible_prefixes(tenant)]
                    yield self.finding(
                        f"tenants.{tenant.name}.egress",
                        f"{peer.name} is told no prefix of {tenant.name}, so no answer finds the way back",
                        f"a visible subnet that announce of {peer.name} lets through, or nat",
                        list_names(shown) or "no visible subnet",
                        f"add {{prefix: {shown[0]}}} to {peer.where}.announce, or add nat"
                        if shown
                        else f"make a subnet visible, or add nat: {{{peer.name}: PREFIX}}",
                    )


def _is_answered(tenant: Tenant, peer: BorderPeer) -> bool:
    translated = any(nat.peer == peer.name for nat in tenant.nat)
    return translated or any(passes(line.prefix, peer.announce or ()) for line in visible_prefixes(tenant))
