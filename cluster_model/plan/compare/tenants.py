"""What changes for tenants between two plans: their records, and what switches and servers have of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from cluster_model.plan.model import Plan, Server, Switch
from cluster_model.plan.model.overlay import Filter, Import, Nat, TenantFolder, TenantStorage
from cluster_model.plan.tenancy.prefixes import word_filter, word_import


@dataclass(frozen=True, slots=True)
class ValueChange:
    """A value that differs, e.g. an address or an ASN. `subject` is a device, a port (`device:port`), a rack or a network.

    An empty `old` is something that comes, an empty `new` something that goes; the other one then describes it.
    """

    subject: str
    key: str
    old: str
    new: str


Records = dict[str, Any]
_NESTED = {"where", "subnets", "vlans", "vrfs", "bonds", "externals", "mlag"}  # compared as records of their own, or no value
_ELSEWHERE = {"Overlay": {"nat"}, "External": {"address", "peer_address"}}  # of one that stays: as records, with the cables
_TOLD = {
    "Tenant": ("id", "vrf", "vni", "servers", "gpus"),
    "Subnet": ("prefix", "vlan", "vni"),
    "BorderPeer": ("asn", "accept", "announce"),
    "Meeting": ("offered", "returned"),
    "Partition": ("pkey", "ports"),
    "OverlayVlan": ("name", "vni", "address"),
    "SwitchVrf": ("vni", "imports", "announced"),
    "Bond": ("server", "ports", "vlans"),
    "External": ("asn", "peer_address", "accept", "announce"),
    "NatRule": ("outside",),
    "Mlag": ("ports", "address"),
    "ServerBond": ("ports",),
    "ServerVlan": ("address", "tenant", "subnet"),
    "Overlay": ("vtep", "homing"),
}
"""What is told of a record that comes or goes; of one that stays, every field that changes is."""
_VERBS = {"shared": "uses", "peering": "peers with", "egress": "leaves by"}


def compare_tenants(old: Plan, new: Plan) -> Iterator[ValueChange]:
    """Yield tenants, subnets, border peers, meetings of VRFs and partitions that come, go or change."""
    for subject, before, after in _pair(_list_records(old), _list_records(new)):
        yield from _compare(before, after, subject, "")


def compare_overlays(old: Server | Switch, new: Server | Switch) -> Iterator[ValueChange]:
    """Yield what changes on a device that stays: VLANs, VRFs, bonds, sessions, NAT and MLAG of a switch, bonds of a server."""
    for what, before, after in _pair(_list_parts(old), _list_parts(new)):
        yield from _compare(before, after, new.name, what)


def _list_records(plan: Plan) -> Records:
    found: Records = {}
    for tenant in plan.tenants:
        found[f"tenant {tenant.name}"] = tenant
        found |= {f"subnet {tenant.name}/{subnet.name}": subnet for subnet in tenant.subnets}
    found |= {f"border peer {peer.name}": peer for peer in plan.border_peers}
    found |= {f"{meeting.consumer} {_VERBS[meeting.kind]} {meeting.provider}": meeting for meeting in plan.meetings}
    return found | {f"partition of {partition.tenant}": partition for partition in plan.partitions}


def _list_parts(device: Server | Switch) -> Records:
    found: Records = {}
    if isinstance(device, Server):
        for bond in device.bonds:
            found[bond.name] = bond
            found |= {f"{vlan.name} ({vlan.tenant})": vlan for vlan in bond.vlans}
    elif device.overlay is not None:
        overlay = device.overlay
        found["EVPN"] = overlay
        found |= {f"VLAN {vlan.vlan}": vlan for vlan in overlay.vlans}
        found |= {f"VRF {vrf.name}": vrf for vrf in overlay.vrfs}
        found |= {f"bond {port.number}": port for port in overlay.bonds}
        found |= {f"session with {way.peer} on {way.port}": way for way in overlay.externals}
        found |= {f"NAT of {rule.tenant} to {rule.peer}": rule for rule in overlay.nat}
        found |= {"MLAG": overlay.mlag} if overlay.mlag else {}
    return found


def _pair(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    return ((key, old.get(key), new.get(key)) for key in dict.fromkeys([*old, *new]) if old.get(key) != new.get(key))


def _compare(old: Any, new: Any, subject: str, what: str) -> Iterator[ValueChange]:
    if old is None or new is None:
        yield ValueChange(subject, what, _describe(old), _describe(new))
        return
    skipped = _NESTED | _ELSEWHERE.get(type(new).__name__, set())
    for part in fields(new):
        before, after = getattr(old, part.name), getattr(new, part.name)
        if before != after and part.name not in skipped:
            key = f"{what} {part.name}" if what else part.name
            if isinstance(before, tuple) and isinstance(after, tuple):
                gone = tuple(item for item in before if item not in after)
                come = tuple(item for item in after if item not in before)
                if gone:
                    yield ValueChange(subject, key, _word(part.name, gone), "")
                if come:
                    yield ValueChange(subject, key, "", _word(part.name, come))
                if gone or come:
                    continue
            yield ValueChange(subject, key, _word(part.name, before) or "none", _word(part.name, after) or "none")


def _describe(record: Any) -> str:
    if record is None:
        return ""
    told = [(name, _word(name, getattr(record, name))) for name in _TOLD[type(record).__name__]]
    return ", ".join(f"{name} {words}" for name, words in told if words) or "without a value"


def _word(name: str, value: Any) -> str:
    """Return a value in words; empty where it means none."""
    if value is None or value == "" or (name == "gpus" and value == -1):
        return ""
    if isinstance(value, tuple):
        plain = bool(value) and isinstance(value[0], str) and name in {"servers", "ports", "guids", "clients"}
        if plain and len(value) > 4:
            return f"{value[0]} … {value[-1]} ({len(value)})"
        return ("; " if value and isinstance(value[0], Import) else ", ").join(_word("", item) for item in value)
    if isinstance(value, Filter):
        return word_filter(value)
    if isinstance(value, Import):
        return word_import(value)
    if isinstance(value, Nat):
        return f"{value.peer} by {value.prefix}"
    if isinstance(value, TenantStorage):
        clients = f", clients {_word('clients', value.clients)}" if value.clients else ""
        folders = f", folders in {', '.join(map(_word_folder, value.folders))}" if value.folders else ""
        pools = f"pools {', '.join(value.pools)}, " if value.pools else ""
        user = f"namespace {value.namespace}, user {value.user}" if value.pools or value.folders else "no pools"
        buckets = "" if value.object_bytes is None else f", buckets{_word_quota(value.object_bytes)}"
        return f"{pools}{user}{folders}{buckets}{clients}"
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def _word_folder(folder: TenantFolder) -> str:
    return f"{folder.filesystem}{_word_quota(folder.quota_bytes)} (pool {folder.pool})"


def _word_quota(quota_bytes: int) -> str:
    return f" of {quota_bytes / 10**12:g} TB" if quota_bytes else ""
