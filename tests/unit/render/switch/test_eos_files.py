"""What an EOS switch is told, read back and held against the plan."""

from __future__ import annotations

import re
from ipaddress import ip_interface

import pytest

from cluster_model.plan.model import Switch
from tests.unit.render.switch import eos

Sections = dict[str, list[str]]
SWITCHES = [(cluster, switch.name) for cluster in eos.CLUSTERS for switch in eos.plan(cluster).switches]
KINDS = [(cluster, switch.name) for cluster in eos.CLUSTERS for switch in eos.samples(cluster)]
every_kind = pytest.mark.parametrize(("cluster", "name"), KINDS, ids=[f"{cluster}-{name}" for cluster, name in KINDS])


def sections(text: str) -> Sections:
    """Return top lines with what stands below them, without indentation; separators are left out."""
    found: Sections = {}
    below: list[str] = []
    for line in text.splitlines():
        if line.strip() == "!":
            continue
        if line.startswith(" "):
            below.append(line.strip())
        else:
            below = found.setdefault(line, [])
    return found


def read(cluster: str, name: str) -> tuple[Switch, Sections]:
    return eos.plan(cluster).switch(name), sections(eos.config(cluster, name))


def values(lines: list[str], pattern: str) -> list[str]:
    return [match[1] for line in lines if (match := re.fullmatch(pattern, line))]


def test_every_switch_gets_one_file() -> None:
    for cluster in eos.CLUSTERS:
        assert list(eos.files(cluster)) == [f"switches/{switch.name}/startup.cfg" for switch in eos.plan(cluster).switches]


def test_ports_are_called_by_their_first_lane() -> None:
    leaf = eos.plan("superpod-roce").switch("compute-leaf-u01-01")
    assert [port.name for port in leaf.ports[:4]] == ["Ethernet1/1", "Ethernet1/5", "Ethernet2/1", "Ethernet2/5"]
    assert eos.plan("driving").switch("oob-leaf-a01").ports[0].name == "Ethernet1"
    business = eos.plan("driving").switch("business-leaf-u01-01")
    assert [port.name for port in business.ports if port.cage == 1] == [f"Ethernet1/{lane}" for lane in (1, 2, 3, 4)]


@pytest.mark.parametrize(("cluster", "name"), SWITCHES, ids=[f"{cluster}-{name}" for cluster, name in SWITCHES])
def test_every_port_of_the_plan_is_there_and_others_are_down(cluster: str, name: str) -> None:
    switch, found = read(cluster, name)
    ports = {line.removeprefix("interface "): below for line, below in found.items() if line.startswith("interface Ethernet")}
    assert len(ports) == sum(mode.count for mode in switch.modes)
    used = {port.name: f"description {port.peer}:{port.peer_port}" for port in switch.ports}
    used |= {way.port: f"description site:{way.gateway}" for way in switch.upstreams}
    if switch.overlay:
        used |= {external.port: f"description external:{external.peer}" for external in switch.overlay.externals}
    assert used.keys() <= ports.keys()
    for port, lines in ports.items():
        assert ("shutdown" in lines) == (port not in used)
        assert used.get(port, "shutdown") in lines
    for planned in switch.ports:
        lines = ports[planned.name]
        assert values(lines, r"ip address (\S+)") == ([planned.address] if planned.address else [])
        assert values(lines, r"vrf (\S+)") == ([planned.vrf] if planned.vrf else [])
        assert values(lines, r"switchport access vlan (\d+)") == ([str(planned.vlan)] if planned.vlan else [])
        speeds = {re.split(r"g-|g$", speed)[0] for speed in values(lines, r"speed (\S+)")}
        assert speeds <= {str(planned.speed_gbps)}
        routed = not (planned.vlan or planned.bond or planned.use == "peer_link")
        assert ("no switchport" in lines) == routed
        assert ("ipv6 enable" in lines) == (routed and not planned.address)
        if routed:
            assert [int(mtu) for mtu in values(lines, r"mtu (\d+)")] == ([switch.mtu_bytes] if switch.mtu_bytes != 1500 else [])
            assert switch.mtu_bytes <= 9214


