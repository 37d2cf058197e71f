# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about addresses inside a tenant: the SUB family; dhcp.py has its other part."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from ipaddress import IPv4Address, IPv4Network
from itertools import combinations

from cluster_model.checks.design import Design
from cluster_model.checks.fabric.addresses import UNUSABLE
from cluster_model.checks.registry import Rule
from cluster_model.checks.tenancy.tenants import name_server
from cluster_model.checks.wording import count_things, list_names
from cluster_model.diagnostic import Diagnostic
from cluster_model.intent.model.tenants import FIRST_PLACE, Subnet, Tenant
from cluster_model.intent.references.membership import Seat
from cluster_model.plan.tenancy.places import find_address

SMALLEST = 30  # longest prefix with room for a gateway and a host
Span = tuple[int, int]
"""First and last of a row of addresses."""


def list_subnets(design: Design) -> Iterator[tuple[str, Tenant, str, Subnet]]:
    """Yield (tenant's name, tenant, subnet's name, subnet) in the order of the intent."""
    for name, tenant in design.cluster.tenants.items():
        for key, subnet in tenant.subnets.items():
            yield name, tenant, key, subnet


def find_gateway(subnet: Subnet) -> int:
    """Return the gateway of a subnet as a number."""
    return int(subnet.gateway) if subnet.gateway is not None else int(subnet.cidr.network_address) + 1


def find_bounds(cidr: IPv4Network) -> tuple[int, int]:
    """Return the first and last address that a host may have."""
    first, last = int(cidr.network_address), int(cidr.broadcast_address)
    return (first + 1, last - 1) if cidr.prefixlen <= SMALLEST else (first, last)


class GatewayOutside(Rule):
    """Put a subnet's gateway inside the subnet.

    What it checks:
        `gateway` is an address of `cidr`, neither the network's own nor the broadcast address.

    Why it matters:
        Hosts cannot ask for a gateway that is not on their link: they reach their neighbours, and nothing else.

    How to fix:
        Leave `gateway` out, which takes the first address.

    Source:
        RFC 1122, section 3.3.1: a gateway is on a directly connected network; RFC 919 for the broadcast address.
    """

    id, title = "SUB001", "gateway outside its subnet"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for name, _, key, subnet in list_subnets(design):
            first, last = find_bounds(subnet.cidr)
            if subnet.gateway is not None and not first <= int(subnet.gateway) <= last:
                outside = subnet.gateway not in subnet.cidr
                yield self.finding(
                    f"tenants.{name}.subnets.{key}.gateway",
                    f"gateway {subnet.gateway} "
                    + (f"is not in {subnet.cidr}" if outside else f"is the network or broadcast address of {subnet.cidr}"),
                    f"{IPv4Address(first)} to {IPv4Address(last)}",
                    str(subnet.gateway),
                    f"leave gateway out, or set it to {IPv4Address(first)}",
                )


class SubnetTooSmall(Rule):
    """Give a subnet room for its gateway and a host.

    What it checks:
        `cidr` is a /30 or shorter.

    Why it matters:
        A /31 or /32 has no address left once the gateway has one.

    How to fix:
        Take a shorter prefix: /24 holds 253 hosts.

    Source:
        RFC 950: the first and last address of a subnet are no host's; RFC 3021 takes /31 for links between routers alone.
    """

    id, title = "SUB002", "subnet without room for hosts"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for name, _, key, subnet in list_subnets(design):
            if subnet.cidr.prefixlen > SMALLEST:
                yield self.finding(
                    f"tenants.{name}.subnets.{key}.cidr",
                    f"{subnet.cidr} has no room for a gateway and a host",
                    f"a /{SMALLEST} or shorter",
                    f"/{subnet.cidr.prefixlen}",
                    f"take a shorter prefix, such as {subnet.cidr.supernet(new_prefix=24)}",
                )


def _first_path(name: str, key: str, subnet: Subnet, group: str) -> str:
    where = f"tenants.{name}.subnets.{key}"
    return f"{where}.first.{group}" if group in subnet.first else where


def _static(design: Design) -> Iterator[tuple[str, str, Subnet, dict[str, list[Seat]]]]:
    """Yield (tenant, key, subnet, its seats by group) for subnets with static addresses that can hold any."""
    for name, _, key, subnet in list_subnets(design):
        groups: dict[str, list[Seat]] = defaultdict(list)
        for seat in design.planned_legs[name, key]:
            groups[seat[0]].append(seat)
        if subnet.addressing == "static" and subnet.cidr.prefixlen <= SMALLEST and groups:
            yield name, key, subnet, groups


def _span(subnet: Subnet, seats: list[Seat]) -> Span:
    places = [find_address(subnet, *seat) for seat in seats]
    return min(places), max(places)


