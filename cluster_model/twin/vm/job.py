"""Networks that this kernel cannot carry, tried in the small machine: the same run, on a copy of the tree, its rows sent back."""

from __future__ import annotations

import json
import shutil
import tempfile
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Protocol

from cluster_model.twin.options import Options
from cluster_model.twin.report import HERE, SMALL_MACHINE, Report, Row
from cluster_model.twin.tree import STAND_IN_MARK, Tree
from cluster_model.twin.vm.kernel import UnavailableError
from cluster_model.twin.vm.machine import MachineError, run_in_machine

EMULATION = 4.0
"""An emulated processor is about thirty times slower, and two thirds of what happens is waiting; a busy machine doubles it."""


class Asking(Protocol):
    """The run that asks for the small machine, and takes its rows; `needs_elsewhere` is what the kernel here lacks."""

    tree: Tree
    options: Options
    report: Report
    elsewhere: list[str]
    needs_elsewhere: frozenset[str]

    def say(self, text: str) -> None:
        """Take what is being done."""

    def add(self, row: Row) -> None:
        """Take a row."""


def try_elsewhere(run: Asking) -> None:
    """Try a run's networks of `elsewhere` in the small machine, and take its rows into the run's report.

    Where the machine does not come to its end, a failed row says why, and what has been tried until then stays.
    """
    slowness = EMULATION * run.options.slowness
    options = replace(
        run.options,
        networks=tuple(run.elsewhere),
        elsewhere=False,
        place=SMALL_MACHINE,
        slowness=slowness,
        timers=EMULATION,
    )
    report = run.report

    def take(kind: str, value: Any) -> None:
        if kind == "row":
            run.add(Row(**{**value, "details": tuple(value["details"])}))
        elif kind == "progress":
            run.say(f"small machine: {value}")
        elif kind == "kernel":
            needs = ", ".join(sorted(run.needs_elsewhere))
            for network in run.elsewhere:
                run.add(Row("scope", network, "in a small machine", "note", f"QEMU, Linux {value}: this kernel has no {needs}"))
        elif kind == "report":
            report.switches, report.hosts, report.cables = (
                report.switches + value["switches"],
                report.hosts + value["hosts"],
                report.cables + value["cables"],
            )
            report.sampled |= value["sampled"]
            report.times |= {f"{SMALL_MACHINE}: {name}": seconds for name, seconds in value["times"].items()}

    run.say("small machine: starting")
    with tempfile.TemporaryDirectory(prefix="gpuyard-twin-vm-") as scratch:
        share = Path(scratch)
        _copy_tree(run.tree, share / "tree", options)
        (share / "job.json").write_text(json.dumps(asdict(options)), "utf-8")
        try:
            run_in_machine("cluster_model.twin.inside:try_here", share, take)
        except UnavailableError as why:
            for network in run.elsewhere:
                run.add(Row("scope", network, "whole network", "left out", f"there is no small machine: {why}", place=HERE))
        except MachineError as why:
            found, *details = str(why).splitlines()
            for network in run.elsewhere:
                run.add(Row("trial", network, "whole network", "failed", found, tuple(details)))


def _copy_tree(tree: Tree, target: Path, options: Options) -> None:
    """Write what the job reads of a tree; stand-ins are rendered here, where it is fast."""
    target.mkdir()
    shutil.copy(tree.folder / "plan.json", target)
    for switch in tree.plan.switches:
        if switch.network in options.networks:
            files = tree.switch_files(switch)
            folder = target / "switches" / switch.name
            folder.mkdir(parents=True)
            for name, text in files.files.items():
                (folder / name).write_text(text, "utf-8")
            if files.is_stand_in:
                (folder / STAND_IN_MARK).touch()
