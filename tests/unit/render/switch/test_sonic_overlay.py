"""Tenants in config_db.json, against values worked out by hand from inventory/driving, and against frr.conf.

A tenant's VLANs are 16 x tenant + subnet, its L3 VLAN 16 x tenant; VNIs are 10000 + VLAN and 50000 + tenant. The third pair of
leafs carries `inference` (tenant 3, VRF `infer`) alone: subnets 1 and 2.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from cluster_model.plan.model import Plan, Switch
from cluster_model.plan.model.overlay import Bond, Mlag, NatRule, Overlay, OverlayVlan, SwitchVrf
from cluster_model.render.switch.scene import Scene
from cluster_model.render.switch.sonic import build_config_db
from tests.unit.render.switch import factory

CLUSTERS = ("driving", "driving-frr", "driving-sonic")
LEAFS = ("business-leaf-u03-01", "business-leaf-u03-02")
SEATS = range(8, 14)  # of infer-001 to infer-006 in their unit: 25 Gb/s hosts come first there
TABLES = ("VXLAN", "VRF", "VLAN", "SAG", "PORTCHANNEL", "MCLAG", "EVPN", "DHCPV4_RELAY")


def _config(cluster: str, switch: str) -> dict[str, Any]:
    return json.loads(factory.file(cluster, switch, "config_db.json"))


def _tenant_switches(cluster: str) -> Iterator[tuple[Switch, Overlay, dict[str, Any]]]:
    """Yield SONiC switches that have tenants, with their overlay and tables."""
    for switch in factory.plan(cluster).switches:
        overlay = switch.overlay
        if switch.nos == "sonic" and overlay is not None and overlay.vrfs:
            yield switch, overlay, _config(cluster, switch.name)


def _rows(config: dict[str, Any], table: str, name: str) -> list[str]:
    """Return the second half of a table's keys whose first is `name`."""
    return sorted(key.split("|")[1] for key in config.get(table, {}) if key.startswith(f"{name}|"))


@pytest.mark.parametrize(
    ("cluster", "vteps"),
    [("driving", {"10.112.128.2"}), ("driving-sonic", {"10.112.224.4", "10.112.224.5"})],
)
def test_a_tenants_vxlans_gateways_and_vrf(cluster: str, vteps: set[str]) -> None:
    configs = [_config(cluster, name) for name in LEAFS]
    for config in configs:
        assert config["VRF"] == {"Vrfinfer": {"vni": "50003"}}
        assert config["VXLAN_EVPN_NVO"] == {"nvo": {"source_vtep": "vtep"}}
        assert config["VXLAN_TUNNEL_MAP"] == {
            "vtep|map_10049_Vlan49": {"vlan": "Vlan49", "vni": "10049"},
            "vtep|map_10050_Vlan50": {"vlan": "Vlan50", "vni": "10050"},
            "vtep|map_50003_Vlan48": {"vlan": "Vlan48", "vni": "50003"},
        }
        # 9100 bytes less 14 + 20 + 8 + 8 of the tunnel's headers.
        assert config["VLAN"]["Vlan48"] == {"vlanid": "48", "description": "infer L3 VNI 50003", "mtu": "9050"}
        assert config["VLAN"]["Vlan49"] == {"vlanid": "49", "description": "inference-serve", "mtu": "1500"}
        assert config["SAG"] == {"GLOBAL": {"gateway_mac": "00:00:5e:00:01:01"}}
        for vlan, address in (("Vlan49", "192.168.0.1/20"), ("Vlan50", "10.48.3.1/24")):
            assert config["VLAN_INTERFACE"][vlan] == {"vrf_name": "Vrfinfer", "static_anycast_gateway": "true"}
            assert _rows(config, "VLAN_INTERFACE", vlan) == [address]
    assert {config["VXLAN_TUNNEL"]["vtep"]["src_ip"] for config in configs} == vteps


