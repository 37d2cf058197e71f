# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about the addresses that tenants leave with, and the way back to them. Part of the BRD family."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network
from itertools import combinations

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.tenancy.border import say_line
from cluster_model.checks.wording import list_names
from cluster_model.diagnostic import Diagnostic
from cluster_model.plan.model.overlay import BorderPeer, Tenant
from cluster_model.plan.tenancy.meetings import passes, visible_prefixes


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
                    ", ".join(say_line(line) for line in peer.announce) or "an empty list",
                    f"add {{prefix: {outside}, up_to: {halves[0].prefixlen}}} to announce",
                )


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


class LinkPrefixReused(Rule):
    """Give every link of a border peer a prefix that nothing else behind it has.

    What it checks:
        Per border peer: the prefixes of its links against each other, against outside prefixes under `nat` towards it, and
        against visible subnets of tenants that leave by it as they are.

    Why it matters:
        The two border leafs would have one address, or the peer takes a tenant's addresses for its own link: packets to them
        never arrive.

    How to fix:
        Correct the link's prefix: it is the peer's to give.

    Source:
        Longest-prefix match: a connected link is preferred to any route.
    """

    id, title = "BRD013", "link to a border peer with addresses in use"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        business = design.cluster.networks.business
        border = business.border if business is not None else None
        for peer in design.plan.border_peers if border is not None else ():
            taken = {
                str(outside): f"the outside addresses of {tenant.name}"
                for tenant, name, outside in _outsides(design)
                if name == peer.name
            }
            for tenant in design.plan.tenants:
                if peer.name in tenant.egress and all(nat.peer != peer.name for nat in tenant.nat):
                    taken.update((line.prefix, f"a subnet of {tenant.name}") for line in visible_prefixes(tenant))
            intent = border.peers.get(peer.name) if border is not None else None
            for index, link in enumerate(intent.links if intent is not None else ()):
                hit = next(
                    (f"{prefix}, {what}" for prefix, what in taken.items() if IPv4Network(prefix).overlaps(link.prefix)), ""
                )
                if hit:
                    yield self.finding(
                        f"{peer.where}.links.{index}.prefix",
                        f"link {index + 1} of {peer.name} has addresses of {hit}",
                        "a prefix of its own",
                        str(link.prefix),
                        "correct the prefix: the peer gives it",
                    )
                taken[str(link.prefix)] = f"link {index + 1}"
