"""How servers are installed, as planned. Part of the plan: model.py has the conventions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BootServer:
    """A server that answers DHCP and DNS; `name` is empty where it is not one of the cluster's."""

    name: str
    address: str  # without length


@dataclass(frozen=True, slots=True)
class Segment:
    """An out-of-band subnet. The switch asks for its clients from `gateway`; `first` to `last` are addresses that no port has."""

    name: str  # bmc | switch | host
    switch: str
    vlan: int
    prefix: str
    gateway: str
    first: str  # empty where no address is to spare
    last: str


@dataclass(frozen=True, slots=True)
class Account:
    """An administrator: public keys, and the name of the secret with the password's hash, empty for none."""

    name: str
    keys: tuple[str, ...]
    password: str


@dataclass(frozen=True, slots=True)
class DiskRule:
    """Disks that fit all that is given: a shell pattern of the model, and a range of capacities in 10^9 bytes, 0 for no bound."""

    model: str
    min_gb: int
    max_gb: int

    @property
    def is_open(self) -> bool:
        """Return whether every disk fits."""
        return not (self.model or self.min_gb or self.max_gb)


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition that every system disk gets, in order. `size_mib` 0 takes the rest; mirrored ones make a RAID 1."""

    name: str  # esp | bios | swap | root
    size_mib: int
    type: str  # esp | bios | linux
    filesystem: str  # vfat | swap | ext4 | xfs; empty for none
    mount: str
    mirror: bool


@dataclass(frozen=True, slots=True)
class WipeRule:
    """Disks that may be overwritten although they hold something: the system's, or where `match` is given those that fit."""

    match: DiskRule | None
    consent: str


@dataclass(frozen=True, slots=True)
class Installation:
    """How the servers of a group are installed."""

    group: str
    method: str  # image | autoinstall
    distribution: str
    release: str
    image: str
    firmware: str  # uefi | bios
    loader: str  # tftp | http
    kernel_arguments: tuple[str, ...]
    system_count: int
    system: DiskRule
    partitions: tuple[Partition, ...]
    wipe: tuple[WipeRule, ...]
    where: str  # of the group in the intent


@dataclass(frozen=True, slots=True)
class BootHost:
    """A server that is installed, with the port that it boots from; `mac` is empty where no fact file has it."""

    name: str
    group: str
    interface: str
    mac: str
    address: str
    gateway: str
    serials: tuple[str, ...]  # of its system disks, where delivered
    wwns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Provisioning:
    """Who boots whom, and how. The first of `servers` is the boot server; the others answer DHCP and DNS alike."""

    servers: tuple[BootServer, ...] = ()
    segments: tuple[Segment, ...] = ()
    offers_unknown: bool = True
    is_asked: bool = False  # the intent says how servers are installed
    accounts: tuple[Account, ...] = ()
    installations: tuple[Installation, ...] = ()
    hosts: tuple[BootHost, ...] = ()

    @property
    def boot_server(self) -> BootServer | None:
        """Return the server that boots the others, None where there is none."""
        return self.servers[0] if self.servers else None
