# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about Ceph's data: failure domains and pools. Part of the CEP family."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.wording import list_names
from cluster_model.diagnostic import Diagnostic
from cluster_model.plan.model.ceph import Tier
from cluster_model.plan.services.filesystems import name_metadata

FAMILIES = {"CEP": "Ceph"}


class PoolShape(NamedTuple):
    """A pool's intent path, copies or chunks, for an erasure code its k and m (0, 0 otherwise), and the class of its drives."""

    where: str
    name: str
    size: int
    k: int
    m: int
    device_class: str

    @property
    def text(self) -> str:
        """Return the pool as a person says it."""
        return f"erasure {self.k}+{self.m}" if self.k or self.m else f"{self.size} replicas"


def list_pools(design: Design) -> Iterator[PoolShape]:
    """Yield the pools of Ceph, then those of file systems' metadata, and one of gateways', which are alike; none without Ceph."""
    ceph, classes = design.cluster.ceph, {pool.name: pool.device_class for pool in design.plan.ceph.all_pools}
    for name, pool in (ceph.pools if ceph else {}).items():
        where = f"ceph.pools.{name}.{'erasure' if pool.erasure else 'replicas'}"
        yield PoolShape(where, name, *pool.shape, classes.get(name, ""))
    for name, files in (ceph.filesystems if ceph else {}).items():
        where, own = f"ceph.filesystems.{name}.metadata_replicas", name_metadata(name)
        yield PoolShape(where, own, files.metadata_replicas, 0, 0, classes.get(own, ""))
    for index in design.plan.ceph.store.own[-1:] if design.plan.ceph.store else ():
        yield PoolShape("ceph.object.metadata_replicas", index.name, index.size, 0, 0, index.device_class)


def _find_tier(design: Design, device_class: str) -> Tier | None:
    """Return the hosts with drives of a class; None where there are none."""
    return next((tier for tier in design.plan.ceph.tiers if tier.device_class == device_class), None)


def name_groups(tier: Tier) -> str:
    """Return the server groups with OSDs of a class."""
    return list_names(dict.fromkeys(host.group for host in tier.hosts))


class TooFewDomains(Rule):
    """Have a failure domain for every copy or chunk of a pool.

    What it checks:
        Hosts, racks or rows (as `failure_domain` says) that hold the OSDs, against `replicas` or k+m of each pool.

    Why it matters:
        CRUSH finds no place for the last copy: placement groups stay undersized, or inactive with an erasure code, and the pool
        never becomes healthy.

    How to fix:
        Spread the hosts over more racks, add hosts, choose a smaller domain, or a smaller pool size.

    Source:
        Ceph documentation, CRUSH maps and erasure code: each chunk goes to another failure domain.
    """

    id, title = "CEP001", "fewer failure domains than copies"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for pool in list_pools(design):
            tier = _find_tier(design, pool.device_class)
            if tier and tier.domains < pool.size:
                groups, kind = name_groups(tier), tier.failure_domain
                yield self.finding(
                    pool.where,
                    f"pool {pool.name} ({pool.text}) needs {pool.size} {kind}s and has {tier.domains}",
                    f"<= {tier.domains} ({kind}s with servers of {groups})",
                    str(pool.size),
                    f"spread {groups} over {pool.size} {kind}s, or choose a smaller domain or pool size",
                )


class NoSelfHeal(Rule):
    """Have one failure domain more than a pool has copies or chunks.

    What it checks:
        Failure domains equal to `replicas` or k+m.

    Why it matters:
        When a domain fails there is nowhere to rebuild what it held. The pool stays degraded until the part is repaired, and a
        second failure meanwhile stops it, or loses data.

    How to fix:
        Add a host or rack, or choose a smaller pool size.

    Source:
        Derived: CRUSH rebuilds a lost copy in a domain that has none; with as many domains as copies there is no such domain.
    """

    id, severity, title = "CEP002", "warning", "no spare failure domain to heal into"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for pool in list_pools(design):
            tier = _find_tier(design, pool.device_class)
            if tier and tier.domains == pool.size:
                kind = tier.failure_domain
                yield self.finding(
                    pool.where,
                    f"pool {pool.name} ({pool.text}) uses all {tier.domains} {kind}s: a lost one is not rebuilt",
                    f">= {pool.size + 1} {kind}s",
                    str(tier.domains),
                    f"{_grow(tier)}, or expect to run degraded until repair",
                )


def _grow(tier: Tier) -> str:
    if tier.failure_domain == "host":
        return f"raise servers.{tier.hosts[0].group}.count"
    return f"place servers of {name_groups(tier)} in one more {tier.failure_domain}"


class FewReplicas(Rule):
    """Keep three copies of what must not be lost.

    What it checks:
        Pools with one or two replicas.

    Why it matters:
        With one, any failed drive loses data. With two, writes stop when one copy is away (min_size 2), or go on with a single
        copy (min_size 1), and the next failed drive loses them.

    How to fix:
        Set `replicas: 3`, or an erasure code.

    Source:
        Ceph documentation, pools: size 3, min_size 2 by default.
    """

    id, severity, title = "CEP003", "warning", "fewer than three replicas"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for pool in list_pools(design):
            if not pool.k and not pool.m and pool.size < 3:
                yield self.finding(
                    pool.where,
                    f"pool {pool.name} keeps {'one copy' if pool.size == 1 else 'two copies'}",
                    ">= 3 replicas, or an erasure code",
                    str(pool.size),
                    "set replicas to 3",
                )


