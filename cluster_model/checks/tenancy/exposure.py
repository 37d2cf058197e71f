# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about what must not cross the border: private and special prefixes, whole tables, strangers. Part of the BRD family."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from ipaddress import IPv4Network, collapse_addresses

from cluster_model.checks.design import Design
from cluster_model.checks.fabric.addresses import PRIVATE, UNUSABLE
from cluster_model.checks.registry import Rule
from cluster_model.checks.tenancy.border import say_line
from cluster_model.checks.wording import count_things, list_names
from cluster_model.diagnostic import Diagnostic
from cluster_model.intent.model.business import BorderPeer as Peer
from cluster_model.plan.model.overlay import BorderPeer, Filter

FORGED = {prefix: use for prefix, use in UNUSABLE.items() if use != "documentation"}
"""Never a route's prefix; the documentation ranges stand for public addresses in examples."""


def _is_private_asn(asn: int) -> bool:
    return 64_512 <= asn <= 65_534 or 4_200_000_000 <= asn <= 4_294_967_294  # RFC 6996, section 5


def _is_everything(lines: Iterable[Filter]) -> bool:
    """Return whether prefixes are all that the internet has: the default route, its halves, or any other way to part it."""
    prefixes = [IPv4Network(line.prefix) for line in lines]
    return list(collapse_addresses([*prefixes, *PRIVATE, *UNUSABLE])) == [IPv4Network("0.0.0.0/0")]


def _sends_default(peer: BorderPeer) -> bool:
    return _is_everything(peer.accept or ())


def _is_internet(peer: BorderPeer) -> bool:
    """Return whether a peer leads to the internet: it may send the default route, and its AS number is a public one."""
    return _sends_default(peer) and not _is_private_asn(peer.asn)


def name_special(text: str, ranges: dict[IPv4Network, str]) -> str:
    """Return what a prefix touches of `ranges`, as `use, range`; empty for none and for the default route."""
    prefix = IPv4Network(text)
    if prefix.prefixlen == 0:
        return ""
    return next((f"{use}, {special}" for special, use in ranges.items() if prefix.overlaps(special)), "")


_UNROUTED = {**dict.fromkeys(PRIVATE, "private"), **FORGED}


def list_peers(design: Design) -> dict[str, Peer]:
    """Return the border peers of the intent by name."""
    business = design.cluster.networks.business
    return business.border.peers if business is not None and business.border is not None else {}


class PrivateAnnounced(Rule):
    """Tell the internet public prefixes alone.

    What it checks:
        A peer that sends the default route, whole or in parts, and has a public AS number is told no private prefix, and no
        outside address under `nat` towards it is private.

    Why it matters:
        No provider takes a private prefix, and if one does, answers go to whoever else uses it: the tenant behind it has no
        internet. What is seen of it outside tells the numbering of your inner network.

    How to fix:
        Take the line away, and give the tenant public addresses under `nat`; give the peer its private AS number where it is your
        own core network.

    Source:
        RFC 1918, section 3: routes to private networks are not propagated between enterprises; RFC 7454, section 6.1.1.
    """

    id, title = "BRD014", "private prefix announced to the internet"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for peer in design.plan.border_peers:
            if not _is_internet(peer):
                continue
            for line in peer.announce or ():
                if use := name_special(line.prefix, _UNROUTED):
                    yield self.finding(
                        f"{peer.where}.announce",
                        f"{peer.name} (AS {peer.asn}) is told {say_line(line)}, which is no public prefix ({use})",
                        "prefixes that are yours in the internet",
                        line.prefix,
                        f"take the line away, and give the tenant public addresses under nat: {{{peer.name}: PREFIX}}",
                    )
            for tenant in design.plan.tenants:
                asked = design.cluster.tenants[tenant.name].nat.get(peer.name)
                use = name_special(str(asked), _UNROUTED) if asked else ""
                if use:
                    yield self.finding(
                        f"tenants.{tenant.name}.nat.{peer.name}",
                        f"{tenant.name} leaves to the internet with {asked}, which is no public prefix ({use})",
                        "public addresses that the provider routes to you",
                        str(asked),
                        "write the prefix that the provider gave you",
                    )


class DefaultAnnounced(Rule):
    """Tell no peer the default route.

    What it checks:
        No line of `announce` is 0.0.0.0/0 alone, and lines without `up_to` do not add up to it, as 0.0.0.0/1 and 128.0.0.0/1 do.

    Why it matters:
        The peer then sends all its traffic through the cluster: its routers prefer the route to the one they had, and the cluster
        becomes the way to the internet for both.

    How to fix:
        Name the tenants' prefixes.

    Source:
        RFC 7908, section 3 (route leaks); RFC 7454, section 6.1.6: the default route only where it is agreed on.
    """

    id, title = "BRD015", "default route announced"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for peer in design.plan.border_peers:
            whole = [line for line in peer.announce or () if not line.up_to]
            if _is_everything(whole):
                default = [line.prefix for line in whole if line.prefix == "0.0.0.0/0"]
                halves = [line.prefix for line in whole if not any(map(IPv4Network(line.prefix).subnet_of, _UNROUTED))]
                lines, parts = ", ".join(default or halves), " in parts" * (not default)
                yield self.finding(
                    f"{peer.where}.announce",
                    f"{peer.name} is told the default route{parts}, and would leave by the cluster",
                    "the tenants' prefixes",
                    lines,
                    f"take {lines} away, and name the tenants' prefixes",
                )


