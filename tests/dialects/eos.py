"""EOS startup.cfg, read into a record."""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import ip_interface

from tests.dialects.blocks import Block, merge, parse_blocks
from tests.dialects.known import refuse_unread
from tests.dialects.record import Record, one, route, share_queues

ROUTER_MTU = "1500"
STRICT_FROM_FACTORY = 7
"""Queue that is strict unless told otherwise: network control."""


def read_files(files: Mapping[str, str]) -> Record:
    """Return the record of an EOS switch, from its files by name."""
    root = parse_blocks(files["startup.cfg"])
    found: Record = {("switch", "", "hostname"): root.one(r"hostname (\S+)")}
    interfaces = {}
    for name in root.values(r"interface (\S+)"):
        assert name not in interfaces, f"{name} twice"
        interfaces[name] = merge(root.find(rf"interface {re.escape(name)}"))
    dynamic = root.has(r"ip hardware fib load-balance distribution dynamic")
    found["switch", "", "load_balancing"] = "dynamic" if dynamic else "ecmp"
    vrfs = set(root.values(r"vrf instance (\S+)")) - {"MGMT"}
    for vrf in vrfs:
        found["vrf", vrf, "is_there"] = root.has(rf"ip routing vrf {re.escape(vrf)}")
    found["switch", "", "loopback"] = interfaces["Loopback0"].one(r"ip address (\S+)")
    if "Management1" in interfaces:
        found["management", "", "address"] = interfaces["Management1"].one(r"ip address (\S+)")
        found["management", "", "gateway"] = root.one(r"ip route vrf MGMT 0\.0\.0\.0/0 (\S+)")
    _read_ports(found, interfaces)
    _read_svis(found, root, interfaces)
    _read_bonds(found, root, interfaces)
    _read_routing(found, root)
    _read_tunnels(found, root, interfaces, vrfs)
    _read_qos(found, root, interfaces)
    refuse_unread("eos", root)
    return found


def _read_ports(found: Record, interfaces: dict[str, Block]) -> None:
    for name, block in interfaces.items():
        if not name.startswith("Ethernet") or block.has("shutdown"):
            continue
        vlan, bond = int(block.one(r"switchport access vlan (\d+)", 0)), int(block.one(r"channel-group (\d+) mode active", 0))
        assert block.has("no switchport") == (not vlan and not bond), name
        told = {
            "description": block.one(r"description (\S+)"),
            "address": block.one(r"ip address (\S+)"),
            "vrf": block.one(r"vrf (\S+)"),
            "vlan": vlan,
            "bond": bond,
        }
        assert bool(told["address"]) != block.has("ipv6 enable") or bool(vlan or bond), name
        if speed := block.one(r"speed (\d+)g(?:-\d+)?"):
            told["speed_gbps"] = int(speed)
        if not (vlan or bond):
            told["mtu_bytes"] = int(block.one(r"mtu (\d+)", ROUTER_MTU))
        for what, value in told.items():
            found["port", name, what] = value


def _read_svis(found: Record, root: Block, interfaces: dict[str, Block]) -> None:
    own = merge(root.find("mlag configuration")).one(r"local-interface Vlan(\d+)")
    mac = root.one(r"ip virtual-router mac-address (\S+)")
    for name, block in interfaces.items():
        number = name.removeprefix("Vlan")
        if not name.startswith("Vlan") or number == own:
            continue
        assert root.has(rf"vlan {number}"), name
        virtual = block.one(r"ip address virtual (\S+)")
        told = {
            "address": virtual or block.one(r"ip address (\S+)"),
            "dhcp_servers": frozenset(block.values(r"ip helper-address (\S+)")),
        }
        if block.has(r"vrf \S+"):
            told |= {"vrf": block.one(r"vrf (\S+)"), "mtu_bytes": int(block.one(r"mtu (\d+)", ROUTER_MTU))}
            told |= {"mac": mac if virtual else "", "description": block.one(r"description (\S+)")}
        for what, value in told.items():
            found["svi", number, what] = value


