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
        blocks = {name: pool for name, pool in (ceph.pools if ceph else {}).items() if pool.application == "rbd"}
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
        racks = Counter(host.rack for host in design.group(ceph.hosts))
        for pool in list_pools(design):
            rack, count = racks.most_common(1)[0] if racks else ("", 0)
            if count >= pool.size > 1:
                yield self.finding(
                    "ceph.failure_domain",
                    f"rack {rack} has {count} hosts of {ceph.hosts}, and may hold all {pool.size} copies of pool {pool.name}",
                    f"racks as the failure domain, or fewer than {pool.size} hosts in each",
                    "host",
                    f"set failure_domain to rack, or spread {ceph.hosts} over more racks",
                )
                return


class CephOnGpuServers(Rule):
    """Keep Ceph's daemons off servers that train.

    What it checks:
        `ceph.hosts` and `ceph.monitors` are not groups of GPU servers.

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
        ceph = design.cluster.ceph
        for key, what in (("hosts", "OSDs"), ("monitors", "monitors")) if ceph is not None else ():
            name = getattr(ceph, key)
            servers = design.group(name) if name else []
            if servers and servers[0].gpus:
                yield self.finding(
                    f"ceph.{key}",
                    f"{what} of Ceph run on {name}, which have GPUs",
                    "storage or control servers",
                    f"{name} ({servers[0].model})",
                    f"name a group of storage{' or control' if key == 'monitors' else ''} servers",
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
