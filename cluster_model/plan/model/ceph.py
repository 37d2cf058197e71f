"""Ceph, as planned: where data lies once the balancer has evened it, and how far it can be filled so that a loss is rebuilt.

A fill is a part of the raw capacity that is built. Capacities are in TB (10^12 bytes).
"""

from __future__ import annotations

from dataclasses import dataclass

NEARFULL, BACKFILLFULL, FULL = 0.85, 0.90, 0.95
"""Fill of the fullest OSD at which Ceph warns, rebuilds nothing onto it, and takes no writes. Source: Ceph,
doc/rados/configuration/mon-config-ref.rst."""


def cut_fill(fill: float, digits: int = 3) -> float:
    """Return a fill, rounded down: what is told as the most must not be too much."""
    scale = 10.0**digits
    return int(fill * scale + 1e-9) / scale


def find_fill(ratio: float, fullest: float) -> float:
    """Return the fill at which the fullest OSD is at a ratio; 0 where nothing is known of it.

    Args:
        ratio: one of those above.
        fullest: fill of the fullest OSD for each part of fill, 1 at the least.
    """
    return ratio / max(1.0, fullest) if fullest else 0.0


@dataclass(frozen=True, slots=True)
class OsdGroup:
    """A server group with OSDs, and the drives that each of its servers has for them."""

    name: str
    device_class: str  # ssd | hdd
    drives: int
    drive_tb: float
    per_drive: int  # OSDs on each


@dataclass(frozen=True, slots=True)
class OsdHost:
    """A server with an OSD on each of its data drives."""

    name: str
    domain: str  # its failure domain: its own name, its rack's or its row's
    rack: str
    row: str
    osds: int
    osd_tb: float
    storage_gbps: int  # of its ports in the storage network
    address: str = ""  # in it, without length
    group: str = ""  # its server group
    device_class: str = "ssd"  # ssd | hdd: of its OSDs

    @property
    def raw_tb(self) -> float:
        """Return the capacity of its OSDs."""
        return self.osds * self.osd_tb


@dataclass(frozen=True, slots=True)
class PlacedPool:
    """A pool: `size` copies or chunks, k and m of an erasure code (0, 0 otherwise)."""

    name: str
    size: int
    k: int
    m: int
    share: float  # of what is stored on drives of its class
    pgs: int  # placement groups
    application: str = "rbd"
    device_class: str = "ssd"  # of the drives that it lies on

    @property
    def overhead(self) -> float:
        """Return raw bytes for each byte stored."""
        return self.size / self.k if self.k else float(self.size)

    @property
    def losable(self) -> int:
        """Return how many copies or chunks of an object may go without losing it."""
        return self.m if self.k else self.size - 1

    @property
    def min_size(self) -> int:
        """Return how many copies or chunks have to be there for an object to be read and written.

        Source: Ceph, OSDMonitor::prepare_pool_size, and its option osd_pool_default_min_size, 0.
        """
        return self.k + min(1, self.m - 1) if self.k else self.size - self.size // 2

    @property
    def code(self) -> str:
        """Return its copies as the intent has them: 3, or 4+2."""
        return f"{self.k}+{self.m}" if self.k else str(self.size)


@dataclass(frozen=True, slots=True)
class DaemonHost:
    """A server with a daemon of Ceph; `address` is in the storage network, without length, and empty where it is not on it."""

    name: str
    address: str


@dataclass(frozen=True, slots=True)
class CephFiles:
    """A file system. Each of its servers has one metadata server, `active` of which share the work while the others stand by."""

    name: str
    metadata: PlacedPool
    pools: tuple[str, ...]  # of what is in files; the first is the default
    active: int
    servers: tuple[DaemonHost, ...]
    cache_gib: float  # 0: Ceph's own
    clients: tuple[str, ...] = ()  # servers that mount all of it
    mount: str = ""  # where servers have it
    driver: str = "kernel"  # kernel | fuse

    @property
    def daemons(self) -> dict[str, str]:
        """Return the host of each metadata server by its name. Source of FS.HOST: cephadm calls its own FS.HOST.RANDOM."""
        return {f"{self.name}.{server.name}": server.name for server in self.servers}


