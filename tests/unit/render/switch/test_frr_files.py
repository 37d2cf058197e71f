"""What a plain FRR switch is told, against the plan it comes from."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from ipaddress import ip_interface
from pathlib import Path

import pytest
import yaml

from cluster_model.intent.model.cluster import Cluster
from cluster_model.plan.build import build_plan
from cluster_model.plan.model import Switch
from tests.unit.render.switch import factory


def _stanza(text: str, name: str) -> str:
    return text.partition(f"\niface {name}")[2].partition("\nauto ")[0]


def test_a_switch_gets_the_files_of_a_debian_machine() -> None:
    names = {path.split("/")[2] for path in factory.files("lab") if "/storage-leaf-u01-01/" in path}
    always = {"frr.conf", "daemons", "interfaces", "sysctl.conf", "hostname", "timezone", "lldpd.conf", "nftables.conf"}
    assert names == always | {"resolv.conf", "chrony.conf", "rsyslog.conf"}
    assert "switches/turned/" not in names
    assert "switches/storage-leaf-u01-01/snmpd.conf" in factory.files("turned")
    assert "switches/oob-leaf-a01/dnsmasq.conf" in factory.files("lab")


def test_services_are_reached_over_the_management_vrf() -> None:
    site = factory.plan("lab").site
    text = factory.file("lab", "storage-leaf-u01-01", "interfaces")
    for address in (*site.dns, *site.ntp, *site.syslog):
        assert f"post-up ip rule add pref 900 to {address} table 1001" in _stanza(text, "mgmt")
    assert "vrf mgmt" in _stanza(text, "eth0")


def test_an_oob_switch_is_managed_in_band() -> None:
    text = factory.file("lab", "oob-leaf-a01", "interfaces")
    assert "mgmt" not in re.findall(r"^auto (\S+)", text, re.M)
    assert "l3mdev" not in factory.file("lab", "oob-leaf-a01", "sysctl.conf")


def test_vlans_are_bridges_with_their_ports() -> None:
    switch = factory.plan("lab").switch("oob-leaf-a01")
    text = factory.file("lab", switch.name, "interfaces")
    for vlan in switch.vlans:
        stanza = _stanza(text, f"vlan{vlan.id}")
        ports = re.search(r"bridge-ports (.*)", stanza)
        assert ports is not None
        expected = [port.name for port in switch.ports if port.vlan == vlan.id] or ["none"]
        assert ports[1].split() == expected
        assert f"address {vlan.address}\n" in stanza
    relays = factory.file("lab", switch.name, "dnsmasq.conf")
    gateways = {vlan.address.partition("/")[0] for vlan in switch.vlans}
    assert set(re.findall(r"^dhcp-relay=([^,]+),", relays, re.M)) == gateways


@pytest.mark.parametrize("cluster", factory.CLUSTERS)
def test_policies_let_out_only_what_a_leaf_owns(cluster: str) -> None:
    for switch in factory.plan(cluster).switches:
        text = factory.file(cluster, switch.name, "frr.conf")
        entries = re.findall(r"^route-map FABRIC-OUT permit \d+\n(.*?)^exit", text, re.M | re.S)
        assert entries
        if switch.is_edge:
            # What a node of its own said starts here as well.
            own = [entry for entry in entries if not re.search(r"prefix-list (PODS|API-SERVER)\n", entry)]
            assert all("match as-path OWN\n" in entry and "match ip address prefix-list" in entry for entry in own)
            assert all("match as-path NODES\n" in entry for entry in entries if entry not in own)
            owned = set(re.findall(r"^ip prefix-list OWN seq \d+ permit (\S+)$", text, re.M))
            assert owned == {*switch.originates, f"{switch.loopback.partition('/')[0]}/32"}
        network = factory.plan(cluster).network(switch.network)
        assert network is not None
        assert f"ip prefix-list POOL seq 10 permit {network.pool} le 32\n" in text


@pytest.mark.parametrize("cluster", factory.CLUSTERS)
def test_every_neighbour_of_the_plan_has_its_session(cluster: str) -> None:
    for switch in factory.plan(cluster).switches:
        text = factory.file(cluster, switch.name, "frr.conf")
        for port in switch.ports:
            if not port.peer_asn:
                assert f" {port.name} interface" not in text
                assert not port.address or f" neighbor {_other(port.address)} " not in text
            elif port.use == "host":
                group = f" neighbor {port.peer_address} peer-group NODES\n"
                assert f"{group} neighbor {port.peer_address} description {port.peer}:{port.peer_port}\n" in text
            elif port.peer_address:
                assert f" neighbor {port.peer_address} remote-as {port.peer_asn}\n" in text
            else:
                assert f" neighbor {port.name} interface peer-group FABRIC\n" in text


@pytest.mark.parametrize("cluster", factory.CLUSTERS)
def test_nodes_come_to_their_leaf_and_are_told_nothing(cluster: str) -> None:
    plan = factory.plan(cluster)
    for switch in plan.switches:
        text = factory.file(cluster, switch.name, "frr.conf")
        group = re.findall(r"^ +neighbor NODES (.*)$", text, re.M)
        if not any(port.peer_asn and port.use == "host" for port in switch.ports):
            assert group == []
            assert "NODES-" not in text
            continue
        way = ["activate", "maximum-prefix 8 restart 5", "route-map NODES-IN in", "route-map NODES-OUT out"]
        assert group == ["peer-group", f"remote-as {plan.kubernetes.node_asn}", "passive", *way]
        assert "route-map NODES-OUT deny 10\nexit\n" in text
        # Neither another's address as next hop nor a community that keeps a leaf from passing it on.
        assert " match ip address prefix-list PODS\n set community none\n set ip next-hop peer-address\nexit\n" in text
        pods = f"permit {plan.kubernetes.pod_pool} ge {plan.kubernetes.node_prefix} le {plan.kubernetes.node_prefix}\n"
        assert f"ip prefix-list PODS seq 10 {pods}" in text
        control = [port.peer_address for port in switch.ports if port.peer.startswith("control") and port.use == "host"]
        assert re.findall(r"^  neighbor (\S+) route-map CONTROL-IN in$", text, re.M) == control
        api_server = f"ip prefix-list API-SERVER seq 10 permit {plan.kubernetes.endpoint.announced}/32\n"
        assert (api_server in text) == bool(control) == ("route-map CONTROL-IN permit 20\n" in text)


def _other(address: str) -> str:
    """Return the other address of a /31."""
    here = ip_interface(address)
    return next(str(one) for one in here.network if one != here.ip)


def test_dnsmasq_accepts_its_file(tmp_path: Path) -> None:
    dnsmasq = shutil.which("dnsmasq", path=f"{os.environ['PATH']}:/usr/sbin")
    if dnsmasq is None:
        pytest.skip("dnsmasq is missing: install dnsmasq-base")
    file = tmp_path / "dnsmasq.conf"
    file.write_text(factory.file("lab", "oob-leaf-a01", "dnsmasq.conf"), "utf-8")
    done = subprocess.run([dnsmasq, "--test", "-C", str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _driving(role: str, homing: str = "esi") -> list[Switch]:
    plan = factory.plan("driving-frr")
    return [s for s in plan.switches if s.network == "business" and s.role == role and s.overlay and s.overlay.homing == homing]


def test_a_gateway_is_local_on_every_leaf_and_lies_in_its_vrf() -> None:
    for switch in _driving("leaf"):
        assert switch.overlay is not None
        text = factory.file("driving-frr", switch.name, "interfaces")
        assert switch.overlay.vlans
        for vlan in switch.overlay.vlans:
            stanza = _stanza(text, f"vlan{vlan.vlan}")
            assert f"    vrf {vlan.vrf}\n" in stanza
            assert f"    address {vlan.address}\n" in stanza
            assert f"fdb replace {switch.overlay.anycast_mac} dev bridge self local vlan {vlan.vlan}\n" in stanza
            assert "arp-accept on" in stanza


def test_interfaces_of_l3_vnis_come_up_last() -> None:
    for switch in _driving("leaf"):
        assert switch.overlay is not None
        names = re.findall(r"^auto (\S+)", factory.file("driving-frr", switch.name, "interfaces"), re.M)
        l3 = [f"vlan{vrf.vlan}" for vrf in switch.overlay.vrfs if vrf.vni]
        assert l3
        assert names[-len(l3) :] == l3


def test_no_vrf_falls_through_to_the_fabric_s_table() -> None:
    for switch in (*_driving("leaf"), *_driving("border", "single")):
        assert switch.overlay is not None
        text = factory.file("driving-frr", switch.name, "interfaces")
        for vrf in switch.overlay.vrfs:
            assert f"unreachable default metric 4278198272 table {vrf.table}\n" in _stanza(text, vrf.name)


def test_tunnels_leave_room_for_their_header() -> None:
    for switch in (*_driving("leaf"), *_driving("border", "single")):
        text = factory.file("driving-frr", switch.name, "interfaces")
        for name in re.findall(r"^auto (vni\d+|bond\d+|bridge)$", text, re.M):
            assert f"    mtu {switch.mtu_bytes - 50}\n" in _stanza(text, name)


def test_an_external_session_has_filters_and_a_limit() -> None:
    borders = _driving("border", "single")
    assert borders
    for switch in borders:
        assert switch.overlay is not None
        text = factory.file("driving-frr", switch.name, "frr.conf")
        for external in switch.overlay.externals:
            neighbor = f" neighbor {external.peer_address}"
            for line in (
                f"{neighbor} route-map {external.vrf}-IN in",
                f"{neighbor} route-map {external.vrf}-OUT out",
                f"{neighbor} maximum-prefix {external.max_routes} force",
                f"{neighbor} remove-private-AS all",
            ):
                assert f" {line}\n" in text
            assert (f"{neighbor} password {{{{gpuyard-secret:{external.secret}}}}}\n" in text) == bool(external.secret)


def test_frr_waits_for_its_vrfs() -> None:
    for switch in (*_driving("leaf"), *_driving("border", "single")):
        lines = factory.file("driving-frr", switch.name, "frr-service.conf").splitlines()
        assert lines[-3:] == ["[Unit]", "After=networking.service", "PartOf=networking.service"]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd")
def test_systemd_reads_the_order_of_frr(tmp_path: Path) -> None:
    switch = _driving("border", "single")[0]
    for unit in ("frr", "networking"):
        (tmp_path / f"{unit}.service").write_text("[Service]\nType=oneshot\nExecStart=/bin/true\n", "utf-8")
    (tmp_path / "frr.service.d").mkdir()
    text = factory.file("driving-frr", switch.name, "frr-service.conf")
    (tmp_path / "frr.service.d/gpuyard.conf").write_text(text, "utf-8")
    environment = {**os.environ, "SYSTEMD_UNIT_PATH": f"{tmp_path}:/lib/systemd/system", "SYSTEMD_LOG_LEVEL": "debug"}
    command = ["systemd-analyze", "verify", "--man=no", str(tmp_path / "frr.service")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    read = (done.stdout + done.stderr).partition("-> Unit frr.service:")[2]
    for line in ("After: networking.service", "PartOf: networking.service"):
        assert line in read, done.stderr


def test_tenants_with_the_same_inside_addresses_have_zones_of_their_own() -> None:
    for switch in _driving("border", "single"):
        assert switch.overlay is not None
        text = factory.file("driving", switch.name, "nftables.conf")
        zones = dict(re.findall(r'iifname "(\S+)" ct original zone set (\d+)', text))
        assert set(zones) == {f"vlan{rule.vlan}" for rule in switch.overlay.nat}
        assert len(set(zones.values())) == len(zones)
        rules = factory.file("driving", switch.name, "interfaces")
        for rule in switch.overlay.nat:
            assert f"ct mark set {rule.mark} snat to {rule.outside}\n" in text
            assert f"ip rule add pref 800 fwmark {rule.mark} table {rule.table}\n" in rules


def test_dhcp_is_relayed_inside_the_vrf() -> None:
    for switch in _driving("leaf"):
        assert switch.overlay is not None
        wanted = {vlan.vrf for vlan in switch.overlay.vlans if vlan.dhcp_servers}
        prefix = f"switches/{switch.name}/dnsmasq-"
        found = {path[len(prefix) :].removesuffix(".conf") for path in factory.files("driving-frr") if path.startswith(prefix)}
        assert found == wanted
        for vlan in switch.overlay.vlans:
            for server in vlan.dhcp_servers:
                gateway = vlan.address.partition("/")[0]
                assert f"dhcp-relay={gateway},{server}\n" in factory.files("driving-frr")[f"{prefix}{vlan.vrf}.conf"]


@pytest.mark.parametrize(
    ("visible", "server", "wanted"), [(True, "10.48.0.16", 1), (False, "10.48.0.16", 0), (True, "10.48.1.16", 0)]
)
def test_answers_to_a_relay_change_over_to_its_vrf_where_the_server_is(visible: bool, server: str, wanted: int) -> None:
    """Nothing changes over for a subnet that the server's VRF has no route to, nor where the server is in the relay's own VRF."""
    data = yaml.safe_load((factory.ROOT / "tests/vm/cluster.yml").read_text("utf-8"))
    data["tenants"]["red"]["subnets"]["guests"] |= {"visible": visible, "dhcp_servers": [server]}
    plan, _ = build_plan(Cluster.model_validate(data), factory.catalogue())
    assert plan is not None
    files = factory.settled(plan)
    line = " ip route 10.48.3.1/32 red nexthop-vrf red\n"
    leaf = files["switches/business-leaf-u01-01/frr.conf"]
    assert leaf.partition("\nvrf services\n")[2].partition("exit-vrf")[0].count(line) == leaf.count("nexthop-vrf") == wanted
    assert "nexthop-vrf" not in files["switches/business-leaf-u02-01/frr.conf"]
