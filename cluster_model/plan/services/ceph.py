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
    OsdGroup,
    OsdHost,
    PlacedPool,
    Tier,
    list_small,
)
from cluster_model.plan.services.addresses import find_address
from cluster_model.plan.services.filesystems import LEAST_PGS, Place, plan_files, round_pgs
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


def plan_ceph(
    cluster: Cluster, models: Mapping[str, ServerBlock], servers: Sequence[Server], racks: Sequence[Rack]
) -> CephCluster:
    """Return Ceph as planned; without hosts where the intent has no Ceph, or its hosts no drives.

    Args:
        cluster: the intent.
        models: the model of each group of hosts, by its name.
        servers: servers that are built.
        racks: racks that they stand in.
    """
    ceph = cluster.ceph
    if ceph is None:
        return CephCluster()
    rows = {rack.name: rack.row for rack in racks}
    drives = {name: models[name].drives for name in ceph.groups if name in models}
    has_flash = any(found and not found.rotational for found in drives.values())
    per_drive = {False: ceph.osds_per_device, True: 1 if has_flash else ceph.osds_per_device}
    groups = tuple(_plan_group(name, found, per_drive[found.rotational]) for name, found in drives.items() if found is not None)
    hosts = tuple(_plan_host(ceph, group, server, rows) for group in groups for server in servers if server.group == group.name)
    if not hosts:
        return CephCluster()
    classes = tuple(dict.fromkeys(host.device_class for host in hosts))
    osds = {each: sum(host.osds for host in hosts if host.device_class == each) for each in classes}
    pools = tuple(_plan_pools(ceph, osds))
    monitors = _list_hosts(cluster, servers)[: ceph.monitor_count]
    small_class = ceph.metadata_class if ceph.metadata_class in osds else classes[0]
    place = Place(small_class, osds[small_class] * PGS_PER_OSD)
    files = tuple(plan_files(ceph, _list_hosts(cluster, servers, ceph.metadata_hosts), place, servers))
    able = _list_hosts(cluster, servers, ceph.object.hosts if ceph.object else None)
    store = plan_store(cluster.name, cluster.site.domain, ceph, able, place)
    daemons, small = _list_daemons(monitors, files, store), list_small(files, store)
    return CephCluster(
        hosts,
        ceph.failure_domain,
        pools,
        groups,
        tuple(_plan_tier(ceph, each, models, groups, hosts, pools, small, daemons) for each in classes),
        ceph.fill_target or 0.0,
        ceph.expand_at or 0.0,
        ceph.fsid or str(uuid5(NAMESPACE_DNS, f"ceph.{cluster.name}.{cluster.site.domain}")),
        monitors,
        _find_range(ceph, servers, "storage"),
        _find_range(ceph, servers, "ceph-cluster"),
        ceph.recovery.profile,
        ceph.deploy,
        ceph.osd_memory_gib or 0.0,
        files,
        store,
        _plan_maintenance(ceph),
    )


def _plan_tier(
    ceph: Ceph,
    device_class: str,
    models: Mapping[str, ServerBlock],
    groups: Sequence[OsdGroup],
    hosts: Sequence[OsdHost],
    pools: Sequence[PlacedPool],
    small: Sequence[PlacedPool],
    daemons: Mapping[str, Sequence[tuple[str, float]]],
) -> Tier:
    """Return the hosts and pools of a class of drives, with what can be stored there."""
    inside = tuple(host for host in hosts if host.device_class == device_class)
    held = tuple(pool for pool in pools if pool.device_class == device_class)
    recovery, of_class = ceph.recovery, [group for group in groups if group.device_class == device_class]
    drive = DRIVE_MB_PER_S[device_class] * RECOVERY[recovery.profile] / of_class[0].per_drive
    measured = recovery.osd_mb_per_s if device_class == groups[0].device_class else None
    terms = Terms(ceph.imbalance, measured or drive, measured is not None, ceph.fill_target or 0.0)
    members = {group: [host for host in inside if host.group == group.name] for group in of_class}
    return Tier(
        device_class,
        ceph.failure_domain,
        inside,
        held,
        tuple(pool for pool in small if pool.device_class == device_class),
        *find_fullest(inside, held, ceph.imbalance),
        list_losses(inside, held, terms, [host for host in hosts if host.device_class != device_class]),
        ceph.fill_target or 0.0,
        ceph.expand_at or 0.0,
        tuple(_find_needs(ceph, models[group.name], group, each, daemons) for group, each in members.items() if each),
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
    group: OsdGroup,
    hosts: Sequence[OsdHost],
    daemons: Mapping[str, Sequence[tuple[str, float]]],
) -> CephNeeds:
    """Return what is wanted of the first of the hosts that has the most daemons, or else of the first."""
    host = max(hosts, key=lambda each: len(daemons.get(each.name, ())))
    beside = daemons.get(host.name, ())
    has = model.resources
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
        host.osds * OSD_CORES[group.device_class],
        group.drives * DRIVE_MB_PER_S[group.device_class],
        has.memory_gib if has else 0,
        has.cores if has else 0,
        host.storage_gbps * 125,
        osd_gib,
        most_gib,
        group.per_drive,
    )


