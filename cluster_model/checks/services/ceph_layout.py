# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about Ceph's pools and where its daemons run. Part of the CEP family."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.services.ceph import list_pools
from cluster_model.checks.wording import list_names
from cluster_model.diagnostic import Diagnostic
from cluster_model.plan.model.ceph import CephNeeds

GROUPS = {
    "ceph.hosts": "OSDs",
    "ceph.monitors": "monitors",
    "ceph.metadata_hosts": "metadata servers",
    "ceph.object.hosts": "gateways",
}
"""What runs on servers of each group that an intent names for Ceph."""
HALF = 0.5
"""Part of what the drives of a host give that its ports have to carry. Our own choice."""


def list_groups(design: Design) -> dict[str, str]:
    """Return the server groups that are named for daemons of Ceph, by where they are."""
    ceph = design.cluster.ceph
    if ceph is None:
        return {}
    named = {"ceph.hosts": ceph.groups[0]}
    if not isinstance(ceph.hosts, str):
        named = {f"ceph.hosts.{index}": name for index, name in enumerate(ceph.hosts)}
    others = {
        "ceph.monitors": ceph.monitors,
        "ceph.metadata_hosts": ceph.metadata_hosts,
        "ceph.object.hosts": ceph.object.hosts if ceph.object else None,
    }
    return named | {where: name for where, name in others.items() if name is not None}


def list_needs(design: Design) -> Iterator[CephNeeds]:
    """Yield what daemons take of the host that has the most of them, of each group of hosts."""
    for tier in design.plan.ceph.tiers:
        yield from tier.needs


class ManyReplicas(Rule):
    """Keep no more copies than are of use.

    What it checks:
        `replicas` of each pool is 4 or fewer.

    Why it matters:
        Each copy costs its whole size and a write over the network. With more than four, an erasure code survives as many losses
        for a third of the room.

    How to fix:
        Set `replicas: 3`, or an erasure code such as 4+3.

    Source:
        Ceph documentation, pools (size 3 by default; 4 in stretch mode) and erasure code.
    """

    id, severity, title = "CEP012", "warning", "more than four replicas"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for pool in list_pools(design):
            if not pool.k and not pool.m and pool.size > 4:
                yield self.finding(
                    pool.where,
                    f"pool {pool.name} keeps {pool.size} copies",
                    "3, or 4 over two sites",
                    str(pool.size),
                    "set replicas to 3, or use an erasure code such as 4+3",
                )


class NamelessImages(Rule):
    """Have a pool of replicas where block devices are in an erasure code.

    What it checks:
        Where a pool with `erasure` has `application: rbd`, so has one with `replicas`, also among the pools of each tenant.

    Why it matters:
        An erasure code holds what is in a block device, and cannot hold its name, size and snapshots: `rbd create` fails in it.

    How to fix:
        Add a pool with replicas; images are then made with `--data-pool`. Or say what the pool is for with `application`.

    Source:
        Ceph documentation, erasure code, with overwrites: it has no omap, so metadata lies in a replicated pool.
    """

    id, severity, title = "CEP022", "warning", "block devices in an erasure code alone"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        ceph = design.cluster.ceph
        blocks = {name: pool for name, pool in ceph.pools.items() if ceph.find_application(name) == "rbd"} if ceph else {}
        shares = {
            f"tenants.{name}.ceph.pools": tenant.ceph.pools for name, tenant in design.cluster.tenants.items() if tenant.ceph
        }
        if blocks and all(pool.erasure for pool in blocks.values()):
            shares = {f"ceph.pools.{next(iter(blocks))}.erasure": list(blocks)}
        for where, names in shares.items():
            shared = [name for name in names if name in blocks]
            if shared and all(blocks[name].erasure for name in shared):
                yield self.finding(
                    where,
                    f"there is no pool of replicas for the names of the block devices in {list_names(shared)}",
                    "a pool with replicas and application rbd",
                    f"{list_names(shared)} alone",
                    f"add a pool with replicas, or give {shared[0]} its application, such as rgw",
                )


