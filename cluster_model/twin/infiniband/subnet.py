"""A running subnet: the simulated fabric of its topology, with OpenSM on each manager from the rendered files."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection
from functools import cached_property

from cluster_model.plan.model import Cable
from cluster_model.render.infiniband.ports import number_ports
from cluster_model.twin.infiniband.scope import Part
from cluster_model.twin.infiniband.simulator import FOLDER, PATIENCE_S, WORK, Simulator
from cluster_model.twin.infiniband.tables import HEIGHT, Walk, read_lids, read_tables, walk_tables
from cluster_model.twin.plan_file import TreeError
from cluster_model.twin.tree import Tree
from cluster_model.verify.cabling.ibnetdiscover import End, Names, Node, read_topology

FLUSH = "force_log_flush TRUE\n"
"""The twin's own line in opensm.conf: what OpenSM says is read while it runs."""
ASK = ("--timeout", "60000")
"""How long the diagnostics wait for an answer, in ms: a second is over on a busy machine. ibsim tells at once what is cut off."""
_ENGINE = re.compile(r"osm_ucast_mgr_process: (\S+) tables configured")
_KEY = re.compile(r"0x([0-9a-f]{4})")
_MASTER = re.compile(r"sm guid (0x[0-9a-f]+),.* priority (\d+) state (\d)")


def find_engine(log: str) -> str:
    """Return the routing engine that a part of OpenSM's log says it used last; empty where it says none."""
    return next((found[1] for found in reversed(list(_ENGINE.finditer(log)))), "")