@every_kind
def test_every_neighbour_of_the_plan_has_its_session(cluster: str, name: str) -> None:
    switch, found = read(cluster, name)
    bgp = found[f"router bgp {switch.asn}"]
    sessions = {
        (match[1].replace("Et", "Ethernet"), int(match[2]))
        for line in bgp
        if (match := re.fullmatch(r"neighbor interface (\S+) peer-group FABRIC remote-as (\d+)", line))
    }
    fabric = {line.split()[1] for line in bgp if line.endswith(" peer group FABRIC")}
    sessions |= {
        (match[1], int(match[2]))
        for line in bgp
        if (match := re.fullmatch(r"neighbor (\S+) remote-as (\d+)", line)) and match[1] in fabric
    }
    neighbours = [port for port in switch.ports if port.peer_asn and port.use == "fabric"]
    assert sessions == {(port.peer_address or port.name, port.peer_asn) for port in neighbours}
    unnumbered = any(port.peer_asn and not port.peer_address for port in switch.ports)
    assert ("ip routing ipv6 interfaces" in found) == unnumbered == ("ipv6 unicast-routing" in found)
    assert ("neighbor FABRIC next-hop address-family ipv6 originate" in bgp) == unnumbered


@every_kind
def test_nodes_come_to_their_leaf_and_are_told_nothing(cluster: str, name: str) -> None:
    switch, found = read(cluster, name)
    bgp = found[f"router bgp {switch.asn}"]
    nodes = [port for port in switch.ports if port.peer_asn and port.use == "host"]
    group = [line.removeprefix("neighbor NODES ") for line in bgp if line.startswith("neighbor NODES ")]
    way = ["activate", "route-map NODES-IN in", "route-map NODES-OUT out", "maximum-accepted-routes 8"]
    asn = eos.plan(cluster).kubernetes.node_asn
    limits = ["maximum-routes 0", "idle-restart-timer 300"]
    assert group == (["peer group", f"remote-as {asn}", "passive", *limits, *way] if nodes else [])
    for port in nodes:
        lines = [line.removeprefix(f"neighbor {port.peer_address} ") for line in bgp if f" {port.peer_address} " in line]
        own = ["route-map CONTROL-IN in"] if port.peer.startswith("control") else []
        assert lines == ["peer group NODES", f"description {port.peer}:{port.peer_port}", *own]
    assert ("route-map NODES-OUT deny 10" in found) == bool(nodes)
    # Neither another's address as next hop nor a community that keeps a leaf from passing it on.
    told = ["match as-path NODES", "match ip address prefix-list PODS", "set community none", "set ip next-hop peer-address"]
    assert found.get("route-map NODES-IN permit 10") == (told if nodes else None)
    # Of the lab's control servers, which hang on its first leafs, the API server's address too.
    control = [port for port in nodes if port.peer.startswith("control")]
    api_server = [line.replace("PODS", "API-SERVER") for line in told]
    assert found.get("route-map CONTROL-IN permit 10") == (told if control else None)
    assert found.get("route-map CONTROL-IN permit 20") == (api_server if control else None)
    assert found.get("ip prefix-list API-SERVER") == (["seq 10 permit 10.72.143.255/32"] if control else None)