class ErasureCode(Rule):
    """Use erasure codes with two data chunks or more and at least one coding chunk.

    What it checks:
        k is 2 or more and m is 1 or more.

    Why it matters:
        Ceph refuses the profile; with m 0 every failed drive would lose data.

    How to fix:
        Use 4+2, or 2+2 on few hosts.

    Source:
        Ceph documentation, erasure code profiles: k of at least 2, m of at least 1.
    """

    id, title = "CEP004", "erasure code that Ceph refuses"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for pool in list_pools(design):
            if (pool.k or pool.m) and (pool.k < 2 or pool.m < 1):
                yield self.finding(
                    pool.where,
                    f"pool {pool.name} has erasure code {pool.k}+{pool.m}",
                    "k >= 2 and m >= 1",
                    f"{pool.k}+{pool.m}",
                    "use 4+2",
                )


class ErasureMargin(Rule):
    """Give erasure codes two coding chunks.

    What it checks:
        Pools with m of 1.

    Why it matters:
        While one host fails or reboots nothing is left to spare: with min_size k, as Ceph sets it for m of 1, what is written
        meanwhile is lost with the next drive; with k+1 the pool stops.

    How to fix:
        Use 4+2, or 2+2 on few hosts.

    Source:
        Ceph, OSDMonitor::prepare_pool_size: min_size is k and the smaller of 1 and m-1.
    """

    id, severity, title = "CEP005", "warning", "erasure code with one coding chunk"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for pool in list_pools(design):
            if pool.k >= 2 and pool.m == 1:
                yield self.finding(
                    pool.where,
                    f"pool {pool.name} has nothing to spare when one {_domain(design)} is away",
                    "m >= 2",
                    f"{pool.k}+1",
                    f"use {pool.k}+2",
                )


def _domain(design: Design) -> str:
    return design.cluster.ceph.failure_domain if design.cluster.ceph else "host"


class NoDrives(Rule):
    """Put OSDs on servers with data drives.

    What it checks:
        The model of `ceph.hosts` has drives in the catalogue.

    Why it matters:
        There is nothing to put an OSD on, or nobody knows how much: capacity and fill cannot be told.

    How to fix:
        Choose a storage model, or add `drives` to your own catalogue file.

    Source:
        `drives` in the catalogue file of the model.
    """

    id, title = "CEP008", "Ceph hosts without data drives"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        ceph = design.cluster.ceph
        for name in ceph.groups if ceph else ():
            hosts = design.group(name)
            block = design.catalogue.server(hosts[0].model) if hosts else None
            if block and not block.drives:
                yield self.finding(
                    "ceph.hosts",
                    f"{name} ({hosts[0].model}) has no data drives",
                    "a model with drives",
                    "none in the catalogue",
                    "choose a storage model, or add drives to your own catalogue file",
                )


class NoSuchDrives(Rule):
    """Lay pools on drives that there are.

    What it checks:
        The `device_class` of each pool, and `metadata_class`, are those of a group of `ceph.hosts`.

    Why it matters:
        CRUSH finds no OSD for the pool: its placement groups never become active, and whoever writes to it waits.

    How to fix:
        Name a group with such drives under `ceph.hosts`, or another class.

    Source:
        Ceph documentation, CRUSH maps, device classes: a rule takes OSDs of its class alone.
    """

    id, title = "CEP036", "pool on drives that there are not"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        ceph, classes = design.cluster.ceph, [tier.device_class for tier in design.plan.ceph.tiers]
        if ceph is None or not classes:
            return
        asked = [(f"ceph.pools.{name}.device_class", f"pool {name} is", pool.device_class) for name, pool in ceph.pools.items()]
        asked.append(("ceph.metadata_class", "what is small is", ceph.metadata_class))
        for where, what, device_class in asked:
            if device_class and device_class not in classes:
                yield self.finding(
                    where,
                    f"{what} for drives of class {device_class}, and no host of Ceph has any",
                    list_names(classes),
                    device_class,
                    f"name a group with such drives under ceph.hosts, or leave {where.rpartition('.')[2]} out",
                )


class IdleMaintenance(Rule):
    """Say of Ceph's maintenance what is kept to.

    What it checks:
        With `deploy: cephadm`, that `ceph.maintenance` has neither `profile` nor `latency_ms`.

    Why it matters:
        Both are for the steps of playbooks/ceph_expand.yml, which is there for a Ceph from packages. With cephadm the balancer's
        hours are all that is set, and data moves by `recovery.profile`, whatever an OSD takes.

    How to fix:
        Leave them out, or use `deploy: packages`.

    Source:
        docs/ceph-day-2.md, More hosts.
    """

    id, severity, title = "CEP035", "warning", "maintenance that nothing keeps to"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        ceph = design.cluster.ceph
        if ceph is None or ceph.maintenance is None or ceph.deploy != "cephadm":
            return
        for key in ("profile", "latency_ms"):
            if key in ceph.maintenance.model_fields_set:
                yield self.finding(
                    f"ceph.maintenance.{key}",
                    f"with cephadm nothing keeps to {key}",
                    "the window alone",
                    f"{getattr(ceph.maintenance, key)}".removesuffix(".0"),
                    "leave it out, or set ceph.deploy: packages",
                )