def _read_bonds(found: Record, root: Block, interfaces: dict[str, Block]) -> None:
    pair = merge(root.find("mlag configuration"))
    link = pair.one(r"peer-link (\S+)")
    members: dict[str, set[str]] = {}
    for name, block in interfaces.items():
        if number := block.one(r"channel-group (\d+) mode active"):
            members.setdefault(number, set()).add(name)
    for name, block in interfaces.items():
        if not name.startswith("Port-Channel") or name == link:
            continue
        number = name.removeprefix("Port-Channel")
        allowed = {int(vlan) for vlan in block.one(r"switchport trunk allowed vlan (\S+)", "none").split(",") if vlan != "none"}
        native = int(block.one(r"switchport trunk native vlan (\d+)", block.one(r"switchport access vlan (\d+)", 0)))
        assert block.has("switchport mode trunk") != block.has(r"switchport access vlan \d+"), name
        segment = merge(block.find("evpn ethernet-segment"))
        esi = segment.one(r"identifier (\S+)").replace(":", "")
        told = {
            "ports": frozenset(members.get(number, ())),
            "server": block.one(r"description (\S+):bond0"),
            "tagged": frozenset(allowed - {native}),
            "untagged": native,
            "esi": ":".join(re.findall("..", esi)),
            "mlag": int(block.one(r"mlag (\d+)", 0)),
        }
        if esi:
            system = _colons(block.one(r"lacp system-id (\S+)"))
            told["lacp_system"] = one(system, segment.one(r"route-target import (\S+)").lower())
        for what, value in told.items():
            found["bond", number, what] = value
    if link:
        vlan = pair.one(r"local-interface Vlan(\d+)")
        found["mlag", "", "ports"] = frozenset(members[link.removeprefix("Port-Channel")])
        found["mlag", "", "peer_address"] = pair.one(r"peer-address (\S+)")
        found["mlag", "", "vlan"] = int(vlan)
        if pair.one(r"dual-primary detection delay (\d+) action errdisable all-interfaces"):  # heartbeats alone change nothing
            found["mlag", "", "backup_address"] = pair.one(r"peer-address heartbeat (\S+)(?: vrf MGMT)?")
        found["mlag", "", "address"] = interfaces[f"Vlan{vlan}"].one(r"ip address (\S+)")


def _colons(mac: str) -> str:
    return ":".join(re.findall("..", mac.replace(".", ""))).lower()


# --- Routing


def _read_routing(found: Record, root: Block) -> None:
    ways: dict[str, set[tuple[str, str]]] = {}
    for match, _ in root.find(r"ip route (?!vrf )(\S+) (\S+)(?: (\S+))?"):
        ways.setdefault(match[1], set()).add((match[3], match[2]) if match[3] else (match[2], ""))
    black = {prefix for prefix, hops in ways.items() if ("Null0", "") in hops}
    for prefix, hops in ways.items():
        if rest := hops - {("Null0", "")}:
            found["static", prefix, "next_hops"] = frozenset(rest)
    blocks = list(root.find(r"router bgp (\d+)"))
    if not blocks:
        return
    ((match, bgp),) = blocks
    found["blackhole", "", "prefixes"] = frozenset(black)
    found["switch", "", "asn"] = int(match[1])
    found["switch", "", "router_id"] = bgp.one(r"router-id (\S+)")
    ipv4, evpn = merge(bgp.find("address-family ipv4")), merge(bgp.find("address-family evpn"))
    found["originates", "", "prefixes"] = frozenset(ipv4.values(r"network (\S+)"))
    for way in ("in", "out"):
        found["policy", f"fabric {way}", "routes"] = _permitted(root, ipv4.one(rf"neighbor FABRIC route-map (\S+) {way}"))
        if ipv4.has("neighbor NODES activate"):
            found["policy", f"nodes {way}", "routes"] = _permitted(root, ipv4.one(rf"neighbor NODES route-map (\S+) {way}"))
    if ipv4.has("neighbor NODES activate"):
        # A node may have a filter of its own in the group's place.
        names = ipv4.values(r"neighbor (?!FABRIC )\S+ route-map (\S+) in")
        entries = [entry for name in names for _, entry in root.find(rf"route-map {name} permit \d+")]
        hop = one(*(entry.one(r"set ip next-hop (\S+)") for entry in entries))
        found["policy", "nodes in", "next_hop"] = "neighbor" if hop == "peer-address" else hop
        found["policy", "nodes in", "keeps_communities"] = one(*(not entry.has("set community none") for entry in entries))
    if services := ipv4.one(r"redistribute static route-map (\S+)"):
        found["policy", "services", "routes"] = _permitted(root, services)
    if told := evpn.one(r"neighbor FABRIC route-map (\S+) out"):
        blocks_out = [block for _, block in root.find(rf"route-map {told} permit \d+")]
        paths = {path for block in blocks_out for path in _paths(root, block.one(r"match as-path (\S+)"))}
        found["policy", "evpn out", "paths"] = frozenset(paths)
    spoken = frozenset(name for name, family in (("ipv4", ipv4), ("evpn", evpn)) if family.has("neighbor FABRIC activate"))
    fabric = {"vrf": "", "families": spoken, "bfd": bgp.has("neighbor FABRIC bfd"), "group": "FABRIC"}
    fabric["passive"] = bgp.has("neighbor FABRIC passive")
    for found_line, _ in bgp.find(r"neighbor interface (\S+) peer-group FABRIC remote-as (\d+)"):
        name, number = found_line[1].replace("Et", "Ethernet"), int(found_line[2])
        for what, value in (fabric | {"unnumbered_asn": number, "external": number != int(match[1])}).items():
            found["session", name, what] = value
    for name in bgp.values(r"neighbor (\S+) peer group FABRIC"):
        number = int(bgp.one(rf"neighbor {re.escape(name)} remote-as (\d+)"))
        words = {
            "asn": number,
            "external": number != int(match[1]),
            "description": bgp.one(rf"neighbor {name} description (\S+)"),
        }
        for what, value in (fabric | words).items():
            found["session", name, what] = value
    _read_nodes(found, root, bgp, ipv4, int(match[1]))
    for vlan, block in bgp.find(r"vlan (\d+)"):
        assert block.has("redistribute learned")
        found["vlan", vlan[1], "rd"] = block.one(r"rd (\S+)")
        both = frozenset(block.values(r"route-target both (\S+)"))
        found["vlan", vlan[1], "route_targets"] = (both, both)
    for vrf, block in bgp.find(r"vrf (\S+)"):
        _read_vrf(found, root, vrf[1], block, int(match[1]))
    leaks = merge(root.find("router general"))
    for vrf, block in leaks.find(r"vrf (\S+)"):
        for line, _ in block.find(r"leak routes source-vrf (\S+) subscribe-policy (\S+)"):
            found["policy", f"{vrf[1]} from {line[1]}", "routes"] = _permitted(root, line[2])