def test_the_same_gateway_in_two_tenants() -> None:
    config = _config("driving", "business-leaf-u01-01")
    holders = {key.split("|")[0] for key in config["VLAN_INTERFACE"] if key.endswith("|192.168.0.1/20")}
    assert {name: config["VLAN_INTERFACE"][name]["vrf_name"] for name in holders} == {
        "Vlan17": "Vrfperception",
        "Vlan33": "Vrfplanning",
    }


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_l3_vnis_have_a_vlan_without_address_and_without_ports(cluster: str) -> None:
    seen = 0
    for switch, overlay, config in _tenant_switches(cluster):
        for vrf in overlay.vrfs:
            name = f"Vlan{vrf.vlan}"
            if not vrf.vni:
                assert name not in config.get("VLAN", {}), switch.name
                continue
            seen += 1
            assert config["VLAN_INTERFACE"][name]["vrf_name"] == f"Vrf{vrf.name}"
            assert "static_anycast_gateway" not in config["VLAN_INTERFACE"][name]
            assert not _rows(config, "VLAN_INTERFACE", name)
            assert not _rows(config, "VLAN_MEMBER", name)
    assert seen


def test_a_pair_with_one_tunnel_address_has_one_router_mac_and_two_router_ids() -> None:
    one, two = (_config("driving", name) for name in LEAFS)
    assert one["VLAN_INTERFACE"]["Vlan48"] == two["VLAN_INTERFACE"]["Vlan48"]
    assert one["VLAN_INTERFACE"]["Vlan48"] == {"vrf_name": "Vrfinfer", "mac_addr": "02:67:79:00:00:03"}
    loopbacks = [set(config["LOOPBACK_INTERFACE"]) for config in (one, two)]
    assert loopbacks[0] & loopbacks[1] == {"Loopback0", "Loopback1", "Loopback1|10.112.128.2/32"}
    # Ethernet segments leave each leaf its own tunnel address, so a shared router MAC would mix the two up.
    esi = _config("driving-sonic", LEAFS[0])
    assert esi["VLAN_INTERFACE"]["Vlan48"] == {"vrf_name": "Vrfinfer"}
    assert "Loopback1" not in esi["LOOPBACK_INTERFACE"]


def test_bonds_are_the_same_on_both_leafs() -> None:
    for cluster, system_mac in (("driving", None), ("driving-sonic", "02:67:79:00:00:03")):
        one, two = (_config(cluster, name) for name in LEAFS)
        for seat in SEATS:
            name = f"PortChannel{seat}"
            row = one["PORTCHANNEL"][name]
            assert row == two["PORTCHANNEL"][name]
            assert row["description"] == f"infer-{seat - 7:03}"
            assert (row["fast_rate"], row["lacp_key"], row["min_links"], row["mtu"]) == ("true", "auto", "1", "9100")
            assert row.get("system_mac") == system_mac
            for config in (one, two):
                assert len(_rows(config, "PORTCHANNEL_MEMBER", name)) == 1
                members = {key: row for key, row in config["VLAN_MEMBER"].items() if key.endswith(f"|{name}")}
                assert members == {f"Vlan{vlan}|{name}": {"tagging_mode": "tagged"} for vlan in (49, 50)}


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_what_is_in_a_bond_is_nowhere_else(cluster: str) -> None:
    for switch, overlay, config in _tenant_switches(cluster):
        members = [key.split("|")[1] for key in config.get("PORTCHANNEL_MEMBER", {})]
        planned = {port for bond in overlay.bonds for port in bond.ports} | set(overlay.mlag.ports if overlay.mlag else ())
        assert sorted(members) == sorted(planned), switch.name
        assert not planned & {key.split("|")[0] for key in config["INTERFACE"]}
        assert not planned & {key.split("|")[1] for key in config.get("VLAN_MEMBER", {})}
        assert all(config["PORT"][port]["mtu"] == str(switch.mtu_bytes) for port in planned)


