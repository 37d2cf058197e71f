"""A double of the MLAG daemon, which plain Linux has not: what the two leafs of a pair tell each other, the twin tells them.

Each leaf is told the MACs and addresses of the pair's hosts: on its own bond while that has a cable, else on the peer link. And
what comes over the peer link is kept from bonds that the other leaf serves itself, as the daemon's filter does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from ipaddress import ip_interface
from threading import Lock
from typing import Protocol

from cluster_model.plan.model import Server, Switch
from cluster_model.twin.ethernet.scope import Link, Scope
from cluster_model.twin.node import Node
from cluster_model.twin.tree import SwitchFiles

_TABLE = "bridge gpuyard_mlag"


class Machines(Protocol):
    """What the double has to know of a running twin."""

    scope: Scope
    nodes: dict[str, Node]
    dead: set[str]
    cut: set[Link]

    def files(self, name: str) -> SwitchFiles:
        """Return a switch's files."""
        ...


class MlagDouble:
    """Plays the daemons of all MLAG pairs of a twin.

    Args:
        fabric: the running twin.
    """

    def __init__(self, fabric: Machines) -> None:
        self._fabric = fabric
        self._lock = Lock()

    def sync(self) -> None:
        """Tell every living leaf of a pair what it shall know now."""
        with self._lock:
            for pair in self._list_pairs():
                for switch in pair:
                    if switch.name not in self._fabric.dead:
                        self._tell(switch, [far for far in pair if far is not switch])

    def _list_pairs(self) -> list[list[Switch]]:
        pairs: dict[tuple[str, int], list[Switch]] = defaultdict(list)
        for switch in self._fabric.scope.switches.values():
            if switch.overlay is not None and switch.overlay.mlag is not None and self._fabric.files(switch.name).plane.mlag:
                pairs[switch.network, switch.overlay.mlag.domain].append(switch)
        return list(pairs.values())

    def _tell(self, switch: Switch, others: list[Switch]) -> None:
        node, plane = self._fabric.nodes[switch.name], self._fabric.files(switch.name).plane
        assert plane.mlag is not None
        gateways = {item.vlan: item for item in plane.interfaces.values() if item.kind == "vlan" and item.addresses}
        macs, neighbours = list[str](), list[str]()
        for server, bond in self._list_hosts(switch):
            has_cable = self._has_cable(server, switch)
            port = bond if has_cable else plane.mlag.peer_link
            mac = self._read_mac(server)
            for vlan in server.bonds[0].vlans:
                if vlan.vlan in gateways and mac:
                    macs.append(f"fdb replace {mac} dev {port} master dynamic vlan {vlan.vlan}")
                    if vlan.address:
                        address = ip_interface(vlan.address).ip
                        neighbours.append(f"neigh replace {address} lladdr {mac} dev {gateways[vlan.vlan].name} nud permanent")
        if macs:
            node.configure(macs, "bridge")
            node.configure(neighbours)
        served = [bond for server, bond in self._list_hosts(switch) if any(self._has_cable(server, far) for far in others)]
        node.run("nft", "-f", "-", text=_write_filter(plane.mlag.peer_link, served))

    def _list_hosts(self, switch: Switch) -> Iterator[tuple[Server, str]]:
        """Yield the booted hosts of a leaf's pair, with the bond that the leaf has for each."""
        plane = self._fabric.files(switch.name).plane
        ports = {port: item.name for item in plane.interfaces.values() if item.kind == "bond" for port in item.members}
        found = {}
        for link in self._fabric.scope.links:
            if link.b == switch.name and link.a in self._fabric.scope.servers and link.b_port in ports:
                found[link.a] = ports[link.b_port]
        for name, bond in found.items():
            if self._fabric.scope.servers[name].bonds:
                yield self._fabric.scope.servers[name], bond

    def _has_cable(self, server: Server, switch: Switch) -> bool:
        fabric = self._fabric
        return switch.name not in fabric.dead and any(
            link.a == server.name and link.b == switch.name and link not in fabric.cut for link in fabric.scope.links
        )

    def _read_mac(self, server: Server) -> str:
        path = self._fabric.nodes[server.name].root / f"sys/class/net/{server.bonds[0].name}/address"
        with suppress(OSError):
            return path.read_text("utf-8").strip()
        return ""


def _write_filter(peer_link: str, served: list[str]) -> str:
    names = ", ".join(f'"{bond}"' for bond in served)
    rule = f'iifname "{peer_link}" oifname {{ {names} }} drop' if served else ""
    return (
        f"table {_TABLE}\ndelete table {_TABLE}\n"
        f"table {_TABLE} {{\n chain peer {{\n  type filter hook forward priority 0\n  {rule}\n }}\n}}\n"
    )
