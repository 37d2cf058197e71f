# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about tenants' shares of GPUs and of Ceph. Part of the TEN family."""

from __future__ import annotations

from collections.abc import Iterator

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.wording import count_things, list_names
from cluster_model.diagnostic import Diagnostic
from cluster_model.plan.services.filesystems import CLIENTS
from cluster_model.plan.services.volumes import FILES, FILES_NODE, VOLUMES
from cluster_model.plan.tenancy.isolation import list_meeting_on_storage

USERS = ("admin", "ceph-exporter", "crash", FILES, FILES_NODE, VOLUMES)
BEGINNINGS = ("bootstrap-", "cephfs-mirror", "igw", "iscsi", "nfs", "nvmeof", "rbd-mirror", "rgw")
"""Users that are not tenants'. Source: as of rule TEN015."""


class QuotaAboveCluster(Rule):
    """Promise no tenant more GPUs than exist.

    What it checks:
        `gpus` of each tenant against the GPUs that are built.

    Why it matters:
        The quota never binds. Somebody has planned work by it that cannot run.

    How to fix:
        Lower `gpus`, or leave it out, which means no quota.

    Source:
        GPU counts of the catalogue's servers.
    """

    id, title = "TEN005", "quota above the GPUs that exist"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        built = design.plan.gpus
        for tenant in design.plan.tenants:
            if tenant.gpus > built:
                yield self.finding(
                    f"tenants.{tenant.name}.gpus",
                    f"{tenant.name} may use {count_things(tenant.gpus, 'GPU')}, and {built} exist",
                    f"<= {count_things(built, 'GPU')} (all servers that are built)",
                    count_things(tenant.gpus, "GPU"),
                    f"set gpus to {built} or lower, or leave it out for no quota",
                )


class QuotasAboveCluster(Rule):
    """Know that quotas add up to more than exists.

    What it checks:
        The sum of all `gpus` against the GPUs that are built; tenants without a quota count for nothing.

    Why it matters:
        Not every tenant can have its quota at the same time. That is often meant, and then jobs wait; where it is not meant,
        somebody's contract is broken on the first busy day.

    How to fix:
        Lower quotas, or keep them and tell the tenants.

    Source:
        GPU counts of the catalogue's servers.
    """

    id, severity, title = "TEN006", "warning", "quotas that add up to more than exists"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        built = design.plan.gpus
        quotas = {tenant.name: tenant.gpus for tenant in design.plan.tenants if tenant.gpus > 0}
        total = sum(quotas.values())
        if total > built and max(quotas.values()) <= built:
            yield self.finding(
                "tenants",
                f"tenants may use {count_things(total, 'GPU')} together, and {built} exist",
                f"<= {count_things(built, 'GPU')} in all",
                list_names(f"{name} {count}" for name, count in quotas.items()),
                f"lower quotas by {count_things(total - built, 'GPU')}, or keep them where waiting is meant",
            )


class QuotaBelowServers(Rule):
    """Let a tenant use the servers that are its own.

    What it checks:
        `gpus` of each tenant against the GPUs of its own servers.

    Why it matters:
        Nobody else can run on these servers and the tenant may not: GPUs that are paid for stand idle.

    How to fix:
        Raise `gpus`, or take servers away from the tenant.

    Source:
        GPU counts of the catalogue's servers.
    """

    id, severity, title = "TEN007", "warning", "quota below the tenant's own GPUs"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for tenant in design.plan.tenants:
            own = sum(design.servers[name].gpus for name in tenant.servers if name in design.servers)
            if 0 <= tenant.gpus < own:
                yield self.finding(
                    f"tenants.{tenant.name}.gpus",
                    f"{tenant.name} has {count_things(own, 'GPU')} of its own and may use {tenant.gpus}",
                    f">= {count_things(own, 'GPU')} (its servers)",
                    count_things(tenant.gpus, "GPU"),
                    f"set gpus to {own} or higher, leave it out, or take servers away",
                )


