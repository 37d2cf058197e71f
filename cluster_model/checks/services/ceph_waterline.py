# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about how far Ceph is filled, and by which pools. Part of the CEP family."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.services.ceph import name_groups
from cluster_model.checks.wording import list_names
from cluster_model.diagnostic import Diagnostic
from cluster_model.intent.services.ceph import CephPool
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
        for tier in design.plan.ceph.tiers:
            if not tier.fill_target or not tier.waterline or tier.fill_target <= tier.waterline:
                continue
            worst, what = tier.lost_host, "OSDs are nearfull"
            if worst and worst.fullest > tier.fullest:
                what = f"the other hosts cannot take over {worst.name}"
            yield self.finding(
                "ceph.fill_target",
                f"at a fill of {tier.fill_target:g} {what}",
                f"<= {cut_fill(tier.waterline):g} (the waterline)",
                f"{tier.fill_target:g}",
                f"set fill_target to {cut_fill(tier.waterline, 2):g} or lower, or add hosts; gpuyard storage shows what limits",
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
        for tier in design.plan.ceph.tiers:
            most, why = tier.waterline, "the waterline"
            if tier.fill_target and tier.fill_target < most:
                most, why = tier.fill_target, "fill_target"
            if tier.expand_at and most and tier.expand_at >= most:
                yield self.finding(
                    "ceph.expand_at",
                    f"servers are ordered at a fill of {tier.expand_at:g}, when {why} is reached",
                    f"< {cut_fill(most):g} ({why})",
                    f"{tier.expand_at:g}",
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
        for tier in design.plan.ceph.tiers:
            if tier.fullest_domain > UNEVEN:
                idle, kind = tier.raw_tb * (1 - 1 / tier.fullest_domain), tier.failure_domain
                domains = f"{kind}s" if tier.domains > 1 else kind
                yield self.finding(
                    "ceph.failure_domain",
                    f"of {tier.raw_tb:,.0f} TB {idle:,.0f} stay empty: {tier.domains} {domains} do not fill alike",
                    f"{kind}s of one size, or more of them than copies",
                    f"{tier.domains} {domains}",
                    f"spread {name_groups(tier)} evenly, or over more {kind}s; gpuyard storage shows what can be stored",
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
        for tier in design.plan.ceph.tiers:
            worst = tier.lost_host
            if tier.fill_target or worst is None:
                continue
            even = tier.raw_tb / (tier.raw_tb - worst.raw_tb)
            if worst.fullest_domain > max(even, tier.fullest_domain) * CROWDED:
                most, domain, groups = worst.most_fill, tier.failure_domain, name_groups(tier)
                yield self.finding(
                    "ceph.failure_domain",
                    f"{worst.name} is rebuilt by few others: above a fill of {cut_fill(most):g} they are nearfull",
                    f"one more {domain} with servers of {groups}, or a fill_target",
                    f"{tier.domains} {domain}s",
                    f"place servers of {groups} in one more {domain}, or set fill_target to {cut_fill(most, 2):g}",
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
        for tier in design.plan.ceph.tiers:
            intent, worst = design.cluster.ceph, tier.lost_host
            if intent is None or worst is None or worst.hours <= intent.recovery.within_h:
                continue
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


def _list_sharing(design: Design) -> dict[str, dict[str, CephPool]]:
    """Return the pools that share a class of drives, by where that is in words; empty ones where there is one class."""
    ceph, tiers = design.cluster.ceph, design.plan.ceph.tiers
    if ceph is None or len(tiers) < 2:
        return {"": ceph.pools} if ceph else {}
    return {f" on {tier.device_class}": {pool.name: ceph.pools[pool.name] for pool in tier.pools} for tier in tiers}


class SharesAboveOne(Rule):
    """Share the stored data out once.

    What it checks:
        The sum of `share` over all pools on one class of drives is at most 1.

    Why it matters:
        Placement groups are dealt by these shares: too many per OSD, and Ceph refuses to create the last pool.

    How to fix:
        Lower the shares so that they sum to 1.

    Source:
        Ceph: about 100 placement groups per OSD, hard limit mon_max_pg_per_osd.
    """

    id, title = "CEP007", "shares of pools above one"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for where, pools in _list_sharing(design).items():
            total = sum(pool.share or 0 for pool in pools.values())
            if total > 1 + 1e-9:
                yield self.finding(
                    "ceph.pools",
                    f"the pools' shares{where} sum to {total:g}",
                    "<= 1",
                    f"{total:g}",
                    "lower the shares to a sum of 1",
                )


class SharesBelowOne(Rule):
    """Say of all stored data which pool will hold it.

    What it checks:
        Where every pool on a class of drives has a `share` they sum to 1, and where some say none there is something left for
        them.

    Why it matters:
        What can be stored, placement groups and the waterline follow from the shares. What no pool claims is dealt to all as they
        claim, and a pool for which nothing is left is planned to stay empty.

    How to fix:
        Raise the shares to a sum of 1, or leave out that of the pool that takes the rest.

    Source:
        Derived: shares are parts of all that is stored there. Room to grow is what `fill_target` and `expand_at` are for.
    """

    id, severity, title = "CEP021", "warning", "shares of pools do not come to one"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for where, pools in _list_sharing(design).items():
            total = sum(pool.share or 0 for pool in pools.values())
            unsaid = [name for name, pool in pools.items() if pool.share is None]
            if pools and not unsaid and total < 1 - 1e-9:
                yield self.finding(
                    "ceph.pools",
                    f"the pools' shares{where} sum to {total:g}",
                    "1",
                    f"{total:g}",
                    "raise the shares to a sum of 1",
                )
            elif unsaid and 1 - 1e-9 <= total <= 1 + 1e-9:
                yield self.finding(
                    f"ceph.pools.{unsaid[0]}",
                    f"other pools share all there is{where}: nothing is left for {list_names(unsaid)}",
                    "a share for every pool, or less for the others",
                    f"{total:g} without {list_names(unsaid)}",
                    f"give {unsaid[0]} a share, and take it from the others",
                )


class UnusedDrives(Rule):
    """Lay a pool on every class of drives.

    What it checks:
        With several classes of drives each has a pool.

    Why it matters:
        A pool lies on one class, by default that of the first group. The others are paid for, powered, and stay empty.

    How to fix:
        Add a pool with that `device_class`, or take the group out of `ceph.hosts`.

    Source:
        Derived from `device_class`.
    """

    id, severity, title = "CEP037", "warning", "drives that no pool lies on"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        tiers = design.plan.ceph.tiers
        for tier in tiers if any(tier.pools for tier in tiers) else ():
            if not tier.pools and not tier.small:
                yield self.finding(
                    "ceph.pools",
                    f"no pool lies on drives of class {tier.device_class}, of which there are {tier.raw_tb:,.0f} TB",
                    f"a pool with device_class {tier.device_class}",
                    "none",
                    f"add one, or take {name_groups(tier)} out of ceph.hosts",
                )


class SlowMetadata(Rule):
    """Lay what is small and asked for all the time on flash, where there is any.

    What it checks:
        With drives of both kinds, names, sizes and rights of file systems and what gateways keep beside objects lie on flash.

    Why it matters:
        Each file that is opened and each bucket that is listed asks for it first. On drives that spin that takes milliseconds,
        and a training job that opens millions of files waits for them all.

    How to fix:
        Set `ceph.metadata_class: ssd`, or name the group with flash first. Of a Ceph that runs that moves these pools.

    Source:
        Ceph documentation, Create a Ceph file system: lower-latency storage such as solid-state drives for the metadata pool.
    """

    id, severity, title = "CEP038", "warning", "metadata on drives that spin"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        small = {tier.device_class: tier.small for tier in design.plan.ceph.tiers}
        if small.get("hdd") and "ssd" in small:
            yield self.finding(
                "ceph.metadata_class" if design.cluster.ceph and design.cluster.ceph.metadata_class else "ceph",
                f"{small['hdd'][0].name} and what else is small lie on drives that spin, and there is flash",
                "ssd",
                "hdd",
                "set metadata_class to ssd",
            )
