"""What of InfiniBand is booted: every subnet, whole up to what ibsim takes, else the units or pods that fit."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from cluster_model.plan.model import Cable, Plan, Switch
from cluster_model.render.infiniband.ports import count_ports, has_plane_ports
from cluster_model.render.infiniband.subnet import Subnet, list_subnets
from cluster_model.twin.infiniband.simulator import MAX_NODES, MAX_PORTS, MAX_SWITCHES
from cluster_model.twin.plan_file import TreeError
from cluster_model.twin.tree import Tree
from cluster_model.verify.cabling.ibnetdiscover import Names, read_topology

LIMITS = f"ibsim takes {MAX_NODES:,} nodes, {MAX_SWITCHES} switches and {MAX_PORTS:,} ports"


@dataclass(frozen=True, slots=True)
class Part:
    """A subnet, or the part of one that is booted.

    Args:
        subnet: it, with the switches and managers that are booted.
        plan: the plan with no other cables than its own.
        topology: its rendered topology, without what is not booted.
        sampled: what was taken, in words; empty where all of it was.
    """

    subnet: Subnet
    plan: Plan
    topology: str
    sampled: str

    @property
    def network(self) -> str:
        """Return its network's name."""
        return self.subnet.network.name

    @property
    def plane(self) -> str:
        """Return its plane in words, to end a sentence: empty where there is only one."""
        return f", plane {self.subnet.plane}" if self.subnet.suffix else ""

    @property
    def servers(self) -> set[str]:
        """Return the servers with a port in it."""
        switches = {switch.name for switch in self.subnet.switches}
        return {cable.a for cable in self.plan.cables} - switches


def choose_parts(tree: Tree, networks: Collection[str]) -> tuple[list[Part], dict[str, str]]:
    """Return what is booted of InfiniBand networks, and why others are not, by network.

    Raises:
        TreeError: the tree lacks a file.
    """
    parts, left_out = [], {}
    for subnet in list_subnets(tree.plan):
        if subnet.network.name not in networks:
            continue
        if has_plane_ports(subnet.switches):
            left_out[subnet.network.name] = "switches of 800 Gb/s ports: nobody has seen how ibnetdiscover shows their chips"
            continue
        path = tree.folder / f"fabric-manager/topology{subnet.suffix}.txt"
        try:
            text = path.read_text("utf-8")
        except OSError as error:
            raise TreeError(f"{path}: {error.strerror}; run gpuyard render again") from None
        part = _choose_part(tree.plan, subnet, text)
        if isinstance(part, str):
            left_out[subnet.network.name] = part
        else:
            parts.append(part)
    return parts, left_out


def _choose_part(plan: Plan, subnet: Subnet, text: str) -> Part | str:
    """Return the largest part that ibsim takes, or why there is none."""
    everything = {switch.name for switch in subnet.switches}
    cables = [cable for cable in plan.cables if cable.b in everything]
    for edges in _list_choices(subnet.switches):
        kept = {switch.name for switch in subnet.switches if switch.name in edges}
        for role in ("spine", "core"):
            below = {cable.b for cable in cables if cable.a in kept}
            kept |= {switch.name for switch in subnet.switches if switch.role == role and switch.name in below}
        some = [cable for cable in cables if cable.b in kept and (cable.a in kept or cable.a not in everything)]
        switches = tuple(switch for switch in subnet.switches if switch.name in kept)
        if not _fits(switches, some):
            continue
        managers = tuple(one for one in subnet.managers if one[1].peer in kept)
        if subnet.managers and not managers:
            return f"{LIMITS}, and the part that fits has no fabric manager"
        small = replace(plan, cables=tuple(some))
        if len(kept) == len(everything):
            return Part(subnet, small, text, "")
        units = len({(switch.pod, switch.unit) for switch in switches if switch.is_edge})
        words = f"{units} of {len({(s.pod, s.unit) for s in subnet.switches if s.is_edge})} units, {_count(switches, subnet)}"
        part = replace(subnet, switches=tuple(_cut_ports(switch, kept) for switch in switches), managers=managers)
        return Part(part, small, _cut_topology(text, small, kept), f"{words}: {LIMITS}")
    return f"{LIMITS}, and one unit has more"


def _list_choices(switches: tuple[Switch, ...]) -> Iterable[set[str]]:
    """Yield sets of leafs from all to those of one unit: whole pods first, so that what is left is as even as the whole."""
    edges = [switch for switch in switches if switch.is_edge]
    pods = sorted({switch.pod for switch in edges})
    for count in range(len(pods), 0, -1):
        yield {switch.name for switch in edges if switch.pod in pods[:count]}
    units = sorted({switch.unit for switch in edges if switch.pod == pods[0]})
    for count in range(len(units) - 1, 0, -1):
        yield {switch.name for switch in edges if switch.pod == pods[0] and switch.unit in units[:count]}


def _fits(switches: tuple[Switch, ...], cables: list[Cable]) -> bool:
    names = {switch.name for switch in switches}
    adapters = sum(cable.a not in names for cable in cables)
    ports = sum(count_ports(switch) + 1 for switch in switches) + adapters
    return len(switches) + adapters <= MAX_NODES and len(switches) <= MAX_SWITCHES and ports <= MAX_PORTS


def _cut_ports(switch: Switch, kept: set[str]) -> Switch:
    """Return a switch without the ports that lead to switches that are not booted."""
    return replace(switch, ports=tuple(port for port in switch.ports if port.use != "fabric" or port.peer in kept))


def _count(switches: tuple[Switch, ...], subnet: Subnet) -> str:
    found = []
    for role in ("leaf", "spine", "core"):
        some, every = (sum(switch.role == role for switch in part) for part in (switches, subnet.switches))
        found += [f"{some} of {every} {role}s"] if every else []
    return ", ".join(found)


def _cut_topology(text: str, plan: Plan, switches: set[str]) -> str:
    """Return a topology without the nodes that are not booted, and without the lines that lead to them."""
    names = Names(plan)
    ends = {(cable.a, cable.a_port) for cable in plan.cables}
    nodes = read_topology(text)
    gone = {
        node.id
        for node in nodes.values()
        for end in [names.find_end(node, 1)]
        if (end[0] not in switches if node.kind == "Switch" else end not in ends)
    }
    kept = []
    for block in text.split("\n\n"):
        head = next((line for line in block.splitlines() if line.startswith(("Switch", "Ca"))), "")
        if not head or head.split('"')[1] not in gone:
            lines = [line for line in block.splitlines() if not (line.startswith("[") and line.split('"')[1] in gone)]
            kept.append("\n".join(lines))
    return "\n\n".join(kept) + "\n"