class CephOutOfReach(Rule):
    """Share Ceph with tenants whose servers reach it.

    What it checks:
        A tenant with `ceph` and servers of its own has at least one with an address on the storage network.

    Why it matters:
        Monitors and OSDs live on the storage network, which no tenant's subnet leads to: the key is there, and every mount hangs.

    How to fix:
        Give the tenant servers with storage ports, or take `ceph` away.

    Source:
        Ceph's public network is the storage network.
    """

    id, severity, title = "TEN012", "warning", "share of Ceph that no server reaches"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for tenant in design.plan.tenants:
            if tenant.storage is not None and tenant.servers and not tenant.storage.clients:
                yield self.finding(
                    f"tenants.{tenant.name}.ceph",
                    f"{tenant.name} has a share of Ceph, and no server of it is on the storage network",
                    "a server with storage ports",
                    list_names(tenant.servers),
                    "give it servers with ports under nics.storage, or take ceph away",
                )


class EmptyShare(Rule):
    """Give a tenant with `ceph` something there.

    What it checks:
        `ceph` of each tenant names pools, file systems or `object`.

    Why it matters:
        It has no user, and no key that opens anything: what was planned for it was left out.

    How to fix:
        Name `pools`, `filesystems` or `object`, or take `ceph` away.

    Source:
        Tenants' users are made from what they may use.
    """

    id, title = "TEN016", "share of Ceph with nothing in it"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for tenant in design.plan.tenants:
            if tenant.storage is not None and not tenant.storage.parts:
                yield self.finding(
                    f"tenants.{tenant.name}.ceph",
                    f"{tenant.name} has a share of Ceph with nothing in it",
                    "pools, filesystems or object",
                    "none of them",
                    "name them, or take ceph away",
                )


class FolderElsewhere(Rule):
    """Lay a tenant's files into a pool of the file system.

    What it checks:
        `pool` of each folder is one of its file system's pools.

    Why it matters:
        Ceph takes the pool into the file system then, and what else is in it shares its fate.

    How to fix:
        Name a pool of the file system, or leave `pool` out for its first.

    Source:
        Ceph, doc/cephfs/file-layouts.rst: files lie in the data pools of their file system.
    """

    id, title = "TEN017", "folder in a pool of no file system"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        known = {files.name: files.pools for files in design.plan.ceph.filesystems}
        for tenant in design.plan.tenants:
            for folder in tenant.folders:
                if folder.filesystem in known and folder.pool not in known[folder.filesystem]:
                    yield self.finding(
                        f"tenants.{tenant.name}.ceph.filesystems.{folder.filesystem}.pool",
                        f"pool {folder.pool} is not in file system {folder.filesystem}",
                        f"one of {list_names(known[folder.filesystem])}",
                        folder.pool,
                        f"name one of these, or add {folder.pool} to ceph.filesystems.{folder.filesystem}.pools",
                    )


class QuotasAboveStore(Rule):
    """Know that tenants may store more than there is room for.

    What it checks:
        The sum of `quota_tb` of all folders in a pool, or in the object store, against what is planned for the pool up to the
        waterline.

    Why it matters:
        Not every tenant can store what it was promised: Ceph is too full to heal before the quotas bind, and the one who writes
        last finds it full. That is often meant, and then somebody has to look at the fill.

    How to fix:
        Lower quotas, give the pool a larger `share`, or add hosts. Or keep them, and watch `gpuyard verify ceph`.

    Source:
        The waterline, as `gpuyard storage` has it.
    """

    id, severity, title = "TEN018", "warning", "quotas above what can be stored"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        ceph = design.plan.ceph
        room = {pool.name: pool.share * tier.usable_tb for tier in ceph.tiers for pool in tier.pools}
        promised: dict[tuple[str, str, str], list[tuple[str, float]]] = {}
        for tenant in design.plan.tenants:
            for folder in tenant.folders:
                place = (f"ceph.filesystems.{folder.filesystem}", f"file system {folder.filesystem}", folder.pool)
                promised.setdefault(place, []).append((tenant.name, folder.quota_bytes / 10**12))
            if ceph.store and tenant.storage and tenant.storage.object_bytes:
                place = ("ceph.object", "the object store", ceph.store.pool)
                promised.setdefault(place, []).append((tenant.name, tenant.storage.object_bytes / 10**12))
        for (where, what, pool), quotas in promised.items():
            total = sum(quota for _, quota in quotas)
            if pool in room and total > room[pool] > 0:
                yield self.finding(
                    where,
                    f"quotas in {what} come to {total:,.1f} TB, and pool {pool} can hold {room[pool]:,.1f}",
                    f"<= {room[pool]:,.1f} TB in all, up to the waterline",
                    list_names(f"{name} {quota:g}" for name, quota in quotas if quota),
                    f"lower quotas by {total - room[pool]:,.1f} TB, or give {pool} a larger share",
                )


