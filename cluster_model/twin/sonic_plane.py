"""What SONiC's config_db.json says about a switch's interfaces, as the devices that SONiC makes of it."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from cluster_model.plan.model.overlay import VXLAN_OVERHEAD_BYTES
from cluster_model.twin.dataplane import DataPlane, Interface, MlagPair
from cluster_model.twin.plan_file import TreeError

_NEEDS = {
    "VRF": "VRF devices",
    "PORTCHANNEL": "bonds",
    "VXLAN_TUNNEL_MAP": "VLAN-aware bridges",
    "VLAN_SUB_INTERFACE": "VLAN devices",
}
BRIDGE = "Bridge"
FIRST_TABLE = 1001
"""Of the VRFs, as SONiC's vrfmgrd counts them."""
NO_ROUTE = "ip route replace unreachable default metric 4278198272 table {}"
"""The chip's, played by the kernel: what a VRF has no route for does not go on in the main table."""
LOCAL_MAC = "bridge fdb replace {} dev Bridge self local vlan {}"
Tables = dict[str, dict[str, dict[str, Any]]]


def parse_config_db(text: str, where: str) -> DataPlane:
    """Read a config_db.json: ports, loopbacks, VLANs, and bonds, VRFs and VXLANs where there are any.

    Raises:
        TreeError: it is not a config_db.json.
    """
    try:
        tables: Tables = json.loads(text)
    except json.JSONDecodeError as error:
        raise TreeError(f"{where}:{error.lineno}: not JSON: {error.msg}") from None
    return _Reader(tables).read()


