"""What a switch's own files say about its interfaces: ifupdown2's `interfaces`, or SONiC's config_db.json.

Management (eth0, the VRF mgmt) is left out: it is another network's cable. What only some kernels have is named in `needs`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal

from cluster_model.twin.plan_file import TreeError

Kind = Literal["loopback", "port", "bridge"]
MANAGEMENT = {"mgmt", "eth0"}
_SIMPLE = {"address", "alias", "mtu", "bridge-ports", "bridge-stp", "bridge-fd", "gateway", "post-up", "pre-down"}
_NEEDS = {
    "vrf": "VRF devices",
    "vrf-table": "VRF devices",
    "bond-": "bonds",
    "vxlan-": "VLAN-aware bridges",
    "vlan-": "VLAN devices",
    "bridge-": "VLAN-aware bridges",
    "hwaddress": "",
    "arp-accept": "",
    "clagd-": "MLAG",
}
_SONIC_NEEDS = {
    "VRF": "VRF devices",
    "PORTCHANNEL": "bonds",
    "VXLAN_TUNNEL_MAP": "VLAN-aware bridges",
    "MCLAG_DOMAIN": "MLAG",
    "VLAN_SUB_INTERFACE": "VLAN devices",
}


@dataclass(frozen=True, slots=True)
class Interface:
    """An interface. `members` are the ports of a bridge, which is what a VLAN with untagged ports is here."""

    name: str
    kind: Kind
    addresses: tuple[str, ...] = ()
    mtu_bytes: int = 0
    members: tuple[str, ...] = ()
    description: str = ""


@dataclass(frozen=True, slots=True)
class DataPlane:
    """A switch's interfaces by name, and what they need of the kernel beside ports and plain bridges."""

    interfaces: dict[str, Interface] = field(default_factory=dict)
    needs: frozenset[str] = frozenset()


def parse_interfaces(text: str, where: str) -> DataPlane:
    """Read an ifupdown2 file.

    Args:
        text: the file.
        where: its path, for errors.

    Raises:
        TreeError: an option that the twin does not know, which would be left out silently otherwise.
    """
    stanzas: dict[str, list[tuple[str, str]]] = {}
    options: list[tuple[str, str]] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#") or words[0] == "auto":
            continue
        if words[0] == "iface":
            options = stanzas.setdefault(words[1], [])
        elif options is None or not line[0].isspace():
            raise TreeError(f"{where}:{number}: neither `iface` nor an option of one: {line.strip()}")
        elif not _is_known(words[0]):
            raise TreeError(f"{where}:{number}: the twin does not know the option {words[0]}")
        else:
            options.append((words[0], " ".join(words[1:])))
    interfaces: dict[str, Interface] = {}
    needs: set[str] = set()
    for name, found in stanzas.items():
        values = dict(found)
        if name in MANAGEMENT or values.get("vrf") == "mgmt":
            continue
        needs |= {need for key, _ in found if (need := _need(key))}
        interfaces[name] = Interface(
            name,
            "loopback" if name == "lo" else "bridge" if "bridge-ports" in values else "port",
            tuple(value for key, value in found if key == "address"),
            int(values.get("mtu", 0)),
            tuple(port for port in values.get("bridge-ports", "").split() if port != "none"),
            values.get("alias", ""),
        )
    return DataPlane(interfaces, frozenset(needs))


def _is_known(option: str) -> bool:
    return option in _SIMPLE or any(option == key or (key.endswith("-") and option.startswith(key)) for key in _NEEDS)


def _need(option: str) -> str:
    if option in _SIMPLE:
        return ""
    return next((need for key, need in _NEEDS.items() if option == key or (key.endswith("-") and option.startswith(key))), "")


def parse_config_db(text: str, where: str) -> DataPlane:
    """Read SONiC's config_db.json: PORT, INTERFACE, LOOPBACK_INTERFACE, VLAN, VLAN_MEMBER, VLAN_INTERFACE.

    Raises:
        TreeError: it is not a config_db.json.
    """
    try:
        tables: dict[str, dict[str, Any]] = json.loads(text)
    except json.JSONDecodeError as error:
        raise TreeError(f"{where}:{error.lineno}: not JSON: {error.msg}") from None
    addresses: dict[str, list[str]] = {}
    for table in ("INTERFACE", "LOOPBACK_INTERFACE", "VLAN_INTERFACE"):
        for key in tables.get(table, {}):
            name, _, address = key.partition("|")
            if address:
                addresses.setdefault(name, []).append(address)
    members: dict[str, list[str]] = {}
    needs = {need for table, need in _SONIC_NEEDS.items() if tables.get(table)}
    for key, row in tables.get("VLAN_MEMBER", {}).items():
        vlan, _, port = key.partition("|")
        members.setdefault(vlan, []).append(port)
        if row.get("tagging_mode") != "untagged":
            needs.add("VLAN-aware bridges")
    if any(row.get("vrf_name") for table in ("INTERFACE", "VLAN_INTERFACE") for row in tables.get(table, {}).values()):
        needs.add("VRF devices")
    loopbacks = [address for name, found in addresses.items() if name.startswith("Loopback") for address in found]
    interfaces = {"lo": Interface("lo", "loopback", tuple(loopbacks))}
    for name, row in tables.get("PORT", {}).items():
        if row.get("admin_status") == "up":
            interfaces[name] = Interface(
                name, "port", tuple(addresses.get(name, ())), int(row.get("mtu", 0)), (), row.get("description", "")
            )
    for name in tables.get("VLAN", {}):
        interfaces[name] = Interface(name, "bridge", tuple(addresses.get(name, ())), 0, tuple(members.get(name, ())))
    return DataPlane(interfaces, frozenset(needs))