def _find_first(subnet: Subnet, groups: dict[str, list[Seat]], group: str, given: Iterable[Span] = ()) -> int | None:
    """Return the lowest `first` that puts all planned servers of a group at free addresses; those below the default come last.

    Args:
        subnet: the subnet.
        groups: its servers by group, planned ones too.
        group: the group that makes way.
        given: addresses that other findings have offered already.
    """
    base = int(subnet.cidr.network_address)
    numbers = [seat[1] for seat in groups[group]]
    low, high = min(numbers) - 1, max(numbers) - 1
    busy = [(find_gateway(subnet), find_gateway(subnet)), *given]
    busy += [_span(subnet, seats) for other, seats in groups.items() if other != group]
    if subnet.pool is not None:
        busy.append((int(subnet.pool.first), int(subnet.pool.last)))
    for first in sorted({1, FIRST_PLACE, *(last + 1 - base - low for _, last in busy)}, key=lambda n: (n < FIRST_PLACE, n)):
        start, end = base + first + low, base + first + high
        if first >= 1 and end <= find_bounds(subnet.cidr)[1] and all(end < b[0] or b[1] < start for b in busy):
            return first
    return None


class StaticOutside(Rule):
    """Give a subnet room for every server's static address.

    What it checks:
        The address of each server (network address + `first` of its group, or 16, + its number - 1) is inside the subnet and is
        not its broadcast address, for all servers that are planned.

    Why it matters:
        The last servers of a group get addresses of somebody else's subnet. Where they are not built yet, this shows on the
        day of growth, when the prefix can no longer be changed.

    How to fix:
        While none of the group's servers runs: set its `first` lower, or take a shorter prefix. Later: put the servers that find
        no place into a server group of their own, with a `first` in what is free or with a subnet of its own. Both a lower
        `first` and a prefix that begins elsewhere move all that run.

    Source:
        Addresses follow from the server's number, so that growth moves none.
    """

    id, title = "SUB003", "static address outside its subnet"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for name, key, subnet, groups in _static(design):
            _, high = find_bounds(subnet.cidr)
            for group, seats in groups.items():
                out = [seat for seat in seats if find_address(subnet, *seat) > high]
                if out:
                    first = _find_first(subnet, groups, group)
                    way = "take a shorter prefix for cidr" if first is None else f"set first: {{{group}: {first}}}"
                    yield self.finding(
                        _first_path(name, key, subnet, group),
                        f"{count_things(len(out), 'server')} of {group} beyond the end of {name}'s {key}, {subnet.cidr}",
                        f"addresses up to {IPv4Address(high)}",
                        f"{IPv4Address(find_address(subnet, *out[0]))} for {name_server(out[0])}",
                        f"{way}; if {group} runs already, put those beyond the end into a server group of their own",
                    )


class StaticTwice(Rule):
    """Give every static address to one server.

    What it checks:
        Static addresses of the servers of a subnet that are planned, its gateway and its pool share nothing. A group begins at
        its `first`, and at 16 without one, whoever else is in the subnet: so of several groups all but one need a `first`.

    Why it matters:
        Two hosts with one address take turns in the switches' tables: connections break at random. With the gateway's address
        a host cuts its whole subnet off. Nothing makes way by itself, since that would move servers that run.

    How to fix:
        What came last makes way. A new server group: give it the `first` that the finding names for it. A new pool: put it where
        no server is. A raised `count` or `planned`: put the servers that find no place into a server group of their own.

    Source:
        RFC 5227 (address conflicts). Addresses follow from the server's number.
    """

    id, title = "SUB004", "static address used twice"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for name, key, subnet, groups in _static(design):
            owners: dict[int, str] = {find_gateway(subnet): "the gateway"}
            pool = (int(subnet.pool.first), int(subnet.pool.last)) if subnet.pool is not None else (1, 0)
            given: dict[str, Span] = {}
            for group, seats in groups.items():
                met: dict[str, list[tuple[int, Seat]]] = defaultdict(list)
                for seat in seats:
                    address = find_address(subnet, *seat)
                    other = "the pool" if pool[0] <= address <= pool[1] else owners.setdefault(address, group)
                    if other != group:
                        met[other].append((address, seat))
                for other, hits in met.items():
                    address, seat = hits[0]
                    shares = "shares an address" if len(hits) == 1 else "share addresses"
                    yield self.finding(
                        _first_path(name, key, subnet, group),
                        f"{count_things(len(hits), 'server')} of {group} {shares} with {other} in {name}'s {key}",
                        "an address of its own for each",
                        f"{IPv4Address(address)} for {name_server(seat)}",
                        _advise(subnet, groups, group, other, given),
                    )


