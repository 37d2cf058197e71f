"""What the plan says that every switch forwards by and that every host reaches, whole or with parts of it dead.

Computed from the plan's cables and ASNs alone: no rendered file is read here, so that the two can be compared.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address, ip_network

from cluster_model.twin.ethernet.scope import Link, Scope
from cluster_model.twin.ethernet.speakers import list_speakers
from cluster_model.twin.tree import name_device

Table = dict[str, frozenset[str]]
API_SERVER = "API server"
"""The purpose of an endpoint that asks it, and of those that it is asked at."""
LOCAL = "another VRF here"
"""The next hop of what a VRF takes from what another VRF of the same switch is connected to."""


def name_route(prefix: str, vrf: str) -> str:
    """Return the name of a VRF's route in a switch's table."""
    return f"{prefix} in VRF {vrf}"


@dataclass(frozen=True, slots=True)
class Dead:
    """What does not work: switches without power, and cut cables."""

    switches: frozenset[str] = frozenset()
    links: frozenset[Link] = frozenset()

    def has(self, link: Link) -> bool:
        """Return whether a cable carries nothing."""
        return link in self.links or link.a in self.switches or link.b in self.switches


ALIVE = Dead()


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address of a host in a network, with the cables that lead to it; `route` is what it sends that way.

    `others` are hosts that have the address as well: any of them may answer.
    """

    server: str
    network: str
    plane: int
    address: str
    route: str
    links: tuple[Link, ...]
    purpose: str = ""
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pair:
    """Who asks whom: an endpoint, and an address with the cables that lead there."""

    source: Endpoint
    target: Endpoint

    def __str__(self) -> str:
        return f"{self.source.server} ({self.source.address}) to {self.target.server} ({self.target.address})"


