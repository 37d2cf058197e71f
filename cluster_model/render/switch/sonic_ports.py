"""Ports, breakouts, interfaces, neighbours and VLANs of config_db.json."""

from __future__ import annotations

from collections.abc import Mapping

from cluster_model.catalogue.platform_types import Platform
from cluster_model.catalogue.types import SonicSupport
from cluster_model.plan.model import CageMode, Switch
from cluster_model.render.switch.scene import Scene
from cluster_model.render.switch.sonic_types import CageSlot, Config, Row, Table

DEVICE_TYPES = {"leaf": "ToRRouter", "border": "ToRRouter", "spine": "LeafRouter", "core": "SpineRouter"}
"""SONiC names tiers from the servers up: ToR (T0), leaf (T1), spine (T2); border leafs hang below spines as ToRs do."""
_NRZ_LANE_GBPS = 25
"""Fastest lane that still speaks NRZ; above it the lane is PAM4, and PAM4 has no link without RS-FEC (IEEE 802.3)."""
_FEC_GBPS = 100
"""Port speed from which NRZ lanes without a planned cable have RS-FEC too: 100GBASE-CR4 and -SR4 demand it (IEEE 802.3, clauses
92 and 95), SONiC's own minigraph.py sets it, and where the field is left out SAI's default is none."""