@every_kind
def test_a_leaf_lets_out_only_what_it_owns(cluster: str, name: str) -> None:
    switch, found = read(cluster, name)
    network = eos.plan(cluster).network(switch.network)
    assert network is not None
    out = {line: below for line, below in found.items() if line.startswith("route-map FABRIC-OUT permit")}
    assert out
    if switch.is_edge:
        # What a node of its own said starts here as well.
        starts = {"match as-path OWN", "match as-path NODES"}
        assert all(len(starts & set(below)) == 1 for below in out.values())
        told = {f"match ip address prefix-list {name}" for name in ("PODS", "API-SERVER")}
        assert all(told & set(below) for below in out.values() if "match as-path NODES" in below)
        owned = values(found["ip prefix-list OWN"], r"seq \d+ permit (\S+)")
        assert sorted(owned) == sorted({*switch.originates, switch.loopback})
        assert found["ip as-path access-list OWN permit ^$ any"] == []
    assert found["ip prefix-list POOL"] == [f"seq 10 permit {network.pool} le 32"]
    assert {f"network {prefix}" for prefix in switch.originates} <= set(found[f"router bgp {switch.asn}"])
    shared = switch.overlay.vtep if switch.overlay and switch.overlay.shared_vtep else ""
    assert {f"ip route {prefix} Null0" for prefix in switch.originates if prefix != f"{shared}/32"} <= set(found)


@pytest.mark.parametrize("cluster", eos.CLUSTERS)
def test_lossless_queues_are_the_plans(cluster: str) -> None:
    plan = eos.plan(cluster)
    lossless = plan.lossless
    _, found = read(cluster, "compute-leaf-u01-01")
    tcs = {
        int(point): int(match[2])
        for line in found
        if (match := re.fullmatch(r"qos map dscp ([\d ]+) to traffic-class (\d)", line))
        for point in match[1].split()
    }
    assert tcs == dict(enumerate(lossless.dscp_to_tc))
    queues = {int(line.split()[3]): int(line.split()[6]) for line in found if line.startswith("qos map traffic-class")}
    assert queues == {number: number for number in range(7)}
    profile = found["qos profile ROCE-400G"]
    assert values(profile, r"priority-flow-control priority (\d) no-drop") == [str(number) for number in lossless.pfc_priorities]
    position = profile.index(f"uc-tx-queue {lossless.priority}")
    low, high, percent = next(row[1:] for row in lossless.ecn if row[0] == 400)
    marks = f"minimum-threshold {low} kbytes maximum-threshold {high} kbytes max-mark-probability {percent} weight 0"
    assert f"random-detect ecn {marks}" in profile[position : position + 5]
    cnp = profile.index(f"uc-tx-queue {lossless.cnp_priority}")
    assert profile[cnp + 1] == "priority strict"
    shares = [int(share) for share in values(profile, r"bandwidth percent (\d+)")]
    assert 90 <= sum(shares) <= 100
    for line, below in found.items():
        if line.startswith("interface Ethernet") and "shutdown" not in below:
            assert {"qos trust dscp", "service-profile ROCE-400G"} <= set(below)


@pytest.mark.parametrize(("cluster", "action"), [("lab", "notify-only"), ("superpod-roce", "drop")])
def test_the_watchdog_keeps_to_the_limits_of_eos(cluster: str, action: str) -> None:
    lossless = eos.plan(cluster).lossless
    _, found = read(cluster, "compute-spine-01")
    key = "priority-flow-control pause watchdog default "
    timers = {line.removeprefix(key).split()[0]: float(line.split()[-1]) for line in found if line.startswith(key)}
    assert timers["timeout"] == lossless.watchdog_detect_ms / 1000
    assert timers["recovery-time"] == lossless.watchdog_restore_ms / 1000
    assert 0.01 <= timers["timeout"] <= 60
    assert 0.01 <= timers["recovery-time"] <= 60
    assert 0.005 <= timers["polling-interval"] <= min(timers["timeout"], timers["recovery-time"]) / 2
    assert f"priority-flow-control pause watchdog action {action}" in found
    assert "bandwidth guaranteed percent 1" in found["qos profile ROCE-400G"]


def test_a_network_that_may_drop_has_no_queues() -> None:
    text = eos.config("lab", "storage-leaf-u01-01")
    assert "qos" not in text
    assert "service-profile" not in text


