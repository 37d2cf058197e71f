"""The part of a run that is tried inside the small machine: vm.job writes the share and takes the rows outside."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from cluster_model.twin.ethernet.scope import Sampling
from cluster_model.twin.options import Options
from cluster_model.twin.run import Listener, Run
from cluster_model.twin.tree import open_tree
from cluster_model.twin.vm.guest import Tell
from cluster_model.twin.vm.machine import SHARE


def try_here(tell: Tell) -> None:
    """Run inside the small machine: what the share asks for, every row told as it comes."""
    tell("kernel", Path("/proc/sys/kernel/osrelease").read_text("utf-8").strip())
    body = json.loads((SHARE / "job.json").read_text("utf-8"))
    body |= {"sampling": Sampling(**body["sampling"]), "networks": tuple(body["networks"])}
    listener = Listener(lambda row: tell("row", asdict(row)), lambda text: tell("progress", text))
    run = Run(open_tree(SHARE / "tree"), Options(**body), listener)
    report = run.execute()
    tell("report", {key: getattr(report, key) for key in ("switches", "hosts", "cables", "sampled", "times")})
