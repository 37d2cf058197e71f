"""What the plan says about routes and reach, checked by hand on the lab, and against other ways to compute it."""

from collections import Counter
from ipaddress import ip_network

import networkx
import pytest

from cluster_model.twin.ethernet.foreign import list_foreign
from cluster_model.twin.ethernet.routes import ALIVE, Dead, Expectations
from cluster_model.twin.ethernet.scope import SITE
from cluster_model.twin.faults import choose_flows, list_faults


def expect(scopes, name, network, **sampling):
    return Expectations(scopes(name, **sampling), network)


def test_a_lab_leaf_by_hand(scopes):
    table = expect(scopes, "lab", "compute").tables(ALIVE)["compute-leaf-u01-01"]
    uplinks = {f"Ethernet{number}" for number in range(448, 512, 4)}
    assert table["10.64.1.0/24"] == uplinks  # rail 0 of unit 2
    assert table["10.65.0.0/24"] == uplinks  # rail 4, on the other leaf of unit 1
    assert "10.64.0.0/24" not in table  # its own
    assert table["10.67.160.0/32"] == {f"Ethernet{number}" for number in range(448, 480, 4)}  # spine 1
    assert len(table) == 3 * 4 + 3 + 2  # aggregates and loopbacks of three leafs, loopbacks of two spines


def test_a_lab_spine_knows_no_other_spine(scopes):
    tables = expect(scopes, "lab", "compute").tables(ALIVE)
    assert "10.67.160.1/32" not in tables["compute-spine-01"]  # no way but through a leaf
    assert tables["compute-spine-01"]["10.64.0.0/24"] == {f"Ethernet{number}" for number in range(0, 32, 4)}


def test_a_service_address_is_local_where_its_host_is(scopes):
    expectations = expect(scopes, "lab", "storage")
    leaf = "storage-leaf-u01-01"
    assert expectations.tables(ALIVE)[leaf]["10.72.128.0/32"] == {"swp1"}
    cut = next(link for link in expectations.links if link.b == leaf and link.b_port == "swp1")
    after = expectations.tables(Dead(links=frozenset({cut})))
    assert after[leaf]["10.72.128.0/32"] == {f"swp{number}" for number in range(19, 33)}  # by the spines, to the other leaf
    assert after["storage-leaf-u01-02"]["10.72.128.0/32"] == {"swp1"}


def test_default_routes_start_where_the_site_is_plugged_in(scopes):
    expectations = expect(scopes, "lab", "oob")
    tables = expectations.tables(ALIVE)
    assert tables["oob-spine-01"]["0.0.0.0/0"] == {"swp32"}
    assert tables["oob-leaf-a01"]["0.0.0.0/0"] == {"swp51", "swp52"}
    cut = next(link for link in expectations.links if link.b == SITE and link.a == "oob-spine-01")
    after = expectations.tables(Dead(links=frozenset({cut})))
    assert "0.0.0.0/0" not in after["oob-spine-01"]
    assert after["oob-leaf-a01"]["0.0.0.0/0"] == {"swp52"}


def test_a_dead_spine_halves_the_paths(scopes):
    tables = expect(scopes, "lab", "compute").tables(Dead(frozenset({"compute-spine-01"})))
    assert "compute-spine-01" not in tables
    assert tables["compute-leaf-u01-01"]["10.64.1.0/24"] == {f"Ethernet{number}" for number in range(480, 512, 4)}


@pytest.mark.parametrize(
    ("name", "network"), [("lab", "compute"), ("lab", "storage"), ("tall", "compute"), ("superpod-roce", "compute")]
)
def test_equal_paths_are_the_shortest_paths_of_the_graph(scopes, name, network):
    """The shortest paths that networkx finds between leafs, never through a third leaf, take the same first ports."""
    expectations = expect(scopes, name, network)
    edges = {name for name, switch in expectations.switches.items() if switch.is_edge}
    tables = expectations.tables(ALIVE)
    leafs = sorted(edges)[:3]
    for source in leafs:
        for target in sorted(edges - {source})[:4]:
            graph = networkx.Graph()
            graph.add_edges_from(
                (link.a, link.b) for link in expectations.fabric if not {link.a, link.b} & (edges - {source, target})
            )
            first = {path[1] for path in networkx.all_shortest_paths(graph, source, target)}
            ports = {
                port
                for link in expectations.fabric
                for (near, port), (far, _) in (link.ends, link.ends[::-1])
                if near == source and far in first
            }
            prefixes = set(expectations.switches[target].originates) - set(expectations.switches[source].originates)
            for prefix in (*prefixes, expectations.switches[target].loopback):
                assert tables[source][prefix] == ports


def test_rails_reach_their_own_rail_and_nothing_else(scopes):
    pairs = expect(scopes, "lab", "compute").list_pairs()
    assert len(pairs) == 8 * 8 * 7
    for pair in pairs:
        assert pair.source.server != pair.target.server
        assert ip_network(pair.source.route).supernet_of(ip_network(pair.target.address))
    rails = Counter(pair.source.route for pair in pairs)
    assert set(rails.values()) == {56} and len(rails) == 8


def test_storage_hosts_reach_service_addresses(scopes):
    expectations = expect(scopes, "lab", "storage")
    pairs = [pair for pair in expectations.list_pairs() if pair.source.purpose == "storage"]
    assert len(pairs) == 14 * 13
    assert all(len(pair.source.links) == 2 and pair.target.purpose == "storage" for pair in pairs)
    leaf = Dead(frozenset({"storage-leaf-u01-01"}))
    assert all(expectations.reaches(pair, leaf) for pair in pairs)
    both = Dead(frozenset({"storage-leaf-u01-01", "storage-leaf-u01-02"}))
    assert not any(expectations.reaches(pair, both) for pair in pairs)


