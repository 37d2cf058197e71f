"""What `ibnetdiscover` found, against the cables of the plan.

A switch is known by its node GUID and an adapter by its port's or node's, where facts have them; else by its node description:
`MF0;NAME:MODEL/U1` as NVIDIA's managed switches set it, or the plain name, and `HOST DEVICE` for adapters. Aggregation nodes,
which are parts of switches, are left out. Source of the form: ibnetdiscover(8), TOPOLOGY FILE FORMAT.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from cluster_model.plan.model import Cable, Plan
from cluster_model.render.infiniband.ports import describe_port, number_ports
from cluster_model.transport.gear_text import clean_output

End = tuple[str, str]
"""Device and port as the plan names them; what the plan does not know, as ibnetdiscover names it."""
Link = tuple[End, End]
"""A cable by its ends, in order."""

_NODE = re.compile(r'(Switch|Ca|Rt)\s+\d+\s+"([^"]+)"\s*(?:#\s*"([^"]*)")?')
_PORT = re.compile(r'\[(\d+)\](?:\(([0-9a-f]+)\))?\s*"([^"]+)"\[(\d+)\]')
_GUID = re.compile(r"(?:switch|ca|rt)guid=0x([0-9a-f]+)")
_SPEED = re.compile(r"(\d+x[A-Z]+\d*)\s*$")
_MANAGED = re.compile(r"MF0;(.+):[^:]*/U\d+")
_AGGREGATION = "Mellanox Technologies Aggregation Node"


@dataclass(frozen=True, slots=True)
class Peer:
    """What a port leads to: a node by its id, and the number of its port. `guid` is the near port's; `speed` is `4xNDR`."""

    node: str
    port: int
    guid: int
    speed: str


@dataclass(frozen=True, slots=True)
class Node:
    """A node as printed. `id` stands in quotes; `guid` is 0 where none was printed."""

    kind: str  # Switch | Ca | Rt
    id: str
    guid: int
    description: str
    ports: dict[int, Peer]


@dataclass(frozen=True, slots=True)
class Difference:
    """What is not as planned: pairs of cables with two of their ends exchanged, cables not there, links that nobody planned."""

    swapped: tuple[tuple[Cable, Cable], ...]
    missing: tuple[Cable, ...]
    unexpected: tuple[Link, ...]

    def __bool__(self) -> bool:
        return bool(self.swapped or self.missing or self.unexpected)


def read_topology(text: str) -> dict[str, Node]:
    """Return the nodes of a topology file by id; lines of another form are passed over."""
    nodes: dict[str, Node] = {}
    guid, node = 0, None
    for line in clean_output(text).splitlines():
        if found := _GUID.match(line):
            guid = int(found[1], 16)
        elif found := _NODE.match(line):
            node = nodes[found[2]] = Node(found[1], found[2], guid, found[3] or "", {})
            guid = 0
        elif node is not None and (found := _PORT.match(line)):
            speed = _SPEED.search(line)
            near = int(found[2], 16) if found[2] else 0
            node.ports[int(found[1])] = Peer(found[3], int(found[4]), near, speed[1] if speed else "")
    return nodes


class Names:
    """The plan's names of nodes and ports, as ibnetdiscover sees them."""

    def __init__(self, plan: Plan) -> None:
        self._switches: dict[int | str, str] = {}
        self._adapters: dict[int | str, End] = {}
        self._ports: dict[str, dict[int, str]] = {}
        infiniband = {network.name for network in plan.networks if network.technology == "infiniband"}
        for switch in plan.switches:
            if switch.network in infiniband:
                self._switches[switch.name] = switch.name
                if switch.guid:
                    self._switches[int(switch.guid, 16)] = switch.name
                self._ports[switch.name] = {number: name for name, number in number_ports(switch).items()}
        for server in plan.servers:
            for port in server.ports:
                if port.network in infiniband:
                    self._adapters[describe_port(server.name, port)] = (server.name, port.name)
                    if port.guid:
                        self._adapters[int(port.guid, 16)] = (server.name, port.name)

    def find_end(self, node: Node, number: int) -> End:
        """Return a port in the plan's words."""
        if node.kind == "Switch":
            name = self._switches.get(node.guid) or self._switches.get(_name_switch(node))
            return (name, self._ports[name].get(number, str(number))) if name else (node.description or node.id, str(number))
        near = node.ports.get(number)
        for key in (near.guid if near else 0, node.guid, _name_adapter(node)):
            if key in self._adapters:
                return self._adapters[key]
        return node.description or node.id, str(number)