class CodingAboveData(Rule):
    """Use an erasure code with no more coding chunks than data chunks.

    What it checks:
        m is not above k.

    Why it matters:
        It takes more room than it stores, as replicas do, and is slower than they are. Mostly k and m were mixed up.

    How to fix:
        Write k first: 4+2 has four data chunks.

    Source:
        Ceph documentation, erasure code: k data chunks, m coding chunks, (k+m)/k of the data's size.
    """

    id, severity, title = "CEP013", "warning", "more coding chunks than data chunks"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for pool in list_pools(design):
            if pool.k >= 2 and pool.m > pool.k:
                yield self.finding(
                    pool.where,
                    f"pool {pool.name} has {pool.m} coding chunks for {pool.k} data chunks",
                    "m <= k",
                    f"{pool.k}+{pool.m}",
                    f"use {pool.m}+{pool.k} if the two were mixed up, or 4+2",
                )


class NoPools(Rule):
    """Plan what Ceph will hold.

    What it checks:
        `ceph.pools` has a pool.

    Why it matters:
        Nothing of what the other rules know can be checked: failure domains, room to heal, tenants' shares.

    How to fix:
        Add the pools, each with replicas or erasure.

    Source:
        Rules CEP001 to CEP007 go by the pools.
    """

    id, severity, title = "CEP014", "warning", "Ceph without pools"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        ceph = design.cluster.ceph
        if ceph is not None and not ceph.pools:
            yield self.finding(
                "ceph", "Ceph has no pools", "one pool or more", "none", "add pools: {datasets: {replicas: 3}} to ceph"
            )


class CopiesInOneRack(Rule):
    """Let no rack hold all copies of an object.

    What it checks:
        With `failure_domain: host`, no rack has as many hosts as a pool has copies or chunks.

    Why it matters:
        CRUSH parts hosts and knows of no racks: some objects have all their copies in the one rack, and its PDU takes them away.

    How to fix:
        Set `failure_domain: rack` where there are racks enough, or spread the hosts evenly.

    Source:
        Ceph documentation, CRUSH maps: the failure domain is the one thing that copies never share.
    """

    id, severity, title = "CEP015", "warning", "all copies may be in one rack"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        ceph = design.cluster.ceph
        if ceph is None or ceph.failure_domain != "host":
            return
        for pool in list_pools(design):
            hosts = [host for host in design.plan.ceph.hosts if host.device_class == pool.device_class]
            groups, racks = list_names(dict.fromkeys(host.group for host in hosts)), Counter(host.rack for host in hosts)
            rack, count = racks.most_common(1)[0] if racks else ("", 0)
            if count >= pool.size > 1:
                yield self.finding(
                    "ceph.failure_domain",
                    f"rack {rack} has {count} hosts of {groups}, and may hold all {pool.size} copies of pool {pool.name}",
                    f"racks as the failure domain, or fewer than {pool.size} hosts in each",
                    "host",
                    f"set failure_domain to rack, or spread {groups} over more racks",
                )
                return


class CephOnGpuServers(Rule):
    """Keep Ceph's daemons off servers that train.

    What it checks:
        `ceph.hosts`, `ceph.monitors`, `ceph.metadata_hosts` and `ceph.object.hosts` are not groups of GPU servers.

    Why it matters:
        GPU servers are rebooted, drained and capped for jobs. Every time data is rebuilt or a vote is missing, and the OSDs take
        memory and PCIe from the job.

    How to fix:
        Name storage or control servers.

    Source:
        Ceph documentation, hardware recommendations: OSD hosts run nothing else that takes memory and processors.
    """

    id, severity, title = "CEP016", "warning", "Ceph on GPU servers"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for where, name in list_groups(design).items():
            servers = design.group(name)
            if servers and servers[0].gpus:
                yield self.finding(
                    where,
                    f"{GROUPS[where.rstrip('.0123456789')]} of Ceph run on {name}, which have GPUs",
                    "storage or control servers",
                    f"{name} ({servers[0].model})",
                    f"name a group of storage{'' if where.startswith('ceph.hosts') else ' or control'} servers",
                )


class ManyMonitors(Rule):
    """Run five monitors at most.

    What it checks:
        `monitor_count` is 5 or less.

    Why it matters:
        Each change of a map waits for the majority: with more, all of them wait longer, and no failure is survived that two lost
        monitors are not.

    How to fix:
        Set `monitor_count` to 5.

    Source:
        Ceph documentation, monitors: three or five are enough for most clusters.
    """

    id, severity, title = "CEP017", "warning", "more than five monitors"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        ceph = design.cluster.ceph
        if ceph is not None and ceph.monitor_count > 5:
            yield self.finding(
                "ceph.monitor_count",
                f"every change waits for {ceph.monitor_count // 2 + 1} of {ceph.monitor_count} monitors",
                "3 or 5",
                str(ceph.monitor_count),
                "set monitor_count to 5",
            )


