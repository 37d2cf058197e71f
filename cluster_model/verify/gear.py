"""Switches and hosts as they reported against the plan: their cables, or their fabric, and the devices themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cluster_model.diagnostic import Diagnostic
from cluster_model.plan.model import Plan
from cluster_model.verify.cabling.compare import compare_cabling
from cluster_model.verify.cabling.places import Job, Places
from cluster_model.verify.fabric import compare_fabric, report_devices
from cluster_model.verify.observed import Observed
from cluster_model.verify.read.collect import Scope

OFF = "VER007"
"""The finding that explains the silence of a device: it has no power."""


@dataclass(frozen=True, slots=True)
class Verified:
    """Gear held against the plan.

    Args:
        jobs: what there is to do, in the order of a walk: by rack, from the floor up. Each has its finding.
        counts: of cabling: cables by state (`CablingReport`); of fabric: how many things of each kind were compared.
        unreached: devices that did not answer, with the reason.
    """

    jobs: tuple[Job, ...]
    counts: dict[str, int]
    unreached: dict[str, str]

    @property
    def findings(self) -> list[Diagnostic]:
        """Return the findings in the order of the jobs."""
        return [job.finding for job in self.jobs]


def compare_gear(plan: Plan, observed: Observed, what: Literal["cabling", "fabric"], scope: Scope | None = None) -> Verified:
    """Compare what devices reported with the plan.

    Args:
        plan: the plan.
        observed: what was read.
        what: `cabling` or `fabric`.
        scope: the part to look at; None for all.

    Returns:
        Jobs (VER001 to VER014 of cabling, VER030 to VER038 of fabric, VER020 to VER022 of devices), not located.
    """
    scope = scope if scope is not None else Scope()
    off: list[str] = []
    if what == "cabling":
        cabling = compare_cabling(plan, observed, scope.cables(plan))
        jobs, counts = cabling.jobs, dict(cabling.counts)
        off = [job.device for job in jobs if job.finding.id == OFF]
    else:
        fabric = compare_fabric(plan, observed, scope.switches(plan), scope.host_ports(plan))
        jobs, counts = fabric.jobs, dict(fabric.compared)
    found = sorted([*jobs, *report_devices(Places(plan), observed, silent=off)], key=lambda job: job.sort_key)
    unreached = {device.name: device.reason for device in observed.devices.values() if not device.reached}
    return Verified(tuple(found), counts, unreached)