@dataclass(frozen=True, slots=True)
class ObjectStore:
    """An object store: one zone, alone in its zone group and realm, and a gateway on each of its servers."""

    realm: str
    zonegroup: str
    zone: str
    pool: str  # of what is in objects
    own: tuple[PlacedPool, ...]  # of users, logs and what is in which bucket
    servers: tuple[DaemonHost, ...]
    port: int
    domain_name: str  # that of all gateways together

    @property
    def name(self) -> str:
        """Return what it is called by."""
        return self.zone

    @property
    def daemons(self) -> dict[str, str]:
        """Return the host of each gateway by its name, as metadata servers have theirs."""
        return {f"{self.zone}.{server.name}": server.name for server in self.servers}


@dataclass(frozen=True, slots=True)
class CephNeeds:
    """What Ceph's daemons take of the host that has the most of them, and what it has; 0 where the catalogue does not say."""

    host: str
    osds: int
    daemons: tuple[str, ...]  # beside them: monitor, manager, metadata server, gateway
    memory_gib: float
    cores: int
    drive_mb_per_s: float  # what Ceph takes all of its drives for
    has_memory_gib: int
    has_cores: int
    has_mb_per_s: float  # of its ports in the storage network
    osd_memory_gib: float  # of one OSD, in `memory_gib`
    most_osd_memory_gib: float  # what one OSD may have, so that all have enough; 0 where that is not known
    per_drive: int = 1  # OSDs on each


@dataclass(frozen=True, slots=True)
class CephLoss:
    """The worst of the hosts, racks or rows to lose, and what comes of it."""

    kind: str  # host | rack | row
    name: str
    raw_tb: float
    gone: tuple[str, ...]  # pools that may lose objects
    stopped: tuple[str, ...]  # pools that serve some objects only once they are rebuilt
    rebuilt: tuple[str, ...]  # pools whose lost copies have another failure domain to go to
    begins: str  # with Ceph's defaults: itself | part (it marks some OSDs out, no more) | word; empty where nothing is rebuilt
    fullest_domain: float  # fill of the fullest failure domain after that, for each part of fill before
    fullest: float  # fill of the fullest OSD, likewise
    hours: float  # to rebuild it at the fill that is planned, at the least; 0 where nothing is rebuilt
    limit: str  # what takes the longest: drives | network; empty where nothing is rebuilt

    @property
    def most_fill(self) -> float:
        """Return the fill up to which no OSD is nearfull afterwards."""
        return find_fill(NEARFULL, self.fullest)

    @property
    def stops_at(self) -> float:
        """Return the fill from which rebuilding stops half-way, since an OSD is backfillfull."""
        return find_fill(BACKFILLFULL, self.fullest)


@dataclass(frozen=True, slots=True)
class MaintenanceHours:
    """When data may be moved among drives that all work, and how fast then."""

    begin: str  # times of day, as 22:00; both are empty where any hour will do
    end: str
    profile: str  # of mClock
    latency_ms: float  # of commits, above which an OSD is slow; 0: none is


