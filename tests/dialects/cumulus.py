"""Cumulus Linux startup.yaml, read into a record."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tests.dialects.known import refuse_paths
from tests.dialects.record import Record, number_esi, one, route, share_queues
from tests.unit.render.switch.cumulus import parse

Tree = dict[str, Any]
ROCE_ECN = (150, 1500, 100)
"""kB, kB, %: what `qos roce` sets (platform.yml says where that is read)."""
INBOUND = "address-family ipv4-unicast policy inbound route-map"
STRICT_CLASS = 6
"""Class of CNPs under `qos roce`; data has 3, the rest 0."""


def at(tree: Tree, path: str) -> Any:
    """Return what is at a path; {} where there is nothing."""
    found: Any = tree
    for word in path.split():
        found = found.get(word, {})
    return found


def read_files(files: Mapping[str, str]) -> Record:
    """Return the record of a Cumulus switch, from its files by name."""
    tree = parse(files["startup.yaml"])
    found: Record = {("switch", "", "hostname"): tree["system"]["hostname"]}
    found["switch", "", "loopback"] = one(*tree["interface"]["lo"]["ip"]["address"])
    if "eth0" in tree["interface"]:
        found["management", "", "address"] = one(*tree["interface"]["eth0"]["ip"]["address"])
        found["management", "", "gateway"] = one(*tree["interface"]["eth0"]["ip"]["gateway"])
    found["switch", "", "load_balancing"] = _read_balancing(tree)
    _read_ports(found, tree)
    _read_svis(found, tree)
    _read_bonds(found, tree)
    _read_routing(found, tree)
    _read_overlay(found, tree)
    if "qos" in tree:
        _read_qos(found, tree)
    refuse_paths(tree)
    return found


def _read_balancing(tree: Tree) -> str:
    """Return `adaptive` where the switch has it; then every port with a session must, since they are ports of one route."""
    whole = at(tree, "router adaptive-routing enable") == "on"
    peers = {name for name in at(tree, "vrf default router bgp neighbor") if name in tree["interface"]}
    ports = {name for name, port in tree["interface"].items() if at(port, "router adaptive-routing enable") == "on"}
    assert not whole or (ports and peers <= ports), f"adaptive routing on {sorted(ports)} of {sorted(peers)}"
    return "adaptive" if whole else "ecmp"


def _link(domain: Tree, key: str) -> int:
    value = domain.get(key, "none")
    return 0 if value == "none" else int(value)


def _read_ports(found: Record, tree: Tree) -> None:
    bonds = {port: name for name, entry in tree["interface"].items() for port in at(entry, "bond member")}
    for name, entry in tree["interface"].items():
        if entry["type"] != "swp" or "breakout" in entry.get("link", {}):
            continue
        # The peer link has a name of its own, not a number.
        bond, link = bonds.get(name, ""), entry.get("link", {})
        vlan = _link(at(entry, "bridge domain br_default"), "access")
        told = {
            "description": entry["description"],
            "address": one(*at(entry, "ip address"), None if at(entry, "ip address") else ""),
            "vrf": at(entry, "ip vrf") or "",
            "vlan": vlan,
            "bond": int(bond.removeprefix("bond")) if bond.startswith("bond") else 1000 if bond == "peerlink" else 0,
        }
        if "speed" in link:
            told["speed_gbps"] = int(link["speed"].removesuffix("G"))
        if "mtu" in link:
            told["access_mtu_bytes" if vlan else "mtu_bytes"] = int(link["mtu"])
        for what, value in told.items():
            found["port", name, what] = value


def _read_svis(found: Record, tree: Tree) -> None:
    relays: dict[str, set[str]] = {}
    for relay in at(tree, "service dhcp-relay").values():
        for name in relay["interface"]:
            relays.setdefault(name, set()).update(relay["server"])
    for name, entry in tree["interface"].items():
        if entry["type"] != "svi":
            continue
        number = str(entry["vlan"])
        assert name == f"vlan{number}"
        assert number in at(tree, "bridge domain br_default vlan")
        told = {"address": one(*at(entry, "ip address")), "dhcp_servers": frozenset(relays.get(name, ()))}
        if vrf := at(entry, "ip vrf"):
            link = entry["link"]
            told |= {"vrf": vrf, "mac": link["mac-address"], "mtu_bytes": link["mtu"], "description": entry["description"]}
        for what, value in told.items():
            found["svi", number, what] = value


def _read_bonds(found: Record, tree: Tree) -> None:
    for name, entry in tree["interface"].items():
        if entry["type"] == "peerlink":
            ((own, sub),) = [(key, each) for key, each in tree["interface"].items() if each.get("base-interface") == name]
            assert own == f"{name}.{sub['vlan']}"
            found["mlag", "", "ports"] = frozenset(entry["bond"]["member"])
            found["mlag", "", "vlan"] = sub["vlan"]
            found["mlag", "", "address"] = one(*sub["ip"]["address"])
            found["mlag", "", "backup_address"] = one(*tree["mlag"]["backup"])
            found["mlag", "", "peer_address"] = tree["mlag"]["peer-ip"]
            found["mlag", "", "system_mac"] = tree["mlag"]["mac-address"]
        if entry["type"] != "bond":
            continue
        domain = entry["bridge"]["domain"]["br_default"]
        segment = at(entry, "evpn multihoming segment")
        assert entry["bond"]["mode"] == "lacp"
        told = {
            "ports": frozenset(entry["bond"]["member"]),
            "server": entry["description"].removesuffix(":bond0"),
            "tagged": frozenset(map(int, domain.get("vlan", ()))),
            "untagged": _link(domain, "access") or _link(domain, "untagged"),
            "esi": number_esi(int(segment["local-id"]), segment["mac-address"]) if segment else "",
            "mlag": int(at(entry, "bond mlag id") or 0),
            "mtu_bytes": entry["link"]["mtu"],
        }
        for what, value in told.items():
            found["bond", name.removeprefix("bond"), what] = value


# --- Routing


def _read_statics(found: Record, static: Tree, vrf: str) -> None:
    black = set()
    for prefix, entry in static.items():
        hops = set()
        for hop, way in entry["via"].items():
            if way["type"] == "blackhole":
                black.add(prefix)
            else:
                hops.add((hop, way.get("interface", "")))
        if hops:
            found["static", prefix, "next_hops"] = frozenset(hops)
    if black:
        found["blackhole", vrf, "prefixes"] = frozenset(black)


def _read_routing(found: Record, tree: Tree) -> None:
    router = at(tree, "router bgp")
    for name, entry in tree.get("vrf", {}).items():
        vrf = "" if name == "default" else name
        _read_statics(found, at(entry, "router static"), vrf)
        bgp = at(entry, "router bgp")
        if not bgp:
            continue
        own = bgp.get("autonomous-system", router["autonomous-system"])
        found["switch", "", "asn"] = one(own, found.get(("switch", "", "asn")))
        router_id = bgp.get("router-id", router["router-id"])
        found["switch", "", "router_id"] = one(router_id, found.get(("switch", "", "router_id")))
        family = bgp["address-family"]["ipv4-unicast"]
        if networks := family.get("network"):
            found["originates", vrf, "prefixes"] = frozenset(networks)
        _read_sessions(found, tree, bgp, vrf, own)
        _read_crossings(found, tree, family, vrf)
        if "rd" in bgp:
            found["vrf", vrf, "rd"] = bgp["rd"]
            ways = ("route-import from-evpn route-target", "route-export to-evpn route-target")
            found["vrf", vrf, "route_targets"] = tuple(frozenset(at(bgp, way)) for way in ways)
    if ("switch", "", "asn") in found:
        found.setdefault(("blackhole", "", "prefixes"), frozenset())
        groups = at(tree, "vrf default router bgp peer-group")
        for group, entry in groups.items():
            for way, words in (("inbound", "in"), ("outbound", "out")):
                name = entry["address-family"]["ipv4-unicast"]["policy"][way]["route-map"]
                found["policy", f"{group.lower()} {words}", "routes"] = _permitted(tree, name)
        if name := at(groups, f"NODES {INBOUND}"):
            # A node may have a filter of its own in the group's place.
            own_filters = [at(entry, INBOUND) for entry in at(tree, "vrf default router bgp neighbor").values()]
            rules = [
                rule
                for each in dict.fromkeys([name, *filter(None, own_filters)])
                for rule in at(tree, f"router policy route-map {each} rule").values()
            ]
            hop = one(*(at(rule, "set ip-nexthop") for rule in rules))
            found["policy", "nodes in", "next_hop"] = "neighbor" if hop == "peer-addr" else hop
            # One that is set takes the place of all.
            found["policy", "nodes in", "keeps_communities"] = one(*(not at(rule, "set community") for rule in rules))
        if name := at(groups, "FABRIC address-family l2vpn-evpn policy outbound route-map"):
            rules = at(tree, f"router policy route-map {name} rule").values()
            found["policy", "evpn out", "paths"] = frozenset(
                p for rule in rules for p in _paths(tree, rule["match"]["as-path-list"])
            )


def _read_sessions(found: Record, tree: Tree, bgp: Tree, vrf: str, own: int) -> None:
    for name, entry in bgp.get("neighbor", {}).items():
        group = at(bgp, f"peer-group {entry['peer-group']}") if "peer-group" in entry else entry
        unnumbered = entry["type"] == "unnumbered"
        asn = entry.get("remote-as", group.get("remote-as"))
        families = {"ipv4-unicast": "ipv4", "l2vpn-evpn": "evpn"}
        told = {
            "external": asn == "external" or (isinstance(asn, int) and asn != own),
            "families": frozenset(families[key] for key, value in group["address-family"].items() if value["enable"] == "on"),
            "unnumbered_description" if unnumbered else "description": entry["description"],
            "vrf": vrf,
            "bfd": at(group, "bfd enable") == "on",
            "group": entry.get("peer-group", ""),
            "passive": group.get("passive-mode") == "on",
        }
        if isinstance(asn, int):
            told["asn"] = asn
        if entry.get("peer-group") != "FABRIC":
            told["max_routes"] = at(group, "address-family ipv4-unicast prefix-limits inbound maximum")
        if entry.get("peer-group") == "NODES":
            told["taken"] = _permitted(tree, at(entry, INBOUND) or at(group, INBOUND))
        if "peer-group" not in entry:
            family = entry["address-family"]["ipv4-unicast"]
            told["secret"] = re.sub(r"^\{\{gpuyard-secret:(.+)\}\}$", r"\1", entry.get("password", ""))
            for way, words in (("inbound", "in"), ("outbound", "out")):
                found["policy", f"{vrf} {words}", "routes"] = _permitted(tree, family["policy"][way]["route-map"])
        for what, value in told.items():
            found["session", name, what] = value


def _read_crossings(found: Record, tree: Tree, family: Tree, vrf: str) -> None:
    if services := at(family, "redistribute static route-map"):
        found["policy", "services", "routes"] = _permitted(tree, services)
    if told := at(family, "route-export to-evpn route-map"):
        assert at(family, "redistribute connected enable") == "on", vrf
        found["policy", f"{vrf} announced", "routes"] = _permitted(tree, told)
    crossing = at(family, "route-import from-vrf")
    if crossing:
        rules = at(tree, "router policy route-map")[crossing["route-map"]]["rule"]
        assert {rule["match"]["source-vrf"] for rule in rules.values()} <= set(crossing["list"])
        for source in crossing["list"]:
            found["policy", f"{vrf} from {source}", "routes"] = _permitted(tree, crossing["route-map"], source)


def _paths(tree: Tree, name: str) -> set[str]:
    return {rule["aspath-exp"] for rule in at(tree, "router policy as-path-list")[name]["rule"].values()} if name else {""}


def _permitted(tree: Tree, name: str, source: str = "") -> frozenset:
    passed = set()
    for rule in at(tree, "router policy route-map")[name]["rule"].values():
        match = rule.get("match", {})
        if "permit" not in rule["action"] or match.get("source-vrf", "") != source:
            continue
        lines = at(tree, "router policy prefix-list")[match["ip-prefix-list"]]["rule"].values()
        for line in lines:
            for prefix, length in line["match"].items():
                for path in _paths(tree, match.get("as-path-list", "")):
                    passed.add(route(prefix, path, length.get("min-prefix-len", 0), length.get("max-prefix-len", 0)))
    return frozenset(passed)


def _read_overlay(found: Record, tree: Tree) -> None:
    tunnels = at(tree, "nve vxlan")
    if tunnels:
        found["switch", "", "vtep"] = at(tunnels, "mlag shared-address") or tunnels["source"]["address"]
    for number, entry in at(tree, "bridge domain br_default vlan").items():
        for vni in entry.get("vni", {}):
            found["vlan", number, "vni"] = int(vni)
            told = tree["evpn"]["vni"][vni]
            both = frozenset(told["route-target"]["both"])
            found["vlan", number, "rd"] = told["rd"]
            found["vlan", number, "route_targets"] = (both, both)
    for name, entry in tree.get("vrf", {}).items():
        if name == "default":
            continue
        found["vrf", name, "is_there"] = True
        if evpn := entry.get("evpn"):
            found["vrf", name, "vni"] = one(*map(int, evpn["vni"]))
            found["vrf", name, "vlan"] = evpn["vlan"]


# --- Lossless


def read_classes(tree: Tree) -> tuple[tuple[int, ...], tuple[int, ...], frozenset[int]]:
    """Return DSCP to priority, priority to class, and priorities with PFC: what `qos roce` sets with what is written over it."""
    qos = tree["qos"]
    priorities = [point // 8 for point in range(64)]
    for point, row in at(qos, "mapping default-global dscp").items():
        priorities[int(point)] = row["switch-priority"]
    classes = [{3: 3, 6: STRICT_CLASS}.get(priority, 0) for priority in range(8)]
    for priority, row in at(qos, "egress-queue-mapping default-global switch-priority").items():
        classes[int(priority)] = row["traffic-class"]
    moved = {int(priority) for priority in at(qos, "pfc default-global switch-priority")}
    paused = (moved or {3}) if qos["roce"]["mode"] == "lossless" else set()
    return tuple(priorities), tuple(classes), frozenset(paused)


def _read_qos(found: Record, tree: Tree) -> None:
    dscp, classes, paused = read_classes(tree)
    found["qos", "", "dscp_to_priority"] = dscp
    found |= share_queues(dscp, dict(enumerate(classes)), {STRICT_CLASS})
    # Since `qos roce` is global, every port has it; routed ports go by the DSCP whatever `trust` says of 802.1p.
    for key in [key for key in found if key[0] == "port" and key[2] == "description"]:
        name = key[1]
        qos = tree["interface"][name].get("qos", {})
        profile = at(qos, "congestion-control profile")
        red = at(tree, "qos congestion-control")[profile]["traffic-class"]["3"] if profile else None
        marks = (red["min-threshold"] // 1000, red["max-threshold"] // 1000, red["probability"]) if red else ROCE_ECN
        found["port", name, "ecn"] = marks
        found["port", name, "pfc_priorities"] = paused
        found["port", name, "trust"] = {"both": "dscp", "l3": "dscp"}.get(tree["qos"]["mapping"]["default-global"]["trust"])
        found["port", name, "watchdog"] = at(qos, "pfc-watchdog state") == "enable"