class GatewayOnTenant(Rule):
    """Keep gateways off servers where a tenant is root.

    What it checks:
        Gateways are on no servers that are a tenant's own, unless it is `shared`, where other tenants have buckets.

    Why it matters:
        The key of a gateway opens the objects of all tenants.

    How to fix:
        Name another group under `ceph.object.hosts`, or set `shared: true` for the tenant where it is the operator's own.

    Source:
        Ceph, RGW: gateways keep tenants apart, and Ceph knows no more than the gateway.
    """

    id, severity, title = "TEN019", "warning", "gateways to all objects on a tenant's servers"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        gateways, tenants = design.plan.ceph.gateways, design.plan.tenants
        users = {tenant.name for tenant in tenants if tenant.storage and tenant.storage.object_bytes is not None}
        for tenant in tenants:
            met = [server.name for server in gateways if server.name in tenant.servers]
            others = sorted(users - {tenant.name})
            if met and others and not tenant.shared:
                yield self.finding(
                    "ceph.object.hosts",
                    f"servers of {tenant.name} have gateways, whose keys open the objects of {list_names(others)} too",
                    "servers that are no tenant's",
                    list_names(met),
                    f"name another group, or set tenants.{tenant.name}.shared where nobody but you is root on them",
                )


class UserTaken(Rule):
    """Call no tenant that has a share of Ceph as a user that is Ceph's own, or Kubernetes'.

    What it checks:
        The user of a tenant with `ceph`, client.NAME, is none of those that Ceph, its daemons and gpuyard make for themselves,
        such as client.files-NAME, which mounts all of a file system.

    Why it matters:
        The tenant's rights would take the place of those: of the administrator, or of the daemons that OSDs are made with.

    How to fix:
        Rename the tenant.

    Source:
        Ceph documentation, user management and manual deployment: client.admin, client.bootstrap-*, client.crash, client.rgw.*;
        cephadm, deployment of exporters, gateways and mirrors.
    """

    id, title = "TEN015", "tenant called as a user of Ceph"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for tenant in design.plan.tenants:
            user = tenant.storage.user.removeprefix("client.") if tenant.storage is not None else ""
            whole = user in {f"{CLIENTS}{files.name}" for files in design.plan.ceph.filesystems}
            if user in USERS or user.startswith(BEGINNINGS) or whole:
                where = "mounts all of a file system" if whole else "is there in every Ceph for another use"
                yield self.finding(
                    f"tenants.{tenant.name}@key",
                    f"the user of tenant {tenant.name}, client.{user}, {where}",
                    "a name that no such user has",
                    tenant.name,
                    f"rename the tenant, such as team-{tenant.name}",
                )


class StorageShared(Rule):
    """Know that tenants meet on the storage network.

    What it checks:
        Where there is a storage network, whether servers of two tenants or more are on it. A tenant without servers of its own
        runs on servers that others have too.

    Why it matters:
        Its leafs route between all its hosts and know no tenants: no VRF, no VLAN, no partition. Who is root on one server can
        send to the storage addresses of every other server, and to all storage. What keeps data apart is Ceph: a tenant with
        `ceph` has a RADOS namespace of its own, and a user whose key opens nothing else.

    How to fix:
        Give each tenant that stores data a share, `tenants.NAME.ceph`, and root on servers with storage ports to nobody whom the
        other tenants must not meet. Or leave it where tenants trust each other.

    Source:
        Ceph documentation, User Management (capabilities by pool and namespace): it checks users, not where packets come from.
    """

    id, severity, title = "TEN014", "info", "storage network that tenants share"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        met = list_meeting_on_storage(design.plan)
        if not met:
            return
        bare = [tenant.name for tenant in met if tenant.storage is None]
        kept = [tenant.name for tenant in met if tenant.storage is not None]
        ceph = f"Ceph's namespaces and users for {list_names(kept)}" if kept else ""
        nothing = f"nothing for {list_names(bare)}" if bare else ""
        shares = f"give {list_names(bare)} a share under ceph where they store data, and " if bare and design.cluster.ceph else ""
        yield self.finding(
            "networks.storage",
            f"{list_names(tenant.name for tenant in met)} share the storage network, which keeps no tenants apart",
            "tenants that may send packets to each other there",
            "; ".join(filter(None, (ceph, nothing))),
            f"{shares}let nobody be root on servers with storage ports whom other tenants must not meet",
        )