def test_a_dead_leaf_cuts_its_rails_alone(scopes):
    expectations = expect(scopes, "lab", "compute")
    dead = Dead(frozenset({"compute-leaf-u01-01"}))
    cut = [pair for pair in expectations.list_pairs() if not expectations.reaches(pair, dead)]
    assert len(cut) == 4 * (8 * 7 - 4 * 3)  # rails 0 to 3: every pair but those inside unit 2
    assert {pair.source.route for pair in cut} == {f"10.64.{64 * rail}.0/18" for rail in range(4)}


def test_one_gateway_of_two_without_a_way_on_is_left_open(scopes):
    expectations = expect(scopes, "lab", "storage")
    lonely = [link for link in expectations.fabric if link.a == "storage-leaf-u01-01"]
    far = next(link for link in expectations.links if link.a == "storage-002" and link.b == "storage-leaf-u01-01")
    pair = next(p for p in expectations.list_pairs() if (p.source.server, p.target.server) == ("storage-001", "storage-002"))
    assert expectations.reaches(pair, Dead(links=frozenset(lonely))) is True  # over the leaf itself
    assert expectations.reaches(pair, Dead(links=frozenset({*lonely, far}))) is None  # by the hash


def test_faults_of_the_lab(scopes):
    names = [fault.name for fault in list_faults(expect(scopes, "lab", "compute"))]
    assert names == [
        "compute-spine-01 without power",
        "compute-spine-02 without power",
        "host to leaf cable cut (gpu-001:enp24s0np0 to compute-leaf-u01-01:Ethernet0)",
        "leaf to spine cable cut (compute-leaf-u01-01:Ethernet448 to compute-spine-01:Ethernet0)",
        "compute-leaf-u01-01 without power, rails 0 to 3",
    ]
    assert [fault.name for fault in list_faults(expect(scopes, "lab", "oob"))][
        4
    ] == "upstream cable cut (oob-spine-01:swp32 to site:up0)"


def test_three_tiers_let_cores_fail_too(scopes):
    names = [fault.name for fault in list_faults(expect(scopes, "tall", "compute"))]
    assert sum("core" in name and "power" in name for name in names) >= 2
    assert any(name.startswith("spine to core cable cut") for name in names)


def test_flows_run_between_leafs(scopes):
    pairs = choose_flows(expect(scopes, "lab", "compute"))
    assert len(pairs) == 20
    assert all(pair.source.links[0].b != pair.target.links[0].b for pair in pairs)


def test_what_must_not_be_reached_is_in_another_network(scopes):
    scope = scopes("lab")
    every = {name: Expectations(scope, name) for name in scope.networks}
    for name, mine in every.items():
        others = [other for key, other in every.items() if key != name]
        pairs = list_foreign(mine, others)
        assert {pair.target.network for pair in pairs} == set(every) - {name}
        assert all(pair.source.network == name and pair.source.server != pair.target.server for pair in pairs)


def test_a_sample_is_a_unit_and_some_leafs(scopes):
    scope = scopes("superpod-roce", leafs=2, hosts=4)
    words = "10 of 32 leafs (unit 1, compute-leaf-u02-01, compute-leaf-u02-02), 8 of 8 spines, 4 hosts or more per unit"
    assert scope.sampled["compute"] == words
    leafs = [switch for switch in scope.members("compute") if switch.is_edge]
    assert Counter(leaf.unit for leaf in leafs) == {1: 8, 2: 2}
    assert len(scope.members("compute")) == 18
    hosts = Counter(
        scope.switches[port.peer].name for s in scope.servers.values() for port in s.ports if port.peer in scope.switches
    )
    assert all(hosts[leaf.name] >= 4 for leaf in scope.switches.values() if leaf.is_edge and leaf.network in scope.sampled)
    assert len(scope.servers) < 30
    devices = {*scope.switches, *scope.servers, SITE}
    assert all(link.a in devices and link.b in devices for link in scope.links)
    assert scopes("superpod-roce", full=True).sampled == {}


def test_spines_are_sampled_when_asked_or_when_there_is_no_room(scopes):
    asked = scopes("superpod-roce", spines=2)
    assert "2 of 8 spines (compute-spine-01, compute-spine-02)" in asked.sampled["compute"]
    tight = scopes("superpod-roce", room=14)
    spines = [switch.name for switch in tight.members("compute") if not switch.is_edge]
    assert spines == [f"compute-spine-0{number}" for number in (1, 2, 3, 4)]
    least = scopes("superpod-roce", room=1)
    assert sum(not switch.is_edge for switch in least.members("compute")) == 2
    for scope in (asked, tight, least):
        assert all(link.a in {*scope.switches, *scope.servers} for link in scope.links)
        assert all(link.b in {*scope.switches, SITE} for link in scope.links)


def test_spines_are_taken_from_every_plane_and_pod_with_the_cores_above_them(scopes):
    scope = scopes("two-planes", whole_up_to=2, spines=1)
    above = [switch for switch in scope.switches.values() if not switch.is_edge]
    counted = Counter((s.network, s.role, s.plane, s.pod) for s in above)
    assert set(counted.values()) == {1}
    assert {plane for network, _, plane, _ in counted if network == "compute"} == {1, 2}
    assert all(any(port.peer in scope.switches for port in switch.ports) for switch in above)


def test_what_the_kernel_lacks_is_left_out_by_name(scopes):
    scope = scopes("driving")
    assert scope.networks == ["compute", "storage", "oob"]
    assert scope.left_out["business"].startswith("needs ") and "VRF devices" in scope.left_out["business"]
