"""What changes between two plans: devices, cables, addresses, and every setting that differs. Pure data, no words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

from cluster_model.plan.compare.cables import CableChange, compare_cables, compare_outside
from cluster_model.plan.compare.tenants import ValueChange, compare_overlays, compare_tenants
from cluster_model.plan.model import Pdu, Plan, Server, Service, Switch

Action = Literal["add", "remove", "rename", "move"]
Device = Server | Switch | Pdu
KINDS = ("server", "switch", "pdu")
_SKIPPED = {"name", "rack", "u", "where", "optics_w", "upstreams"}  # said as a move, with the cables, or follows from them
SHOWN_ENTRIES = 4
_OVERLAYS = {"overlay", "bonds"}  # compare_tenants.py has them
_ADDRESSES = {"address", "peer_address", "gateway", "loopback", "asn", "peer_asn", "originates", "gateways", "route", "beyond"}
_TIERS = {"leafs", "borders", "spines", "cores"}
_COUNTS = {*_TIERS, *(f"{kind}_cables" for kind in ("host_leaf", "fabric_manager", "peer_link", "leaf_spine", "spine_core"))}
_COMPARED = {"name", "version", "digest", "site", "racks", "servers", "switches", "pdus", "cables", "networks", "lossless"}
_COMPARED |= {"tenants", "border_peers", "meetings", "partitions"}

_CEPH = {
    "hosts",
    "monitors",
    "pools",
    "filesystems",
    "store",
    "groups",
    "tiers",
}  # with the servers, one by one, or follow from them


@dataclass(frozen=True, slots=True)
class DeviceChange:
    """A device that comes, goes, moves or is renamed; `old` and `new` are places, or names for a rename."""

    action: Action
    kind: str
    name: str
    model: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything that differs between two plans, in the order of the plans."""

    moved_addresses: list[ValueChange] = field(default_factory=list)  # of hosts, switches, gateways and DHCP servers that stay
    devices: list[DeviceChange] = field(default_factory=list)
    cables: list[CableChange] = field(default_factory=list)
    addresses: list[ValueChange] = field(default_factory=list)
    tenants: list[ValueChange] = field(default_factory=list)
    overlays: list[ValueChange] = field(default_factory=list)  # what switches and servers have of tenants
    settings: list[ValueChange] = field(default_factory=list)
    changed: dict[str, list[str]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    """By kind, the devices that stay and have another value: an address, a tenant, a setting."""

    def __bool__(self) -> bool:
        values = self.moved_addresses or self.addresses or self.tenants or self.overlays or self.settings
        return bool(self.devices or self.cables or values)

    def count(self, changes: Iterable[DeviceChange | CableChange], action: str, kind: str = "") -> int:
        """Return how many changes are of an action, and of a kind of device."""
        return sum(change.action == action and kind in {"", getattr(change, "kind", "")} for change in changes)

    def count_values(self) -> int:
        """Return how many values differ of what stays."""
        return len(self.moved_addresses) + len(self.addresses) + len(self.overlays) + len(self.settings)


def compare_plans(old: Plan, new: Plan) -> Comparison:
    """Return what changes from one plan to the other.

    A device that leaves while one with the same serial, or with the same model at the same place, comes is taken for renamed: its
    cables stay where they are.
    """
    found = Comparison()
    new_names: dict[str, str] = {}
    pairs: list[tuple[Device, Device]] = []
    for kind, before, after in zip(KINDS, _devices(old), _devices(new), strict=True):
        names, changes, same = _compare_devices(kind, before, after)
        new_names |= names
        found.devices.extend(changes)
        pairs.extend(same)
    outside = compare_outside(old, new, new_names)
    found.cables.extend([*compare_cables(old.cables, new.cables, new_names), *outside.cables])
    for first, second in pairs:
        values = found.count_values()
        ports = isinstance(first, Switch)  # theirs follow from what is at the other end, or from where they stand
        for change in _compare_values(first, second, new_names):
            kept = found.addresses if _is_address(change) else found.settings
            (found.moved_addresses if _is_moved(change) and not (ports and ":" in change.subject) else kept).append(change)
        if not isinstance(first, Pdu) and not isinstance(second, Pdu):
            for change in compare_overlays(first, second):
                (found.moved_addresses if _is_moved(change) and not ports else found.overlays).append(change)
        for kept, told in (
            (found.moved_addresses, outside.moved_addresses),
            (found.addresses, outside.addresses),
            (found.settings, outside.settings),
        ):
            kept.extend(change for change in told if change.subject.partition(":")[0] == second.name)
        if found.count_values() > values:
            found.changed[_name_kind(second)].append(second.name)
    for change in compare_tenants(old, new):
        (found.moved_addresses if _is_moved(change) else found.tenants).append(change)
    found.moved_addresses.extend(_compare_boot_servers(old, new))
    found.settings.extend(_compare_named("rack", old.racks, new.racks))
    found.settings.extend(_compare_named("network", old.networks, new.networks))
    found.settings.extend(_compare_fields("lossless", old.lossless, new.lossless))
    found.settings.extend(_compare_fields("site", old.site, new.site))
    found.settings.extend(_compare_fields("ceph", old.ceph, new.ceph, skip=_CEPH))
    found.settings.extend(_compare_named("monitor", old.ceph.monitors, new.ceph.monitors))
    found.settings.extend(_compare_named("OSDs of group", old.ceph.groups, new.ceph.groups))
    found.settings.extend(_compare_named("pool", old.ceph.pools, new.ceph.pools))
    found.settings.extend(_compare_named("file system", old.ceph.filesystems, new.ceph.filesystems))
    found.settings.extend(_compare_named("object store", filter(None, [old.ceph.store]), filter(None, [new.ceph.store])))
    if old.name != new.name:
        found.settings.append(ValueChange("cluster", "name", old.name, new.name))
    if not found and any(
        getattr(old, part.name) != getattr(new, part.name) for part in fields(old) if part.compare and part.name not in _COMPARED
    ):
        found.settings.append(ValueChange("cluster", "power or materials", "", "differ"))
    return found


def clear_plan(plan: Plan) -> Plan:
    """Return the plan before anything of it stood, so that a comparison with it adds everything."""
    bare = replace(plan, racks=(), servers=(), switches=(), pdus=(), cables=(), networks=())
    return replace(bare, tenants=(), border_peers=(), meetings=(), partitions=())


def _devices(plan: Plan) -> tuple[Mapping[str, Device], ...]:
    return (
        {device.name: device for device in plan.servers},
        {device.name: device for device in plan.switches},
        {device.name: device for device in plan.pdus},
    )


def _name_kind(device: Device) -> str:
    return "server" if isinstance(device, Server) else "switch" if isinstance(device, Switch) else "pdu"


def _compare_devices(
    kind: str, before: Mapping[str, Device], after: Mapping[str, Device]
) -> tuple[dict[str, str], list[DeviceChange], list[tuple[Device, Device]]]:
    """Return names that changed, changes, and the devices that stay as pairs."""
    gone = [device for name, device in before.items() if name not in after]
    come = {name: device for name, device in after.items() if name not in before}
    by_serial = {device.serial: device for device in come.values() if device.serial}
    by_place = {(_place(device), device.model): device for device in come.values()}
    renamed: dict[str, str] = {}
    changes = []
    for device in gone:
        twin = by_serial.get(device.serial) if device.serial else by_place.get((_place(device), device.model))
        if twin is not None and twin.name in come:
            renamed[device.name] = twin.name
            del come[twin.name]
            changes.append(DeviceChange("rename", kind, device.name, device.model, device.name, twin.name))
        else:
            changes.append(DeviceChange("remove", kind, device.name, device.model, _place(device), ""))
    changes += [DeviceChange("add", kind, name, device.model, "", _place(device)) for name, device in come.items()]
    pairs = [(device, after[renamed.get(name, name)]) for name, device in before.items() if renamed.get(name, name) in after]
    for first, second in pairs:
        if _place(first) != _place(second):
            changes.append(DeviceChange("move", kind, second.name, second.model, _place(first), _place(second)))
    return renamed, changes, pairs


def _place(device: Device) -> str:
    return f"{device.rack} feed {device.feed}" if isinstance(device, Pdu) else f"{device.rack} U{device.u}"


def _compare_values(old: Device, new: Device, names: Mapping[str, str]) -> Iterator[ValueChange]:
    """Yield every other value of a device that stays."""
    for part in fields(old):
        before, after = getattr(old, part.name), getattr(new, part.name)
        if before == after or part.name in _SKIPPED | _OVERLAYS:
            continue
        if part.name == "ports":
            yield from _compare_ports(new.name, before, after, names)
        elif part.name == "services":
            yield from _compare_services(new.name, before, after)
        elif part.name in {"management", "bmc"} and before is not None and after is not None:
            yield from _compare_fields(f"{new.name} {part.name}", before, after, skip={"peer", "peer_port"})
        else:
            yield _make_change(new.name, part.name, before, after)


def _compare_ports(device: str, before: Iterable[Any], after: Iterable[Any], names: Mapping[str, str]) -> Iterator[ValueChange]:
    """Yield values of ports that are in both; the far ends are said with the cables."""
    old = {port.name: port for port in before}
    for port in after:
        if port.name in old and names.get(old[port.name].peer, old[port.name].peer) == port.peer:
            yield from _compare_fields(f"{device}:{port.name}", old[port.name], port, skip={"peer", "peer_port"})
        elif port.name in old:
            yield from _compare_fields(f"{device}:{port.name}", old[port.name], port, skip={"peer", "peer_port", "peer_asn"})


def _compare_services(device: str, before: Iterable[Service], after: Iterable[Service]) -> Iterator[ValueChange]:
    old = {(service.network, service.purpose): service for service in before}
    new = {(service.network, service.purpose): service for service in after}
    for key in dict.fromkeys([*old, *new]):
        subject = f"{device} service {key[1]}"
        if key in old and key in new:
            yield from _compare_fields(subject, old[key], new[key])
        else:
            yield ValueChange(subject, "address", *(table[key].address if key in table else "none" for table in (old, new)))


def _compare_named(kind: str, before: Iterable[Any], after: Iterable[Any]) -> Iterator[ValueChange]:
    old = {item.name: item for item in before}
    new = {item.name: item for item in after}
    yield from (ValueChange(f"{kind} {name}", "exists", "yes", "no") for name in old if name not in new)
    for name, item in new.items():
        if name not in old:
            yield ValueChange(f"{kind} {name}", "exists", "no", "yes")
        else:
            yield from _compare_fields(f"{kind} {name}", old[name], item, skip={"where", *_COUNTS})


def _compare_fields(subject: str, old: Any, new: Any, skip: Iterable[str] = ()) -> Iterator[ValueChange]:
    if old == new:
        return
    for part in fields(old):
        before, after = getattr(old, part.name), getattr(new, part.name)
        if before != after and part.name not in skip:
            yield _make_change(subject, part.name, before, after)


def _make_change(subject: str, key: str, before: Any, after: Any) -> ValueChange:
    old, new = _format(before), _format(after)
    if old == new and isinstance(before, tuple) and isinstance(after, tuple):
        old, new = _tell_entries(before, after)
    elif old == new and isinstance(before, dict) and isinstance(after, dict):
        old, new = _tell_entries(tuple(before.items()), tuple(after.items()))
    return ValueChange(subject, key, old, new if new != old else f"another {new.removeprefix('a ')}")


def _tell_entries(before: tuple[Any, ...], after: tuple[Any, ...]) -> tuple[str, str]:
    """Return what differs of two lists of one length: entries of plain values in full where they are few, else how many."""
    pairs = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    if len(pairs) <= SHOWN_ENTRIES and _is_plain(tuple(pairs)):
        old, new = (", ".join(_format_entry(entry) for entry in side) for side in zip(*pairs, strict=True))
        return old, new
    return f"a list of {len(before)}", f"one with {len(pairs)} other {'entry' if len(pairs) == 1 else 'entries'}"


def _is_plain(value: Any) -> bool:
    return all(map(_is_plain, value)) if isinstance(value, tuple) else isinstance(value, str | int | float)


def _format_entry(entry: Any) -> str:
    return f"({', '.join(map(_format, entry))})" if isinstance(entry, tuple) else _format(entry)


def _is_address(change: ValueChange) -> bool:
    return change.key in _ADDRESSES


def _is_moved(change: ValueChange) -> bool:
    """Return whether something that had an address has another one; a gateway's is told with the subnet."""
    moves = change.key.rpartition(" ")[2] in {"address", "loopback"} or (
        change.key == "gateway" and change.subject[:7] == "subnet "
    )
    return moves and "none" not in {change.old, change.new} and "" not in {change.old, change.new}


def _compare_boot_servers(old: Plan, new: Plan) -> Iterator[ValueChange]:
    """Yield the servers that DHCP is relayed to, where one of them is so no more."""
    before, after = ([server.address for server in plan.provisioning.servers] for plan in (old, new))
    if not set(before) <= set(after):
        yield ValueChange("boot servers", "address", ", ".join(before), ", ".join(after) or "none")


def _format(value: Any) -> str:
    """Return a value in words: lists of plain values in full, lists of objects by their count."""
    if value is None or value == "":
        return "none"
    if isinstance(value, tuple):
        plain = all(isinstance(item, str | int | float) for item in value)
        return ", ".join(map(str, value)) or "none" if plain and len(value) < 6 else f"a list of {len(value)}"
    return f"a table of {len(value)}" if isinstance(value, dict) else f"{value:g}" if isinstance(value, float) else str(value)