@dataclass
class _Reader:
    """Reads one file. `members` are (port, is it tagged) by VLAN."""

    tables: Tables
    addresses: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    members: dict[str, list[tuple[str, bool]]] = field(default_factory=lambda: defaultdict(list))
    rows: dict[str, dict[str, Any]] = field(default_factory=dict)
    found: dict[str, Interface] = field(default_factory=dict)

    def get(self, table: str) -> dict[str, dict[str, Any]]:
        return self.tables.get(table, {})

    def read(self) -> DataPlane:
        for table in ("INTERFACE", "LOOPBACK_INTERFACE", "VLAN_INTERFACE"):
            for key, row in self.get(table).items():
                name, _, address = key.partition("|")
                if address:
                    self.addresses[name].append(address)
                else:
                    self.rows[name] = row
        for key, row in self.get("VLAN_MEMBER").items():
            vlan, _, port = key.partition("|")
            self.members[vlan].append((port, row.get("tagging_mode") != "untagged"))
        needs = {need for table, need in _NEEDS.items() if self.get(table)}
        is_aware = bool(self.get("VXLAN_TUNNEL_MAP")) or any(tagged for ports in self.members.values() for _, tagged in ports)
        if is_aware:
            needs |= {"VLAN-aware bridges", "VLAN devices"}
        if any(row.get("vrf_name") for row in self.rows.values()):
            needs.add("VRF devices")
        self._read_ports()
        if is_aware:
            self._read_overlay()
        else:
            for name in self.get("VLAN"):
                members = tuple(port for port, _ in self.members[name])
                self.found[name] = Interface(name, "bridge", tuple(self.addresses[name]), 0, members)
        return DataPlane(self.found, frozenset(needs), self._read_mlag())

    def _read_ports(self) -> None:
        loopbacks = [address for name, found in self.addresses.items() if name.startswith("Loopback") for address in found]
        self.found["lo"] = Interface("lo", "loopback", tuple(loopbacks))
        for number, name in enumerate(self.get("VRF")):
            table = FIRST_TABLE + number
            self.found[name] = Interface(name, "vrf", table=table, ups=(NO_ROUTE.format(table),))
        for name, row in self.get("PORT").items():
            if row.get("admin_status") == "up":
                self.found[name] = Interface(
                    name,
                    "port",
                    tuple(self.addresses[name]),
                    int(row.get("mtu", 0)),
                    description=row.get("description", ""),
                    vrf=self.rows.get(name, {}).get("vrf_name", ""),
                )

    def _read_overlay(self) -> None:
        """Add bonds, VXLAN devices, the bridge and its VLANs; those of L3 VNIs last, as FRR wants them."""
        numbers = {name: int(row["vlanid"]) for name, row in self.get("VLAN").items()}
        mapped = {row["vlan"]: int(row["vni"]) for row in self.get("VXLAN_TUNNEL_MAP").values()}
        source = next((row["src_ip"] for row in self.get("VXLAN_TUNNEL").values()), "")
        tagged: dict[str, list[int]] = defaultdict(list)
        untagged: dict[str, int] = {}
        for vlan, ports in self.members.items():
            for port, is_tagged in ports:
                if is_tagged:
                    tagged[port].append(numbers[vlan])
                else:
                    untagged[port] = numbers[vlan]
        shared = {key.partition("|")[2] for key in self.get("MCLAG_INTERFACE")}
        peer_links = {row["peer_link"] for row in self.get("MCLAG_DOMAIN").values()}  # the daemon learns for it
        router_mac = next((row["mac_addr"] for row in self.rows.values() if row.get("mac_addr")), "")
        slaves: dict[str, list[str]] = defaultdict(list)
        for key in self.get("PORTCHANNEL_MEMBER"):
            bond, _, port = key.partition("|")
            slaves[bond].append(port)
        for name, row in self.get("PORTCHANNEL").items():
            self.found[name] = Interface(
                name,
                "bond",
                (),
                int(row.get("mtu", 0)),
                tuple(slaves[name]),
                row.get("description", ""),
                tagged=tuple(tagged[name]),
                untagged=untagged.get(name, 0),
                system_mac=row.get("system_mac", router_mac if name in shared else ""),
                flags=frozenset({"no-flood"} if row.get("system_mac") else {"no-learning"} if name in peer_links else ()),
            )
        for port in (*tagged, *untagged):
            if port in self.found and self.found[port].kind == "port":
                old = self.found[port]
                self.found[port] = Interface(
                    port,
                    "port",
                    (),
                    old.mtu_bytes,
                    (),
                    old.description,
                    tagged=tuple(tagged[port]),
                    untagged=untagged.get(port, 0),
                )
        mtu_bytes = max((int(row.get("mtu", 0)) for row in self.get("PORT").values()), default=0)
        for vlan, vni in mapped.items():
            name = f"vtep-{numbers[vlan]}"
            self.found[name] = Interface(
                name,
                "vxlan",
                mtu_bytes=mtu_bytes - VXLAN_OVERHEAD_BYTES,
                vni=vni,
                local=source,
                untagged=numbers[vlan],
                flags=frozenset({"quiet"}),
            )
        joined = {port for found in self.members.values() for port, _ in found}
        inside = (*sorted(joined), *(f"vtep-{numbers[vlan]}" for vlan in mapped))
        self.found[BRIDGE] = Interface(
            BRIDGE, "bridge", mtu_bytes=mtu_bytes, members=inside, is_vlan_aware=True, tagged=tuple(sorted(numbers.values()))
        )
        gateway = self.get("SAG").get("GLOBAL", {}).get("gateway_mac", "")
        for name in sorted((name for name in numbers if name in self.rows), key=lambda name: not self.addresses[name]):
            row = self.rows[name]
            is_anycast = row.get("static_anycast_gateway") == "true"
            self.found[name] = Interface(
                name,
                "vlan",
                tuple(self.addresses[name]),
                int(self.get("VLAN")[name].get("mtu", 0)),
                vrf=row.get("vrf_name", ""),
                lower=BRIDGE,
                vlan=numbers[name],
                mac=gateway if is_anycast else row.get("mac_addr", ""),
                flags=frozenset({"arp-accept"}) if is_anycast else frozenset(),
                ups=(LOCAL_MAC.format(gateway, numbers[name]),) if is_anycast else (),
            )

    def _read_mlag(self) -> MlagPair | None:
        domain = next(iter(self.get("MCLAG_DOMAIN").values()), None)
        if domain is None:
            return None
        return MlagPair(domain["peer_link"], tuple(key.partition("|")[2] for key in self.get("MCLAG_INTERFACE")))
