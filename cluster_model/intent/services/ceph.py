"""What an intent says of Ceph: where its data lies, in which pools, and how full it may get."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from cluster_model.intent.base import Model, Name, Pattern

ERASURE = r"^[0-9]{1,2}\+[0-9]$"
MOUNT = r"^(/[a-z0-9][a-z0-9._-]*)+$"
WINDOW = r"^([01][0-9]|2[0-3]):[0-5][0-9]-([01][0-9]|2[0-3]):[0-5][0-9]$"
UUID = r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
PATTERNS: dict[str, Pattern] = {
    ERASURE: Pattern("an erasure code as k+m, such as 4+2", "2+1"),
    MOUNT: Pattern("an absolute path of lower-case letters, digits, `.`, `_` and `-`", "/mnt/home"),
    WINDOW: Pattern("two times of day, as `22:00-06:00`", "22:00-06:00"),
    UUID: Pattern("a UUID in lower case, as uuidgen prints it", "00000000-0000-4000-8000-000000000000"),
}
"""What each pattern means, and a text that fits it."""
EXAMPLES: dict[str, Any] = {
    "ceph": {"hosts": "storage", "pools": {"datasets": {"replicas": 3}, "archive": {"erasure": "4+2"}}},
    "monitors": "control",
    "fsid": "5f9e2c1a-7d34-4b8e-9a60-1c5d3c1d0001",
    "osd_memory_gib": 6,
    "fill_target": 0.5,
    "expand_at": 0.4,
    "osd_mb_per_s": 300,
    "maintenance": {"window": "22:00-06:00", "profile": "high_recovery_ops"},
    "window": "22:00-06:00",
    "latency_ms": 50,
    "share": 0.5,
    "device_class": "hdd",
    "metadata_class": "ssd",
    "filesystems": {"home": {"pools": ["datasets", "archive"]}},
    "home.pool": "archive",
    "quota_tb": 50,
    "metadata_hosts": "control",
    "object": {"pool": "archive"},
    "object.hosts": "control",
    "realm": "lab",
    "zonegroup": "lab",
    "zone": "lab",
    "cache_gib": 16,
    "clients": ["gpu"],
    "mount": "/mnt/home",
    "application": "cephfs",
    "replicas": 3,
    "erasure": "4+2",
}
"""What an unset key shows in a new cluster.yml."""


class CephPool(Model):
    """One pool: give `replicas` or `erasure`."""

    replicas: Annotated[int, Field(ge=1, le=10)] | None = None
    """Copies of every object."""
    erasure: Annotated[str, Field(pattern=ERASURE)] | None = None
    """Erasure code as k+m, e.g. `4+2`."""
    share: Annotated[float, Field(gt=0, le=1)] | None = None
    """Part of what is stored on its class of drives that this pool will hold; pools that say none share the rest evenly."""
    device_class: Literal["ssd", "hdd"] | None = None
    """Class of drives that it lies on. Default: that of the first group of `ceph.hosts`."""
    application: Name | None = None
    """What the pool is for, as Ceph tags it: `rbd` for block devices, `cephfs`, `rgw`, or a name of your own. Default: `cephfs`
    where a file system lies in it, `rgw` where the object store does, else `rbd`."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Copies or chunks of an object, and k and m of an erasure code; 0 and 0 without one, 0 copies where none are said."""
        if self.erasure is None:
            return self.replicas or 0, 0, 0
        k, _, m = self.erasure.partition("+")
        return int(k) + int(m), int(k), int(m)


class CephRecovery(Model):
    """How fast what a lost server held is rebuilt on the others: what `gpuyard storage` computes hours from."""

    profile: Literal["balanced", "high_client_ops", "high_recovery_ops"] = "balanced"
    """Ceph's mClock profile meanwhile, which keeps a half, two fifths or seven tenths of an OSD for rebuilding."""
    osd_mb_per_s: Annotated[float, Field(gt=0, le=20_000)] | None = None
    """What one OSD was seen to take in meanwhile, MB/s (10^6 bytes), on drives of the first group's class. Default, and for other
    classes: the profile's part of what Ceph takes a drive for, 1200 MiB/s for flash and 150 MiB/s for one that spins, which pays
    for reads too."""
    within_h: Annotated[float, Field(gt=0, le=1000)] = 24
    """Hours within which a lost host should be rebuilt; more are told."""


class CephMaintenance(Model):
    """When the balancer and `playbooks/ceph_expand.yml` may move data, and how fast. What is lost is rebuilt at any hour."""

    window: Annotated[str, Field(pattern=WINDOW)] | None = None
    """From and to, on the clocks of Ceph's hosts; with cephadm managers have UTC. Outside the balancer begins no move, and the
    playbook no step; one that goes on at the end is taken back. Default: any hour."""
    profile: Literal["balanced", "high_client_ops", "high_recovery_ops"] = "high_recovery_ops"
    """Ceph's mClock profile during a step of the playbook; after it `recovery.profile` is in force again."""
    latency_ms: Annotated[float, Field(gt=0, le=60_000)] | None = None
    """Commit latency, ms, above which an OSD may be for ten seconds before a step is taken back. Default: any;
    a step is taken back once requests take 30 seconds."""


