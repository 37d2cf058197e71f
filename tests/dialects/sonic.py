"""config_db.json with its frr.conf, read into a record."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from tests.dialects import frr
from tests.dialects.blocks import parse_blocks
from tests.dialects.known import refuse_fields, refuse_unread
from tests.dialects.record import Record, number_esi, one, share_queues

Tables = dict[str, dict[str, Any]]


def read_files(files: Mapping[str, str]) -> Record:
    """Return the record of a SONiC switch, from its files by name."""
    config: Tables = json.loads(files["config_db.json"])
    conf = parse_blocks(files["frr.conf"])
    found = frr.read_routing(conf, "Vrf")
    metadata = config["DEVICE_METADATA"]["localhost"]
    found["switch", "", "hostname"] = one(metadata["hostname"], conf.one(r"hostname (\S+)"))
    if ("switch", "", "asn") in found:
        found["switch", "", "asn"] = one(int(metadata["bgp_asn"]), found["switch", "", "asn"])
    # What stands on a loopback is reached there, whatever lies behind it.
    own = {key.split("|")[1] for key in config["LOOPBACK_INTERFACE"] if "|" in key}
    if ("blackhole", "", "prefixes") in found:
        found["blackhole", "", "prefixes"] -= own
    found["switch", "", "loopback"] = one(*_addresses(config, "LOOPBACK_INTERFACE", "Loopback0"))
    for key, row in config.get("MGMT_INTERFACE", {}).items():
        found["management", "", "address"] = key.split("|")[1]
        found["management", "", "gateway"] = row["gwaddr"]
    _read_ports(found, config)
    _read_vlans(found, config)
    _read_bonds(found, config, frr.read_segments(conf))
    _read_qos(found, config)
    refuse_unread("frr", conf)
    refuse_fields(config)
    return found


def _addresses(config: Tables, table: str, name: str) -> list[str]:
    return [key.split("|")[1] for key in config.get(table, {}) if key.startswith(f"{name}|")]


def _plain(vrf: str) -> str:
    return vrf.removeprefix("Vrf")


def _read_ports(found: Record, config: Tables) -> None:
    bonds = dict(reversed(key.split("|")) for key in config.get("PORTCHANNEL_MEMBER", {}))
    access = {
        key.split("|")[1]: int(key.split("|")[0].removeprefix("Vlan"))
        for key, row in config.get("VLAN_MEMBER", {}).items()
        if row["tagging_mode"] == "untagged"
    }
    for name, row in config["PORT"].items():
        if row["admin_status"] != "up":
            assert "description" not in row
            continue
        vlan, bond = access.get(name, 0), int(bonds.get(name, "0").removeprefix("PortChannel"))
        interface = config.get("INTERFACE", {}).get(name)
        assert (interface is None) == bool(vlan or bond), name
        told = {
            "description": row["description"],
            "address": one(*_addresses(config, "INTERFACE", name), "" if not _addresses(config, "INTERFACE", name) else None),
            "vrf": _plain((interface or {}).get("vrf_name", "")),
            "vlan": vlan,
            "bond": bond,
            "copper_speed_gbps" if "autoneg" in row else "speed_gbps": int(row["speed"]) // 1000,
        }
        if not bond:
            told["access_mtu_bytes" if vlan else "mtu_bytes"] = int(row["mtu"])
        for what, value in told.items():
            found["port", name, what] = value
        neighbour = config.get("DEVICE_NEIGHBOR", {}).get(name)
        if neighbour is not None:
            found["port", name, "description"] = one(row["description"], f"{neighbour['name']}:{neighbour['port']}")


def _read_vlans(found: Record, config: Tables) -> None:
    vrfs = config.get("VRF", {})
    for name, row in vrfs.items():
        found["vrf", _plain(name), "is_there"] = True
        if "vni" in row or ("vrf", _plain(name), "vni") in found:
            found["vrf", _plain(name), "vni"] = one(int(row.get("vni", 0)), found.get(("vrf", _plain(name), "vni"), 0))
    vlans = {}
    for key, row in config.get("VXLAN_TUNNEL_MAP", {}).items():
        assert key.split("|")[1] == f"map_{row['vni']}_{row['vlan']}"
        vlans[int(row["vni"])] = int(row["vlan"].removeprefix("Vlan"))
    frr.place_vnis(found, vlans)
    for row in config.get("VXLAN_TUNNEL", {}).values():
        found["switch", "", "vtep"] = row["src_ip"]
    transit = {value: name for (kind, name, what), value in found.items() if (kind, what) == ("vrf", "vlan")}
    relays = config.get("DHCPV4_RELAY", {})
    for name, row in config.get("VLAN", {}).items():
        number = int(name.removeprefix("Vlan"))
        assert row["vlanid"] == str(number)
        interface, addresses = config["VLAN_INTERFACE"][name], _addresses(config, "VLAN_INTERFACE", name)
        if number in transit:
            assert (_plain(interface["vrf_name"]), addresses) == (transit[number], [])
            found["vrf", transit[number], "transit_mtu_bytes"] = int(row["mtu"])
        elif "MCLAG_DOMAIN" in config and row["description"] == "MLAG":
            found["mlag", "", "vlan"] = number
            found["mlag", "", "address"] = one(*addresses)
        else:
            told = {"address": one(*addresses), "dhcp_servers": frozenset(relays.get(name, {}).get("dhcpv4_servers", ()))}
            if "vrf_name" in interface:
                told |= {"vrf": _plain(interface["vrf_name"]), "mtu_bytes": int(row["mtu"]), "description": row["description"]}
                told["mac"] = config["SAG"]["GLOBAL"]["gateway_mac"] if interface["static_anycast_gateway"] == "true" else ""
            for what, value in told.items():
                found["svi", str(number), what] = value


def _read_bonds(found: Record, config: Tables, segments: dict[str, tuple[int, str]]) -> None:
    pairs = {key.split("|")[1] for key in config.get("MCLAG_INTERFACE", {})}
    link = ""
    for row in config.get("MCLAG_DOMAIN", {}).values():
        link = row["peer_link"]
        found["mlag", "", "peer_address"] = row["peer_ip"]
        found["mlag", "", "address"] = one(
            found["mlag", "", "address"], re.sub(r"^[^/]+", row["source_ip"], found["mlag", "", "address"])
        )
        found["mlag", "", "ports"] = frozenset(_addresses(config, "PORTCHANNEL_MEMBER", link))
    for name, row in config.get("PORTCHANNEL", {}).items():
        if name == link:
            continue
        number = name.removeprefix("PortChannel")
        members = {
            key.split("|")[0].removeprefix("Vlan"): vlan["tagging_mode"]
            for key, vlan in config.get("VLAN_MEMBER", {}).items()
            if key.endswith(f"|{name}")
        }
        untagged = [int(vlan) for vlan, mode in members.items() if mode == "untagged"]
        told = {
            "ports": frozenset(_addresses(config, "PORTCHANNEL_MEMBER", name)),
            "server": row["description"],
            "tagged": frozenset(int(vlan) for vlan, mode in members.items() if mode == "tagged"),
            "untagged": one(*untagged) if untagged else 0,
            "esi": "",
            "mlag": int(number) if name in pairs else 0,
            "mtu_bytes": int(row["mtu"]),
        }
        segment = config.get("EVPN_ETHERNET_SEGMENT", {}).get(name)
        assert (segment is not None) == (name in segments), name
        if segment is not None:
            assert (segment["esi"], segment["type"]) == ("AUTO", "TYPE_3_MAC_BASED")
            told["esi"] = one(number_esi(*segments[name]), number_esi(int(number), row["system_mac"]))
            told["lacp_system"] = row["system_mac"]
        for what, value in told.items():
            found["bond", number, what] = value


def _read_qos(found: Record, config: Tables) -> None:
    if "PORT_QOS_MAP" not in config:
        return
    ports = {name: row for name, row in config["PORT_QOS_MAP"].items() if name != "global"}
    names = {row[key] for row in ports.values() for key in ("dscp_to_tc_map", "tc_to_queue_map", "pfc_to_queue_map")}
    (name,) = names  # one map of each kind, so that one answer holds for all ports
    dscp = tuple(int(config["DSCP_TO_TC_MAP"][name][str(point)]) for point in range(64))
    queues = {int(tc): int(queue) for tc, queue in config["TC_TO_QUEUE_MAP"][name].items()}
    stopped = {int(priority): int(queue) for priority, queue in config["MAP_PFC_PRIORITY_TO_QUEUE"][name].items()}
    found["qos", "", "dscp_to_priority"] = dscp
    schedulers = config["SCHEDULER"]
    for port, row in ports.items():
        paused = {int(priority) for priority in row["pfc_enable"].split(",") if priority}
        lossless = {int(tc) for tc, group in config["TC_TO_PRIORITY_GROUP_MAP"][row["tc_to_pg_map"]].items() if group != "0"}
        assert {queues[priority] for priority in paused} == {stopped[priority] for priority in paused}
        found["port", port, "pfc_priorities"] = one(frozenset(paused), frozenset(lossless))
        found["port", port, "trust"] = "dscp"
        mine = {queue: config["QUEUE"][f"{port}|{queue}"] for queue in range(8)}
        marked = {queue: config["WRED_PROFILE"][each["wred_profile"]] for queue, each in mine.items() if "wred_profile" in each}
        marks = one(*(_marks(profile) for profile in marked.values()))
        found["port", port, "ecn"] = marks if set(marked) == {queues[each] for each in paused} else ("on queues", *marked)
        strict = {queue for queue, each in mine.items() if schedulers[each["scheduler"]]["type"] == "STRICT"}
        told = share_queues(dscp, queues, strict)
        for key, value in told.items():
            found[key] = one(value, found.get(key))
        watched = {int(priority) for priority in row.get("pfcwd_sw_enable", "").split(",") if priority}
        found["port", port, "watchdog"] = watched == paused and port in config.get("PFC_WD", {})
        if port in config.get("PFC_WD", {}):
            dog = config["PFC_WD"][port]
            found["qos", "", "watchdog_detect_ms"] = one(int(dog["detection_time"]), found.get(("qos", "", "watchdog_detect_ms")))
            found["qos", "", "watchdog_restore_ms"] = one(
                int(dog["restoration_time"]), found.get(("qos", "", "watchdog_restore_ms"))
            )
            found["qos", "", "watchdog_action"] = one(dog["action"], found.get(("qos", "", "watchdog_action")))


def _marks(profile: dict[str, str]) -> tuple[int, int, int]:
    assert profile["ecn"] == "ecn_all"
    return one(
        *(
            (
                int(profile[f"{colour}_min_threshold"]) // 1000,
                int(profile[f"{colour}_max_threshold"]) // 1000,
                int(profile[f"{colour}_drop_probability"]),
            )
            for colour in ("green", "yellow", "red")
        )
    )