def _read_nodes(found: Record, root: Block, bgp: Block, ipv4: Block, own: int) -> None:
    for name in bgp.values(r"neighbor (\S+) peer group NODES"):
        number = int(bgp.one(r"neighbor NODES remote-as (\d+)"))
        told = {
            "asn": number,
            "external": number != own,
            "description": bgp.one(rf"neighbor {name} description (\S+)"),
            "families": frozenset({"ipv4"} if ipv4.has("neighbor NODES activate") else ()),
            "vrf": "",
            "bfd": bgp.has("neighbor NODES bfd"),
            "group": "NODES",
            "passive": bgp.has("neighbor NODES passive"),
            "max_routes": int(ipv4.one(r"neighbor NODES maximum-accepted-routes (\d+)", 0)),
            "taken": _permitted(
                root, ipv4.one(rf"neighbor {name} route-map (\S+) in") or ipv4.one(r"neighbor NODES route-map (\S+) in")
            ),
        }
        for what, value in told.items():
            found["session", name, what] = value


def _read_vrf(found: Record, root: Block, vrf: str, block: Block, own: int) -> None:
    ipv4 = merge(block.find("address-family ipv4"))
    if block.has(r"rd \S+"):
        found["vrf", vrf, "rd"] = block.one(r"rd (\S+)")
        found["vrf", vrf, "route_targets"] = (
            frozenset(block.values(r"route-target import evpn (\S+)")),
            frozenset(block.values(r"route-target export evpn (\S+)")),
        )
        # What BGP takes in here is told to other leafs as type 5.
        doors = ipv4.values(r"redistribute (?:bgp leaked|connected(?: include leaked)?) route-map (\S+)")
        if doors:
            found["policy", f"{vrf} announced", "routes"] = one(*(_permitted(root, door) for door in doors))
    for name in block.values(r"neighbor (\S+) remote-as \d+"):
        number = int(block.one(rf"neighbor {name} remote-as (\d+)"))
        secret = block.one(rf"neighbor {name} password 0 (\S+)")
        told = {
            "asn": number,
            "external": number != own,
            "description": block.one(rf"neighbor {name} description (\S+)"),
            "families": frozenset({"ipv4"} if ipv4.has(f"neighbor {name} activate") else ()),
            "vrf": vrf,
            "bfd": block.has(f"neighbor {name} bfd"),
            "group": "",
            "passive": block.has(f"neighbor {name} passive"),
            "max_routes": int(block.one(rf"neighbor {name} maximum-routes (\d+)", 0)),
            "secret": re.sub(r"^\{\{gpuyard-secret:(.+)\}\}$", r"\1", secret),
        }
        for what, value in told.items():
            found["session", name, what] = value
        for way in ("in", "out"):
            found["policy", f"{vrf} {way}", "routes"] = _permitted(root, ipv4.one(rf"neighbor {name} route-map (\S+) {way}"))