def list_monitor_hosts(cluster: Cluster, servers: Sequence[Server]) -> list[Server]:
    """Return the servers of which the first have monitors, so that growth moves none; none where the intent has no Ceph."""
    ceph = cluster.ceph
    if ceph is None:
        return []
    control = [server for server in servers if server.role == "control" and _find_storage(server)]
    if ceph.monitors is None and control:
        return control
    return [server for server in servers if server.group == (ceph.monitors or ceph.groups[0])]


def _list_hosts(cluster: Cluster, servers: Sequence[Server], group: str | None = None) -> tuple[DaemonHost, ...]:
    """Return the servers that daemons may be on: those of a group, or else those that monitors may be on."""
    able = [server for server in servers if server.group == group] if group else list_monitor_hosts(cluster, servers)
    return tuple(DaemonHost(server.name, _find_storage(server)) for server in able)


def _find_storage(server: Server) -> str:
    found = find_address(server, "storage")
    return found[0] if found else ""


def _find_range(ceph: Ceph, servers: Sequence[Server], purpose: str) -> str:
    """Return the range of all service addresses of a purpose; empty where Ceph's hosts have none."""
    services = (service for server in servers if server.group in ceph.groups for service in server.services)
    return next((service.route for service in services if service.purpose == purpose), "")


def _plan_group(name: str, drives: Drives, per_drive: int) -> OsdGroup:
    device_class = "hdd" if drives.rotational else "ssd"  # as BlueStore takes a drive, ObjectStore::get_default_device_class
    return OsdGroup(name, device_class, drives.count, drives.capacity_tb, per_drive)


def _plan_host(ceph: Ceph, group: OsdGroup, server: Server, rows: dict[str, str]) -> OsdHost:
    row = rows.get(server.rack, "")
    domain = {"host": server.name, "rack": server.rack, "row": row}[ceph.failure_domain]
    gbps = sum(port.speed_gbps for port in server.ports if port.network == "storage")
    osds, osd_tb = group.drives * group.per_drive, group.drive_tb / group.per_drive
    at = _find_storage(server)
    return OsdHost(server.name, domain, server.rack, row, osds, osd_tb, gbps, at, group.name, group.device_class)


def _plan_pools(ceph: Ceph, osds: Mapping[str, int]) -> Iterator[PlacedPool]:
    """Yield the pools, with shares that sum to 1 for each class of drives, and placement groups as Ceph's autoscaler deals them.

    Args:
        ceph: what the intent says.
        osds: how many OSDs each class of drives has; pools lie on the first, unless they name another. One for a class that there
            is not is left out.
    """
    placed: dict[str, PlacedPool] = {}
    for device_class, count in osds.items():
        usual = next(iter(osds))
        asked = {name: pool for name, pool in ceph.pools.items() if (pool.device_class or usual) == device_class}
        rest = max(0.0, 1 - sum(pool.share or 0 for pool in asked.values()))
        unsaid = sum(pool.share is None for pool in asked.values())
        shares = {name: pool.share if pool.share is not None else rest / unsaid for name, pool in asked.items()}
        total = sum(shares.values())
        found = []
        for name, pool in asked.items():
            size, k, m = pool.shape
            application = ceph.find_application(name)
            found.append(PlacedPool(name, max(1, size), k, m, shares[name] / total, LEAST_PGS, application, device_class))
        placed |= {
            each.name: replace(each, pgs=round_pgs(count * PGS_PER_OSD * part / each.size)) for each, part in share_raw(found)
        }
    yield from (placed[name] for name in ceph.pools if name in placed)
