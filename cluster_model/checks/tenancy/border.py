# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about the way out: border peers and their filters. The BRD family; outside.py has its other part."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network
from itertools import combinations

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.wording import count_things, list_names
from cluster_model.diagnostic import Diagnostic
from cluster_model.plan.model.overlay import Filter, Tenant


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
                    f"{tenant.name} has egress to {list_names(tenant.egress)}, but there is no border",
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
        No line of `accept` or `announce` takes every prefix, or every one of a large part of the internet: shorter than /4,
        with `up_to` 25 or longer.

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
                    length = IPv4Network(line.prefix).prefixlen
                    if length < 4 and line.up_to > 24:
                        every = "every prefix" if length == 0 else f"every prefix of {line.prefix}"
                        yield self.finding(
                            f"{peer.where}.{name}",
                            f"{name} of {peer.name} takes {every} up to /{line.up_to}",
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
                    f"no tenant has egress to {peer.name}",
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
        Lines of `accept` let no route through that lies inside a prefix of the cluster, or equals it: the pools of all networks,
        subnets of the tenants that leave by the peer, what is visible of those that these meet, Kubernetes' ranges,
        and the links to the site's routers.

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
        if (kubernetes := design.cluster.kubernetes) is not None:
            pools |= {"Kubernetes' pods": kubernetes.pod_pool, "Kubernetes' services": kubernetes.service_pool}
        for upstream in design.cluster.networks.oob.upstreams:
            pools[f"the link of {upstream.switch} to the site's router"] = upstream.prefix
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
                        f"{peer.name} may send routes for {hit[0]}"
                        + (f", and {count_things(len(hit) - 1, 'other')}" * (len(hit) > 1)),
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


def say_line(line: Filter) -> str:
    """Return a line of a prefix list in words."""
    return f"{line.prefix} up to /{line.up_to}" if line.up_to else line.prefix


class TwoWaysOut(Rule):
    """Give a tenant one way to each destination.

    What it checks:
        Of the border peers that one tenant leaves by, no two may send the same prefix, by lines of `accept` that are equal.

    Why it matters:
        Connections are dealt over both peers. With `nat` each side sees another address; a dedicated line that also sends the
        default route carries half of what was meant for the internet.

    How to fix:
        Take the default route from one of the two, or leave by one.

    Source:
        RFC 4271, section 9.1.2.2: equal routes are told apart by chance, or shared by multipath.
    """

    id, severity, title = "BRD012", "warning", "two ways out with the same routes"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        peers = {peer.name: peer for peer in design.plan.border_peers}
        for tenant in design.plan.tenants:
            for one, two in combinations([peers[name] for name in tenant.egress if name in peers], 2):
                both = [line for line in one.accept or () if line in (two.accept or ())]
                if both:
                    yield self.finding(
                        f"tenants.{tenant.name}.egress",
                        f"{one.name} and {two.name} may both send {tenant.name} {list_names(map(say_line, both), 2)}",
                        "each destination by one border peer",
                        f"accept of {one.name} and of {two.name}",
                        f"take it out of {two.where}.accept, or leave by one of the two",
                    )