def list_slots(switch: Switch, support: SonicSupport, platform: Platform) -> tuple[CageSlot, ...]:
    """Return every port of a switch in panel order; the same for all switches of one model with the same modes."""
    first = min((mode.cage for mode in switch.modes), default=0)
    slots: list[CageSlot] = []
    for mode in sorted(switch.modes, key=lambda mode: mode.cage):
        pattern = platform.port_native if mode.native else platform.port_split
        lanes = max(1, mode.lanes // mode.count)
        for sub in range(mode.count):
            own = mode.lane_numbers[sub * lanes : (sub + 1) * lanes]
            row = {
                "admin_status": "down",
                "alias": _alias(support, mode, sub),
                "index": str(support.index_base + mode.cage - first),
                "lanes": ",".join(map(str, own)),
                "mtu": str(switch.mtu_bytes),
                "speed": str(mode.speed_gbps * 1000),
                # xcvrd finds a port's share of the module by it; 0 is the whole module.
                "subport": str(sub + 1 if mode.count > 1 else 0),
            }
            if mode.form_factor == "rj45":
                row["autoneg"] = "on"
            elif mode.speed_gbps >= _FEC_GBPS or mode.speed_gbps > _NRZ_LANE_GBPS * lanes:
                row["fec"] = "rs"
            name = pattern.format(cage=mode.cage, lane=mode.first_lane + sub * lanes, sub0=sub, sub1=sub + 1)
            slots.append(CageSlot(name, mode.cage, row))
    return tuple(slots)


def _alias(support: SonicSupport, mode: CageMode, sub: int) -> str:
    letter = chr(ord("a") + sub) if mode.count > 1 else ""
    return support.alias.format(cage=mode.cage, sub=sub + 1, letter=letter)


def plug_ports(switch: Switch, slots: tuple[CageSlot, ...], vrfs: Mapping[str, str], fecs: Mapping[str, str]) -> Config:
    """Return PORT, BREAKOUT_CFG and INTERFACE: what is plugged in is up and described, the rest is down.

    Args:
        switch: the switch.
        slots: its ports.
        vrfs: the VRF of each routed port that lies in one, by port name.
        fecs: the error correction that each cable needs, by port name; a port without an entry keeps that of its speed.
    """
    rows: Table = {slot.name: slot.idle for slot in slots}
    interfaces: Table = {}
    for port in switch.ports:
        fec = fecs.get(port.name, "").partition("-")[0]  # rs, fc, none: sonic-port.yang, `fec`
        rows[port.name] = {
            **rows[port.name],
            **({"fec": fec} if fec else {}),
            "admin_status": "up",
            "description": f"{port.peer}:{port.peer_port}",
        }
        if port.vlan or port.bond or port.use == "peer_link":
            continue  # switched, or part of a bond
        row = {"vrf_name": vrfs[port.name]} if port.name in vrfs else {}
        # Without an address a routed port still needs its link-local one: BGP runs over it.
        interfaces[port.name] = row if port.address else {**row, "ipv6_use_link_local_only": "enable"}
        if port.address:
            interfaces[f"{port.name}|{port.address}"] = {}
    for way in switch.upstreams:
        rows[way.port] = {**rows[way.port], "admin_status": "up", "description": f"site:{way.gateway}"}
        interfaces[way.port] = {}
        interfaces[f"{way.port}|{way.address}"] = {}
    for external in switch.overlay.externals if switch.overlay else ():
        rows[external.port] = {
            **rows[external.port],
            "admin_status": "up",
            "description": f"external:{external.peer}",
            "mtu": str(external.mtu_bytes),
        }
        interfaces[external.port] = {"vrf_name": vrfs[external.port]}
        interfaces[f"{external.port}|{external.address}"] = {}
    parents: dict[int, str] = {}
    for slot in slots:
        parents.setdefault(slot.cage, slot.name)
    breakouts: Table = {
        parents[mode.cage]: {"brkout_mode": f"{mode.count}x{mode.speed_gbps}G"}
        for mode in switch.modes
        if mode.form_factor != "rj45"
    }
    return {"PORT": rows, "BREAKOUT_CFG": breakouts, "INTERFACE": interfaces}


def tabulate_neighbours(scene: Scene, switch: Switch) -> Config:
    """Return DEVICE_NEIGHBOR, and DEVICE_NEIGHBOR_METADATA for those that are switches."""
    neighbours: Table = {}
    for port in switch.ports:
        neighbours[port.name] = {"name": port.peer, "port": port.peer_port}
    peers = dict.fromkeys(port.peer for port in switch.ports if port.use == "fabric")
    metadata: Table = {peer: scene.shared_row(peer, _describe) for peer in peers}
    return {"DEVICE_NEIGHBOR": neighbours, "DEVICE_NEIGHBOR_METADATA": metadata}


def _describe(scene: Scene, name: str) -> Row:
    switch = scene.plan.switch(name)
    model = scene.catalogue.switch(switch.model)
    row = {"type": DEVICE_TYPES[switch.role], "lo_addr": switch.loopback.partition("/")[0] + "/32"}
    if model is not None and model.sonic is not None:
        row["hwsku"] = model.sonic.hwsku
    if switch.management is not None:
        row["mgmt_addr"] = switch.management.address
    return row


def tabulate_vlans(switch: Switch) -> Config:
    """Return VLAN, VLAN_INTERFACE and VLAN_MEMBER, and the relay of DHCP; nothing where the switch has no VLAN.

    The relay's servers stand in VLAN for older images and in DHCPV4_RELAY for later ones, whose own relay also hears
    answers on uplinks without addresses.
    """
    if not switch.vlans:
        return {}
    config: Config = {"VLAN": {}, "VLAN_INTERFACE": {}, "VLAN_MEMBER": {}}
    for vlan in switch.vlans:
        name = f"Vlan{vlan.id}"
        row: dict[str, str | list[str]] = {"vlanid": str(vlan.id), "description": vlan.name}
        if vlan.dhcp_servers:
            row["dhcp_servers"] = list(vlan.dhcp_servers)
            config.setdefault("DHCPV4_RELAY", {})[name] = {"dhcpv4_servers": list(vlan.dhcp_servers)}
        config["VLAN"][name] = row
        config["VLAN_INTERFACE"][name] = {}
        config["VLAN_INTERFACE"][f"{name}|{vlan.address}"] = {}
    for port in switch.ports:
        if port.vlan:
            config["VLAN_MEMBER"][f"Vlan{port.vlan}|{port.name}"] = {"tagging_mode": "untagged"}
    return config
