# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about how far Ceph is filled. Part of the CEP family."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.diagnostic import Diagnostic
from cluster_model.plan.model.ceph import cut_fill

UNEVEN = 1.05
"""How much fuller than the mean the fullest domain may be before it is told. Our own choice; the balancer leaves as much."""
CROWDED = 1.25
"""How much fuller than evenly spread a lost host may leave a failure domain before it is told. Our own choice."""


class AboveWaterline(Rule):
    """Plan to fill Ceph no further than it can heal.

    What it checks:
        `fill_target` against the waterline: the fill up to which no OSD is nearfull, neither with all hosts there nor once the
        host whose loss leaves the most to the others is rebuilt. `gpuyard storage` shows how it comes about.

    Why it matters:
        When a host fails, what it held is rebuilt on the others. Above the waterline they run into nearfull, then backfillfull,
        and healing stops; at full, every write of the cluster stops.

    How to fix:
        Lower `fill_target` to the number shown, or add hosts.

    Source:
        Ceph, doc/rados/configuration/mon-config-ref.rst: nearfull 0.85, backfillfull 0.90, full 0.95. Waterline derived: for N
        equal hosts with room for every copy 0.85 * (N - 1) / N / imbalance; where a pool needs every failure domain, what a host
        held is rebuilt inside its own domain.
    """

    id, title = "CEP006", "fill target above what can heal"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        ceph = design.plan.ceph
        if not ceph.fill_target or not ceph.waterline or ceph.fill_target <= ceph.waterline:
            return
        worst = ceph.lost_host
        what = f"the other hosts cannot take over {worst.name}" if worst and worst.fullest > ceph.fullest else "OSDs are nearfull"
        yield self.finding(
            "ceph.fill_target",
            f"at a fill of {ceph.fill_target:g} {what}",
            f"<= {cut_fill(ceph.waterline):g} (the waterline)",
            f"{ceph.fill_target:g}",
            f"set fill_target to {cut_fill(ceph.waterline, 2):g} or lower, or add hosts; gpuyard storage shows what limits",
        )


class ExpandTooLate(Rule):
    """Order servers before Ceph is as full as you planned.

    What it checks:
        `expand_at` is below `fill_target`, and below the waterline.

    Why it matters:
        Servers take weeks to come and data moves for days onto them. What is written meanwhile goes above the waterline, and the
        next lost host cannot be rebuilt.

    How to fix:
        Lower `expand_at` by what is written while servers are on their way.

    Source:
        Derived from rule CEP006.
    """

    id, title = "CEP018", "servers ordered too late"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        ceph = design.plan.ceph
        most, why = ceph.waterline, "the waterline"
        if ceph.fill_target and ceph.fill_target < most:
            most, why = ceph.fill_target, "fill_target"
        if ceph.expand_at and most and ceph.expand_at >= most:
            yield self.finding(
                "ceph.expand_at",
                f"servers are ordered at a fill of {ceph.expand_at:g}, when {why} is reached",
                f"< {cut_fill(most):g} ({why})",
                f"{ceph.expand_at:g}",
                f"set expand_at to {cut_fill(most * 0.8, 2):g}, or to what leaves you the time to order and to move data",
            )


class IdleCapacity(Rule):
    """Size failure domains so that all of their drives can be filled.

    What it checks:
        Failure domains fill evenly, to a twentieth: none is so large, beside the copies that a pool has, that others are full
        before it.

    Why it matters:
        No domain holds two copies of an object. With three racks and three copies each rack holds one copy of everything, and the
        smallest rack is full first: what the others have beyond it is paid for, powered, and stays empty.

    How to fix:
        Spread the hosts evenly, or over more racks, or choose a smaller domain.

    Source:
        Ceph documentation, CRUSH maps: each copy goes to another failure domain.
    """

    id, severity, title = "CEP019", "warning", "capacity that no copy can use"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        ceph, intent = design.plan.ceph, design.cluster.ceph
        if intent and ceph.fullest_domain > UNEVEN:
            idle = ceph.raw_tb * (1 - 1 / ceph.fullest_domain)
            domains = f"{ceph.failure_domain}s" if ceph.domains > 1 else ceph.failure_domain
            yield self.finding(
                "ceph.failure_domain",
                f"of {ceph.raw_tb:,.0f} TB {idle:,.0f} stay empty: {ceph.domains} {domains} do not fill alike",
                f"{ceph.failure_domain}s of one size, or more of them than copies",
                f"{ceph.domains} {domains}",
                f"spread {intent.hosts} evenly, or over more {ceph.failure_domain}s; gpuyard storage shows what can be stored",
            )


