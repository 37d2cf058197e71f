"""A whole run: boot, trials, faults, planted mistakes; networks side by side, since they share nothing but hosts."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

from cluster_model.render.drawings.style import format_count
from cluster_model.twin.emulation import list_emulated
from cluster_model.twin.ethernet.fabric import Fabric
from cluster_model.twin.ethernet.foreign import try_foreign
from cluster_model.twin.ethernet.routes import ALIVE
from cluster_model.twin.ethernet.scope import Scope, choose_scope
from cluster_model.twin.ethernet.trials import TRIALS, NetworkTrials
from cluster_model.twin.faults import Fault, Outcome, run_faults
from cluster_model.twin.infiniband.run import run_subnets
from cluster_model.twin.infiniband.scope import Part, choose_parts
from cluster_model.twin.machine import list_lacks
from cluster_model.twin.management import attach
from cluster_model.twin.mistakes import Mistake, choose_mistakes, play_mistake
from cluster_model.twin.options import Options
from cluster_model.twin.report import HERE, Report, Row, judge
from cluster_model.twin.tenancy.hosts import dress_hosts
from cluster_model.twin.tenancy.overlay_trials import list_overlay_trials
from cluster_model.twin.tenancy.tenants import expect
from cluster_model.twin.tree import STAND_IN, STAND_IN_MLAG, Tree
from cluster_model.twin.vm.job import try_elsewhere
from cluster_model.twin.vm.kernel import list_obstacles

PLACE = "in network namespaces of this machine"


@dataclass
class Listener:
    """Takes what a run has to tell, as it happens; calls come from several threads, one at a time."""

    on_row: Callable[[Row], None]
    on_progress: Callable[[str], None]


class Run:
    """A run.

    Args:
        tree: the rendered tree.
        options: what to run.
        listener: who is told.
    """

    def __init__(self, tree: Tree, options: Options, listener: Listener) -> None:
        self.tree = tree
        self.options = options
        self._listener = listener
        self._lock = threading.Lock()
        self._begin = time.monotonic()
        self._parts: list[Part] = []
        self.report = Report(tree.plan.name, tree.plan.digest, PLACE)
        self.elsewhere: list[str] = []
        self.needs_elsewhere: frozenset[str] = frozenset()

    def say(self, text: str) -> None:
        """Tell what is being done."""
        with self._lock:
            self._listener.on_progress(text)

    def add(self, row: Row) -> None:
        """Take a row into the report, and tell it."""
        row = replace(row, place=self.options.place) if row.place == HERE else row
        with self._lock:
            self.report.rows.append(row)
            self._listener.on_row(row)

    def choose(self, management: bool = False) -> Scope:
        """Choose what to boot, with a row for each network that is left out; `management`: whether its cables are plugged."""
        scope = choose_scope(self.tree, list_lacks(), self.options.sampling, self.options.networks)
        self._parts, lost = choose_parts(self.tree, scope.subnets)
        scope.left_out.update(lost)
        sampling = self.options.sampling
        notes = dress_hosts(self.tree.plan, scope, None if sampling.full else max(1, sampling.hosts // 2))
        notes |= list_emulated(self.tree, scope, self.options.timers)
        report = self.report
        report.switches, report.hosts, report.cables = len(scope.switches), len(scope.servers), len(scope.links)
        report.switches += sum(len(part.subnet.switches) for part in self._parts)
        report.hosts = len(scope.servers.keys() | {name for part in self._parts for name in part.servers})
        report.cables += sum(len(part.plan.cables) for part in self._parts)
        report.sampled = dict(scope.sampled) | {
            f"{part.network}{part.plane}": part.sampled for part in self._parts if part.sampled
        }
        self.elsewhere = self._find_elsewhere(scope)
        for network, why in scope.left_out.items():
            if network not in self.elsewhere:
                self.add(Row("scope", network, "whole network", "left out", why))
        for what, text in notes.items():
            self.add(Row("scope", "", what, "note", text))
        for kind, count in () if management else scope.unplugged.items():
            dark = f"{format_count(count, 'cable')} {'ends' if count == 1 else 'end'} in the dark here"
            self.add(Row("scope", "", kind, "left out", dark))
        for network, text in scope.sampled.items():
            self.add(Row("scope", network, "sample", "left out", f"booted: {text}; --full boots all"))
        for part in self._parts:
            if part.sampled:
                self.add(Row("scope", part.network, f"sample{part.plane}", "left out", f"booted: {part.sampled}"))
        return scope

    def _find_elsewhere(self, scope: Scope) -> list[str]:
        """Return the networks that need the small machine; where there is none, they are left out with the reason."""
        networks = [name for name, needs in scope.missing.items() if STAND_IN_MLAG not in needs]
        why = "gpuyard twin test tries it in a small machine"
        if self.options.elsewhere and networks:
            obstacles = list_obstacles()
            if not obstacles:
                self.needs_elsewhere = frozenset().union(*(scope.missing[name] for name in networks))
                return networks
            why = f"no small machine either: {'; '.join(obstacles)}"
        for network in networks:
            scope.left_out[network] += f"; {why}" if self.options.place == HERE else ""
        return []

    @contextmanager
    def boot(self, scope: Scope) -> Iterator[Fabric]:
        """Yield the running twin; it ends with the block."""
        fabric = Fabric(self.tree, scope, self.say, self.options.timers)
        try:
            fabric.boot()
            self.report.times = {name: round(value, 1) for name, value in fabric.times.items()}
            yield fabric
        finally:
            fabric.close()

    @contextmanager
    def boot_settled(self, scope: Scope, say: Callable[[str], None]) -> Iterator[Fabric]:
        """Yield the running twin once it forwards as planned, or had time to. `say` takes the progress."""
        self._listener.on_progress = say
        with self.boot(scope) as fabric:
            for name in scope.networks:
                say(f"{name}: waiting for routes")
                trials = NetworkTrials(fabric, expect(scope, name, self.tree.plan), self.options.slowness)
                trials.wait_for_routes(ALIVE)
                trials.close()
            say("management")
            attach(fabric)
            yield fabric

    def execute(self) -> Report:
        """Boot, try, and return the report.

        Raises:
            NodeError: something could not be started.
            TreeError: a file of the tree cannot be used.
        """
        scope = self.choose()
        with run_subnets(self.tree, self._parts, self, faults=self.options.faults, mistakes=self.options.mistakes):
            self._execute_ethernet(scope)
        self.report.seconds = round(time.monotonic() - self._begin, 1)
        return self.report

    def _execute_ethernet(self, scope: Scope) -> None:
        if scope.networks:
            with self.boot(scope) as fabric:
                plan, slowness = self.tree.plan, self.options.slowness
                every = {name: NetworkTrials(fabric, expect(scope, name, plan), slowness) for name in scope.networks}
                self._side_by_side(fabric, [partial(self._try_whole, trials) for trials in every.values()])
                self._try_foreign(fabric, every)
                if self.options.faults:
                    self._side_by_side(fabric, [partial(self._play_faults, trials) for trials in every.values()])
                if self.options.mistakes:
                    self._play_mistakes(fabric, list(every.values()))
                for trials in every.values():
                    trials.close()
        if self.elsewhere:
            try_elsewhere(self)

    def _side_by_side(self, fabric: Fabric, jobs: list[Callable[[], None]]) -> None:
        with ThreadPoolExecutor(len(jobs)) as pool:
            try:
                for future in [pool.submit(job) for job in jobs]:
                    future.result()
            except BaseException:
                fabric.close()
                raise

    def _basis(self, trials: NetworkTrials) -> str:
        names = trials.expectations.switches
        some = sum(trials.fabric.files(name).is_stand_in for name in names)
        return "" if not some else STAND_IN if some == len(names) else f"{STAND_IN}, for {some} of {len(names)} switches"

    def _try_whole(self, trials: NetworkTrials) -> None:
        basis = self._basis(trials)
        begin = time.monotonic()
        self.say(f"{trials.network}: waiting for routes")
        took = trials.wait_for_routes(ALIVE)
        found = f"routes as planned {took:.1f} s after the last daemon" if took is not None else "routes never as planned"
        found += f"; {trials.put_back} router MACs put back" if trials.put_back else ""
        self.add(
            Row(
                "trial",
                trials.network,
                "converges",
                "failed" if took is None else "passed",
                found,
                (),
                round(time.monotonic() - begin, 1),
                basis,
            )
        )
        for name, trial in (*TRIALS, *list_overlay_trials(trials)):
            begin = time.monotonic()
            self.say(f"{trials.network}: {name}")
            verdict = trial(trials)
            result = judge(verdict.faults)
            self.add(
                Row(
                    "trial",
                    trials.network,
                    name,
                    result,
                    verdict.found,
                    verdict.faults,
                    round(time.monotonic() - begin, 1),
                    basis,
                )
            )

    def _try_foreign(self, fabric: Fabric, every: dict[str, NetworkTrials]) -> None:
        begin = time.monotonic()
        self.say("what must not reach each other")
        for network, verdict in try_foreign(fabric, every):
            row = Row(
                "trial",
                network,
                "nothing else is reached",
                judge(verdict.faults),
                verdict.found,
                verdict.faults,
                round(time.monotonic() - begin, 1),
                self._basis(every[network]),
            )
            self.add(row)

    def _play_faults(self, trials: NetworkTrials) -> None:
        basis = self._basis(trials)

        def take(fault: Fault, outcome: Outcome, seconds: float) -> None:
            result = judge(outcome.faults)
            self.add(Row("fault", trials.network, fault.name, result, outcome.found, outcome.faults, round(seconds, 1), basis))

        self.say(f"{trials.network}: faults")
        run_faults(trials, take)

    def _play_mistakes(self, fabric: Fabric, every: list[NetworkTrials]) -> None:
        by_name = {trials.network: trials for trials in every}
        jobs = choose_mistakes(every)
        self._side_by_side(fabric, [partial(self._plant, by_name[name], mine) for name, mine in jobs.items()])

    def _plant(self, trials: NetworkTrials, mistakes: list[Mistake]) -> None:
        for mistake in mistakes:
            begin = time.monotonic()
            self.say(f"{trials.network}: planted: {mistake.name}")
            caught, wrong = play_mistake(trials, mistake, mend=mistake is not mistakes[-1])
            result = judge(wrong)
            found = f"caught: {caught}" if caught else "not caught"
            seconds = round(time.monotonic() - begin, 1)
            self.add(
                Row("mistake", trials.network, f"planted: {mistake.name}", result, found, wrong, seconds, self._basis(trials))
            )