class BogonsAccepted(Rule):
    """Take no routes for addresses that nobody has.

    What it checks:
        No line of `accept` or `announce` touches loopback, link-local, multicast or reserved ranges; 0.0.0.0/0 is the default
        route. From a peer that leads to the internet, none is private either.

    Why it matters:
        Such a route is a mistake or an attack: it takes traffic away, and nobody answers for it.

    How to fix:
        Take the line away.

    Source:
        RFC 7454, section 6.1.1 (special-purpose prefixes); RFC 6890.
    """

    id, title = "BRD016", "filter for prefixes that nobody has"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for peer in design.plan.border_peers:
            for name, lines in (("accept", peer.accept), ("announce", peer.announce)):
                if name == "announce" and _is_internet(peer):
                    continue  # BRD014 has these
                ranges = _UNROUTED if _is_internet(peer) else FORGED
                for line in lines or ():
                    use = name_special(line.prefix, ranges) if IPv4Network(line.prefix).prefixlen >= 4 else ""
                    if use:
                        yield self.finding(
                            f"{peer.where}.{name}",
                            f"{name} of {peer.name} lets {say_line(line)} through ({use})",
                            "prefixes of hosts" + (" in the internet" if ranges is _UNROUTED else ""),
                            line.prefix,
                            "take the line away",
                        )


class FilterBackwards(Rule):
    """Give a filter a length that its prefix has.

    What it checks:
        `up_to` of each line is at least the length of its prefix.

    Why it matters:
        No route can be longer than one and shorter than the other: the line lets nothing through, or the switch refuses it.

    How to fix:
        Leave `up_to` out for the prefix alone, or give the longest length that is meant.

    Source:
        FRR and EOS, ip prefix-list: len <= ge <= le.
    """

    id, title = "BRD017", "filter that lets nothing through"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for name, peer in list_peers(design).items():
            for key, lines in (("accept", peer.accept), ("announce", peer.announce)):
                for index, line in enumerate(lines or ()):
                    if line.up_to is not None and 0 < line.up_to < line.prefix.prefixlen:
                        yield self.finding(
                            f"networks.business.border.peers.{name}.{key}.{index}.up_to",
                            f"no route is inside {line.prefix} and no longer than /{line.up_to}",
                            f"{line.prefix.prefixlen} to 32, or nothing",
                            str(line.up_to),
                            "leave up_to out for the prefix alone, or give the longest length that is meant",
                        )


class PeerNotAuthenticated(Rule):
    """Authenticate sessions to external peers.

    What it checks:
        Each border peer has `password: true`.

    Why it matters:
        Whoever reaches the link, at the provider's panel for example, can reset the session or speak for the peer.

    How to fix:
        Agree on a password with the peer, put it into the secret bgp-NAME, and set `password: true`; leave it where the peer does
        not offer one.

    Source:
        RFC 7454, section 5.1 (protection of TCP sessions used by BGP); RFC 2385.
    """

    id, severity, title = "BRD018", "warning", "external session without authentication"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for name, peer in list_peers(design).items():
            if not peer.password:
                yield self.finding(
                    f"networks.business.border.peers.{name}",
                    f"the BGP session to {name} has no password",
                    "password: true, and the secret bgp-" + name,
                    "none",
                    "agree on one with the peer and set password to true, or leave it where the peer offers none",
                )


_RESERVED = {0, 23_456, 65_535, 4_294_967_295}


class PeerAsnReserved(Rule):
    """Peer with AS numbers that somebody can have.

    What it checks:
        `asn` of border peers is not 23456, 65535 or 4294967295.

    Why it matters:
        No router may use them. 23456 is what a router without four-byte numbers shows of one: somebody copied it from there.

    How to fix:
        Ask the peer for its number.

    Source:
        RFC 6793, section 9 (AS_TRANS); RFC 7300 (last AS numbers); RFC 7607 (AS 0).
    """

    id, title = "BRD019", "AS number that nobody can have"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for name, peer in list_peers(design).items():
            if peer.asn in _RESERVED:
                yield self.finding(
                    f"networks.business.border.peers.{name}.asn",
                    f"AS {peer.asn} is reserved, and {name} cannot have it",
                    "the peer's own number",
                    str(peer.asn),
                    "ask the peer for its AS number",
                )


FULL_TABLE = 900_000
"""Routes of the internet: about 940,000 IPv4 prefixes in 2024, growing (CIDR report, APNIC)."""


class LimitStopsNothing(Rule):
    """Limit a peer's routes to what is expected of it.

    What it checks:
        `max_routes` is below the internet's whole table, and not below what `accept` names: one route for each prefix, or two
        where its parts are taken as well (`up_to`).

    Why it matters:
        The limit is there for the day on which the peer leaks: one that lets a whole table in fills the forwarding table of every
        leaf first. One that is too low shuts the session on a good day.

    How to fix:
        Set it to a few times the routes that the peer announces now.

    Source:
        RFC 7454, section 8 (maximum prefixes per peer); CIDR report, 2024: about 940,000 IPv4 prefixes.
    """

    id, severity, title = "BRD020", "warning", "limit of routes that does not fit"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for name, peer in list_peers(design).items():
            lines = peer.accept or []
            least = sum(2 if (line.up_to or 0) > line.prefix.prefixlen else 1 for line in lines)
            where = f"networks.business.border.peers.{name}.max_routes"
            if peer.max_routes >= FULL_TABLE:
                yield self.finding(
                    where,
                    f"{name} may send {peer.max_routes} routes, the whole internet's",
                    f"< {FULL_TABLE}",
                    str(peer.max_routes),
                    f"set max_routes to a few times what {name} announces, such as {max(10, 5 * least)}",
                )
            elif peer.max_routes < least:
                taken = list_names((say_line(Filter(str(line.prefix), line.up_to or 0)) for line in lines), 2)
                yield self.finding(
                    where,
                    f"{name} may send {count_things(peer.max_routes, 'route')}, and accept takes {taken}",
                    f">= {least}",
                    str(peer.max_routes),
                    f"set max_routes to {2 * least} or more",
                )