class CephFilesystem(Model):
    """A file system: the pools that it lies in, and the metadata servers that it has."""

    pools: Annotated[list[Name], Field(min_length=1)]
    """Pools of `ceph.pools` that hold what is in files. The first takes what is laid into no other, and is one of replicas."""
    metadata_replicas: Annotated[int, Field(ge=1, le=10)] = 3
    """Copies of names, sizes and rights, in a pool that is made for them: `cephfs.NAME.meta`."""
    active: Annotated[int, Field(ge=1, le=32)] = 1
    """Metadata servers that share the work; one more stands by."""
    cache_gib: Annotated[float, Field(ge=1, le=512)] | None = None
    """Memory that a metadata server may take for its cache, GiB. Default: Ceph's 4."""
    clients: list[Name] = []
    """Server groups that mount all of it; tenants' own servers mount the tenant's folder without being named here."""
    mount: Annotated[str, Field(pattern=MOUNT)] | None = None
    """Where hosts have it; default: `/mnt/NAME`."""
    driver: Literal["kernel", "fuse"] = "kernel"
    """What mounts it: the kernel's own driver, or ceph-fuse, a program that needs none."""


class CephObject(Model):
    """An object store: the pool that it lies in, and the gateways by which S3 reaches it."""

    pool: Name
    """Pool of `ceph.pools` that holds what is in objects."""
    hosts: Name | None = None
    """Server group with the gateways; default: servers of the group that the monitors are on."""
    count: Annotated[int, Field(ge=1, le=64)] = 2
    """Gateways, each on a server of its own."""
    port: Annotated[int, Field(ge=1, le=65535)] = 8080
    """TCP port at which they answer, by HTTP without encryption."""
    realm: Name | None = None
    """Realm, as RGW calls what zones belong to; default: the cluster's `name`."""
    zonegroup: Name | None = None
    """Zone group in it, which S3 knows as the region; default: as the realm."""
    zone: Name | None = None
    """The one zone in that, of which gateways' pools have their names; default: as the realm."""
    metadata_replicas: Annotated[int, Field(ge=1, le=10)] = 3
    """Copies of users, logs and what is in which bucket, in pools that are made for them: `ZONE.rgw.…`."""


class Ceph(Model):
    """Ceph on the storage servers."""

    hosts: Name | Annotated[list[Name], Field(min_length=1)]
    """Server group with the OSDs, or several, such as `[flash, archive]`. Each has one class of drives, by its model: `ssd` for
    flash, `hdd` for drives that spin. Pools lie on the class of the first group, unless they name another."""
    deploy: Literal["cephadm", "packages"] = "cephadm"
    """How its daemons come to run: `cephadm`, in containers; `packages`, the distribution's own. playbooks/ceph.yml does
    either."""
    fsid: Annotated[str, Field(pattern=UUID)] | None = None
    """The cluster's own id; give that of a cluster which is there already. Default: made from `name` and `site.domain`."""
    osd_memory_gib: Annotated[float, Field(ge=2, le=256)] | None = None
    """Memory that an OSD may take for itself and its cache, GiB. Default: Ceph's 4, or what cephadm gives it, which is 0.7 of the
    host's memory for all of its daemons."""
    osds_per_device: Annotated[int, Field(ge=1, le=8)] = 1
    """OSDs on each data drive, of which large ones of flash may carry two or more. Beside flash a drive that spins has one."""
    monitors: Name | None = None
    """Server group with the monitors; default: the control servers that are on the storage network, else the first group of
    `hosts`."""
    monitor_count: Annotated[int, Field(ge=1, le=9)] = 3
    """Monitors; odd."""
    failure_domain: Literal["host", "rack", "row"] = "host"
    """What may fail without losing data: CRUSH's failure domain."""
    pools: dict[Name, CephPool] = {}
    """Pools by name."""
    filesystems: dict[Name, CephFilesystem] = {}
    """File systems by name; add new ones at the end."""
    metadata_class: Literal["ssd", "hdd"] | None = None
    """Class of drives for names, sizes and rights of file systems and for what gateways keep beside objects. Default: that of the
    first group of `ceph.hosts`."""
    metadata_hosts: Name | None = None
    """Server group with the metadata servers of file systems; default: servers of the group that the monitors are on."""
    object: CephObject | None = None
    """An object store, reached by S3."""
    fill_target: Annotated[float, Field(gt=0, lt=1)] | None = None
    """Raw fill that you plan to run at; checked against the waterline, above which Ceph cannot heal. Default: not checked."""
    expand_at: Annotated[float, Field(gt=0, lt=1)] | None = None
    """Raw fill at which you order servers, so that they stand before `fill_target` is reached. Default: not checked."""
    imbalance: Annotated[float, Field(ge=1, le=2)] = 1.1
    """Fullest OSD over the mean, by which the waterline is lowered; where the balancer cannot even OSDs it is lowered by more."""
    recovery: CephRecovery = CephRecovery()
    """How fast what a lost server held is rebuilt."""
    maintenance: CephMaintenance | None = None
    """When the balancer and `playbooks/ceph_expand.yml` may move data, and how fast. Default: any hour, by `recovery.profile`."""

    @property
    def groups(self) -> tuple[str, ...]:
        """The server groups with OSDs."""
        return tuple(dict.fromkeys([self.hosts] if isinstance(self.hosts, str) else self.hosts))

    def find_application(self, pool: str) -> str:
        """Return what a pool is for."""
        in_files = any(pool in each.pools for each in self.filesystems.values())
        in_objects = self.object is not None and self.object.pool == pool
        return self.pools[pool].application or ("cephfs" if in_files else "rgw" if in_objects else "rbd")