class Expectations:
    """The plan's word on one network.

    Args:
        scope: what is booted.
        network: its name.
    """

    def __init__(self, scope: Scope, network: str) -> None:
        self.scope = scope
        self.network = network
        self.switches = {switch.name: switch for switch in scope.members(network)}
        self.links = [link for link in scope.links if link.network == network]
        self.fabric = [
            link for link in self.links if link.a in self.switches and link.b in self.switches and link.kind != "peer_link"
        ]
        self.speakers = {speaker.server: speaker for speaker in list_speakers(scope, self.links)}
        self._by_end = {end: link for link in self.links for end in link.ends}
        self.tables = lru_cache(maxsize=64)(self._compute_tables)
        self.endpoints = list(self._list_endpoints())

    # tables ----------------------------------------------------------------------------------------------------------

    def _compute_tables(self, dead: Dead) -> dict[str, Table]:
        """Return what every living switch forwards by: prefix to the devices of its next hops, own networks left out."""
        ways: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        for link in self.fabric:
            if not dead.has(link):
                ways[link.a][link.b].add(name_device(link.a_port))
                ways[link.b][link.a].add(name_device(link.b_port))
        living = [name for name in self.switches if name not in dead.switches]
        tables: dict[str, dict[str, frozenset[str]]] = {name: {} for name in living}
        origins: dict[str, dict[str, frozenset[str]]] = defaultdict(dict)
        for name in living:
            for prefix, ports in self._list_own(name, dead):
                origins[prefix][name] = origins[prefix].get(name, frozenset()) | ports
        for prefix, own in origins.items():
            for name, ports in self._spread(own, ways).items():
                tables[name][prefix] = ports
        return tables

    def _list_own(self, name: str, dead: Dead) -> Iterator[tuple[str, frozenset[str]]]:
        """Yield what a switch announces as its own, with the ports it goes on by (none where it is at home there)."""
        switch = self.switches[name]
        yield switch.loopback, frozenset()
        for prefix in switch.originates:
            yield prefix, frozenset()
        for route in switch.service_routes:
            link = self._by_end.get((name, route.port))
            if link is not None and not dead.has(link):
                yield route.prefix, frozenset({name_device(route.port)})
        for speaker in self.speakers.values():
            for link in speaker.links:
                if link.b == name and not dead.has(link):
                    yield speaker.part, frozenset({name_device(link.b_port)})
                    if speaker.is_control:
                        yield f"{speaker.api_server}/32", frozenset({name_device(link.b_port)})
        ports = frozenset(
            name_device(way.port)
            for way in switch.upstreams
            if (link := self._by_end.get((name, way.port))) is not None and not dead.has(link)
        )
        if ports:
            yield "0.0.0.0/0", ports

    def _spread(self, own: dict[str, frozenset[str]], ways: dict[str, dict[str, set[str]]]) -> Table:
        """Return who forwards by which ports, once a prefix went through the fabric by BGP's rules.

        Shortest AS path wins, equal ones share; nobody takes a path with his own ASN in it, and a leaf passes on only what
        starts at it.
        """
        table = {name: ports for name, ports in own.items() if ports}
        paths: dict[str, tuple[int, ...]] = {name: (self.switches[name].asn,) for name in own}
        front = list(own)
        while front:
            found: dict[str, set[str]] = defaultdict(set)
            via: dict[str, tuple[int, ...]] = {}
            for name in front:
                if self.switches[name].is_edge and name not in own:
                    continue
                for far in ways[name]:
                    if far not in paths and self.switches[far].asn not in paths[name]:
                        found[far] |= ways[far][name]
                        via[far] = (self.switches[far].asn, *paths[name])
            paths.update(via)
            table.update({name: frozenset(ports) for name, ports in found.items()})
            front = list(found)
        return table

    def owner_of(self, prefix: str) -> str:
        """Return the switch or node that shall announce a prefix; empty where it is nobody's, or several switches'."""
        owners = [name for name, switch in self.switches.items() if prefix in switch.originates]
        owners += [name for name, speaker in self.speakers.items() if speaker.part == prefix]
        return owners[0] if len(owners) == 1 else ""

    # hosts -----------------------------------------------------------------------------------------------------------

    def _list_endpoints(self) -> Iterator[Endpoint]:
        for server in self.scope.servers.values():
            links = {}
            for port in server.ports:
                link = self._by_end.get((server.name, port.name)) if port.network == self.network else None
                if link is not None:
                    links[port.name] = link
                    if port.address:
                        yield Endpoint(server.name, self.network, port.plane, port.address.partition("/")[0], port.route, (link,))
            for service in server.services:
                mine = tuple(links[port] for port in service.ports if port in links)
                if service.network == self.network and mine:
                    address = service.address.partition("/")[0]
                    yield Endpoint(server.name, self.network, 1, address, service.route, mine, service.purpose)
                if service.beyond and mine and (speaker := self.speakers.get(server.name)):
                    yield Endpoint(server.name, self.network, 1, speaker.pod, speaker.pool, mine, "pods")
                if service.beyond and mine and self.scope.api_server and server.name not in self.scope.control:
                    address, asked = service.address.partition("/")[0], f"{self.scope.api_server}/32"
                    yield Endpoint(server.name, self.network, 1, address, asked, mine, API_SERVER)
        if control := [speaker for speaker in self.speakers.values() if speaker.is_control]:
            first, *others = (speaker.server for speaker in control)
            theirs = tuple(link for speaker in control for link in speaker.links)
            yield Endpoint(first, self.network, 1, control[0].api_server, "", theirs, API_SERVER, tuple(others))

    def list_pairs(self) -> list[Pair]:
        """Return who shall reach whom in a whole fabric: every address that lies behind a route of another host."""
        pairs = []
        for source in self.endpoints:
            if not source.route:
                continue
            behind = ip_network(source.route)
            everything = behind.prefixlen == 0
            for target in self.endpoints:
                is_like = target.plane == source.plane and target.purpose == source.purpose
                if target.server != source.server and is_like and (everything or ip_address(target.address) in behind):
                    pairs.append(Pair(source, target))
        return pairs

    def list_gateways(self) -> list[tuple[Endpoint, str, Link]]:
        """Return (endpoint, its gateway's address, the cable) of every host port with an address."""
        ports = {(s.name, p.name): p for s in self.scope.servers.values() for p in s.ports}
        return [
            (endpoint, ports[endpoint.links[0].ends[0]].gateway, endpoint.links[0])
            for endpoint in self.endpoints
            if not endpoint.purpose and ports[endpoint.links[0].ends[0]].gateway
        ]

    def reaches(self, pair: Pair, dead: Dead) -> bool | None:
        """Return whether a pair shall reach each other; None where it depends on which way a flow happens to take."""
        ways = [
            self._joins(source, target, dead)
            for source in pair.source.links
            if not dead.has(source)
            for target in pair.target.links
            if not dead.has(target)
        ]
        if not ways or not any(ways):
            return False
        sources = [link for link in pair.source.links if not dead.has(link)]
        targets = [link for link in pair.target.links if not dead.has(link)]
        there = all(any(self._joins(a, b, dead) for b in targets) for a in sources)
        back = all(any(self._joins(a, b, dead) for a in sources) for b in targets)
        return True if there and back else None

    def _joins(self, a: Link, b: Link, dead: Dead) -> bool:
        if a.b == b.b:
            return True
        tables = self.tables(dead)
        return self.switches[b.b].loopback in tables[a.b] and self.switches[a.b].loopback in tables[b.b]
