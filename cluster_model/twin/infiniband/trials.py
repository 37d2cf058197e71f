"""Trials of a running subnet: each returns what is wrong, in sentences that name devices."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, replace

from cluster_model.plan.model import Cable
from cluster_model.render.drawings.style import format_count
from cluster_model.render.infiniband.partitions import NOBODY
from cluster_model.render.infiniband.subnet import choose_routing
from cluster_model.twin.infiniband.subnet import RunningSubnet, find_engine
from cluster_model.twin.infiniband.tables import Walk, read_lids
from cluster_model.twin.report import Verdict
from cluster_model.verify.cabling.ibnetdiscover import End, compare_topology, list_wrong_guids, read_topology

KEYS_READ = 64
"""How many ports' partition keys are read: each takes a program's start."""
FULL, LIMITED = 0xFFFF, 0x7FFF


@dataclass(frozen=True, slots=True)
class Dead:
    """What is dead: cables pulled, those of a switch without power among them. `name` is that switch's."""

    cables: frozenset[Cable] = frozenset()
    name: str = ""


ALIVE = Dead()


class SubnetTrials:
    """Trials of a subnet. Belongs to one thread.

    Args:
        running: the subnet.
    """

    def __init__(self, running: RunningSubnet) -> None:
        self.running = running
        self.part = running.part
        self.plan = running.part.plan

    # the manager -----------------------------------------------------------------------------------------------------

    def try_up(self, manager: str, took_s: float | None) -> Verdict:
        """Try whether OpenSM brought the subnet up without an error."""
        log = self.running.read_log(manager)
        errors = [line[line.find("ERR") :].strip() for line in log.splitlines() if " ERR " in line]
        if took_s is None:
            last = log.strip().splitlines()[-1:] or ["its log is empty"]
            return Verdict("OpenSM never said SUBNET UP", (*errors, last[0]))
        where = f" on {manager}" if manager else ""
        said = "no error" if not errors else format_count(len(errors), "error")
        return Verdict(f"SUBNET UP {took_s:.1f} s after OpenSM's start{where}, {said} in its log", tuple(errors))

    def try_engine(self, log: str, is_broken: bool = False) -> Verdict:
        """Try whether OpenSM routed with the planned engine.

        Args:
            log: the part of OpenSM's log to look at.
            is_broken: whether something is dead: without the roots' GUIDs another planned engine may take over then.
        """
        planned = choose_routing(self.part.subnet)[0].split(",")
        used = find_engine(log)
        if planned == [""]:
            return Verdict("a single switch: nothing to route", ())
        allowed = planned if is_broken and not all(switch.guid for switch in self.part.subnet.roots) else planned[:1]
        if used in allowed:
            return Verdict(used if used == planned[0] else f"{used}, since no roots are named")
        return Verdict(used or "none", (f"OpenSM routed with {used or 'no engine that its log names'}; planned is {planned[0]}",))

    def try_managers(self) -> Verdict:
        """Try whether the first manager is master, and the others stand by."""
        wanted = next(iter(self.running.managers))
        guid, priority = self.running.find_master()
        if guid != self.running.port_guid(self.running.managers[wanted]):
            return Verdict("another is master", (f"{guid or 'nobody'} is master; planned is {wanted}",))
        faults = [
            f"{name} does not stand by"
            for name in list(self.running.managers)[1:]
            if "Entering STANDBY state" not in self.running.read_log(name)
        ]
        others = [name for name in self.running.managers if name != wanted]
        tail = f"; {', '.join(others)} stand{'s' if len(others) == 1 else ''} by" if others else ""
        return Verdict(f"{wanted} is master with priority {priority}{tail}", tuple(faults))

    # cables and ways -------------------------------------------------------------------------------------------------

    def list_living(self, dead: Dead = ALIVE) -> list[Cable]:
        """Return the cables that the managers still see: those that hang together with the one that the tools run on."""
        living = [cable for cable in self.plan.cables if cable not in dead.cables]
        near: dict[str, list[str]] = defaultdict(list)
        for cable in living:
            if cable.a in self.running.heights:
                near[cable.a].append(cable.b)
                near[cable.b].append(cable.a)
        watcher = next(end for end in self.running.adapters if self.running.ids[end] == self.running.watcher)
        todo = [next(cable.b for cable in living if (cable.a, cable.a_port) == watcher)]
        seen = set(todo)
        while todo:
            for far in near[todo.pop()]:
                if far not in seen:
                    seen.add(far)
                    todo.append(far)
        return [cable for cable in living if cable.b in seen]

    def try_cables(self, dead: Dead = ALIVE) -> Verdict:
        """Try whether ibnetdiscover finds the planned nodes and cables."""
        text = self.running.discover()
        cables = self.list_living(dead)
        found = compare_topology(replace(self.plan, cables=tuple(cables)), text)
        faults = [
            f"swapped: the cables at {one.a}:{one.a_port} and {two.a}:{two.a_port} stand in each other's place"
            for one, two in found.swapped
        ]
        faults += [
            f"{name} has the GUID {seen}; the plan has {planned} from the facts"
            for name, planned, seen in list_wrong_guids(self.plan, text)
        ]
        faults += [f"missing: {cable.a}:{cable.a_port} to {cable.b}:{cable.b_port}" for cable in found.missing]
        faults += [f"not planned: {a[0]}:{a[1]} to {b[0]}:{b[1]}" for a, b in found.unexpected]
        wrong = 2 * len(found.swapped) + len(found.missing)
        nodes = len(read_topology(text))
        return Verdict(f"{nodes:,} nodes, {len(cables) - wrong:,} of {len(cables):,} cables", tuple(faults))

    def walk(self, dead: Dead = ALIVE) -> Walk:
        """Walk the forwarding tables from every living leaf to every living adapter."""
        adapters = [(cable.a, cable.a_port) for cable in self.list_living(dead) if cable.a not in self.running.heights]
        return self.running.walk(self.running.discover(), adapters)

    def try_ways(self, dead: Dead = ALIVE) -> Verdict:
        """Try whether every leaf reaches every adapter, up and then down; say how evenly the ways are spread."""
        walk = self.walk(dead)
        text = f"{walk.right:,} of {walk.pairs:,} ways"
        if walk.loads and not walk.faults:
            low, high = min(walk.loads.values()), max(walk.loads.values())
            text += f"; {low}{f' to {high}' if low != high else ''} adapters behind each port that leads up"
        return Verdict(text, walk.faults)

    # partitions ------------------------------------------------------------------------------------------------------

    def plan_keys(self) -> dict[End, int]:
        """Return the key that each adapter's port shall have first; ports whose GUID is not delivered are absent."""
        guids = {(s.name, p.name): p.guid for s in self.plan.servers for p in s.ports}
        managers = {server.name for server in self.plan.servers if server.role == "fabric-manager"}
        if not self.plan.partitions:
            return dict.fromkeys(self.running.adapters, FULL)
        owned = {port: 0x8000 | found.pkey for found in self.plan.partitions for port in found.ports}
        return {
            end: FULL if end[0] in managers else owned.get(f"{end[0]}:{end[1]}", 0x8000 | NOBODY)
            for end in self.running.adapters
            if guids[end]
        }

    def choose_ports(self, keys: dict[End, int]) -> list[End]:
        """Return the ports whose keys are read: all of a small subnet, as many of each partition of a large one."""
        groups: dict[int, list[End]] = defaultdict(list)
        for end, key in keys.items():
            groups[key].append(end)
        share = max(1, KEYS_READ // max(1, len(groups))) if len(keys) > KEYS_READ else len(keys)
        return [end for group in groups.values() for end in group[:: max(1, len(group) // share)][:share]]

    def try_partitions(self, only: Collection[End] = ()) -> Verdict:
        """Try whether ports have the keys of their partitions, their own first, and no others."""
        keys = self.plan_keys()
        ports = list(only) or self.choose_ports(keys)
        text = self.running.discover()
        nodes = read_topology(text)
        lids = {self.running.names.find_end(nodes[name], 1): lid for name, lid in read_lids(text).items()}
        faults = []
        for end in ports:
            own = keys[end]
            planned = [own] if own == FULL else [own, LIMITED]
            seen = self.running.read_keys(lids.get(end, 0))
            if seen[:1] != planned[:1] or set(seen) != set(planned):
                faults.append(f"{end[0]}:{end[1]} has the keys {_word(seen)}; planned are {_word(planned)}")
        some = f", {len(ports)} of {len(keys):,} ports read" if len(ports) < len(keys) else ""
        count = len(set(keys.values()))
        text = f"{len(ports) - len(faults)} of {len(ports)} ports have the keys of their partition, {count} in all{some}"
        lacking = len(self.running.adapters) - len(keys)
        return Verdict(f"{text}; {lacking} ports have no GUID yet" if lacking else text, tuple(faults))


def _word(keys: Collection[int]) -> str:
    return " ".join(f"0x{key:04x}" for key in keys) or "none"