def _advise(subnet: Subnet, groups: dict[str, list[Seat]], group: str, other: str, given: dict[str, Span]) -> str:
    """Return how a group and what it meets come apart without moving what was there first, which only people know.

    `given` has the addresses offered to each group so far, so that all findings of a subnet can be followed at once.
    """
    if other not in groups:
        start, end = map(IPv4Address, _span(subnet, groups[group]))
        first = _find_first(subnet, groups, group)
        later = "" if first is None else f"; or, if no server of {group} runs yet, set first: {{{group}: {first}}}"
        return f"move {other} away from {start} to {end}{later}"
    ways = []
    for name in (group, other):
        first = _find_first(subnet, groups, name, [span for owner, span in given.items() if owner not in {group, other}])
        if first is not None:
            by = first - subnet.first.get(name, FIRST_PLACE)
            low, high = _span(subnet, groups[name])
            given[name] = low + by, high + by
            ways.append(f"first: {{{name}: {first}}} if {name} does not run yet")
    apart = (
        "if both run, say with first which place the first server of each has today, or put the servers that were added into a "
        "server group of their own"
    )
    if not ways:
        return f"{apart}; else take a shorter prefix for cidr, or move the pool"
    return f"{apart}; else set {', or '.join(ways)}"


class SubnetsOverlap(Rule):
    """Keep the subnets of one tenant apart.

    What it checks:
        No two subnets of a tenant share addresses. Subnets of different tenants may: each has a VRF of its own.

    Why it matters:
        One routing table cannot hold a prefix on two VLANs: half of the hosts of one subnet are looked for in the other.

    How to fix:
        Move one of the subnets, or make it a tenant of its own.

    Source:
        RFC 4364, section 1: addresses need be unique only inside a VPN.
    """

    id, title = "SUB008", "subnets of one tenant that overlap"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for name, tenant in design.cluster.tenants.items():
            for (first, one), (second, two) in combinations(tenant.subnets.items(), 2):
                if one.cidr.overlaps(two.cidr):
                    yield self.finding(
                        f"tenants.{name}.subnets.{second}.cidr",
                        f"{first} and {second} of {name} overlap",
                        f"a prefix clear of {one.cidr} ({first})",
                        str(two.cidr),
                        "move one of the two",
                    )


class SubnetUnderFabric(Rule):
    """Keep a subnet clear of what its servers reach otherwise.

    What it checks:
        `cidr` against the pools of the networks that the subnet's servers have ports on, and against Kubernetes' ranges where
        they are nodes of it. A subnet may well equal a pool that none of its servers is attached to.

    Why it matters:
        The server has the subnet on its bond and the pool behind another port. The longer prefix wins: it looks for storage
        among its neighbours, or for a neighbour on the storage network.

    How to fix:
        Move the subnet, or the pool.

    Source:
        Longest-prefix match of the Linux main table; tenants' interfaces are in it as well.
    """

    id, title = "SUB009", "subnet under another network of its servers"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        pools = {network.name: IPv4Network(network.pool, strict=False) for network in design.plan.networks if network.pool}
        for name, _, key, subnet in list_subnets(design):
            servers = [design.servers.get(name_server(seat)) for seat in design.planned_legs[name, key]]
            built = [server for server in servers if server is not None]
            attached = dict.fromkeys(port.network for server in built for port in server.ports)
            taken = {
                f"the pool of {network}": pools[network] for network in attached if network in pools and network != "business"
            }
            taken.update(_kubernetes(design, {server.group for server in built}))
            hit = {what: prefix for what, prefix in taken.items() if prefix.overlaps(subnet.cidr)}
            if hit:
                yield self.finding(
                    f"tenants.{name}.subnets.{key}.cidr",
                    f"{subnet.cidr} of {name}'s {key} shares addresses with {list_names(hit)}, which its servers reach otherwise",
                    f"a prefix clear of {list_names(map(str, hit.values()))}",
                    str(subnet.cidr),
                    "move the subnet",
                )


def _kubernetes(design: Design, groups: Iterable[str]) -> dict[str, IPv4Network]:
    """Return the ranges that kube-proxy and the pod network claim on servers of these groups."""
    kubernetes = design.cluster.kubernetes
    if kubernetes is None or not {kubernetes.control, *kubernetes.workers} & set(groups):
        return {}
    return {"Kubernetes' service pool": kubernetes.service_pool, "Kubernetes' pod pool": kubernetes.pod_pool}


class SubnetUnusable(Rule):
    """Cut subnets from addresses that routers forward.

    What it checks:
        No subnet touches loopback, link-local, multicast, documentation or reserved ranges.

    Why it matters:
        Kernels and switch chips drop these addresses whatever the routing table says.

    How to fix:
        Take a private prefix; another tenant may have the same.

    Source:
        RFC 6890 (special-purpose address registry), RFC 1112 (multicast, reserved).
    """

    id, title = "SUB010", "subnet in a range that is never forwarded"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for name, _, key, subnet in list_subnets(design):
            for prefix, use in UNUSABLE.items():
                if subnet.cidr.overlaps(prefix):
                    yield self.finding(
                        f"tenants.{name}.subnets.{key}.cidr",
                        f"{subnet.cidr} of {name}'s {key} touches {prefix} ({use})",
                        "addresses that routers forward, e.g. from 192.168.0.0/16",
                        str(subnet.cidr),
                        "choose another prefix",
                    )
