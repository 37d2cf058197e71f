"""Users of Ceph, each with the least rights that do: in ceph/objects.yaml, and for `gpuyard verify ceph`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from cluster_model.plan.model import Plan
from cluster_model.plan.model.ceph import CephFiles, PlacedPool
from cluster_model.plan.model.overlay import Tenant
from cluster_model.plan.services.filesystems import CLIENTS
from cluster_model.plan.services.volumes import FILES, FILES_NODE, VOLUMES
from cluster_model.render.kubernetes.objects import Json

GATEWAY = {"mon": "allow r", "osd": "allow rwx tag rgw *=*"}
"""Rights of a gateway: less of monitors than cephadm gives, since its pools are made by others. Source: Ceph,
src/pybind/mgr/cephadm/services/cephadmservice.py, RgwService."""
SERVED = ("cephfs", "rgw")
"""Applications whose pools clients reach by a file system or a gateway."""
NAME = 'regex "csi-[a-z0-9-]+"'
"""What ceph-csi calls volumes and copies on their way. Source: ceph/ceph-csi, internal/journal/voljournal.go."""
VOLUME = f"sub_name {NAME}"
SEEING = {f"fs subvolume {verb}": VOLUME for verb in ("info", "getpath")}
MAKING = SEEING | {
    **{f"fs subvolume {verb}": VOLUME for verb in ("create", "resize", "rm")},
    **{f"fs subvolume metadata {verb}": f'{VOLUME} key_name regex "[A-Za-z0-9./_-]+"' for verb in ("set", "rm")},
    "fs subvolume metadata ls": VOLUME,
    **{f"fs subvolume snapshot {verb}": f"{VOLUME} snap_name {NAME}" for verb in ("create", "rm")},
    "fs subvolume snapshot clone": f"{VOLUME} snap_name {NAME} target_group_name={FILES} target_sub_name {NAME}",
    "fs clone status": f"clone_name {NAME}",
}
MOUNTING = SEEING | {
    "fs subvolume metadata set": f'{VOLUME} key_name regex "[.]cephfs[.]csi[.]ceph[.]com/userid/[A-Za-z0-9./-]+"'
}
"""What managers are asked for by who makes a volume, grows, copies or removes it, and by who mounts it, which notes its name with
it. Source: ceph/ceph-csi, internal/cephfs/core, volume.go, clone.go, snapshot.go and metadata.go (GetUserIDMappingKey, which came
in 2025), and what these call of ceph/go-ceph, cephfs/admin."""


def list_users(plan: Plan) -> Iterator[Json]:
    """Yield a user for each tenant with a share, for servers that mount all of a file system, gateways, and Kubernetes.

    Each has a namespace of its own in its pools. With `folders` it has rights to these too, file systems' names: by the path and
    in the namespace that Ceph makes for each, which are known once it is made. With `groups`, file systems' names too, it is
    made after their groups.
    """
    for tenant in plan.tenants:
        shared, folders = list_shared(plan, tenant), tenant.folders
        if tenant.storage is None or not (shared or folders):
            continue
        see = ["profile rbd"] if any(pool.application == "rbd" for pool in shared) else [] if folders else ["allow r"]
        see += [f"allow r fsname={folder.filesystem}" for folder in folders]
        caps = {"mon": ", ".join(see), "osd": ", ".join(grant(pool, tenant.storage.namespace) for pool in shared)}
        names = {"folders": [folder.filesystem for folder in folders]} if folders else {}
        yield {"name": tenant.storage.user, "caps": caps, **names}
    for files in plan.ceph.filesystems:
        if files.clients:
            way, rights = f"allow rw fsname={files.name}", f"allow rw tag cephfs data={files.name}"
            yield {
                "name": f"client.{CLIENTS}{files.name}",
                "caps": {"mon": f"allow r fsname={files.name}", "mds": way, "osd": rights},
            }
    if plan.ceph.store and plan.ceph.deploy == "packages":
        for name in plan.ceph.store.daemons:  # cephadm makes its own
            yield {"name": f"client.rgw.{name}", "caps": GATEWAY}
    volumes = list_volume_pools(plan)
    if volumes:
        rights = ", ".join(grant(pool, VOLUMES) for pool in volumes)
        # Managers delete images in the background. Source: Ceph documentation, block devices and Kubernetes.
        yield {"name": f"client.{VOLUMES}", "caps": {"mgr": rights, "mon": "profile rbd", "osd": rights}}
    shared_by_pods = plan.kubernetes.shared_filesystems
    yield from list_file_users([files for files in plan.ceph.filesystems if files.name in shared_by_pods])


def list_file_users(filesystems: Sequence[CephFiles]) -> Iterator[Json]:
    """Yield who makes shared volumes of Kubernetes in these file systems, and who mounts them; nobody where there are none.

    Who makes them reaches nothing but managers and the list of volumes. Managers are asked for one command each, about this group
    alone: a right to their module `volumes` opens all of it, whatever arguments stand beside it, and a name with dots leads them
    out of the group. Source: Ceph, src/mgr/MgrCap.cc, get_allowed, and
    src/pybind/mgr/volumes/fs/operations/versions/subvolume_base.py, base_path.
    """
    names = [files.name for files in filesystems]
    if not names:
        return
    see = ", ".join(f"allow r fsname={name}" for name in names)
    listed = [(files.metadata.name, "rwx") for files in filesystems]
    filled = [(pool, "rw") for files in filesystems for pool in files.pools]
    makes = {"mgr": let(MAKING, names), "mon": see, "osd": open_pools(listed)}
    mounts = {
        "mds": ", ".join(f"allow rw fsname={name} path=/volumes/{FILES}" for name in names),
        "mgr": let(MOUNTING, names),
        "mon": see,
        "osd": open_pools([(pool, "r") for pool, _ in listed] + filled),
    }
    yield {"name": f"client.{FILES}", "caps": makes, "groups": names}
    yield {"name": f"client.{FILES_NODE}", "caps": mounts, "groups": names}


def let(commands: dict[str, str], filesystems: Iterable[str]) -> str:
    """Return what lets a user ask managers for commands about volumes of these file systems."""
    return ", ".join(
        f'allow command "{command}" with vol_name={name} group_name={FILES} {about}'
        for name in filesystems
        for command, about in commands.items()
    )


def open_pools(pools: Iterable[tuple[str, str]]) -> str:
    """Return what lets a user read or write shared volumes' namespace of pools, as OSDs are told."""
    return ", ".join(f"allow {how} pool={pool} namespace={FILES}" for pool, how in pools)


def list_volume_pools(plan: Plan) -> list[PlacedPool]:
    """Return the pools that volumes of Kubernetes' pods are in."""
    names = {name for volume in plan.kubernetes.volumes if volume.pool for name in volume.pools}
    return [pool for pool in plan.ceph.pools if pool.name in names]


def list_shared(plan: Plan, tenant: Tenant) -> list[PlacedPool]:
    """Return the pools in which a tenant has a namespace; those of file systems and object gateways are theirs alone."""
    names = tenant.storage.pools if tenant.storage else ()
    return [pool for pool in plan.ceph.pools if pool.name in names and pool.application not in SERVED]


def grant(pool: PlacedPool, namespace: str) -> str:
    """Return what opens a namespace of a pool, as OSDs are told."""
    what = "profile rbd" if pool.application == "rbd" else "allow rwx"
    return f"{what} pool={pool.name} namespace={namespace}"
