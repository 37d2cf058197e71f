"""frr.conf and ifupdown2's interfaces, read into a record; SONiC has the same frr.conf."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import chain

from tests.dialects.blocks import Block, merge, parse_blocks, parse_stanzas
from tests.dialects.known import refuse_options, refuse_unread
from tests.dialects.record import Record, number_esi, one, route

Stanza = dict[str, list[str]]
NULL = "Null0"


def read_files(files: Mapping[str, str]) -> Record:
    """Return the record of a plain Linux switch, from its files by name."""
    conf, stanzas = parse_blocks(files["frr.conf"]), parse_stanzas(files["interfaces"])
    found = read_routing(conf, "")
    found["switch", "", "hostname"] = one(conf.one(r"hostname (\S+)"), files["hostname"].strip())
    _read_interfaces(found, stanzas)
    _read_bonds(found, conf, stanzas)
    relays = {
        vlan: frozenset(servers)
        for vlan, servers in chain.from_iterable(
            _relays(text, found).items() for name, text in files.items() if re.fullmatch(r"dnsmasq(-.+)?\.conf", name)
        )
    }
    for kind, name, what in list(found):
        if (kind, what) == ("svi", "address"):
            found["svi", name, "dhcp_servers"] = relays.get(name, frozenset())
    refuse_unread("frr", conf)
    refuse_options(stanzas)
    return found


# --- frr.conf


def read_routing(conf: Block, vrf_prefix: str) -> Record:
    """Return what frr.conf says; `vrf_prefix` is what the dialect puts before the plan's VRF names."""
    found: Record = {}
    lists, paths = _read_lists(conf)
    maps = {
        name: _read_map(conf, name, lists, paths) for name in dict.fromkeys(conf.values(r"route-map (\S+) (?:permit|deny) \d+"))
    }
    plain = re.compile(f"^{vrf_prefix}")
    _read_statics(found, conf, "")
    for match, block in conf.find(r"vrf (\S+)"):
        _read_statics(found, block, plain.sub("", match[1]))
        if block.has(r"vni \d+"):
            found["vrf", plain.sub("", match[1]), "vni"] = int(block.one(r"vni (\d+)"))
    numbers = set()
    for match, block in conf.find(r"router bgp (\d+)(?: vrf (\S+))?"):
        numbers.add(int(match[1]))
        vrf = plain.sub("", match[2] or "")
        families = {family[1]: below for family, below in block.find(r"address-family (.+)")}
        ipv4, evpn = families.get("ipv4 unicast", Block("")), families.get("l2vpn evpn", Block(""))
        if not vrf:
            found["switch", "", "router_id"] = block.one(r"bgp router-id (\S+)")
            _read_fabric(found, ipv4, evpn, maps)
        _read_sessions(found, conf, block, vrf, (ipv4, evpn), maps)
        if networks := ipv4.values(r"network (\S+)"):
            found["originates", vrf, "prefixes"] = frozenset(networks)
        _read_evpn(found, vrf, evpn)
        if told := evpn.one(r"advertise ipv4 unicast route-map (\S+)"):
            # Only what the VRF has in BGP can be told: its own subnets, and what it took.
            assert ipv4.has(r"redistribute connected"), vrf
            found["policy", f"{vrf} announced", "routes"] = _permitted(maps[told])
        sources = set(ipv4.values(r"import vrf (?!route-map )(\S+)"))
        entries = maps.get(ipv4.one(r"import vrf route-map (\S+)"), [])
        for entry in entries:
            assert entry["source"] in sources, f"{vrf} takes routes of {entry['source']} by no line"
        for source in sources:
            taken = [entry for entry in entries if entry["source"] == source]
            found["policy", f"{vrf} from {plain.sub('', source)}", "routes"] = _permitted(taken)
    if numbers:
        found["switch", "", "asn"] = one(*numbers)
        found.setdefault(("blackhole", "", "prefixes"), frozenset())
    return found


def _read_lists(conf: Block) -> tuple[dict[str, set[tuple[str, int, int]]], dict[str, set[str]]]:
    lists: dict[str, set[tuple[str, int, int]]] = {}
    for match, _ in conf.find(r"ip prefix-list (\S+) seq \d+ permit (\S+)(?: ge (\d+))?(?: le (\d+))?"):
        lists.setdefault(match[1], set()).add((match[2], int(match[3] or 0), int(match[4] or 0)))
    paths: dict[str, set[str]] = {}
    for match, _ in conf.find(r"bgp as-path access-list (\S+) seq \d+ permit (\S+)"):
        paths.setdefault(match[1], set()).add(match[2])
    return lists, paths


