"""Plan Ceph: its hosts in their failure domains, its pools, and what each loss comes to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from uuid import NAMESPACE_DNS, uuid5

from cluster_model.catalogue.types import Drives
from cluster_model.catalogue.types import Server as ServerBlock
from cluster_model.intent.model.cluster import Cluster
from cluster_model.intent.services.ceph import Ceph
from cluster_model.plan.model import Rack, Server
from cluster_model.plan.model.ceph import (
    CephCluster,
    CephFiles,
    CephNeeds,
    DaemonHost,
    MaintenanceHours,
    ObjectStore,
    OsdHost,
    PlacedPool,
)
from cluster_model.plan.services.addresses import find_address
from cluster_model.plan.services.filesystems import LEAST_PGS, plan_files, round_pgs
from cluster_model.plan.services.gateways import plan_store
from cluster_model.plan.services.waterline import Terms, find_fullest, list_losses, share_raw

PGS_PER_OSD = 100
"""Source: Ceph's option mon_target_pg_per_osd."""
RECOVERY = {"balanced": 0.5, "high_client_ops": 0.4, "high_recovery_ops": 0.7}
"""Part of an OSD that a mClock profile keeps for recovery. Source: Ceph, doc/rados/configuration/mclock-config-ref.rst."""
DRIVE_MB_PER_S = {"ssd": 1200 * 1.048576, "hdd": 150 * 1.048576}
"""Source: Ceph's options osd_mclock_max_sequential_bandwidth_ssd and _hdd, 1200 and 150 MiB/s."""
OSD_GIB = 4.0
"""Source: Ceph's option osd_memory_target."""
DAEMON_GIB = {"monitor": 2.0, "manager": 4.0, "gateway": 1.0}
"""Memory of a daemon. Source: Ceph's option mon_memory_target, and what cephadm leaves to managers and gateways, src/pybind/mgr/
cephadm/autotune.py, min_size_by_type and default_size."""
CACHE_GIB, CACHE_SPARE = 4.0, 1.5
"""Cache of a metadata server, and how far it may pass that before Ceph warns. Source: Ceph's options mds_cache_memory_limit and
mds_health_cache_threshold."""
LEAST_OSD_GIB = 2.0
"""Memory below which an OSD may not keep to it. Source: Ceph, doc/start/hardware-recommendations.rst."""
SPARE = 1.2
"""Memory of OSDs over their target, which they pass for a while. Source: Ceph, doc/start/hardware-recommendations.rst."""
SYSTEM_GIB = 16
"""Memory of all else on a host. Our own choice."""
OSD_CORES = {"ssd": 2, "hdd": 1}
"""Cores of an OSD: two under a heavy load, one for archives. Source: Ceph, doc/start/hardware-recommendations.rst."""


def plan_ceph(cluster: Cluster, model: ServerBlock | None, servers: Sequence[Server], racks: Sequence[Rack]) -> CephCluster:
    """Return Ceph as planned; without hosts where the intent has no Ceph, or its hosts no drives.

    Args:
        cluster: the intent.
        model: the hosts' model; None where there is no Ceph.
        servers: servers that are built.
        racks: racks that they stand in.
    """
    ceph, drives = cluster.ceph, model.drives if model else None
    if ceph is None or model is None or drives is None:
        return CephCluster()
    rows = {rack.name: rack.row for rack in racks}
    hosts = tuple(_plan_host(ceph, drives, server, rows) for server in servers if server.group == ceph.hosts)
    if not hosts:
        return CephCluster()
    device_class = "hdd" if drives.rotational else "ssd"  # as BlueStore takes a drive, ObjectStore::get_default_device_class
    pools = tuple(_plan_pools(ceph, sum(host.osds for host in hosts)))
    recovery = ceph.recovery
    mb_per_s = recovery.osd_mb_per_s or DRIVE_MB_PER_S[device_class] * RECOVERY[recovery.profile] / ceph.osds_per_device
    terms = Terms(ceph.imbalance, mb_per_s, recovery.osd_mb_per_s is not None, ceph.fill_target or 0.0)
    monitors = _list_hosts(cluster, servers)[: ceph.monitor_count]
    groups = sum(host.osds for host in hosts) * PGS_PER_OSD
    files = tuple(plan_files(ceph, _list_hosts(cluster, servers, ceph.metadata_hosts), groups, servers))
    able = _list_hosts(cluster, servers, ceph.object.hosts if ceph.object else None)
    store = plan_store(cluster.name, cluster.site.domain, ceph, able, groups)
    return CephCluster(
        hosts,
        ceph.failure_domain,
        device_class,
        pools,
        *find_fullest(hosts, pools, ceph.imbalance),
        list_losses(hosts, pools, terms),
        ceph.fill_target or 0.0,
        ceph.expand_at or 0.0,
        ceph.fsid or str(uuid5(NAMESPACE_DNS, f"ceph.{cluster.name}.{cluster.site.domain}")),
        monitors,
        _find_range(ceph, servers, "storage"),
        _find_range(ceph, servers, "ceph-cluster"),
        ceph.osds_per_device,
        recovery.profile,
        ceph.deploy,
        ceph.osd_memory_gib or 0.0,
        _find_needs(ceph, model, hosts, _list_daemons(monitors, files, store), device_class),
        files,
        store,
        _plan_maintenance(ceph),
    )