@dataclass(frozen=True, slots=True)
class Tier:
    """OSDs of one class of drives with their hosts, and the pools that lie on them: how far these can be filled."""

    device_class: str
    failure_domain: str
    hosts: tuple[OsdHost, ...]
    pools: tuple[PlacedPool, ...] = ()  # whose shares sum to 1
    small: tuple[PlacedPool, ...] = ()  # of metadata and of gateways: they hold next to nothing
    fullest_domain: float = 0.0  # fill of the fullest failure domain for each part of fill, all hosts there
    fullest: float = 0.0  # fill of the fullest OSD, likewise
    losses: tuple[CephLoss, ...] = ()
    fill_target: float = 0.0  # 0: none
    expand_at: float = 0.0  # 0: none
    needs: tuple[CephNeeds, ...] = ()  # of each group of hosts

    @property
    def osds(self) -> int:
        """Return how many OSDs there are."""
        return sum(host.osds for host in self.hosts)

    @property
    def raw_tb(self) -> float:
        """Return the capacity of all OSDs."""
        return sum(host.raw_tb for host in self.hosts)

    @property
    def domains(self) -> int:
        """Return how many failure domains have OSDs."""
        return len({host.domain for host in self.hosts})

    @property
    def waterline(self) -> float:
        """Return the fill up to which no OSD is nearfull, and none is once a lost host is rebuilt; 0 without pools."""
        lost = self.lost_host
        return find_fill(NEARFULL, max(self.fullest, lost.fullest) if lost else self.fullest)

    @property
    def lost_host(self) -> CephLoss | None:
        """Return the worst host to lose; None without pools, or where there is only one."""
        return next((loss for loss in self.losses if loss.kind == "host"), None)

    @property
    def full_at(self) -> float:
        """Return the fill at which the first OSD is full, with all hosts there: Ceph takes no more writes."""
        return find_fill(FULL, self.fullest)

    @property
    def pgs_per_osd(self) -> float:
        """Return placement groups that an OSD has a copy or chunk of, in the mean."""
        return sum(pool.pgs * pool.size for pool in (*self.pools, *self.small)) / self.osds if self.osds else 0.0

    @property
    def overhead(self) -> float:
        """Return raw bytes for each byte stored, over all pools; 0 without pools."""
        return sum(pool.share * pool.overhead for pool in self.pools)

    @property
    def usable_tb(self) -> float:
        """Return what all pools hold at the waterline, copies counted once."""
        return self.stored_tb(self.waterline)

    def stored_tb(self, fill: float) -> float:
        """Return what all pools hold at a fill, copies counted once."""
        return fill * self.raw_tb / self.overhead if self.pools else 0.0

    def fill_with(self, stored_tb: float) -> float:
        """Return the fill with so much stored."""
        return stored_tb * self.overhead / self.raw_tb if self.raw_tb else 0.0

    def months_to(self, fill: float, stored_tb: float, growth_tb: float) -> float:
        """Return the months until a fill is reached, with so much stored and so much added in a month; 0 where it is already."""
        return max(0.0, self.stored_tb(fill) - stored_tb) / growth_tb

    @property
    def marks(self) -> dict[str, float]:
        """Return the fills to look out for, in their order of rank: those of the intent, the waterline, and full."""
        told = {"expand_at": self.expand_at, "fill_target": self.fill_target}
        return {name: fill for name, fill in told.items() if fill} | {"waterline": self.waterline, "full": self.full_at}


@dataclass(frozen=True, slots=True)
class CephCluster:
    """Ceph's hosts and pools, and what all of them go by; without hosts where there is no Ceph."""

    hosts: tuple[OsdHost, ...] = ()
    failure_domain: str = "host"
    pools: tuple[PlacedPool, ...] = ()
    groups: tuple[OsdGroup, ...] = ()
    tiers: tuple[Tier, ...] = ()  # by the class of drives
    fill_target: float = 0.0  # 0: none
    expand_at: float = 0.0  # 0: none
    fsid: str = ""
    monitors: tuple[DaemonHost, ...] = ()
    public_network: str = ""  # of clients, monitors and OSDs
    cluster_network: str = ""  # of OSDs among themselves; empty where that is the public one
    recovery_profile: str = "balanced"
    deploy: str = "cephadm"  # cephadm | packages
    osd_memory_gib: float = 0.0  # 0: as Ceph or cephadm has it
    filesystems: tuple[CephFiles, ...] = ()
    store: ObjectStore | None = None
    maintenance: MaintenanceHours | None = None

    @property
    def osds(self) -> int:
        """Return how many OSDs there are."""
        return sum(host.osds for host in self.hosts)

    @property
    def raw_tb(self) -> float:
        """Return the capacity of all OSDs."""
        return sum(host.raw_tb for host in self.hosts)

    @property
    def managers(self) -> tuple[DaemonHost, ...]:
        """Return the servers with a manager, of which one is active: those of the first two monitors."""
        return self.monitors[:2]

    @property
    def gateways(self) -> tuple[DaemonHost, ...]:
        """Return the servers with a gateway to the object store; none without one."""
        return self.store.servers if self.store else ()

    @property
    def all_pools(self) -> tuple[PlacedPool, ...]:
        """Return all pools, those of metadata and of gateways last, which hold next to nothing."""
        return (*self.pools, *list_small(self.filesystems, self.store))


def list_small(filesystems: tuple[CephFiles, ...], store: ObjectStore | None) -> tuple[PlacedPool, ...]:
    """Return pools of metadata and of gateways."""
    return (*(each.metadata for each in filesystems), *(store.own if store else ()))