def _paths(root: Block, name: str) -> set[str]:
    return set(root.values(rf"ip as-path access-list {name} permit (\S+) any")) if name else {""}


def _permitted(root: Block, name: str) -> frozenset:
    """Return the routes that a route map lets through; one that is not there is refused, as nothing would pass."""
    assert root.has(rf"route-map {re.escape(name)} (permit|deny) \d+"), f"there is no route-map {name}"
    passed = set()
    for _, block in root.find(rf"route-map {re.escape(name)} permit \d+"):
        listed = block.one(r"match ip address prefix-list (\S+)")
        lines = (
            merge(root.find(rf"ip prefix-list {re.escape(listed)}"))
            if listed
            else Block("", [Block("seq 1 permit 0.0.0.0/0 le 32")])
        )
        for line, _ in lines.find(r"seq \d+ permit (\S+)(?: (eq|ge) (\d+))?(?: le (\d+))?"):
            low, high = int(line[3] or 0), int(line[3] if line[2] == "eq" else line[4] or 0)
            for path in _paths(root, block.one(r"match as-path (\S+)")):
                passed.add(route(line[1], path, low, high))
    return frozenset(passed)


def _read_tunnels(found: Record, root: Block, interfaces: dict[str, Block], vrfs: set[str]) -> None:
    if "Vxlan1" not in interfaces:
        return
    tunnels = interfaces["Vxlan1"]
    source = tunnels.one(r"vxlan source-interface (\S+)")
    found["switch", "", "vtep"] = str(ip_interface(interfaces[source].one(r"ip address (\S+)")).ip)
    for match, _ in tunnels.find(r"vxlan vlan (\d+) vni (\d+)"):
        assert root.has(rf"vlan {match[1]}")
        found["vlan", match[1], "vni"] = int(match[2])
    for match, _ in tunnels.find(r"vxlan vrf (\S+) vni (\d+)"):
        assert match[1] in vrfs
        found["vrf", match[1], "vni"] = int(match[2])


# --- Lossless


def _read_qos(found: Record, root: Block, interfaces: dict[str, Block]) -> None:
    points = {
        int(point): int(match[2])
        for match, _ in root.find(r"qos map dscp ([\d ]+) to traffic-class (\d)")
        for point in match[1].split()
    }
    profiles = {match[1]: block for match, block in root.find(r"qos profile (\S+)")}
    if not profiles:
        return
    dscp = tuple(points[point] for point in range(64))
    queues = {int(match[1]): int(match[2]) for match, _ in root.find(r"qos map traffic-class (\d) to tx-queue (\d)")} | {7: 7}
    found["qos", "", "dscp_to_priority"] = dscp
    watched = root.has(r"priority-flow-control pause watchdog default timeout \S+")
    for name, block in interfaces.items():
        used = block.one(r"service-profile (\S+)")
        if not used:
            continue
        profile = profiles[used]
        paused = {int(priority) for priority in profile.values(r"priority-flow-control priority (\d) no-drop")}
        assert profile.has("priority-flow-control on")
        found["port", name, "pfc_priorities"] = frozenset(paused)
        found["port", name, "trust"] = one(block.one(r"qos trust (\S+)"), profile.one(r"qos trust (\S+)"))
        each = {int(match[1]): below for match, below in profile.find(r"(?:uc-)?tx-queue (\d)")}
        form = (
            r"random-detect ecn minimum-threshold (\d+) kbytes maximum-threshold (\d+) kbytes max-mark-probability (\d+) weight 0"
        )
        marks = {queue: tuple(map(int, match.groups())) for queue, below in each.items() for match, _ in below.find(form)}
        fits = set(marks) == {queues[each] for each in paused}
        found["port", name, "ecn"] = one(*marks.values()) if fits else ("on queues", *marks)
        strict = {queue for queue in range(STRICT_FROM_FACTORY + 1) if queue not in each or each[queue].has("priority strict")}
        for key, value in share_queues(dscp, queues, strict).items():
            found[key] = one(value, found.get(key))
        guarded = {queue for queue, below in each.items() if below.has(r"bandwidth guaranteed percent \d+")}
        found["port", name, "watchdog"] = watched and guarded == {queues[priority] for priority in paused}
    if watched:
        for what, words in (("watchdog_detect_ms", "timeout"), ("watchdog_restore_ms", "recovery-time")):
            seconds = float(root.one(rf"priority-flow-control pause watchdog default {words} (\S+)"))
            found["qos", "", what] = round(seconds * 1000)
        action = root.one(r"priority-flow-control pause watchdog action (\S+)")
        found["qos", "", "watchdog_action"] = {"drop": "drop", "notify-only": "forward"}[action]