@pytest.mark.parametrize("cluster", ["driving", "mlag"])
def test_overlays_are_the_plans(cluster: str) -> None:
    for switch in eos.plan(cluster).switches:
        overlay = switch.overlay
        if overlay is None:
            continue
        _, found = read(cluster, switch.name)
        tunnels = found.get("interface Vxlan1", [])
        assert values(tunnels, r"vxlan vlan (\d+ vni \d+)") == [f"{vlan.vlan} vni {vlan.vni}" for vlan in overlay.vlans]
        routed = [vrf for vrf in overlay.vrfs if vrf.vni]
        assert values(tunnels, r"vxlan vrf (\S+ vni \d+)") == [f"{vrf.name} vni {vrf.vni}" for vrf in routed]
        for vlan in overlay.vlans:
            gateway = found[f"interface Vlan{vlan.vlan}"]
            assert f"ip address virtual {vlan.address}" in gateway
            assert f"vrf {vlan.vrf}" in gateway
            assert values(gateway, r"ip helper-address (\S+)") == list(vlan.dhcp_servers)
        leaks = {tuple(line.split()[3:6:2]) for line in found.get("router general", []) if line.startswith("leak routes")}
        assert leaks == {(met.vrf, f"{vrf.name}-FROM-{met.vrf}") for vrf in overlay.vrfs for met in vrf.imports}
        for vrf in overlay.vrfs:
            for met in vrf.imports:
                lines = found[f"ip prefix-list {vrf.name}-FROM-{met.vrf}"]
                assert [ip_interface(line.split()[3]) for line in lines] == [ip_interface(line.prefix) for line in met.prefixes]
            announced = found.get(f"ip prefix-list {vrf.name}-ANNOUNCED", [])
            assert [line.split()[3] for line in announced] == [line.prefix for line in vrf.announced]


def test_both_leafs_of_a_pair_share_their_segments() -> None:
    segments = []
    for name in ("business-leaf-u01-01", "business-leaf-u01-02"):
        _, found = read("driving", name)
        bonds = {line: below for line, below in found.items() if line.startswith("interface Port-Channel")}
        assert len(bonds) == len(eos.plan("driving").switch(name).overlay.bonds)  # type: ignore[union-attr]
        keys = ("identifier", "route-target import", "lacp system-id", "link tracking group UPLINKS downstream")
        segments.append({line: [row for row in below if row.startswith(keys)] for line, below in bonds.items()})
        assert all(len(rows) == len(keys) for rows in segments[-1].values())
        assert not any(line.startswith("mlag") for line in found)
    assert segments[0] == segments[1]
    assert len({rows[0] for rows in segments[0].values()}) == len(segments[0])


def test_mlag_pairs_share_a_tunnel_address_and_a_peer_link() -> None:
    ends = []
    for name in ("business-leaf-u01-01", "business-leaf-u01-02"):
        switch, found = read("mlag", name)
        assert switch.overlay is not None
        assert switch.overlay.mlag is not None
        assert "vxlan source-interface Loopback1" in found["interface Vxlan1"]
        members = [line for line, below in found.items() if "channel-group 1000 mode active" in below]
        assert members == [f"interface {port}" for port in switch.overlay.mlag.ports]
        assert not any("evpn ethernet-segment" in below for below in found.values())
        own = values(found["interface Vlan4094"], r"ip address (\S+)/31")
        ends.append((found["interface Loopback1"], own, values(found["mlag configuration"], r"peer-address (\S+)")))
    assert ends[0][0] == ends[1][0]
    assert (ends[0][1], ends[0][2]) == (ends[1][2], ends[1][1])


