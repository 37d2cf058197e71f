"""Routes of a host to what lies behind its service addresses, against the plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from cluster_model.plan.model import Server

MAIN = "254"
"""The number of the main routing table, which iproute2 leaves out."""


@dataclass(frozen=True, slots=True)
class LostWays:
    """A range that a host does not send over all of its ways; the rest in words for a finding."""

    summary: str
    expected: str
    actual: str


def find_lost_ways(server: Server, facts: Mapping[str, Any]) -> Iterator[LostWays]:
    """Yield the ranges of services, and of pods, that a host does not send over all of its gateways.

    Where a port has no link, networkd takes the route over several ways away: one way is then as planned. Without link at all, or
    without the service address, the routes are gone for a reason that is told already.

    Args:
        server: the server.
        facts: what it told.
    """
    addresses = {str(entry["address"]) for entry in facts["addresses"]}
    linked = {str(port["name"]) for port in facts["ports"] if port["up"]}
    for service in server.services:
        if service.address not in addresses or linked.isdisjoint(service.ports):
            continue
        named = {service.route: f"{service.purpose} addresses"}
        for beyond in service.beyond:  # leafs' ends of the links are among hosts' ends
            is_ports = IPv4Address(service.gateways[0]) in IPv4Network(beyond)
            named[beyond] = "ports of other hosts" if is_ports else "pods of other nodes"
        for destination, what in named.items():
            over = _list_gateways(facts["routes"], destination)
            expected = f"{destination} over {', '.join(service.gateways)}"
            if not over:
                yield LostWays(f"it has no route to {what}", expected, "no route")
            elif over != set(service.gateways) and linked.issuperset(service.ports):
                yield LostWays(f"{what} are not reached as planned", expected, f"over {', '.join(sorted(over))}")


def _list_gateways(routes: Iterable[Mapping[str, Any]], destination: str) -> set[str]:
    """Return the next hops of the route that counts: in the main table, to just this range, of the least metric."""
    found: dict[int, set[str]] = {}
    for route in routes:
        if route.get("dst") == destination and str(route.get("table", MAIN)) == MAIN:
            metric, several = route.get("metric"), route.get("nexthops")
            hops = several if isinstance(several, list) else [route]
            ways = {str(hop["gateway"]) for hop in hops if isinstance(hop, dict) and "gateway" in hop}
            found.setdefault(metric if isinstance(metric, int) else 0, set()).update(ways)
    return found[min(found)] if found else set()