def _plan_maintenance(ceph: Ceph) -> MaintenanceHours | None:
    if ceph.maintenance is None:
        return None
    begin, _, end = (ceph.maintenance.window or "").partition("-")
    if begin == end:  # releases of Ceph's balancer differ on it: none in the day, or all of it
        begin = end = ""
    return MaintenanceHours(begin, end, ceph.maintenance.profile, ceph.maintenance.latency_ms or 0.0)


def _list_daemons(
    monitors: Sequence[DaemonHost], files: Sequence[CephFiles], store: ObjectStore | None
) -> dict[str, list[tuple[str, float]]]:
    """Return by host what runs there beside OSDs, each with its memory, GiB."""
    found: dict[str, list[tuple[str, float]]] = {}
    placed = [("monitor", DAEMON_GIB["monitor"], monitors), ("manager", DAEMON_GIB["manager"], monitors[:2])]
    placed += [("metadata server", (each.cache_gib or CACHE_GIB) * CACHE_SPARE, each.servers) for each in files]
    placed += [("gateway", DAEMON_GIB["gateway"], store.servers)] if store else []
    for what, memory_gib, hosts in placed:
        for host in hosts:
            found.setdefault(host.name, []).append((what, memory_gib))
    return found


def _find_needs(
    ceph: Ceph,
    model: ServerBlock,
    hosts: Sequence[OsdHost],
    daemons: Mapping[str, Sequence[tuple[str, float]]],
    device_class: str,
) -> CephNeeds:
    """Return what is wanted of the first of the hosts that has the most daemons, or else of the first."""
    host = max(hosts, key=lambda each: len(daemons.get(each.name, ())))
    beside = daemons.get(host.name, ())
    has, count = model.resources, model.drives.count if model.drives else 0
    rest_gib = SYSTEM_GIB + sum(memory_gib for _, memory_gib in beside)
    most_gib = max(0.0, has.memory_gib - rest_gib) / host.osds / SPARE if has else 0.0
    osd_gib = ceph.osd_memory_gib or OSD_GIB
    if ceph.deploy == "cephadm" and not ceph.osd_memory_gib and has:  # it deals what there is
        osd_gib = min(OSD_GIB, max(LEAST_OSD_GIB, most_gib))
    return CephNeeds(
        host.name,
        host.osds,
        tuple(what for what, _ in beside),
        rest_gib + host.osds * osd_gib * SPARE,
        host.osds * OSD_CORES[device_class],
        count * DRIVE_MB_PER_S[device_class],
        has.memory_gib if has else 0,
        has.cores if has else 0,
        host.storage_gbps * 125,
        osd_gib,
        most_gib,
    )


def list_monitor_hosts(cluster: Cluster, servers: Sequence[Server]) -> list[Server]:
    """Return the servers of which the first have monitors, so that growth moves none; none where the intent has no Ceph."""
    ceph = cluster.ceph
    if ceph is None:
        return []
    control = [server for server in servers if server.role == "control" and _find_storage(server)]
    if ceph.monitors is None and control:
        return control
    return [server for server in servers if server.group == (ceph.monitors or ceph.hosts)]


def _list_hosts(cluster: Cluster, servers: Sequence[Server], group: str | None = None) -> tuple[DaemonHost, ...]:
    """Return the servers that daemons may be on: those of a group, or else those that monitors may be on."""
    able = [server for server in servers if server.group == group] if group else list_monitor_hosts(cluster, servers)
    return tuple(DaemonHost(server.name, _find_storage(server)) for server in able)


def _find_storage(server: Server) -> str:
    found = find_address(server, "storage")
    return found[0] if found else ""


def _find_range(ceph: Ceph, servers: Sequence[Server], purpose: str) -> str:
    """Return the range of all service addresses of a purpose; empty where Ceph's hosts have none."""
    services = (service for server in servers if server.group == ceph.hosts for service in server.services)
    return next((service.route for service in services if service.purpose == purpose), "")


def _plan_host(ceph: Ceph, drives: Drives, server: Server, rows: dict[str, str]) -> OsdHost:
    row = rows.get(server.rack, "")
    domain = {"host": server.name, "rack": server.rack, "row": row}[ceph.failure_domain]
    gbps = sum(port.speed_gbps for port in server.ports if port.network == "storage")
    osds, osd_tb = drives.count * ceph.osds_per_device, drives.capacity_tb / ceph.osds_per_device
    return OsdHost(server.name, domain, server.rack, row, osds, osd_tb, gbps, _find_storage(server))


def _plan_pools(ceph: Ceph, osds: int) -> Iterator[PlacedPool]:
    """Yield the pools with shares that sum to 1, and placement groups as Ceph's autoscaler deals them."""
    rest = max(0.0, 1 - sum(pool.share or 0 for pool in ceph.pools.values()))
    unsaid = sum(pool.share is None for pool in ceph.pools.values())
    shares = {name: pool.share if pool.share is not None else rest / unsaid for name, pool in ceph.pools.items()}
    total = sum(shares.values())
    placed = []
    for name, pool in ceph.pools.items():
        size, k, m = pool.shape
        placed.append(PlacedPool(name, max(1, size), k, m, shares[name] / total, LEAST_PGS, ceph.find_application(name)))
    for each, part in share_raw(placed):
        yield replace(each, pgs=round_pgs(osds * PGS_PER_OSD * part / each.size))