def test_mlag_peers_point_at_each_other() -> None:
    one, two = (_config("driving", name) for name in LEAFS)
    ends = [("10.112.144.4", "10.112.144.5"), ("10.112.144.5", "10.112.144.4")]
    for config, (own, other) in zip((one, two), ends, strict=True):
        assert config["MCLAG_DOMAIN"] == {"3": {"source_ip": own, "peer_ip": other, "peer_link": "PortChannel1000"}}
        assert config["MCLAG_INTERFACE"] == {f"3|PortChannel{seat}": {"if_type": "PortChannel"} for seat in SEATS}
        assert config["VLAN_INTERFACE"]["Vlan4094"] == {}
        assert _rows(config, "VLAN_INTERFACE", "Vlan4094") == [f"{own}/31"]
        assert _rows(config, "PORTCHANNEL_MEMBER", "PortChannel1000") == ["Ethernet100", "Ethernet96"]
        assert _rows(config, "VLAN_MEMBER", "Vlan4094") == ["PortChannel1000"]
        carried = {key.split("|")[0] for key in config["VLAN_MEMBER"] if key.endswith("|PortChannel1000")}
        assert carried == {"Vlan49", "Vlan50", "Vlan4094"}
        # Without these rows the standby's anycast MAC is overwritten by the other leaf's own.
        assert config["MCLAG_UNIQUE_IP"] == {name: {"unique_ip": "enable"} for name in carried}
        assert config["FEATURE"]["iccpd"] == {"state": "enabled"}


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_a_switch_has_mlag_or_segments_and_never_both(cluster: str) -> None:
    for switch, overlay, config in _tenant_switches(cluster):
        has = {prefix for prefix in ("MCLAG", "EVPN") for table in config if table.startswith(prefix)}
        assert has == {"mlag": {"MCLAG"}, "esi": {"EVPN"}, "single": set()}[overlay.homing], switch.name
        assert ("iccpd" in config["FEATURE"]) == (overlay.homing == "mlag")


def test_segments_are_the_plans_in_config_db_and_in_frr_conf() -> None:
    plan = factory.plan("driving-sonic")
    by_server: dict[str, set[str]] = {}
    for switch, overlay, config in _tenant_switches("driving-sonic"):
        text = factory.file("driving-sonic", switch.name, "frr.conf")
        routed = re.findall(r"^interface (\S+)\n evpn mh es-id (\d+)\n evpn mh es-sys-mac (\S+)$", text, re.M)
        told = {}
        for name, row in config.get("EVPN_ETHERNET_SEGMENT", {}).items():
            assert row == {"esi": "AUTO", "type": "TYPE_3_MAC_BASED"}
            told[name] = (name.removeprefix("PortChannel"), config["PORTCHANNEL"][name]["system_mac"])
        assert {name: (number, mac) for name, number, mac in routed} == told, switch.name
        for bond in overlay.bonds:
            number, mac = told[f"PortChannel{bond.number}"]
            # RFC 7432, section 5: type 3 is the MAC and three bytes of a number.
            esi = f"03:{mac}:" + ":".join(f"{byte:02x}" for byte in int(number).to_bytes(3, "big"))
            assert bond.esi == esi
            by_server.setdefault(bond.server, set()).add(esi)
    servers = {server.name for server in plan.servers if server.bonds}
    assert set(by_server) == servers
    assert all(len(found) == 1 for found in by_server.values())
    assert len({esi for found in by_server.values() for esi in found}) == len(servers)


def test_segment_timers_are_frrs_own_so_that_the_two_files_agree() -> None:
    config = _config("driving-sonic", LEAFS[0])
    assert config["EVPN_MH_GLOBAL"] == {
        "default": {"startup_delay": "180", "mac_holdtime": "1080", "neigh_holdtime": "1080"},
    }
    assert "startup-delay" not in factory.file("driving-sonic", LEAFS[0], "frr.conf")


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_vnis_are_the_same_in_config_db_and_in_frr_conf(cluster: str) -> None:
    for switch, overlay, config in _tenant_switches(cluster):
        text = factory.file(cluster, switch.name, "frr.conf")
        l3 = {name: row["vni"] for name, row in config["VRF"].items() if "vni" in row}
        assert dict(re.findall(r"^vrf (\S+)\n vni (\d+)$", text, re.M)) == l3, switch.name
        assert set(re.findall(r"^router bgp \d+ vrf (\S+)$", text, re.M)) == set(config["VRF"])
        l2 = set(re.findall(r"^  vni (\d+)$", text, re.M))
        assert {row["vni"] for row in config["VXLAN_TUNNEL_MAP"].values()} == l2 | set(l3.values())
        assert f"network {overlay.vtep}/32" in text