def test_untagged_subnets_take_no_tag() -> None:
    _, found = read("mlag", "business-leaf-u01-01")
    bonds = {bond.number: bond for bond in eos.plan("mlag").switch("business-leaf-u01-01").overlay.bonds}  # type: ignore[union-attr]
    kinds = set()
    for number, bond in bonds.items():
        lines = found[f"interface Port-Channel{number}"]
        if bond.untagged and bond.vlans:
            assert f"switchport trunk native vlan {bond.untagged}" in lines
        elif bond.untagged:
            assert f"switchport access vlan {bond.untagged}" in lines
        else:
            assert not any("native" in line or "access" in line for line in lines)
        kinds.add((bool(bond.untagged), bool(bond.vlans)))
    assert kinds == {(True, True), (True, False), (False, True)}


def test_a_border_leaf_filters_every_external_session() -> None:
    switch, found = read("driving", "business-border-01")
    assert switch.overlay is not None
    bgp = found[f"router bgp {switch.asn}"]
    assert switch.overlay.externals
    for external in switch.overlay.externals:
        session = f"neighbor {external.peer_address} "
        rows = [line.removeprefix(session) for line in bgp if line.startswith(session)]
        assert {f"remote-as {external.asn}", f"maximum-routes {external.max_routes}", "remove-private-as all", "activate"} <= set(
            rows
        )
        assert {f"route-map {external.vrf}-IN in", f"route-map {external.vrf}-OUT out"} <= set(rows)
        for side, lines in (("IN", external.accept), ("OUT", external.announce)):
            assert len(found[f"ip prefix-list {external.vrf}-{side}"]) == len(lines) > 0
            assert found[f"route-map {external.vrf}-{side} permit 10"] == [f"match ip address prefix-list {external.vrf}-{side}"]
        assert sum(row.startswith("password 0 {{gpuyard-secret:") for row in rows) == bool(external.secret)
    assert any(external.secret for external in switch.overlay.externals)


def test_out_of_band_switches_are_managed_in_band() -> None:
    leaf, found = read("driving", "oob-leaf-a01")
    assert not any("MGMT" in line for line in found)
    assert "ntp local-interface Loopback0" in found
    assert "logging source-interface Loopback0" in found
    for vlan in leaf.vlans:
        lines = found[f"interface Vlan{vlan.id}"]
        assert f"ip address {vlan.address}" in lines
        assert values(lines, r"ip helper-address (\S+)") == list(vlan.dhcp_servers)
    spine, top = read("driving", "oob-spine-01")
    assert f"ip route 0.0.0.0/0 {spine.upstreams[0].gateway}" in top
    assert "network 0.0.0.0/0" in top[f"router bgp {spine.asn}"]
    assert top["route-map FABRIC-OUT permit 30"] == ["match ip address prefix-list DEFAULT"]


def test_services_lie_behind_the_management_port() -> None:
    site = eos.plan("lab").site
    switch, found = read("lab", "compute-leaf-u01-01")
    assert switch.management is not None
    assert f"ip address {switch.management.address}" in found["interface Management1"]
    assert f"ip route vrf MGMT 0.0.0.0/0 {switch.management.gateway}" in found
    for address in site.ntp:
        assert f"ntp server vrf MGMT {address} iburst" in found
    for address in site.dns:
        assert f"ip name-server vrf MGMT {address}" in found
    assert len(found["ip access-list standard SNMP-MANAGERS"]) == len(site.snmp_managers) == 2
    assert found["management ssh"] == ["shutdown", "vrf MGMT", "no shutdown"]  # the first is the default VRF


def test_a_service_address_goes_with_its_port() -> None:
    switch, found = read("lab", "storage-leaf-u01-01")
    assert switch.service_routes
    for route in switch.service_routes:
        assert f"ip route {route.prefix} {route.port} {route.next_hop}" in found
    assert "redistribute static route-map SERVICES" in found[f"router bgp {switch.asn}"]


def test_secrets_are_names() -> None:
    for cluster in eos.CLUSTERS:
        for text in eos.files(cluster).values():
            for line in text.splitlines():
                if re.search(r"secret 0|password|community \{", line):
                    assert re.search(r"\{\{gpuyard-secret:[a-z0-9-]+\}\}", line), line
