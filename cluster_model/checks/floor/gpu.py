# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about GPUs and their driver: the GPU family."""

from __future__ import annotations

from collections.abc import Iterator

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.wording import list_names
from cluster_model.diagnostic import Diagnostic

FIRST_BRANCH = {"ampere": 450, "hopper": 520, "ada": 520, "blackwell": 570}
"""First driver branch by generation: those of CUDA 11.0, 11.8, 11.8 and 12.8, which were the first with these GPUs.

Source: docs.nvidia.com, Data Center Drivers, CUDA Toolkit, Driver, and Architecture Matrix; CUDA release notes, table of toolkit
and driver versions (11.0: 450, 11.8: 520, 12.8: 570).
"""
MAINTAINED = {580: "June 2028", 595: "March 2027"}
"""Branches with fixes in November 2026. Source: docs.nvidia.com, Data Center Drivers 615, supported drivers (page of September
2026); 535 ended in June 2026, 610 in August 2026."""
NEWER = 615
"""A branch that is documented, and has no end of life yet; any that is newer is not judged."""


def _generations(design: Design) -> dict[str, str]:
    """Return generations of the NVIDIA GPUs that are planned, each with the first server group that has them."""
    found: dict[str, str] = {}
    for name, servers in design.servers_of.items():
        gpu = design.catalogue.gpus.get(servers[0].gpu_model) if servers and servers[0].gpu_model else None
        if gpu is not None and gpu.vendor == "nvidia":
            found.setdefault(gpu.generation, name)
    return found


class DriverTooOld(Rule):
    """Install a driver that knows the GPUs.

    What it checks:
        `gpu.driver` is not older than the first branch for the generation of any NVIDIA GPU that is planned.

    Why it matters:
        The driver loads, finds no GPU that it knows, and nvidia-smi lists none: on every server, after the installation.

    How to fix:
        Raise `gpu.driver`, or leave it out.

    Source:
        NVIDIA, Data Center Drivers: CUDA Toolkit, Driver, and Architecture Matrix; CUDA release notes (11.0 with 450 for Ampere,
        11.8 with 520 for Hopper and Ada, 12.8 with 570 for Blackwell).
    """

    id, title = "GPU001", "driver older than the GPUs"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        branch = int(design.cluster.gpu.driver)
        short = {name: group for name, group in _generations(design).items() if branch < FIRST_BRANCH.get(name, 0)}
        if short:
            first = max(FIRST_BRANCH[name] for name in short)
            chips = list_names(name.capitalize() for name in short)
            yield self.finding(
                "gpu.driver",
                f"driver {branch} does not support {chips} GPUs ({list_names(short.values())})",
                f">= {first}",
                str(branch),
                "leave driver out, or set it to a maintained branch: " + ", ".join(map(str, MAINTAINED)),
            )


class DriverOld(Rule):
    """Install a driver branch that still gets fixes.

    What it checks:
        With NVIDIA GPUs, `gpu.driver` is a branch that NVIDIA maintains, as of November 2026, or one newer than 610.

    Why it matters:
        Security fixes of GPU drivers come every quarter: on a cluster of several tenants, one of them is a way into the others'
        memory. A branch that never was is found when the package is not.

    How to fix:
        Leave `gpu.driver` out for the long-term branch.

    Source:
        NVIDIA, Data Center Drivers, supported drivers, September 2026: 580 until June 2028, 595 until March 2027; 535
        ended in June 2026, 610 in August 2026.
    """

    id, severity, title = "GPU002", "warning", "driver branch without fixes"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        branch, generations = int(design.cluster.gpu.driver), _generations(design)
        if not generations or branch in MAINTAINED or NEWER <= branch < 700:
            return
        if any(branch < FIRST_BRANCH.get(name, 0) for name in generations):
            return  # GPU001
        is_known = branch < 700
        yield self.finding(
            "gpu.driver",
            f"driver branch {branch} {'is out of support' if is_known else 'is unknown'}",
            "one of " + ", ".join(f"{number} (until {end})" for number, end in MAINTAINED.items()),
            str(branch),
            "leave driver out for 580, or take another maintained branch",
        )
