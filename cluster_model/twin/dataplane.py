"""What a switch's own files say about its interfaces; here: the model, and ifupdown2's `interfaces`.

Management (eth0, the VRF mgmt) is left out: it is another network's cable. What only some kernels have is named in `needs`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from cluster_model.twin.plan_file import TreeError

Kind = Literal["loopback", "port", "bridge", "vrf", "bond", "vxlan", "vlan"]
MANAGEMENT = {"mgmt", "eth0"}
_SIMPLE = {"address", "alias", "mtu", "bridge-ports", "bridge-stp", "bridge-fd", "gateway", "post-up", "pre-down"}
_NEEDS = {
    "vrf": "VRF devices",
    "vrf-table": "VRF devices",
    **dict.fromkeys(
        ("bond-slaves", "bond-mode", "bond-lacp-rate", "bond-xmit-hash-policy", "bond-miimon", "bond-ad-actor-system"), "bonds"
    ),
    **dict.fromkeys(
        (
            *("vxlan-id", "vxlan-local-tunnelip", "vxlan-learning"),
            *("bridge-access", "bridge-learning", "bridge-arp-nd-suppress", "bridge-vlan-aware", "bridge-vids", "bridge-pvid"),
            *("bridge-allow-untagged", "bridge-unicast-flood"),
        ),
        "VLAN-aware bridges",
    ),
    **dict.fromkeys(("vlan-raw-device", "vlan-id"), "VLAN devices"),
    **dict.fromkeys(("hwaddress", "arp-accept"), ""),
}


@dataclass(frozen=True, slots=True)
class Interface:
    """An interface. `members` are the ports of a bridge or bond; a plain bridge is what a VLAN with untagged ports is here.

    Args:
        vrf: the VRF that it lies in.
        table: of a VRF device: its routing table.
        lower: of a VLAN device: what it lies on.
        vlan: of a VLAN device: its VLAN.
        vni: of a VXLAN device, whose tunnels begin at `local`.
        mac: its MAC where the file gives one.
        is_vlan_aware: of a bridge.
        tagged: VLANs of a bridge's port, or of the bridge itself.
        untagged: the VLAN that a bridge's port, or the bridge itself, has without a tag; 0: none.
        system_mac: what a bond says it is to its LACP partner.
        flags: quiet (learns nothing, floods no ARP that it can answer), no-learning, no-flood (of unicast), arp-accept.
        ups: commands of `ip` and `bridge` once it is up.
        downs: those before it goes.
    """

    name: str
    kind: Kind
    addresses: tuple[str, ...] = ()
    mtu_bytes: int = 0
    members: tuple[str, ...] = ()
    description: str = ""
    vrf: str = ""
    table: int = 0
    lower: str = ""
    vlan: int = 0
    vni: int = 0
    local: str = ""
    mac: str = ""
    is_vlan_aware: bool = False
    tagged: tuple[int, ...] = ()
    untagged: int = 0
    system_mac: str = ""
    flags: frozenset[str] = frozenset()
    ups: tuple[str, ...] = ()
    downs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MlagPair:
    """A switch's half of an MLAG pair: the bond to the other, and the bonds that both have."""

    peer_link: str
    bonds: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DataPlane:
    """A switch's interfaces by name, in the file's order, and what they need of the kernel beside ports and plain bridges."""

    interfaces: dict[str, Interface] = field(default_factory=dict)
    needs: frozenset[str] = frozenset()
    mlag: MlagPair | None = None

    def bridge_of(self, port: str) -> Interface | None:
        """Return the bridge that a port is in."""
        return next((item for item in self.interfaces.values() if item.kind == "bridge" and port in item.members), None)


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
        elif words[0] not in _SIMPLE and words[0] not in _NEEDS:
            raise TreeError(f"{where}:{number}: the twin does not know the option {words[0]}")
        elif words[0] in {"post-up", "pre-down"} and words[1:2] not in (["ip"], ["bridge"]):
            raise TreeError(f"{where}:{number}: the twin runs `ip` and `bridge` alone: {line.strip()}")
        else:
            options.append((words[0], " ".join(words[1:])))
    interfaces: dict[str, Interface] = {}
    needs: set[str] = set()
    for name, found in stanzas.items():
        if name in MANAGEMENT or dict(found).get("vrf") == "mgmt":
            continue
        needs |= {need for key, _ in found if (need := _NEEDS.get(key, ""))}
        interfaces[name] = _read_stanza(name, found)
    return DataPlane(interfaces, frozenset(needs))


def _read_stanza(name: str, found: list[tuple[str, str]]) -> Interface:
    values = dict(found)
    members = values.get("bond-slaves", values.get("bridge-ports", "")).split()
    flags = {
        "quiet": values.get("vxlan-learning") == "off",
        "no-flood": values.get("bridge-unicast-flood") == "off",
        "arp-accept": values.get("arp-accept") == "on",
    }
    is_vlan_aware = values.get("bridge-vlan-aware") == "yes"
    return Interface(
        name,
        _find_kind(name, values),
        tuple(value for key, value in found if key == "address"),
        int(values.get("mtu", 0)),
        tuple(port for port in members if port != "none"),
        values.get("alias", ""),
        vrf=values.get("vrf", ""),
        table=int(values.get("vrf-table", 0)),
        lower=values.get("vlan-raw-device", ""),
        vlan=int(values.get("vlan-id", 0)),
        vni=int(values.get("vxlan-id", 0)),
        local=values.get("vxlan-local-tunnelip", ""),
        mac=values.get("hwaddress", ""),
        is_vlan_aware=is_vlan_aware,
        tagged=tuple(int(vlan) for vlan in values.get("bridge-vids", "").split()),
        # ifupdown2 leaves the bridge itself in the kernel's VLAN 1, which no port is in.
        untagged=int(values.get("bridge-access", values.get("bridge-pvid", int(is_vlan_aware)))),
        system_mac=values.get("bond-ad-actor-system", ""),
        flags=frozenset(flag for flag, is_set in flags.items() if is_set),
        ups=tuple(value for key, value in found if key == "post-up"),
        downs=tuple(value for key, value in found if key == "pre-down"),
    )


def _find_kind(name: str, values: dict[str, str]) -> Kind:
    if name == "lo":
        return "loopback"
    kinds: dict[str, Kind] = {
        "bridge-ports": "bridge",
        "vrf-table": "vrf",
        "bond-slaves": "bond",
        "vxlan-id": "vxlan",
        "vlan-raw-device": "vlan",
    }
    return next((kind for key, kind in kinds.items() if key in values), "port")