class TooLittleMemory(Rule):
    """Have memory for all of a host's OSDs.

    What it checks:
        Memory of the hosts' model against what its OSDs take, `osd_memory_gib` or 4 GiB each and a fifth more, with 16 GiB for
        all else, 2 for a monitor and 4 for a manager. Where cephadm deals memory each OSD has to get 2 GiB. Models whose memory
        the catalogue does not say are not judged.

    Why it matters:
        OSDs take the most while data is rebuilt. Where memory ends the kernel kills them then, one after the other, and the loss
        of a host becomes that of several.

    How to fix:
        Lower `osd_memory_gib`, have fewer OSDs on a drive, or more memory; or correct `resources` in your own catalogue file.

    Source:
        Ceph, doc/start/hardware-recommendations.rst: 4 GiB by default, a fifth to spare, no less than 2 GiB; for monitors its
        option mon_memory_target, for managers cephadm's autotune.py. 16 GiB for all else are our own choice.
    """

    id, title = "CEP023", "too little memory for OSDs"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        ceph = design.cluster.ceph
        for needs in list_needs(design):
            if ceph is None or not needs.has_memory_gib or needs.memory_gib <= needs.has_memory_gib:
                continue
            most = int(needs.most_osd_memory_gib * 2) / 2
            fix = f"set osd_memory_gib to {most:g}, or have more memory"
            yield self.finding(
                "ceph.osd_memory_gib" if ceph.osd_memory_gib else "ceph.hosts",
                f"{needs.osds} OSDs of {needs.osd_memory_gib:g} GiB do not fit into {needs.host}",
                f">= {needs.memory_gib:.0f} GiB of memory",
                f"{needs.has_memory_gib} GiB",
                fix if most >= 2 else "have more memory, or fewer OSDs on a host",
            )


class FewCores(Rule):
    """Have processors for all of a host's OSDs.

    What it checks:
        Cores of the hosts' model, without hyper-threading: two for an OSD on flash, one for an OSD on a drive that spins. Models
        whose cores the catalogue does not say are not judged.

    Why it matters:
        OSDs compute checksums, erasure codes and placement. Without processors flash waits for them, and while data is rebuilt
        heartbeats come late and OSDs are taken for dead.

    How to fix:
        Have more cores, or fewer OSDs on a drive; or correct `resources` in your own catalogue file.

    Source:
        Ceph, doc/start/hardware-recommendations.rst: one core for an OSD under a light load, two under a heavy one.
    """

    id, severity, title = "CEP024", "warning", "few cores for OSDs"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for needs in list_needs(design):
            if 0 < needs.has_cores < needs.cores:
                yield self.finding(
                    "ceph.osds_per_device" if needs.per_drive > 1 else "ceph.hosts",
                    f"{needs.osds} OSDs share {needs.has_cores} cores of {needs.host}",
                    f">= {needs.cores} cores",
                    str(needs.has_cores),
                    "have more cores" + (", or one OSD on each drive" if needs.per_drive > 1 else ""),
                )


class SlowPorts(Rule):
    """Have storage ports that carry half of what the drives behind them give.

    What it checks:
        Ports of a host in the storage network against half of what Ceph takes all of its drives for: 1200 MiB/s each for flash,
        150 for drives that spin.

    Why it matters:
        What the drives could give and take does not come through. That is paid for and never seen, and rebuilding takes from what
        clients have.

    How to fix:
        Have more or faster ports in the storage network, or fewer drives in a host.

    Source:
        Ceph, doc/start/hardware-recommendations.rst: drives together should not outrun the network; half is our own choice. What
        a drive gives: its options osd_mclock_max_sequential_bandwidth_ssd and _hdd.
    """

    id, severity, title = "CEP025", "warning", "storage ports far slower than drives"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for needs in list_needs(design):
            if 0 < needs.has_mb_per_s < HALF * needs.drive_mb_per_s:
                gbps = needs.drive_mb_per_s / 125
                yield self.finding(
                    "ceph.hosts",
                    f"drives of {needs.host} give {gbps:,.0f} Gb/s, and its storage ports carry {needs.has_mb_per_s / 125:,.0f}",
                    f">= {HALF * gbps:,.0f} Gb/s in the storage network",
                    f"{needs.has_mb_per_s / 125:,.0f} Gb/s",
                    "have more or faster storage ports, or fewer drives in a host",
                )