class CrowdedRebuild(Rule):
    """Know how little Ceph may hold where a lost host is rebuilt by few others.

    What it checks:
        Without `fill_target`: what the loss of one host leaves in the fullest failure domain, against all other hosts sharing it
        evenly, to a quarter.

    Why it matters:
        With as many racks as copies, what a host held can only be rebuilt in its own rack. With two hosts in each the other one
        takes all of it: above a fill of a third and a bit it is nearfull, soon healing stops, and nobody expects that in a store
        that is not half full.

    How to fix:
        Spread the hosts over one more failure domain, or say with `fill_target` how far you fill it.

    Source:
        Derived, and seen on Ceph 16.2: six hosts in three racks, three copies, 45 % full, one host lost: backfill_toofull.
    """

    id, severity, title = "CEP020", "warning", "lost host is left to few others"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        ceph, intent = design.plan.ceph, design.cluster.ceph
        worst = ceph.lost_host
        if intent is None or ceph.fill_target or worst is None:
            return
        even = ceph.raw_tb / (ceph.raw_tb - worst.raw_tb)
        if worst.fullest_domain > max(even, ceph.fullest_domain) * CROWDED:
            most, domain = worst.most_fill, ceph.failure_domain
            yield self.finding(
                "ceph.failure_domain",
                f"{worst.name} is rebuilt by few others: above a fill of {cut_fill(most):g} they are nearfull",
                f"one more {domain} with servers of {intent.hosts}, or a fill_target",
                f"{ceph.domains} {domain}s",
                f"place servers of {intent.hosts} in one more {domain}, or set fill_target to {cut_fill(most, 2):g}",
            )


class SlowRebuild(Rule):
    """Rebuild a lost host before the next one is lost.

    What it checks:
        The hours that it takes at the least to rebuild the host whose loss leaves the most to the others, at `fill_target` or
        else at the waterline, against `recovery.within_h`.

    Why it matters:
        Until it is rebuilt there is a copy less of what it held. The longer that takes, the likelier another drive is lost
        meanwhile, and clients share drives and network with it all the time.

    How to fix:
        Give more of an OSD to rebuilding with `recovery.profile`, have more hosts or storage ports, or fill it less. Where it may
        take longer, say so with `recovery.within_h`.

    Source:
        Derived: what a host holds over what the others take in. A day is our own choice.
    """

    id, severity, title = "CEP026", "warning", "lost host is rebuilt slowly"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        intent, worst = design.cluster.ceph, design.plan.ceph.lost_host
        if intent is None or worst is None or worst.hours <= intent.recovery.within_h:
            return
        recovery = intent.recovery
        more = "more storage ports" if worst.limit == "network" else "more hosts"
        if worst.limit == "drives" and recovery.osd_mb_per_s is None and recovery.profile != "high_recovery_ops":
            more = "recovery.profile high_recovery_ops, or more hosts"
        yield self.finding(
            "ceph.recovery.within_h",
            f"{worst.name} is rebuilt in {worst.hours:.1f} hours at the least, held up by the {worst.limit}",
            f"<= {recovery.within_h:g} hours",
            f"{worst.hours:.1f} hours",
            f"have {more}, fill them less (fill_target), or set recovery.within_h to {ceil(worst.hours)}",
        )
