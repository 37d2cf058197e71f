"""ceph/objects.yaml: what Ceph has to have, for its roles: monitors, options, places, pools, file systems, buckets, users."""

from __future__ import annotations

from collections.abc import Iterator

from cluster_model.plan.model import Plan
from cluster_model.plan.model.ceph import CephCluster, CephFiles, MaintenanceHours, ObjectStore, OsdGroup, PlacedPool
from cluster_model.plan.services.addresses import find_address
from cluster_model.plan.services.filesystems import CLIENTS
from cluster_model.plan.services.volumes import FILES, VOLUMES
from cluster_model.render.ceph.spec import locate_host
from cluster_model.render.ceph.users import list_shared, list_users, list_volume_pools
from cluster_model.render.kubernetes.objects import Json, write_objects


def render_objects(plan: Plan) -> Iterator[tuple[str, bytes]]:
    """Yield ceph/objects.yaml."""
    ceph = plan.ceph
    objects: Json = {
        "fsid": ceph.fsid,
        "monitors": {monitor.name: monitor.address for monitor in ceph.monitors},
        "managers": [manager.name for manager in ceph.managers],
        "time_servers": plan.site.ntp,
        "networks": list(list_networks(plan)),
        "osds": [describe_osds(ceph, group) for group in ceph.groups],
        "options": list(list_options(ceph)),
        **({"maintenance": describe_maintenance(ceph, ceph.maintenance)} if ceph.maintenance else {}),
        "hosts": {host.name: locate_host(host) for host in ceph.hosts},
        "metadata_servers": {daemon: host for files in ceph.filesystems for daemon, host in files.daemons.items()},
        "gateways": ceph.store.daemons if ceph.store else {},
        "pools": [describe_pool(pool, ceph.failure_domain) for pool in ceph.all_pools],
        "filesystems": [describe_files(files) for files in ceph.filesystems],
        "folders": list(list_folders(plan)),
        "groups": list(list_groups(plan)),
        "mounts": list(list_mounts(plan)),
        "object_stores": [describe_store(plan, ceph.store)] if ceph.store else [],
        "users": list(list_users(plan)),
        "namespaces": list(list_namespaces(plan)),
    }
    yield "ceph/objects.yaml", write_objects("What playbooks/ceph.yml brings Ceph to: docs/ceph.md.", [objects])


def list_networks(plan: Plan) -> Iterator[Json]:
    """Yield the network of all daemons, and of OSDs among themselves where they have one: its packets, and hosts' addresses."""
    ceph = plan.ceph
    network = plan.network("storage")
    mtu = network.host_mtu_bytes if network else 1500
    servers = [*ceph.monitors, *(server for files in ceph.filesystems for server in files.servers), *ceph.gateways]
    addresses = {each.name: each.address for each in servers} | {host.name: host.address for host in ceph.hosts}
    yield {"name": "public", "mtu_bytes": mtu, "hosts": {name: address for name, address in addresses.items() if address}}
    if ceph.cluster_network:
        found = [(host.name, service) for host in ceph.hosts for service in plan.server(host.name).services]
        hosts = {name: service.address.partition("/")[0] for name, service in found if service.purpose == "ceph-cluster"}
        yield {"name": "cluster", "mtu_bytes": mtu, "hosts": hosts}


def list_options(ceph: CephCluster) -> Iterator[Json]:
    """Yield options for the monitors' store."""
    yield {"who": "global", "name": "public_network", "value": ceph.public_network}
    if ceph.cluster_network:
        yield {"who": "global", "name": "cluster_network", "value": ceph.cluster_network}
    # Without it an expired key can be used on. Source: Ceph, documentation of CVE-2021-20288.
    yield {"who": "mon", "name": "auth_allow_insecure_global_id_reclaim", "value": "false"}
    profile: Json = {"who": "osd", "name": "osd_mclock_profile", "value": ceph.recovery_profile}
    yield profile | ({"in_steps": ceph.maintenance.profile} if ceph.maintenance else {})
    if ceph.maintenance and ceph.maintenance.begin:
        for name, time in (("begin_time", ceph.maintenance.begin), ("end_time", ceph.maintenance.end)):
            yield {"who": "mgr", "name": f"mgr/balancer/{name}", "value": time.replace(":", "")}
    if ceph.osd_memory_gib:
        # Else cephadm sets another for each host. Source: Ceph, src/pybind/mgr/cephadm/serve.py, _autotune_host_memory.
        yield {"who": "osd", "name": "osd_memory_target_autotune", "value": "false"}
        yield {"who": "osd", "name": "osd_memory_target", "value": str(round(ceph.osd_memory_gib * 2**30))}
    for files in ceph.filesystems:
        # What is set for mds.NAME is for all that begin so, mds.NAME.HOST. Source: Ceph, ConfigMap::generate_entity_map.
        yield {"who": f"mds.{files.name}", "name": "mds_join_fs", "value": files.name}
        if files.cache_gib:
            yield {"who": f"mds.{files.name}", "name": "mds_cache_memory_limit", "value": str(round(files.cache_gib * 2**30))}
    if ceph.store:
        yield from list_gateway_options(ceph, ceph.store)