def _read_map(conf: Block, name: str, lists: dict, paths: dict) -> list[dict]:
    entries = []
    for match, block in conf.find(rf"route-map {re.escape(name)} (permit|deny) \d+"):
        prefixes, own = block.one(r"match ip address prefix-list (\S+)"), block.one(r"match as-path (\S+)")
        entries.append(
            {
                "permit": match[1] == "permit",
                "prefixes": lists[prefixes] if prefixes else None,
                "paths": paths[own] if own else None,
                "source": block.one(r"match source-vrf (\S+)"),
                "next_hop": block.one(r"set ip next-hop (\S+)"),
                "keeps_communities": not block.has(r"set community none"),
            }
        )
    return entries


def _permitted(entries: list[dict]) -> frozenset:
    """Return the routes that pass; an entry without a prefix list lets everything through."""
    return frozenset(
        route(prefix, path, low, high)
        for entry in entries
        if entry["permit"]
        for prefix, low, high in (entry["prefixes"] if entry["prefixes"] is not None else {("0.0.0.0/0", 0, 32)})
        for path in entry["paths"] or {""}
    )


def _read_statics(found: Record, block: Block, vrf: str) -> None:
    ways: dict[str, set[tuple[str, str]]] = {}
    for match, _ in block.find(r"ip route (\S+) (\S+)(?: (\S+))?"):
        ways.setdefault(match[1], set()).add((match[2], match[3] or ""))
    black = {prefix for prefix, hops in ways.items() if (NULL, "") in hops}
    if black:
        found["blackhole", vrf, "prefixes"] = frozenset(black)
    for prefix, hops in ways.items():
        if rest := hops - {(NULL, "")}:
            found["static", prefix, "next_hops"] = frozenset(rest)


def _read_fabric(found: Record, ipv4: Block, evpn: Block, maps: dict) -> None:
    for group in ("FABRIC", "NODES"):
        for way in ("in", "out"):
            if group == "FABRIC" or ipv4.has("neighbor NODES activate"):
                filtered = maps[ipv4.one(rf"neighbor {group} route-map (\S+) {way}")]
                found["policy", f"{group.lower()} {way}", "routes"] = _permitted(filtered)
    if ipv4.has("neighbor NODES activate"):
        # A node may have a filter of its own in the group's place.
        entries = [entry for name in ipv4.values(r"neighbor (?!FABRIC )\S+ route-map (\S+) in") for entry in maps[name]]
        hop = one(*(entry["next_hop"] for entry in entries))
        found["policy", "nodes in", "next_hop"] = "neighbor" if hop == "peer-address" else hop
        found["policy", "nodes in", "keeps_communities"] = one(*(entry["keeps_communities"] for entry in entries))
    if services := ipv4.one(r"redistribute static route-map (\S+)"):
        found["policy", "services", "routes"] = _permitted(maps[services])
    if told := evpn.one(r"neighbor FABRIC route-map (\S+) out"):
        paths = set().union(*(entry["paths"] or () for entry in maps[told]))
        if paths:
            found["policy", "evpn out", "paths"] = frozenset(paths)


