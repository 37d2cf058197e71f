"""What Ceph answers: its own JSON, with the members that are compared. Source: Ceph, the commands in ask.py, from 16.2 on."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class Message(_Part):
    """What a check of Ceph's health says."""

    message: str


class Check(_Part):
    """A check of Ceph's health that is not well."""

    severity: str
    summary: Message
    muted: bool = False


class Health(_Part):
    """Ceph's own word for how it is."""

    status: str
    checks: dict[str, Check] = {}


class GroupState(_Part):
    """How many placement groups are in a state, such as active+clean."""

    state_name: str
    count: int


class GroupMap(_Part):
    """Placement groups by their states; none where no manager counts them."""

    pgs_by_state: list[GroupState] = []


class Status(_Part):
    """`ceph status`."""

    fsid: str
    health: Health
    pgmap: GroupMap = GroupMap()

    @property
    def is_moving(self) -> bool:
        """Return whether some placement groups have not all copies where they belong."""
        return any(
            not each.state_name.startswith("active+clean") or "remapped" in each.state_name for each in self.pgmap.pgs_by_state
        )


class Address(_Part):
    """An address with its port, such as 10.0.0.1:3300."""

    addr: str


class Addresses(_Part):
    """The addresses of a daemon, one for each version of the protocol."""

    addrvec: list[Address]


class Monitor(_Part):
    """A monitor of the map."""

    name: str
    public_addrs: Addresses

    @property
    def hosts(self) -> set[str]:
        """Return its addresses without ports."""
        return {each.addr.rpartition(":")[0].strip("[]") for each in self.public_addrs.addrvec}


class Map(_Part):
    """The map of monitors."""

    mons: list[Monitor]


class Quorum(_Part):
    """`ceph quorum_status`."""

    quorum_names: list[str]
    monmap: Map


class Skew(_Part):
    """How far a monitor's clock is from the leader's, s."""

    skew: float = 0.0


class Clocks(_Part):
    """`ceph time-sync-status`; empty right after an election."""

    time_skew_status: dict[str, Skew] = {}


class Managers(_Part):
    """`ceph mgr stat`."""

    active_name: str = ""
    num_standby: int = 0


class Node(_Part):
    """A bucket or an OSD of the CRUSH map."""

    id: int
    name: str
    type: str
    children: list[int] = []
    status: str = ""
    reweight: float = 0.0
    crush_weight: float = 0.0
    device_class: str = ""

    @property
    def takes_data(self) -> bool:
        """Return whether an OSD is in, and has a weight in CRUSH."""
        return self.reweight > 0 and self.crush_weight > 0


class Tree(_Part):
    """`ceph osd tree`."""

    nodes: list[Node]
    stray: list[Node] = []


class Used(_Part):
    """What an OSD has and what of it is used, KiB."""

    name: str
    kb: int
    kb_used: int

    @property
    def fill(self) -> float:
        """Return how full it is."""
        return self.kb_used / self.kb if self.kb else 0.0


class Use(_Part):
    """`ceph osd df`."""

    nodes: list[Used]


class Pool(_Part):
    """A pool, of `ceph osd pool ls detail`."""

    pool_name: str
    pool_id: int = -1
    type: int
    size: int
    min_size: int
    pg_num: int
    pg_num_target: int = 0
    pg_autoscale_mode: str = ""
    crush_rule: int
    application_metadata: dict[str, object] = {}


class MetadataServer(_Part):
    """A metadata server, and its state, such as up:active or up:standby."""

    name: str
    state: str


class FilesMap(_Part):
    """A file system: its pools by number, and the servers that it has by theirs."""

    fs_name: str
    max_mds: int
    metadata_pool: int
    data_pools: list[int]
    info: dict[str, MetadataServer] = {}


class Files(_Part):
    """A file system as `ceph fs dump` has it."""

    mdsmap: FilesMap


class AllFiles(_Part):
    """`ceph fs dump`: file systems, and the metadata servers that stand by for any of them."""

    filesystems: list[Files]
    standbys: list[MetadataServer] = []


class Registered(_Part):
    """A daemon that told managers of itself: its name, such as store.control-001, its zone, and where it listens."""

    metadata: dict[str, str] = {}

    @property
    def name(self) -> str:
        """Return its name."""
        return self.metadata.get("id", "")

    @property
    def where(self) -> str:
        """Return its realm and zone, empty where it does not tell."""
        return f"{self.metadata.get('realm_name', '')}/{self.metadata['zone_name']}" if "zone_name" in self.metadata else ""


class Service(_Part):
    """Daemons of a kind by numbers that change with each start."""

    daemons: dict[str, Registered] = {}


class Services(_Part):
    """`ceph service dump`: gateways, as `rgw`."""

    services: dict[str, Service] = {}


class Step(_Part):
    """A step of a CRUSH rule."""

    op: str
    item_name: str = ""
    type: str = ""
    num: int = 0


class Rule(_Part):
    """A CRUSH rule, of `ceph osd crush rule dump`."""

    rule_id: int
    rule_name: str
    steps: list[Step]


class Option(_Part):
    """An option in the monitors, of `ceph config dump`; with a mask it is for some daemons of its section alone."""

    section: str
    name: str
    value: str
    mask: str = ""

    @property
    def who(self) -> str:
        """Return whom it is for, as `ceph config rm` takes it, such as osd/host:storage-001."""
        return f"{self.section}/{self.mask}" if self.mask else self.section


class Answers(_Part):
    """All that is asked; `versions` by kind of daemon, `users` with their rights and without keys; `use` where a manager runs.

    `files` is not in what earlier versions of gpuyard saved; `services` stands where gateways are planned and a manager runs.
    """

    status: Status
    quorum: Quorum
    clocks: Clocks
    managers: Managers
    versions: dict[str, dict[str, int]]
    tree: Tree
    pools: list[Pool]
    rules: list[Rule]
    options: list[Option]
    users: dict[str, dict[str, str]]
    files: AllFiles | None = None
    services: Services | None = None
    use: Use | None = None