def list_gateway_options(ceph: CephCluster, store: ObjectStore) -> Iterator[Json]:
    """Yield what gateways are told: where they belong, and what they are called by, so that buckets may stand in front of it.

    Where they listen cephadm tells them itself. Source: Ceph, src/pybind/mgr/cephadm/services/cephadmservice.py, RgwService.
    """
    about = {
        "rgw_realm": store.realm,
        "rgw_zonegroup": store.zonegroup,
        "rgw_zone": store.zone,
        "rgw_dns_name": store.domain_name,
    }
    yield from ({"who": f"client.rgw.{store.zone}", "name": name, "value": value} for name, value in about.items())
    for server in store.servers if ceph.deploy == "packages" else ():
        listen = f"beast endpoint={server.address}:{store.port}"
        yield {"who": f"client.rgw.{store.zone}.{server.name}", "name": "rgw_frontends", "value": listen}


def describe_osds(ceph: CephCluster, group: OsdGroup) -> Json:
    """Return what OSDs of a group of hosts are made on, the same on each of them: drives of a kind, and how many."""
    return {
        "group": group.name,
        "hosts": [host.name for host in ceph.hosts if host.group == group.name],
        "drives": group.drives,
        "bytes": round(group.drive_tb * 1e12),
        "rotational": group.device_class == "hdd",
        "per_drive": group.per_drive,
        "device_class": group.device_class,
    }


def describe_maintenance(ceph: CephCluster, hours: MaintenanceHours) -> Json:
    """Return when data may be moved, and the mClock profile then and after it, for role ceph_expand."""
    return {
        "begin": hours.begin,
        "end": hours.end,
        "profile": hours.profile,
        "usual_profile": ceph.recovery_profile,
        "latency_ms": hours.latency_ms,
    }


def describe_pool(pool: PlacedPool, failure_domain: str) -> Json:
    """Return a pool."""
    return {
        "name": pool.name,
        "application": pool.application,
        "failure_domain": failure_domain,
        "device_class": pool.device_class,
        "size": pool.size,
        **({"k": pool.k, "m": pool.m} if pool.k else {}),
        "min_size": pool.min_size,
        "pg_num": pool.pgs,
    }


def describe_files(files: CephFiles) -> Json:
    """Return a file system."""
    return {"name": files.name, "metadata": files.metadata.name, "pools": list(files.pools), "active": files.active}


def describe_store(plan: Plan, store: ObjectStore) -> Json:
    """Return the object store, with its users, each in a tenant of RGW of its own; `bytes` is 0 without a quota.

    A tenant of RGW has no hyphen in its name, and ours no underscore. Source: Ceph, rgw_rest_s3.cc, rgw_validate_tenant_name.
    """
    shares = [(tenant.name, tenant.storage.object_bytes) for tenant in plan.tenants if tenant.storage]
    return {
        "realm": store.realm,
        "zonegroup": store.zonegroup,
        "zone": store.zone,
        "pool": store.pool,
        "users": [
            {"name": name, "uid": f"{name.replace('-', '_')}${name}", "bytes": size} for name, size in shares if size is not None
        ],
    }


def list_folders(plan: Plan) -> Iterator[Json]:
    """Yield tenants' folders in file systems; `bytes` is 0 without a quota."""
    for tenant in plan.tenants:
        for folder in tenant.folders:
            place = {"filesystem": folder.filesystem, "name": tenant.name}
            yield {**place, "pool": folder.pool, "bytes": folder.quota_bytes}


def list_groups(plan: Plan) -> Iterator[Json]:
    """Yield groups of subvolumes for others to fill: of Kubernetes' shared volumes, which lie in a namespace as it."""
    for files in plan.kubernetes.shared_filesystems:
        yield {"filesystem": files, "name": FILES, "namespace": FILES}


def list_mounts(plan: Plan) -> Iterator[Json]:
    """Yield which servers mount what, as whom: all of a file system, or a tenant's folder; `unit` is systemd's name for it."""
    for files in plan.ceph.filesystems:
        about = {"filesystem": files.name, "at": files.mount, "unit": name_unit(files.mount), "driver": files.driver}
        if files.clients:
            yield {**about, "user": f"{CLIENTS}{files.name}", "folder": "", "hosts": list(files.clients)}
        for tenant in plan.tenants:
            hosts = [name for name in tenant.servers if find_address(plan.server(name), "storage")]
            if hosts and tenant.storage and files.name in {folder.filesystem for folder in tenant.folders}:
                user = tenant.storage.user.removeprefix("client.")
                yield {**about, "user": user, "folder": tenant.name, "hosts": hosts}


def name_unit(path: str) -> str:
    """Return what systemd calls the mount at a path. Source: systemd.unit(5), on string escaping.

    >>> name_unit("/mnt/home-dirs"), name_unit("/srv/.x")
    ('mnt-home\\\\x2ddirs.mount', 'srv-.x.mount')
    """
    return path.strip("/").replace("-", "\\x2d").replace("/", "-") + ".mount"


def list_namespaces(plan: Plan) -> Iterator[Json]:
    """Yield namespaces with block devices of tenants and of Kubernetes. Erasure codes keep no names of images, and have none."""
    for tenant in plan.tenants:
        for pool in list_shared(plan, tenant):
            if pool.application == "rbd" and not pool.k and tenant.storage:
                yield {"pool": pool.name, "namespace": tenant.storage.namespace}
    yield from ({"pool": pool.name, "namespace": VOLUMES} for pool in list_volume_pools(plan) if not pool.k)