def _name_switch(node: Node) -> str:
    managed = _MANAGED.fullmatch(node.description)
    return managed[1] if managed else node.description


def _name_adapter(node: Node) -> str:
    host, _, device = node.description.partition(" ")
    return f"{host.partition('.')[0]} {device}"


def list_wrong_guids(plan: Plan, text: str) -> list[tuple[str, str, str]]:
    """Return what says a planned name but has another GUID than the plan has for it: replaced gear, or a wrong fact.

    Args:
        plan: the plan; what has no GUID in it yet is left out.
        text: the output of ibnetdiscover.

    Returns:
        (name of the switch, or SERVER:PORT; planned GUID; GUID that it has), in the order of the output.
    """
    planned = {switch.name: (switch.name, switch.guid) for switch in plan.switches if switch.guid}
    planned |= {
        describe_port(server.name, port): (f"{server.name}:{port.name}", port.guid)
        for server in plan.servers
        for port in server.ports
        if port.guid
    }
    found = []
    for node in read_topology(text).values():
        name, guid = planned.get(_name_switch(node) if node.kind == "Switch" else _name_adapter(node), ("", ""))
        seen = {node.guid, *(peer.guid for peer in node.ports.values() if peer.guid)}
        if name and int(guid, 16) not in seen:
            found.append((name, guid, f"0x{node.guid:016x}"))
    return found


def list_links(plan: Plan, text: str) -> set[Link]:
    """Return the links of a topology file, in the plan's names."""
    names, nodes = Names(plan), read_topology(text)
    return set(_list_links(names, nodes))


def _list_links(names: Names, nodes: dict[str, Node]) -> Iterator[Link]:
    for node in nodes.values():
        for number, peer in node.ports.items():
            far = nodes.get(peer.node)
            if far is not None and _AGGREGATION not in (node.description, far.description):
                yield _order(names.find_end(node, number), names.find_end(far, peer.port))


def _order(a: End, b: End) -> Link:
    return (a, b) if a <= b else (b, a)


def compare_topology(plan: Plan, text: str) -> Difference:
    """Return where the fabric that ibnetdiscover printed differs from the plan.

    Args:
        plan: the plan, InfiniBand on one network or more; several planes are several subnets, so join what each prints.
        text: the output of ibnetdiscover, with or without a name map.
    """
    infiniband = {network.name for network in plan.networks if network.technology == "infiniband"}
    planned = {
        _order((cable.a, cable.a_port), (cable.b, cable.b_port)): cable for cable in plan.cables if cable.network in infiniband
    }
    seen = list_links(plan, text)
    missing = {link: cable for link, cable in planned.items() if link not in seen}
    unexpected = seen - planned.keys()
    at = {end: link for link in missing for end in link}
    wrong: dict[frozenset[Link], list[Link]] = {}
    for link in sorted(unexpected):
        first, second = at.get(link[0]), at.get(link[1])
        if first and second and first != second:
            wrong.setdefault(frozenset((first, second)), []).append(link)
    swapped = []
    for pair, links in wrong.items():
        if len(links) == 2 and len({end for link in links for end in link}) == 4:
            one, other = sorted(pair)
            swapped.append((missing.pop(one), missing.pop(other)))
            unexpected -= set(links)
    return Difference(tuple(swapped), tuple(missing.values()), tuple(sorted(unexpected)))