class RunningSubnet:
    """A subnet while it runs. Make it in the main thread, use it in one thread.

    Args:
        tree: what is booted.
        part: which part of it.
    """

    def __init__(self, tree: Tree, part: Part) -> None:
        self.part = part
        self.names = Names(part.plan)
        self.heights = {switch.name: HEIGHT[switch.role] for switch in part.subnet.switches}
        self._numbers = {switch.name: number_ports(switch) for switch in part.subnet.switches}
        self.files = self._read_files(tree)
        planned = read_topology(part.topology)
        self._up: set[str] = set()
        self.ids: dict[str | End, str] = {}
        for node in planned.values():
            end = self.names.find_end(node, 1)
            self.ids[end[0] if node.kind == "Switch" else end] = node.id
        self.simulator = Simulator(f"{part.network}-subnet{part.subnet.suffix}", part.topology)
        try:
            guids = {(s.name, p.name): p.guid for s in part.plan.servers for p in s.ports}
            self.simulator.command(*(self._word_guid(end, guids[end]) for end in self.adapters if guids[end]))
            for name, text in self.files.items():
                more = FLUSH if name in self.confs.values() else ""
                self.simulator.node.write(f"{FOLDER}/{name}", f"{text}{more}")
        except BaseException:
            self.close()
            raise

    def _read_files(self, tree: Tree) -> dict[str, str]:
        folder, suffix = tree.folder / "fabric-manager", self.part.subnet.suffix
        wanted = ["partitions.conf", f"root_guids{suffix}.conf", *(f"{conf}" for conf in self.confs.values())]
        files = {}
        for name in wanted:
            try:
                files[name] = (folder / name).read_text("utf-8")
            except OSError as error:
                raise TreeError(f"{folder / name}: {error.strerror}; run gpuyard render again") from None
        names = folder / "ib-node-name-map"
        if names.is_file():
            files[names.name] = names.read_text("utf-8")
        return files

    def close(self) -> None:
        """End it."""
        self.simulator.close()

    # who is who ------------------------------------------------------------------------------------------------------

    @cached_property
    def adapters(self) -> list[End]:
        """Return the adapters' ports, in the plan's order."""
        return [(cable.a, cable.a_port) for cable in self.part.plan.cables if cable.a not in self.heights]

    @cached_property
    def managers(self) -> dict[str, End]:
        """Return the port that each manager runs on, by its name; the highest priority first."""
        return {server.name: (server.name, port.name) for server, port in self.part.subnet.managers}

    @property
    def confs(self) -> dict[str, str]:
        """Return each manager's opensm.conf, by its name; one without a name where the plan has no manager."""
        suffix = self.part.subnet.suffix
        return {name: f"{name}/opensm{suffix}.conf" for name in self.managers} or {"": f"opensm{suffix}.conf"}

    @cached_property
    def watcher(self) -> str:
        """Return the id of an adapter that the tools run on: one without a manager."""
        hosts = {server.name for server, _ in self.part.subnet.managers}
        return self.ids[next((end for end in self.adapters if end[0] not in hosts), self.adapters[0])]

    def port_of(self, manager: str) -> End:
        """Return the port that a manager runs on; without one in the plan, the last adapter plays it."""
        return self.managers.get(manager, self.adapters[-1])

    def spell(self, end: End) -> str:
        """Return a port as ibsim's console takes it."""
        if end[0] in self.heights:
            return f'"{self.ids[end[0]]}"[{self._numbers[end[0]][end[1]]}]'
        return f'"{self.ids[end]}"[1]'

    # OpenSM ----------------------------------------------------------------------------------------------------------

    def bring_up(self, manager: str) -> float | None:
        """Start OpenSM on a manager, with its rendered file, until it stands by for a greater one or has brought the subnet up.

        A manager that finds a lesser one as master tells it so by a trap, and is handed the subnet. OpenSM waits for the answer
        to its trap before it sweeps. ibsim drops every such answer, and umad2sim does not end what nobody answers, as a kernel
        does: as master that OpenSM waits for ever. It is started again: the other stands by now, and nobody is left to be told.
        Sources: OpenSM 3.3.23, osm_sminfo_rcv.c and osm_req.c (osm_send_trap144); ibsim 0.10, sim_mad.c (process_packet).

        Returns:
            The seconds that it took, or None where it did not come to that.
        """
        begin = time.monotonic()
        self._up.add(manager)
        self.simulator.node.run("mkdir", "-p", f"{WORK}/sm-{manager}")
        goal = "SUBNET UP" if manager == min(self._up, key=self._rank) else "Entering STANDBY state"
        while (is_there := self._start(manager, goal)) is False:
            self.simulator.kill(f"sm-{manager}")
        return time.monotonic() - begin if is_there else None

    def _start(self, manager: str, goal: str) -> bool | None:
        """Start OpenSM until its log has a goal; return False where it waits for an answer that ibsim dropped, else None."""
        notice = f"GUID {self.port_guid(self.port_of(manager))}, ChangeFlags"  # as the log of who heard the trap has it
        marks = {name: len(self.read_log(name)) for name in self._up}
        command = ("opensm", "-F", f"{FOLDER}/{self.confs[manager]}", "-f", self._log_path(manager))
        self.simulator.start(self.ids[self.port_of(manager)], f"sm-{manager}", *command, folder=f"{WORK}/sm-{manager}")

        def look() -> bool | None:
            news = {name: self.read_log(name)[mark:] for name, mark in marks.items()}
            if goal in news[manager]:
                return True
            is_told = any(notice in news[name] for name in self._up - {manager})
            return False if is_told and "Entering MASTER state" in news[manager] else None

        self.wait(lambda: look() is not None)
        return look()

    def _rank(self, manager: str) -> tuple[int, str]:
        """Return what decides which manager becomes master: the least of these. Source: opensm(8), --priority."""
        found = re.search(r"^sm_priority (\d+)", self.files[self.confs[manager]], re.MULTILINE)
        return -int(found[1]) if found else 0, self.port_guid(self.port_of(manager))

    def kill_manager(self, manager: str) -> None:
        """Kill OpenSM on a manager: it says no goodbye."""
        self._up.discard(manager)
        self.simulator.kill(f"sm-{manager}")

    def _log_path(self, manager: str) -> str:
        return f"{WORK}/sm-{manager}/opensm.log"

    def read_log(self, manager: str) -> str:
        """Return OpenSM's log of a manager."""
        return self.simulator.read(self._log_path(manager))

    def find_master(self) -> tuple[str, int]:
        """Return the port GUID of the manager that is master, and its priority; ("", 0) where none answers."""
        found = _MASTER.search(self.simulator.run(self.watcher, "sminfo", *ASK, check=False))
        return (f"0x{int(found[1], 16):016x}", int(found[2])) if found and found[3] == "3" else ("", 0)

    def port_guid(self, end: End) -> str:
        """Return the GUID that an adapter's port has here."""
        said = self.simulator.run(self.ids[end], "smpquery", *ASK, "-D", "nodeinfo", "0")
        found = re.search(r"PortGuid:\.*0x([0-9a-f]+)", said)
        return f"0x{int(found[1], 16):016x}" if found else ""

    # read ------------------------------------------------------------------------------------------------------------

    def discover(self) -> str:
        """Return what ibnetdiscover prints."""
        return self.simulator.run(self.watcher, "ibnetdiscover", *ASK, check=False)

    def walk(self, text: str, adapters: Collection[End]) -> Walk:
        """Walk the forwarding tables from every leaf to adapters; `text` is what ibnetdiscover printed."""
        tables = read_tables(self.simulator.run(self.watcher, "dump_fts", *ASK, "-n", check=False))
        nodes: dict[str, Node] = read_topology(text)
        return walk_tables(nodes, tables, read_lids(text), self.names, self.heights, adapters)

    def read_keys(self, lid: int) -> list[int]:
        """Return the partition keys of an adapter's port, in the order of its table."""
        said = self.simulator.run(self.watcher, "smpquery", *ASK, "pkeys", str(lid), "1", check=False)
        rows = [line.partition(":")[2] for line in said.splitlines() if re.match(r"\s*\d+:", line)]
        return [value for row in rows for key in _KEY.findall(row) if (value := int(key, 16))]

    # break and mend --------------------------------------------------------------------------------------------------

    def cut(self, cables: Collection[Cable]) -> None:
        """Pull cables."""
        self.simulator.command(*(f"Unlink {self.spell((cable.a, cable.a_port))}" for cable in cables))

    def join(self, ends: Collection[tuple[End, End]]) -> None:
        """Plug cables."""
        self.simulator.command(*(f"Link {self.spell(a)} {self.spell(b)}" for a, b in ends))

    def set_guid(self, node: str | End, guid: str) -> None:
        """Give a switch, or an adapter's port, another GUID."""
        self.simulator.command(self._word_guid(node, guid))

    def _word_guid(self, node: str | End, guid: str) -> str:
        """Return the command that gives a GUID. In ibsim an adapter's port has the one behind the adapter's own."""
        own = int(guid, 16) - isinstance(node, tuple)
        return f'Guid "{self.ids[node]}" 0x{own:016x}'

    def wait(self, reached: Callable[[], bool]) -> float | None:
        """Wait until something is reached; return the seconds that it took, or None."""
        begin = time.monotonic()
        while not reached():
            if time.monotonic() - begin > PATIENCE_S:
                return None
            time.sleep(0.2)
        return time.monotonic() - begin
