"""Subnets booted, tried, broken and mended, beside the Ethernet networks of the same run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Protocol

from cluster_model.twin.infiniband.faults import Trouble, list_faults, list_mistakes
from cluster_model.twin.infiniband.scope import Part
from cluster_model.twin.infiniband.simulator import TopologyError
from cluster_model.twin.infiniband.subnet import RunningSubnet
from cluster_model.twin.infiniband.trials import SubnetTrials
from cluster_model.twin.report import Row, Verdict, judge
from cluster_model.twin.tree import Tree


class Listener(Protocol):
    """Whom a run tells; may be called from several threads."""

    def say(self, text: str) -> None:
        """Take what is being done."""

    def add(self, row: Row) -> None:
        """Take a row."""


@contextmanager
def run_subnets(
    tree: Tree, parts: Sequence[Part], listener: Listener, *, faults: bool = True, mistakes: bool = True
) -> Iterator[None]:
    """Try subnets in threads of their own while the block runs; both end together, however either ends.

    Raises:
        NodeError: something could not be started.
        TreeError: a file of the tree cannot be used.
    """
    running: list[RunningSubnet] = []
    try:
        for part in parts:  # here: a machine ends with the thread that made it
            listener.say(f"{part.network}{part.plane}: {len(part.subnet.switches)} simulated switches")
            try:
                running.append(RunningSubnet(tree, part))
            except TopologyError as error:
                listener.add(
                    Row("trial", part.network, f"topology{part.plane}", "failed", "ibsim does not take it", (str(error),))
                )
        with ThreadPoolExecutor(max(1, len(running))) as pool:
            runs = [SubnetRun(subnet, listener) for subnet in running]
            futures = [pool.submit(one.execute, faults=faults, mistakes=mistakes) for one in runs]
            try:
                yield
                for future in futures:
                    future.result()
            except BaseException:
                for subnet in running:
                    subnet.close()
                raise
    finally:
        for subnet in running:
            subnet.close()


class SubnetRun:
    """A run of one subnet.

    Args:
        running: the subnet.
        listener: who is told.
    """

    def __init__(self, running: RunningSubnet, listener: Listener) -> None:
        self.running = running
        self.part = running.part
        self.trials = SubnetTrials(running)
        self._listener = listener

    def execute(self, *, faults: bool, mistakes: bool) -> None:
        """Boot the managers, and try everything."""
        if not self.boot():
            return
        first = next(iter(self.running.confs))
        right = [
            self._try("nodes and cables", self.trials.try_cables),
            self._try("routing engine", lambda: self.trials.try_engine(self.running.read_log(first))),
            self._try("leafs reach adapters", self.trials.try_ways),
        ]
        keys = self.trials.plan_keys()
        if keys:
            right.append(self._try("partitions", self.trials.try_partitions))
        else:
            why = f"none of {len(self.running.adapters):,} ports has a GUID in facts.servers yet: partitions.conf names nobody"
            self._leave_out("partitions", why)
        if self.running.managers:
            right.append(self._try("managers", self.trials.try_managers))
        if all(right):
            self._play("fault", list_faults(self.trials) if faults else [])
            self._play("mistake", list_mistakes(self.trials) if mistakes else [])
        elif faults or mistakes:
            self._leave_out("faults and mistakes", "the subnet is not as planned before anything is broken in it")

    def _leave_out(self, name: str, why: str) -> None:
        self._listener.add(Row("trial", self.part.network, f"{name}{self.part.plane}", "left out", why))

    def boot(self) -> bool:
        """Start OpenSM on every manager, the one that shall be master first, and add the row of it; return whether it is up."""
        first, *others = self.running.confs
        took: float | None = None

        def boot() -> Verdict:
            nonlocal took
            took = self.running.bring_up(first)
            verdict = self.trials.try_up(first, took)
            for name in others if took is not None else ():
                self.running.bring_up(name)
            return verdict

        self._try("subnet up", boot)
        return took is not None

    def _try(self, name: str, trial: Callable[[], Verdict]) -> bool:
        """Add the row of a trial; return whether nothing is wrong."""
        begin = time.monotonic()
        self._listener.say(f"{self.part.network}{self.part.plane}: {name}")
        verdict = trial()
        self._add("trial", name, verdict, begin)
        return not verdict.faults

    def _play(self, kind: str, troubles: Sequence[Trouble]) -> None:
        for trouble in troubles:
            begin = time.monotonic()
            self._listener.say(f"{self.part.network}{self.part.plane}: {trouble.name}")
            self._add(kind, trouble.name, trouble.play(), begin)

    def _add(self, kind: str, name: str, verdict: Verdict, begin: float) -> None:
        assert kind in {"trial", "fault", "mistake"}
        row = Row(
            kind,  # type: ignore[arg-type]
            self.part.network, f"{name}{self.part.plane}", judge(verdict.faults), verdict.found, verdict.faults,
            round(time.monotonic() - begin, 1),
        )  # fmt: skip
        self._listener.add(row)