def test_border_ports_lie_in_their_peers_vrf() -> None:
    config = _config("driving-sonic", "business-border-01")
    # Peer 1 in cage 1, peer 2 in cage 2; the peer has the first address of the /31.
    assert config["INTERFACE"]["Ethernet0"] == {"vrf_name": "Vrfinternet"}
    assert config["INTERFACE"]["Ethernet4"] == {"vrf_name": "Vrfvehicles"}
    assert _rows(config, "INTERFACE", "Ethernet0") == ["198.51.100.1/31"]
    assert _rows(config, "INTERFACE", "Ethernet4") == ["198.51.100.5/31"]
    port = config["PORT"]["Ethernet4"]
    assert (port["admin_status"], port["description"], port["mtu"]) == ("up", "external:vehicles", "1500")
    assert config["VRF"]["Vrfvehicles"] == {}
    assert config["VRF"]["Vrfintake"] == {"vni": "50011"}
    assert config["DEVICE_METADATA"]["localhost"]["type"] == "ToRRouter"
    assert not {"SAG", "PORTCHANNEL", "VLAN_MEMBER"} & set(config)
    spine = _config("driving-sonic", "business-spine-01")
    assert spine["DEVICE_NEIGHBOR_METADATA"]["business-border-01"]["type"] == "ToRRouter"


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_vlans_that_the_schema_does_not_look_up_exist(cluster: str) -> None:
    """SONiC's modules know these VLANs by the form of their names alone."""
    for switch, _, config in _tenant_switches(cluster):
        named = [row["vlan"] for row in config["VXLAN_TUNNEL_MAP"].values()]
        assert sorted(named) == sorted(set(named)), switch.name
        named += [*config.get("DHCPV4_RELAY", {}), *config.get("MCLAG_UNIQUE_IP", {})]
        assert set(named) <= set(config["VLAN"]) == {key.split("|")[0] for key in config["VLAN_INTERFACE"]}, switch.name


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_uplinks_stay_in_the_default_vrf(cluster: str) -> None:
    for switch, _, config in _tenant_switches(cluster):
        for port in switch.ports:
            if port.use == "fabric":
                assert config["INTERFACE"][port.name].get("vrf_name") is None


def test_spines_only_pass_routes_on() -> None:
    for cluster in ("driving", "driving-sonic"):
        for switch in factory.plan(cluster).switches:
            if switch.network == "business" and switch.role == "spine":
                assert not [table for table in _config(cluster, switch.name) if table.startswith(TABLES)]


def test_dhcp_is_relayed_inside_the_vrf_by_the_relay_that_can() -> None:
    config = _config("driving", LEAFS[0])
    assert config["DHCPV4_RELAY"] == {"Vlan50": {"dhcpv4_servers": ["10.48.0.16", "10.48.0.17"]}}
    assert not [name for name, row in config["VLAN"].items() if "dhcp_servers" in row]
    assert config["DEVICE_METADATA"]["localhost"]["has_sonic_dhcpv4_relay"] == "True"
    assert config["FEATURE"]["dhcp_relay"] == {"state": "enabled"}
    assert "dhcp_relay" not in _config("driving", "business-leaf-u01-01")["FEATURE"]


def test_compute_isolation_puts_host_ports_into_vrfs() -> None:
    switch = factory.plan("driving-frr").switch("compute-leaf-u01-01")
    config = _config("driving-frr", switch.name)
    assert config["VRF"] == {"Vrfperception": {"vni": "60001"}}
    assert config["VXLAN_TUNNEL_MAP"] == {"vtep|map_60001_Vlan16": {"vlan": "Vlan16", "vni": "60001"}}
    assert config["VXLAN_TUNNEL"]["vtep"]["src_ip"] == switch.loopback.partition("/")[0]
    for port in switch.ports:
        row = config["INTERFACE"][port.name]
        assert row.get("vrf_name") == ("Vrfperception" if port.use == "host" else None)
        assert (f"{port.name}|{port.address}" in config["INTERFACE"]) == bool(port.address)
    assert not {"SAG", "PORTCHANNEL", "VLAN_MEMBER", "MCLAG_DOMAIN"} & set(config)
    # Isolation changes nothing of the lossless profile.
    plain = _config("driving", switch.name)
    for table in ("PORT_QOS_MAP", "QUEUE", "WRED_PROFILE", "PFC_WD", "PORT"):
        assert config[table] == plain[table]


