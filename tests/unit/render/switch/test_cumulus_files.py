"""startup.yaml read back and held against the plan, and its filters against frr.conf of the same plan."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
import yaml

from cluster_model.plan.model import Switch
from cluster_model.plan.model.overlay import Filter
from tests.dialects.cumulus import at, read_classes
from tests.unit.render.switch import cumulus, factory

SWITCHES = [(name, switch.name) for name in cumulus.CLUSTERS for switch in cumulus.samples(name)]
BUSINESS = [
    (name, f"business-{which}") for name in ("driving", "driving-mlag") for which in ("leaf-u01-01", "leaf-u02-02", "border-02")
]
EVPN = [*BUSINESS, ("isolated", "compute-leaf-u01-01")]
each = pytest.mark.parametrize(("cluster", "name"), SWITCHES)
every_overlay = pytest.mark.parametrize(("cluster", "name"), EVPN)
TOLD_BY_NODES = {"PODS", "API-SERVER"}


def _read(cluster: str, name: str) -> tuple[Switch, dict[str, Any]]:
    return cumulus.plan(cluster).switch(name), cumulus.tree(cluster, name)


def _loopback(switch: Switch) -> str:
    return switch.loopback.split("/")[0]


def test_every_switch_role_is_rendered() -> None:
    roles = {(switch.network, switch.role) for name in cumulus.CLUSTERS for switch in cumulus.samples(name)}
    assert roles >= {
        *((network, role) for network in ("compute", "storage", "business", "oob") for role in ("leaf", "spine")),
        ("compute", "core"),
        ("business", "border"),
    }


def test_a_key_written_twice_is_refused() -> None:
    with pytest.raises(yaml.YAMLError, match="twice"):
        cumulus.parse("- header: {}\n- set:\n    evpn: {}\n    evpn: {}\n")


def test_header_names_model_and_release() -> None:
    header = yaml.safe_load(cumulus.texts("driving")["business-leaf-u01-01"])[0]["header"]
    assert header == {
        "model": "SN3700C",
        "nvue-api-version": "nvue_v1",
        "rev-id": 1.0,
        "version": f"Cumulus Linux {factory.catalogue().platforms['cumulus'].release}.0",
    }


@each
def test_ports_are_those_of_the_plan(cluster: str, name: str) -> None:
    switch, tree = _read(cluster, name)
    externals = switch.overlay.externals if switch.overlay else ()
    plugs = {
        **{port.name: port for port in switch.ports},
        **{way.port: way for way in switch.upstreams},
        **{e.port: e for e in externals},
    }
    found = {key: value for key, value in tree["interface"].items() if key.startswith("swp")}
    split = {f"swp{mode.cage}": mode.count for mode in switch.modes if mode.count > 1}
    assert set(found) == set(plugs) | set(split)
    assert {key: value["link"]["breakout"] for key, value in found.items() if "breakout" in value.get("link", {})} == {
        key: {f"{count}x": {}} for key, count in split.items()
    }
    copper = {mode.cage for mode in switch.modes if mode.form_factor == "rj45"}
    for key, plug in plugs.items():
        link = found[key].get("link", {})
        assert link.get("speed") == (None if plug.cage in copper else f"{plug.speed_gbps}G"), key
        bonded = getattr(plug, "bond", 0) or getattr(plug, "use", "") == "peer_link"
        mtu_bytes = {e.port: e.mtu_bytes for e in externals}.get(key, switch.mtu_bytes)
        assert link.get("mtu") == (None if bonded else mtu_bytes), key
        assert set(at(found[key], "ip address")) == ({plug.address} if plug.address else set()), key
        assert at(found[key], "ip vrf") == (getattr(plug, "vrf", "") or {}), key
        assert at(found[key], "bridge domain br_default access") == (getattr(plug, "vlan", 0) or {}), key
    for port in switch.ports:
        assert found[port.name]["description"] == f"{port.peer}:{port.peer_port}"


@each
def test_neighbours_and_their_numbers_agree_on_both_ends(cluster: str, name: str) -> None:
    switch, tree = _read(cluster, name)
    neighbours = at(tree, "vrf default router bgp neighbor")
    sessions = [port for port in switch.ports if port.peer_asn and port.use == "fabric"]
    assert len(neighbours) == sum(port.peer_asn > 0 for port in switch.ports)
    for port in sessions:
        entry = neighbours[port.peer_address or port.name]
        assert entry["description"] == f"{port.peer}:{port.peer_port}"
        assert entry["peer-group"] == "FABRIC"
        other = cumulus.tree(cluster, port.peer)
        number = other["router"]["bgp"]["autonomous-system"]
        assert number == port.peer_asn
        if port.peer_address:
            assert (entry["type"], entry["remote-as"]) == ("numbered", number)
            assert port.peer_address in {address.split("/")[0] for address in other["interface"][port.peer_port]["ip"]["address"]}
        else:
            assert entry["type"] == "unnumbered"
            assert at(tree, "vrf default router bgp peer-group FABRIC remote-as") == "external"
            assert number != switch.asn
    if sessions:
        assert tree["router"]["bgp"] == {
            "autonomous-system": switch.asn,
            "enable": "on",
            "graceful-restart": {"mode": "full"},
            "router-id": _loopback(switch),
        }
        group = at(tree, "vrf default router bgp peer-group FABRIC")
        assert group["bfd"]["enable"] == "on"
        assert group["address-family"]["ipv4-unicast"]["policy"] == {
            "inbound": {"route-map": "FABRIC-IN"},
            "outbound": {"route-map": "FABRIC-OUT"},
        }
        assert ("l2vpn-evpn" in group["address-family"]) == (switch.overlay is not None)
        assert at(tree, "vrf default router bgp path-selection multipath aspath-ignore") == "on"
        assert at(tree, "vrf default router bgp address-family ipv4-unicast multipaths ebgp") >= min(64, len(sessions))


@each
def test_nodes_come_to_their_leaf_and_are_told_nothing(cluster: str, name: str) -> None:
    switch, tree = _read(cluster, name)
    bgp = at(tree, "vrf default router bgp")
    nodes = [port for port in switch.ports if port.peer_asn and port.use == "host"]
    for port in nodes:
        own = {"address-family": {"ipv4-unicast": {"enable": "on", "policy": {"inbound": {"route-map": "CONTROL-IN"}}}}}
        assert at(bgp, "neighbor")[port.peer_address] == {
            "description": f"{port.peer}:{port.peer_port}",
            "peer-group": "NODES",
            "type": "numbered",
            **(own if port.peer.startswith("control") else {}),
        }
    group = {
        "address-family": {
            "ipv4-unicast": {
                "enable": "on",
                "policy": {"inbound": {"route-map": "NODES-IN"}, "outbound": {"route-map": "NODES-OUT"}},
                "prefix-limits": {"inbound": {"maximum": 8, "reestablish-wait": 300}},
            }
        },
        "passive-mode": "on",
        "remote-as": cumulus.plan(cluster).kubernetes.node_asn,
        "timers": {"hold": 9, "keepalive": 3},
    }
    assert at(bgp, "peer-group").get("NODES") == (group if nodes else None)


@each
def test_announced_prefixes_and_static_routes_are_the_plans(cluster: str, name: str) -> None:
    switch, tree = _read(cluster, name)
    pair = {f"{switch.overlay.vtep}/32"} if switch.overlay and switch.overlay.shared_vtep else set()
    default = {"0.0.0.0/0"} if switch.upstreams else set()
    assert set(tree["interface"]["lo"]["ip"]["address"]) == {f"{_loopback(switch)}/32"}
    networks = set(at(tree, "vrf default router bgp address-family ipv4-unicast network"))
    assert networks == {f"{_loopback(switch)}/32", *switch.originates, *pair, *default}
    statics = at(tree, "vrf default router static")
    ways = {prefix: dict(route["via"]) for prefix, route in statics.items()}
    expected: dict[str, dict[str, dict[str, str]]] = {
        prefix: {"blackhole": {"type": "blackhole"}} for prefix in switch.originates if prefix not in pair
    }
    for way in switch.upstreams:
        expected.setdefault("0.0.0.0/0", {})[way.gateway] = {"type": "ipv4-address"}
    for route in switch.service_routes:
        expected.setdefault(route.prefix, {})[route.next_hop] = {"interface": route.port, "type": "ipv4-address"}
    assert ways == expected
    redistributed = at(tree, "vrf default router bgp address-family ipv4-unicast redistribute")
    assert redistributed == ({"static": {"enable": "on", "route-map": "SERVICES"}} if switch.service_routes else {})
    assert at(tree, "vrf default router rib ipv4 protocol bgp") == {"fib-filter": "RM_SET_SRC"}
    assert at(tree, "router policy route-map RM_SET_SRC rule 10 set source-ip") == _loopback(switch)


# --- Filters: the same as FRR's of the same plan

Lines = dict[str, dict[int, tuple[object, ...]]]


@cache
def _frr(cluster: str) -> dict[str, str]:
    plan = cumulus.plan(cluster)
    twin = dataclasses.replace(plan, switches=tuple(dataclasses.replace(switch, nos="frr") for switch in plan.switches))
    return {path: text for path, text in factory.settled(twin).items() if path.endswith("/frr.conf")}


def _read_frr(text: str) -> tuple[Lines, Lines, Lines]:
    prefixes: Lines = {}
    paths: Lines = {}
    maps: Lines = {}
    for found in re.finditer(r"^ip prefix-list (\S+) seq (\d+) permit (\S+)(?: ge (\d+))?(?: le (\d+))?$", text, re.M):
        prefixes.setdefault(found[1], {})[int(found[2])] = (found[3], int(found[4] or 0), int(found[5] or 0))
    for found in re.finditer(r"^bgp as-path access-list (\S+) seq (\d+) permit (\S+)$", text, re.M):
        paths.setdefault(found[1], {})[int(found[2])] = (found[3],)
    for found in re.finditer(r"^route-map (\S+) (permit|deny) (\d+)\n((?: .*\n)*)", text, re.M):
        lines = sorted(line.strip() for line in found[4].splitlines())
        maps.setdefault(found[1], {})[int(found[3])] = (found[2], *lines)
    return prefixes, paths, maps


_SET: dict[str, Callable[[Any], str]] = {
    "source-ip": lambda value: f"set src {value}",
    "ip-nexthop": lambda value: f"set ip next-hop {'peer-address' if value == 'peer-addr' else value}",
    # One of no meaning takes the place of all.
    "community": lambda value: "set community none" if value == {"64512:0": {}} else f"set community {' '.join(value)}",
}


def _read_nvue(tree: dict[str, Any]) -> tuple[Lines, Lines, Lines]:
    policy = at(tree, "router policy")
    prefixes: Lines = {}
    for name, entry in policy.get("prefix-list", {}).items():
        for number, rule in entry["rule"].items():
            ((prefix, length),) = rule["match"].items()
            assert (rule["action"], entry["type"]) == ("permit", "ipv4")
            lengths = (length.get("min-prefix-len", 0), length.get("max-prefix-len", 0))
            prefixes.setdefault(name, {})[int(number)] = (prefix, *lengths)
    paths: Lines = {}
    for name, entry in policy.get("as-path-list", {}).items():
        for number, rule in entry["rule"].items():
            paths.setdefault(name, {})[int(number)] = (rule["aspath-exp"],)
    maps: Lines = {}
    names = {"as-path-list": "match as-path", "ip-prefix-list": "match ip address prefix-list", "source-vrf": "match source-vrf"}
    for name, entry in policy.get("route-map", {}).items():
        for number, rule in entry["rule"].items():
            (action,) = rule["action"]
            lines = [f"{names[key]} {value}" for key, value in rule.get("match", {}).items() if key != "type"]
            lines += [_SET[key](value) for key, value in rule.get("set", {}).items()]
            maps.setdefault(name, {})[int(number)] = (action, *sorted(lines))
    return prefixes, paths, maps


@pytest.mark.parametrize(("cluster", "name"), [*SWITCHES, *BUSINESS])
def test_filters_mean_what_frr_filters_mean(cluster: str, name: str) -> None:
    prefixes, paths, maps = _read_nvue(cumulus.tree(cluster, name))
    frr_prefixes, frr_paths, frr_maps = _read_frr(_frr(cluster)[f"switches/{name}/frr.conf"])

    def contents(lists: Lines) -> dict[str, set[tuple[object, ...]]]:
        # Order is of no account where every entry permits.
        return {key: set(lines.values()) for key, lines in lists.items()}

    assert contents(prefixes) == contents(frr_prefixes)
    assert contents(paths) == contents(frr_paths)
    # FRR wants a filter on every session; Cumulus's own defaults do not, so those that let everything through are left out.
    open_doors = {key for key, lines in frr_maps.items() if lines == {10: ("permit",)}}
    assert open_doors <= {"EVPN-IN", "EVPN-OUT"}
    assert maps == {key: lines for key, lines in frr_maps.items() if key not in open_doors}


@pytest.mark.parametrize(("cluster", "name"), [pair for pair in SWITCHES if "leaf" in pair[1]])
def test_a_leaf_is_no_way_between_spines(cluster: str, name: str) -> None:
    policy = cumulus.tree(cluster, name)["router"]["policy"]
    assert policy["as-path-list"]["OWN"]["rule"] == {"10": {"action": "permit", "aspath-exp": "^$"}}
    for rule in policy["route-map"]["FABRIC-OUT"]["rule"].values():
        # What a node of its own said starts here as well.
        assert rule["match"]["as-path-list"] == ("NODES" if rule["match"]["ip-prefix-list"] in TOLD_BY_NODES else "OWN")


def _references(tree: object, key: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(tree, dict):
        for name, value in tree.items():
            yield from _references(value, name)
    elif isinstance(tree, str):
        yield key, tree


@each
def test_every_name_that_is_used_is_there(cluster: str, name: str) -> None:
    tree = cumulus.tree(cluster, name)
    policy = at(tree, "router policy")
    known = {
        "route-map": set(policy.get("route-map", ())),
        "fib-filter": set(policy.get("route-map", ())),
        "ip-prefix-list": set(policy.get("prefix-list", ())),
        "as-path-list": set(policy.get("as-path-list", ())),
        "source-vrf": set(tree["vrf"]),
        "vrf": {*tree["vrf"], "mgmt"},
        "interface": set(tree["interface"]),
        "base-interface": set(tree["interface"]),
        "listen": set(tree["interface"]),
        "peer-group": set(at(tree, "vrf default router bgp peer-group")),
    }
    used = [pair for pair in _references(tree) if pair[0] in known]
    assert used
    assert [pair for pair in used if pair[1] not in known[pair[0]]] == []
    vlans = set(at(tree, "bridge domain br_default vlan"))
    for interface, entry in tree["interface"].items():
        domain = at(entry, "bridge domain br_default")
        wanted = {str(domain[key]) for key in ("access", "untagged") if domain.get(key, "none") != "none"} | set(
            domain.get("vlan", ())
        )
        assert wanted <= vlans, interface
        assert set(at(entry, "bond member")) <= set(tree["interface"]), interface
    for vrf, entry in tree["vrf"].items():
        assert set(at(entry, "router bgp address-family ipv4-unicast route-import from-vrf list")) <= set(tree["vrf"]), vrf
    defined = set(policy.get("route-map", ()))
    assert defined == {value for key, value in used if key in {"route-map", "fib-filter"}}  # and nothing lies about unused


# --- Tenants


@every_overlay
def test_vnis_vlans_and_gateways_are_the_plans(cluster: str, name: str) -> None:
    switch, tree = _read(cluster, name)
    network = cumulus.plan(cluster).network(switch.network)
    overlay = switch.overlay
    assert overlay is not None and network is not None
    assert tree["evpn"]["enable"] == "on"
    vlans = at(tree, "bridge domain br_default vlan")
    assert vlans == {str(v.vlan): {"vni": {str(v.vni): {}}} for v in overlay.vlans}
    assert at(tree, "evpn vni") == {
        str(v.vni): {"rd": v.rd, "route-target": {"both": {v.route_target: {}}}} for v in overlay.vlans
    }
    for vlan in overlay.vlans:
        assert tree["interface"][f"vlan{vlan.vlan}"] == {
            "description": vlan.name,
            "ip": {"address": {vlan.address: {}}, "vrf": vlan.vrf},
            "link": {"mac-address": overlay.anycast_mac, "mtu": network.host_mtu_bytes},
            "type": "svi",
            "vlan": vlan.vlan,
        }
    tunnels = tree["nve"]["vxlan"]
    assert tunnels["source"]["address"] == _loopback(switch)
    assert at(tunnels, "mlag shared-address") == (overlay.vtep if overlay.shared_vtep else {})
    assert tunnels["mtu"] == switch.mtu_bytes - 50
    assert ("encapsulation" in tunnels) == network.lossless


@every_overlay
def test_vrfs_are_the_plans(cluster: str, name: str) -> None:
    switch, tree = _read(cluster, name)
    overlay = switch.overlay
    assert overlay is not None
    assert set(tree["vrf"]) - {"default"} == {vrf.name for vrf in overlay.vrfs}
    for vrf in overlay.vrfs:
        entry = tree["vrf"][vrf.name]
        bgp = entry["router"]["bgp"]
        family = bgp["address-family"]["ipv4-unicast"]
        assert (bgp["autonomous-system"], bgp["router-id"]) == (switch.asn, _loopback(switch))
        assert entry.get("evpn") == ({"enable": "on", "vlan": vrf.vlan, "vni": {str(vrf.vni): {}}} if vrf.vni else None)
        assert bgp.get("rd") == (vrf.rd or None)
        for path in ("route-export to-evpn", "route-import from-evpn"):
            assert at(bgp, path) == ({"route-target": {vrf.route_target: {}}} if vrf.vni else {})
        assert ("redistribute" in family) == (vrf.kind != "external")
        assert set(at(family, "route-import from-vrf list")) == {each.vrf for each in vrf.imports}
        assert ("route-export" in family) == bool(vrf.announced and vrf.vni)


def _filters(tree: dict[str, Any], name: str) -> tuple[Filter, ...]:
    rules = tree["router"]["policy"]["prefix-list"][name]["rule"]
    lines = [next(iter(rules[number]["match"].items())) for number in sorted(rules, key=int)]
    return tuple(Filter(prefix, length.get("max-prefix-len", 0)) for prefix, length in lines)


@every_overlay
def test_what_crosses_between_vrfs_is_the_plans(cluster: str, name: str) -> None:
    switch, tree = _read(cluster, name)
    overlay = switch.overlay
    assert overlay is not None
    maps = tree["router"]["policy"]["route-map"]
    for vrf in overlay.vrfs:
        if vrf.announced:
            assert _filters(tree, f"{vrf.name}-ANNOUNCED") == vrf.announced
        if vrf.imports:
            found = {
                rule["match"]["source-vrf"]: _filters(tree, rule["match"]["ip-prefix-list"])
                for rule in maps[f"{vrf.name}-IMPORT"]["rule"].values()
            }
            assert found == {each.vrf: each.prefixes for each in vrf.imports}


@pytest.mark.parametrize(("cluster", "name"), [pair for pair in BUSINESS if "border" in pair[1]])
def test_external_sessions_are_the_plans(cluster: str, name: str) -> None:
    switch, tree = _read(cluster, name)
    assert switch.overlay is not None and switch.overlay.externals
    for external in switch.overlay.externals:
        entry = tree["vrf"][external.vrf]["router"]["bgp"]["neighbor"][external.peer_address]
        family = entry["address-family"]["ipv4-unicast"]
        assert entry["remote-as"] == external.asn
        assert entry.get("password") == ("{{gpuyard-secret:" + external.secret + "}}" if external.secret else None)
        assert family["prefix-limits"]["inbound"]["maximum"] == external.max_routes
        assert family["aspath"] == {"private-as": "remove"}
        for way, list_name, filters in (("inbound", "ACCEPT", external.accept), ("outbound", "ANNOUNCE", external.announce)):
            rules = tree["router"]["policy"]["route-map"][family["policy"][way]["route-map"]]["rule"]
            if filters:
                assert _filters(tree, f"{external.vrf}-{list_name}") == filters
                assert rules["10"]["match"]["ip-prefix-list"] == f"{external.vrf}-{list_name}"
            else:
                assert rules == {"10": {"action": {"deny": {}}}}
    assert any(not external.announce for external in switch.overlay.externals) == (cluster == "driving-mlag")


@pytest.mark.parametrize(("cluster", "name"), BUSINESS)
def test_bonds_are_shared_as_planned(cluster: str, name: str) -> None:
    switch, tree = _read(cluster, name)
    overlay = switch.overlay
    assert overlay is not None
    bonds = {key: value for key, value in tree["interface"].items() if value["type"] == "bond"}
    assert set(bonds) == {f"bond{bond.number}" for bond in overlay.bonds}
    for bond in overlay.bonds:
        entry = bonds[f"bond{bond.number}"]
        domain = entry["bridge"]["domain"]["br_default"]
        assert set(entry["bond"]["member"]) == set(bond.ports)
        if bond.untagged and not bond.vlans:
            assert (domain["access"], "untagged" in domain) == (bond.untagged, False)
        else:
            assert (domain["untagged"], set(domain.get("vlan", ()))) == (
                bond.untagged or "none",
                {str(vlan) for vlan in bond.vlans},
            )
        segment = at(entry, "evpn multihoming segment")
        if bond.esi:
            number, mac = int(segment["local-id"]), segment["mac-address"]
            assert f"03:{mac}:{number >> 16 & 255:02x}:{number >> 8 & 255:02x}:{number & 255:02x}" == bond.esi.lower()
        else:
            assert segment == {}
            assert entry["bond"]["mlag"] == {"enable": "on", "id": bond.number}
    fabric = {port.name for port in switch.ports if port.use == "fabric"}
    tracked = {key for key, value in tree["interface"].items() if at(value, "evpn multihoming uplink") == "on"}
    assert tracked == (fabric if overlay.homing == "esi" else set())
    assert at(tree, "evpn multihoming enable") == ("on" if overlay.homing == "esi" else {})


def test_mlag_pair_meets_in_the_middle() -> None:
    first, second = (cumulus.tree("driving-mlag", f"business-leaf-u01-0{number}") for number in (1, 2))
    for here, there in ((first, second), (second, first)):
        link = here["interface"]["peerlink.4094"]
        assert (link["base-interface"], link["vlan"]) == ("peerlink", 4094)
        assert here["mlag"]["peer-ip"] in {
            address.split("/")[0] for address in there["interface"]["peerlink.4094"]["ip"]["address"]
        }
        (backup,) = here["mlag"]["backup"]
        assert backup in {address.split("/")[0] for address in there["interface"]["eth0"]["ip"]["address"]}
        assert here["mlag"]["mac-address"] == there["mlag"]["mac-address"] == here["system"]["global"]["anycast-mac"]
        assert here["evpn"]["mac-vrf-soo"] == there["evpn"]["mac-vrf-soo"]
        shared = here["nve"]["vxlan"]["mlag"]["shared-address"]
        assert shared == there["nve"]["vxlan"]["mlag"]["shared-address"]
        assert f"{shared}/32" in here["vrf"]["default"]["router"]["bgp"]["address-family"]["ipv4-unicast"]["network"]
        assert f"{shared}/32" not in at(here, "vrf default router static")
        assert here["interface"]["peerlink"]["bond"] == there["interface"]["peerlink"]["bond"]


def test_dhcp_is_relayed_in_the_tenants_vrf() -> None:
    relaying = [
        (switch, vlan)
        for switch in cumulus.plan("driving").switches
        if switch.overlay
        for vlan in switch.overlay.vlans
        if vlan.dhcp_servers
    ]
    assert relaying
    for switch, vlan in relaying:
        assert switch.overlay is not None
        vrf = next(vrf for vrf in switch.overlay.vrfs if vrf.name == vlan.vrf)
        assert cumulus.tree("driving", switch.name)["service"]["dhcp-relay"] == {
            vlan.vrf: {
                "interface": {f"vlan{vlan.vlan}": {}, f"vlan{vrf.vlan}_l3": {}},
                "server": {server: {} for server in vlan.dhcp_servers},
            }
        }


# --- Lossless


def _is_lossless(cluster: str, name: str) -> bool:
    plan = cumulus.plan(cluster)
    network = plan.network(plan.switch(name).network)
    return network is not None and network.lossless


@pytest.mark.parametrize(("cluster", "name"), [pair for pair in SWITCHES if _is_lossless(*pair)])
def test_lossless_profile_is_the_plans(cluster: str, name: str) -> None:
    switch, tree = _read(cluster, name)
    lossless = cumulus.plan(cluster).lossless
    priorities, classes, paused = read_classes(tree)
    assert priorities == lossless.dscp_to_tc
    assert paused == set(lossless.pfc_priorities)
    assert classes[lossless.priority] == 3
    assert classes[lossless.cnp_priority] == 6
    assert [number for number in classes if number] in ([3, 6], [6, 3])
    marks = {speed: (low, high, percent) for speed, low, high, percent in lossless.ecn}
    watched = lossless.watchdog and bool(lossless.pfc_priorities)
    for port in switch.ports:
        qos = tree["interface"][port.name].get("qos", {})
        row = (150, 1500, 100)
        if profile := at(qos, "congestion-control profile"):
            red = tree["qos"]["congestion-control"][profile]["traffic-class"]["3"]
            row = (red["min-threshold"] // 1000, red["max-threshold"] // 1000, red["probability"])
        assert row == marks[port.speed_gbps], port.name
        assert at(qos, "pfc-watchdog state") == ("enable" if watched else {})
    if watched:
        watchdog = tree["qos"]["pfc-watchdog"]
        assert watchdog["polling-interval"] == min(lossless.watchdog_detect_ms, lossless.watchdog_restore_ms)
        assert (
            abs(watchdog["polling-interval"] * watchdog["robustness"] - lossless.watchdog_detect_ms)
            <= watchdog["polling-interval"] / 2
        )


@each
def test_adaptive_routing_is_where_it_was_asked_for(cluster: str, name: str) -> None:
    switch, tree = _read(cluster, name)
    network = cumulus.plan(cluster).network(switch.network)
    assert network is not None
    wanted = {port.name for port in switch.ports if port.use == "fabric"} if network.load_balancing == "adaptive" else set()
    assert {key for key, value in tree["interface"].items() if at(value, "router adaptive-routing")} == wanted
    assert ("adaptive-routing" in tree.get("router", {})) == bool(wanted)


def test_lossy_networks_have_no_qos() -> None:
    lossy = [pair for pair in SWITCHES if not _is_lossless(*pair)]
    assert {cumulus.plan(cluster).switch(name).network for cluster, name in lossy} == {"storage", "business", "oob"}
    for cluster, name in lossy:
        assert "qos" not in cumulus.tree(cluster, name), name


# --- Management


@each
def test_services_are_reached_by_the_management_side(cluster: str, name: str) -> None:
    switch, tree = _read(cluster, name)
    site = cumulus.plan(cluster).site
    side = "mgmt" if switch.management else "default"
    assert (switch.network == "oob") == (side == "default")
    assert ("eth0" in tree["interface"]) == (side == "mgmt")
    if switch.management:
        assert tree["interface"]["eth0"]["ip"] == {
            "address": {switch.management.address: {}},
            "gateway": {switch.management.gateway: {}},
            "vrf": "mgmt",
        }
    service = tree.get("service", {})
    assert at(service, f"dns {side} server") == {address: {} for address in site.dns}
    assert at(service, f"ntp {side} server") == {address: {"iburst": "on"} for address in site.ntp}
    assert set(at(service, f"syslog {side} server")) == set(site.syslog)
    community = at(service, "snmp-server readonly-community")
    assert community == (
        {"{{gpuyard-secret:snmp-community}}": {"access": {address: {} for address in site.snmp_managers}}}
        if site.snmp_managers
        else {}
    )
    assert tree["system"]["hostname"] == switch.name
    assert tree["system"]["timezone"] == site.timezone
    assert tree["system"].get("ssh-server") == ({"vrf": {"mgmt": {}}} if switch.management else None)
    assert tree["system"]["aaa"]["user"] == {"cumulus": {"password": "{{gpuyard-secret:switch-admin}}", "role": "system-admin"}}


@pytest.mark.parametrize(("cluster", "name"), [pair for pair in SWITCHES if "oob-leaf" in pair[1]])
def test_out_of_band_vlans_are_the_plans(cluster: str, name: str) -> None:
    switch, tree = _read(cluster, name)
    assert tree["bridge"]["domain"]["br_default"]["vlan"] == {str(vlan.id): {} for vlan in switch.vlans}
    servers = set()
    for vlan in switch.vlans:
        entry = tree["interface"][f"vlan{vlan.id}"]
        assert (set(entry["ip"]["address"]), entry["vlan"]) == ({vlan.address}, vlan.id)
        servers |= set(vlan.dhcp_servers)
    relay = tree["service"]["dhcp-relay"]["default"]
    assert set(relay["server"]) == servers
    down = {f"vlan{vlan.id}" for vlan in switch.vlans if vlan.dhcp_servers}
    up = {port.name for port in switch.ports if port.use == "fabric"} | {way.port for way in switch.upstreams}
    assert set(relay["interface"]) == down | up