def _read_sessions(found: Record, conf: Block, bgp: Block, vrf: str, families: tuple[Block, Block], maps: dict) -> None:
    own = int(bgp.line.split()[2])
    group_external = bgp.has(r"neighbor FABRIC remote-as external")
    unnumbered_ports = set(bgp.values(r"neighbor (\S+) interface peer-group \S+"))
    members = {match[1]: match[2] for match, _ in bgp.find(r"neighbor (\S+) (?:interface )?peer-group (\S+)")}
    numbers = {match[1]: int(match[2]) for match, _ in bgp.find(r"neighbor (\S+) remote-as (\d+)")}
    numbers |= {name: numbers[group] for name, group in members.items() if group in numbers}
    for name in (members | numbers).keys() - set(members.values()):
        key = members.get(name, name)
        found["session", name, "external"] = numbers[name] != own if name in numbers else group_external
        if name in numbers:
            found["session", name, "asn"] = numbers[name]
        unnumbered = name in unnumbered_ports
        description = bgp.one(rf"neighbor {re.escape(name)} description (\S+)")
        found["session", name, "unnumbered_description" if unnumbered else "description"] = description
        spoken = {
            words for words, family in zip(("ipv4", "evpn"), families, strict=True) if family.has(rf"neighbor {key} activate")
        }
        found["session", name, "families"] = frozenset(spoken)
        found["session", name, "vrf"] = vrf
        found["session", name, "bfd"] = bgp.has(rf"neighbor {key} bfd") and bool(conf.has(r"bfd"))
        found["session", name, "group"] = members.get(name, "")
        found["session", name, "passive"] = bgp.has(rf"neighbor {key} passive")
        if key != "FABRIC":
            found["session", name, "max_routes"] = int(families[0].one(rf"neighbor {key} maximum-prefix (\d+).*", 0))
        if key == "NODES":
            own_filter = families[0].one(rf"neighbor {name} route-map (\S+) in")
            found["session", name, "taken"] = _permitted(
                maps[own_filter or families[0].one(r"neighbor NODES route-map (\S+) in")]
            )
        if name not in members:
            secret = bgp.one(rf"neighbor {name} password (\S+)")
            found["session", name, "secret"] = re.sub(r"^\{\{gpuyard-secret:(.+)\}\}$", r"\1", secret)
            for way in ("in", "out"):
                filtered = maps[families[0].one(rf"neighbor {name} route-map (\S+) {way}")]
                found["policy", f"{vrf} {way}", "routes"] = _permitted(filtered)


def _targets(block: Block) -> tuple[frozenset[str], frozenset[str]]:
    return frozenset(block.values(r"route-target import (\S+)")), frozenset(block.values(r"route-target export (\S+)"))


def _read_evpn(found: Record, vrf: str, evpn: Block) -> None:
    for match, block in evpn.find(r"vni (\d+)"):
        found["vni", match[1], "rd"] = block.one(r"rd (\S+)")
        found["vni", match[1], "route_targets"] = _targets(block)
    if vrf and evpn.has(r"rd \S+"):
        found["vrf", vrf, "rd"] = evpn.one(r"rd (\S+)")
        found["vrf", vrf, "route_targets"] = _targets(evpn)


def read_segments(conf: Block) -> dict[str, tuple[int, str]]:
    """Return number and system MAC of every Ethernet segment by the bond's interface."""
    found = {}
    for name in dict.fromkeys(conf.values(r"interface (\S+)")):
        block = merge(conf.find(rf"interface {re.escape(name)}"))
        if block.has(r"evpn mh es-id \d+"):
            found[name] = int(block.one(r"evpn mh es-id (\d+)")), block.one(r"evpn mh es-sys-mac (\S+)")
    return found


def place_vnis(found: Record, vlans: Mapping[int, int]) -> None:
    """Put what was said of a VNI below its VLAN; `vlans` is VNI → VLAN."""
    routed = {value: name for (kind, name, what), value in found.items() if (kind, what) == ("vrf", "vni")}
    for vni, vlan in vlans.items():
        if vni in routed:
            found["vrf", routed[vni], "vlan"] = vlan
            continue
        found["vlan", str(vlan), "vni"] = vni
        for what in ("rd", "route_targets"):
            if ("vni", str(vni), what) in found:
                found["vlan", str(vlan), what] = found.pop(("vni", str(vni), what))


# --- interfaces


def _value(stanza: Stanza, key: str, default: str = "") -> str:
    values = stanza.get(key, [])
    assert len(values) <= 1, f"{key} twice"
    return values[0] if values else default