def test_without_tenants_nothing_is_added() -> None:
    for cluster in ("lab", "superpod-roce"):
        for switch in factory.plan(cluster).switches:
            if switch.nos == "sonic" and not switch.vlans:
                assert not [table for table in _config(cluster, switch.name) if table.startswith(TABLES)], switch.name


def _by_hand(**changes: object) -> tuple[Plan, Switch]:
    """Return a lab leaf with an overlay of our own: tenant 7 with subnet 1, two servers, one of them untagged."""
    plan = factory.plan("lab")
    leaf = plan.switch("compute-leaf-u01-01")
    ports = [port.name for port in leaf.ports if port.use == "host"]
    overlay = Overlay(
        vtep="10.9.0.1",
        shared_vtep=False,
        anycast_mac="00:00:5e:00:01:01",
        homing="single",
        vlans=(OverlayVlan(113, 10113, "t-a", "10.9.0.1:113", "64512:10113", "t", "10.7.0.1/24", ()),),
        vrfs=(SwitchVrf("t", "tenant", 7, 10007, 112, 50007, "10.9.0.1:50007", "64512:50007", (), (), (), ()),),
        bonds=(
            Bond(1, "a-001", tuple(ports[:2]), 400, 1, "02:67:79:00:00:01", "", (), 113),
            Bond(2, "a-002", tuple(ports[2:3]), 400, 2, "02:67:79:00:00:01", "", (), 0),
        ),
    )
    overlay = dataclasses.replace(overlay, **changes)  # type: ignore[arg-type]
    bonded = {port: bond.number for bond in overlay.bonds for port in bond.ports}
    taken = tuple(dataclasses.replace(p, bond=bonded.get(p.name, 0), peer_asn=0) for p in leaf.ports)
    return plan, dataclasses.replace(leaf, ports=taken, overlay=overlay)


def _build(**changes: object) -> dict[str, Any]:
    plan, switch = _by_hand(**changes)
    return json.loads(json.dumps(build_config_db(Scene(plan, factory.catalogue()), switch)))


def test_untagged_subnets_and_servers_of_nobody() -> None:
    config = _build()
    assert config["VLAN_MEMBER"] == {"Vlan113|PortChannel1": {"tagging_mode": "untagged"}}
    assert config["PORTCHANNEL"]["PortChannel1"]["mode"] == "access"
    # A server of no tenant has its bond and no VLAN on it: nothing of anybody reaches it.
    assert config["PORTCHANNEL"]["PortChannel2"]["mode"] == "trunk"
    assert len(_rows(config, "PORTCHANNEL_MEMBER", "PortChannel1")) == 2
    assert "EVPN_ETHERNET_SEGMENT" not in config


def test_a_leaf_before_its_first_tenant_has_bonds_and_no_tunnel() -> None:
    bonds = (Bond(1, "a-001", ("Ethernet0",), 400, 1, "02:67:79:00:00:01", "", (), 0),)
    mlag = Mlag(1, "02:67:79:00:00:01", ("Ethernet8",), 1000, 4094, "10.9.1.0/31", "10.9.1.1")
    config = _build(vlans=(), vrfs=(), bonds=bonds, mlag=mlag, homing="mlag", shared_vtep=True)
    assert not [table for table in config if table.startswith(("VXLAN", "VRF", "SAG"))]
    assert set(config["VLAN"]) == {"Vlan4094"}
    assert config["LOOPBACK_INTERFACE"]["Loopback1|10.9.0.1/32"] == {}
    assert set(config["PORTCHANNEL"]) == {"PortChannel1", "PortChannel1000"}


def test_nat_leaves_no_trace() -> None:
    rule = NatRule("t", "t", 112, "internet", "internet", "203.0.113.0/30", 1793, 10007)
    assert _build(nat=(rule,)) == _build()


def test_a_segment_that_sonic_cannot_number_is_refused() -> None:
    bond = Bond(1, "a-001", ("Ethernet0",), 400, 9, "02:67:79:00:00:01", "03:02:67:79:00:00:01:00:00:09", (), 113)
    with pytest.raises(ValueError, match="bond 1 has Ethernet segment 9, and SONiC takes the number of the bond"):
        _build(homing="esi", bonds=(bond,))