def _read_interfaces(found: Record, stanzas: dict[str, Stanza]) -> None:
    found["switch", "", "loopback"] = one(*stanzas["lo"]["address"])
    if "eth0" in stanzas:
        found["management", "", "address"] = _value(stanzas["eth0"], "address")
        found["management", "", "gateway"] = _value(stanzas["eth0"], "gateway")
    bonds = {port: int(name[4:]) for name, stanza in stanzas.items() for port in _value(stanza, "bond-slaves").split()}
    access = {
        port: int(name[4:])
        for name, stanza in stanzas.items()
        if name.startswith("vlan") and "bridge-ports" in stanza
        for port in _value(stanza, "bridge-ports").split()
        if port != "none"
    }
    for name, stanza in stanzas.items():
        if name.startswith("swp"):
            vlan, bond = access.get(name, 0), bonds.get(name, 0)
            told = {"description": _value(stanza, "alias"), "address": _value(stanza, "address"), "vrf": _value(stanza, "vrf")}
            for what, value in (told | {"vlan": vlan, "bond": bond}).items():
                found["port", name, what] = value
            if not bond:
                found["port", name, "access_mtu_bytes" if vlan else "mtu_bytes"] = int(_value(stanza, "mtu", "1500"))
        elif "vrf-table" in stanza and name != "mgmt":
            found["vrf", name, "is_there"] = True
            found["vrf", name, "table"] = int(_value(stanza, "vrf-table"))
    place_vnis(found, {int(_value(s, "vxlan-id")): int(_value(s, "bridge-access")) for s in stanzas.values() if "vxlan-id" in s})
    ends = {_value(stanza, "vxlan-local-tunnelip") for stanza in stanzas.values() if "vxlan-id" in stanza}
    if ends:
        found["switch", "", "vtep"] = one(*ends)
    trunk = set(_value(stanzas.get("bridge", {}), "bridge-ports").split())
    assert {name for name, stanza in stanzas.items() if "vxlan-id" in stanza or "bond-slaves" in stanza} <= trunk
    transit = {value: name for (kind, name, what), value in found.items() if (kind, what) == ("vrf", "vlan")}
    for name, stanza in stanzas.items():
        if match := re.fullmatch(r"vlan(\d+)", name):
            _read_svi(found, match[1], stanza, transit)


def _read_svi(found: Record, number: str, stanza: Stanza, transit: dict[int, str]) -> None:
    assert _value(stanza, "vlan-id", number) == number
    if int(number) in transit:
        assert "address" not in stanza
        assert _value(stanza, "vrf") == transit[int(number)]
        found["vrf", transit[int(number)], "transit_mtu_bytes"] = int(_value(stanza, "mtu"))
        return
    found["svi", number, "address"] = _value(stanza, "address")
    if "vrf" in stanza:
        found["svi", number, "vrf"] = _value(stanza, "vrf")
        found["svi", number, "mac"] = _value(stanza, "hwaddress")
        found["svi", number, "mtu_bytes"] = int(_value(stanza, "mtu"))
        found["svi", number, "description"] = _value(stanza, "alias")


def _read_bonds(found: Record, conf: Block, stanzas: dict[str, Stanza]) -> None:
    segments = read_segments(conf)
    for name, stanza in stanzas.items():
        if "bond-slaves" not in stanza:
            continue
        number = name.removeprefix("bond")
        told = {
            "ports": frozenset(_value(stanza, "bond-slaves").split()),
            "server": _value(stanza, "alias"),
            "tagged": frozenset(map(int, _value(stanza, "bridge-vids").split())),
            "untagged": int(_value(stanza, "bridge-pvid", "0")),
            "esi": number_esi(*segments[name]) if name in segments else "",
            "mlag": 0,
            "mtu_bytes": int(_value(stanza, "mtu")),
        }
        assert ("bridge-pvid" in stanza) != (_value(stanza, "bridge-allow-untagged") == "no"), name
        if "bond-ad-actor-system" in stanza:
            told["lacp_system"] = _value(stanza, "bond-ad-actor-system")
        for what, value in told.items():
            found["bond", number, what] = value


def _relays(text: str, found: Record) -> dict[str, set[str]]:
    """Return the DHCP servers by VLAN: a relay is known by the gateway's address and the VRF that it runs in."""
    vrf = re.search(r"Relays DHCP in VRF (\S+)", text)
    relays: dict[str, set[str]] = {}
    for gateway, server in re.findall(r"^dhcp-relay=([^,\n]+),(\S+)$", text, re.M):
        vlans = [
            name
            for (kind, name, what), value in found.items()
            if (kind, what) == ("svi", "address")
            and value.partition("/")[0] == gateway
            and found.get(("svi", name, "vrf"), "") == (vrf[1] if vrf else "")
        ]
        relays.setdefault(one(*vlans), set()).add(server)
    return relays
