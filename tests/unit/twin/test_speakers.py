"""Nodes that tell leafs of their pods: what the doubles say, and what the plan says comes of it."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from cluster_model.twin.ethernet.lines import list_service_lines
from cluster_model.twin.ethernet.routes import ALIVE, Dead, Expectations
from cluster_model.twin.ethernet.scope import share_pods
from cluster_model.twin.ethernet.speakers import list_speaker_lines, list_speakers, write_speaker_conf
from cluster_model.twin.ethernet.trials import NetworkTrials
from cluster_model.twin.mistakes import plan_open_filter

LEAF, OTHER = "storage-leaf-u01-01", "storage-leaf-u01-02"
CONTROL = ("control-001", "control-002", "control-003")
UPLINKS = {f"swp{number}" for number in range(19, 33)}


@pytest.fixture
def storage(scopes):
    return Expectations(scopes("lab"), "storage")


@pytest.fixture
def share(trees):
    """Return a function: what differs in the plan of Kubernetes to the nodes' parts."""
    plan = trees("lab").plan
    return lambda **changes: share_pods(replace(plan, kubernetes=replace(plan.kubernetes, **changes)))


def test_parts_are_handed_out_in_the_order_of_the_nodes(trees, share):
    names = [node.name for node in trees("lab").plan.kubernetes.nodes]
    parts = share()
    assert list(parts) == names and len(names) == 11
    assert list(parts.values()) == [f"10.244.{number}.0/24" for number in range(11)]


def test_switches_that_know_nothing_of_pods_have_no_speakers(scopes, share):
    assert share(node_asn=0) == {}
    scope = scopes("superpod-roce")
    assert not scope.pods and not list(list_speakers(scope, scope.links))


def test_a_node_by_hand(storage):
    conf = write_speaker_conf(storage.speakers["gpu-001"]).splitlines()
    assert [line.strip() for line in conf if line.startswith((" neighbor", "  "))] == [
        "neighbor 10.72.0.12 remote-as 4220000001",
        "neighbor 10.72.0.12 timers connect 10",
        "neighbor 10.72.0.76 remote-as 4220000002",
        "neighbor 10.72.0.76 timers connect 10",
        "network 10.244.0.0/24",
        "network 0.0.0.0/0",
        "network 10.244.0.0/16",
        "network 10.244.0.1/32",
        "network 198.18.99.0/24",
        "network 10.72.143.255/32",
        "network 10.244.255.0/24 route-map RELAYED",
        "neighbor 10.72.0.12 activate",
        "neighbor 10.72.0.76 activate",
    ]
    assert {"router bgp 64512", " bgp router-id 10.72.128.6", " set as-path prepend 64496"} <= set(conf)
    assert list_speaker_lines(storage.speakers["gpu-001"]) == [
        "addr add 10.244.0.1/32 dev lo",
        "route add unreachable 10.244.0.0/24",
    ]


def test_every_node_tells_of_the_api_server_and_control_servers_have_it(storage):
    for name, speaker in storage.speakers.items():
        assert "  network 10.72.143.255/32" in write_speaker_conf(speaker).splitlines()
        assert ("addr add 10.72.143.255/32 dev lo" in list_speaker_lines(speaker)) == name.startswith("control")


def test_without_an_address_nobody_tells_of_one(scopes):
    scope = replace(scopes("lab"), api_server="", control=frozenset())
    expectations = Expectations(scope, "storage")
    assert not any(
        "/32" in line for line in write_speaker_conf(expectations.speakers["control-001"]).splitlines() if "10.72" in line
    )
    assert not any(endpoint.purpose == "API server" for endpoint in expectations.endpoints)


def test_the_api_server_is_forwarded_to_control_servers_alone(storage):
    tables = storage.tables(ALIVE)
    control = {link.b_port for name in CONTROL for link in storage.speakers[name].links if link.b == LEAF}
    assert tables[LEAF]["10.72.143.255/32"] == control and len(control) == 3
    assert tables["storage-spine-01"]["10.72.143.255/32"] == tables["storage-spine-01"]["10.244.0.0/24"]
    first = storage.speakers["control-001"].links[0]
    assert tables[LEAF]["10.72.143.255/32"] - storage.tables(Dead(links=frozenset({first})))[LEAF]["10.72.143.255/32"] == {
        first.b_port
    }
    assert "10.72.143.255/32" not in storage.tables(Dead(frozenset({LEAF, OTHER})))["storage-spine-01"]


def test_hosts_that_are_no_control_servers_ask_the_api_server(storage):
    pairs = [pair for pair in storage.list_pairs() if pair.source.purpose == "API server"]
    assert len(pairs) == 11 and {pair.target.address for pair in pairs} == {"10.72.143.255"}
    assert all({pair.target.server, *pair.target.others} == set(CONTROL) for pair in pairs)
    assert not {pair.source.server for pair in pairs} & set(CONTROL)
    assert {pair.source.server[:-4] for pair in pairs} == {"gpu", "storage"}
    assert all(storage.reaches(pair, Dead(frozenset({LEAF}))) for pair in pairs)
    assert not any(storage.reaches(pair, Dead(frozenset({LEAF, OTHER}))) for pair in pairs)


def test_a_pool_without_a_spare_part_has_none_that_is_relayed(scopes):
    scope = scopes("lab")
    full = replace(scope, pods=scope.pods | {"somebody": "10.244.255.0/24"})
    speaker = next(list_speakers(full, full.links))
    assert not speaker.spare and "network  route-map" not in write_speaker_conf(speaker)


def test_a_pool_that_is_one_nodes_is_not_refused(storage):
    speaker = replace(storage.speakers["gpu-001"], pool="10.244.0.0/24", part="10.244.0.0/24")
    assert speaker.refused == ("0.0.0.0/0", "10.244.0.1/32", "198.18.99.0/24")


def test_a_node_sends_to_pods_by_all_its_leafs(trees):
    plugged = {"enp170s0f0np0", "enp41s0f0np0"}
    lines = list_service_lines(trees("lab").servers["gpu-001"], plugged, is_new=False)
    ways = "nexthop via 10.72.0.12 dev enp170s0f0np0 nexthop via 10.72.0.76 dev enp41s0f0np0"
    assert lines == [
        f"route replace {route} src 10.72.128.6 {ways}" for route in ("10.72.128.0/20", "10.244.0.0/16", "10.72.0.0/17")
    ]
    assert list_service_lines(trees("lab").servers["gpu-001"], set(), is_new=False) == []


def test_a_part_is_forwarded_to_its_node_and_without_its_cable_to_the_other_leaf(storage):
    tables = storage.tables(ALIVE)
    assert tables[LEAF]["10.244.0.0/24"] == tables[OTHER]["10.244.0.0/24"] == {"swp7"}
    assert tables["storage-spine-01"]["10.244.0.0/24"] == tables["storage-spine-01"]["10.72.128.6/32"]
    cut = next(link for link in storage.links if link.b == LEAF and link.b_port == "swp7")
    after = storage.tables(Dead(links=frozenset({cut})))
    assert after[LEAF]["10.244.0.0/24"] == UPLINKS and after[OTHER]["10.244.0.0/24"] == {"swp7"}
    assert tables[OTHER].keys() - storage.tables(Dead(frozenset({LEAF})))[OTHER].keys() == {"10.72.0.0/26", "10.72.224.0/32"}


def test_what_leafs_must_refuse_is_in_no_table(storage):
    known = {prefix for table in storage.tables(ALIVE).values() for prefix in table}
    for speaker in storage.speakers.values():
        assert speaker.part in known and not known & {*speaker.refused, speaker.spare}
        assert storage.owner_of(speaker.part) == speaker.server


def test_a_node_with_two_cables_to_a_leaf_is_reached_over_both(scopes):
    scope = scopes("lab")
    first, second = (next(link for link in scope.links if link.a == name and link.b == LEAF) for name in ("gpu-001", "gpu-002"))
    moved = replace(second, a="gpu-001", a_port="another")
    expectations = Expectations(replace(scope, links=tuple(moved if link is second else link for link in scope.links)), "storage")
    assert expectations.tables(ALIVE)[LEAF]["10.244.0.0/24"] == {first.b_port, second.b_port}


def test_pods_reach_pods_and_hosts_that_are_no_nodes_have_none(storage):
    pairs = [pair for pair in storage.list_pairs() if pair.source.purpose == "pods"]
    assert len(pairs) == 11 * 10 and all(pair.target.purpose == "pods" and len(pair.target.links) == 2 for pair in pairs)
    assert not any(pair.source.server.startswith("storage") for pair in pairs)


def test_leafs_of_other_systems_that_boot_from_frr_conf_know_the_nodes(trees):
    """`tall` has SONiC on storage; EOS boots from a stand-in."""
    tall, lab = trees("tall"), trees("lab")
    other = replace(lab.plan.switch(LEAF), nos="eos")
    plan = replace(lab.plan, switches=tuple(other if switch.name == LEAF else switch for switch in lab.plan.switches))
    stand_in = replace(lab, folder=lab.folder / "nothing", plan=plan, _read={})
    assert tall.plan.switch(LEAF).nos == "sonic"
    for tree in (tall, stand_in):
        switch = tree.plan.switch(LEAF)
        nodes = {port.peer_address for port in switch.ports if port.use == "host" and port.peer_asn}
        conf = tree.switch_files(switch).files["frr.conf"]
        assert len(nodes) == 11 and all(f" neighbor {address} peer-group NODES\n" in conf for address in nodes)


def watch(expectations, told=0, lacking="", routes=None, path="64512"):
    """Return trials of a double of the fabric: all sessions are up but those to one address; nodes hear `told` prefixes."""

    def show(name, daemon, what):
        if what == "bgp ipv4 unicast summary" and name in expectations.speakers:
            return {"peers": {address: {"pfxRcd": told} for address, _ in expectations.speakers[name].leafs}}
        if what == "bgp ipv4 unicast summary":
            switch = expectations.switches[name]
            ports = [port for port in switch.ports if port.peer_address not in {"", lacking}]
            peers = {port.peer_address: {"state": "Established", "remoteAs": port.peer_asn} for port in ports}
            return {"as": switch.asn, "peers": peers}
        return {"paths": [{"aspath": {"string": path}}]}

    fabric = SimpleNamespace(
        nodes={},
        show=show,
        read_routes=lambda name: expectations.tables(ALIVE)[name] | (routes or {}).get(name, {}),
        files=lambda name: SimpleNamespace(files={"frr.conf": FILTERS}),
    )
    return NetworkTrials(fabric, expectations)


def test_sessions_with_nodes_are_tried_and_told(storage):
    verdict = watch(storage).try_sessions()
    assert verdict.faults == ()
    assert verdict.found == "56 of 56 ends established with the planned ASN, 22 of 22 with nodes"
    lonely = watch(storage, lacking="10.72.0.13").try_sessions()
    assert lonely.faults == (f"{LEAF}:swp7 has no session to gpu-001:enp170s0f0np0 in its configuration",)
    assert lonely.found.endswith(", 21 of 22 with nodes") and lonely.culprits == {LEAF}
    cut = Dead(links=frozenset(link for link in storage.links if link.b == LEAF and link.b_port == "swp7"))
    assert watch(storage, lacking="10.72.0.13").try_sessions(cut).faults == ()


def test_a_leaf_that_tells_nodes_of_prefixes_is_named(storage):
    verdict = watch(storage, told=3).try_sessions()
    assert len(verdict.faults) == 22 and verdict.culprits == {LEAF, OTHER}
    assert verdict.faults[0] == f"{LEAF} tells control-001 of 3 prefixes; planned is none"


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("64512", f"{LEAF} takes 0.0.0.0/0 from AS 64512"),
        ("4221500001 4220000002 64512 64496", f"{OTHER} takes 0.0.0.0/0 from AS 64512"),
        ("4221500001 4220000002", f"{OTHER} announces 0.0.0.0/0"),
        ("", "somebody announces 0.0.0.0/0"),
    ],
)
def test_who_lets_a_refused_prefix_in_is_named(storage, path, said):
    verdict = watch(storage, routes={LEAF: {"0.0.0.0/0": frozenset({"swp7"})}}, path=path).try_routes()
    assert verdict.faults == (f"{said}, which it shall not: it is on {LEAF}",)


FILTERS = """route-map NODES-IN permit 10
 match as-path NODES
 match ip address prefix-list PODS
 set community none
 set ip next-hop peer-address
exit
!
route-map NODES-OUT deny 10
"""


def test_an_open_filter_is_planted_where_nodes_are(storage, scopes):
    assert plan_open_filter(watch(Expectations(scopes("lab"), "oob"))) is None
    scope = scopes("lab")
    control = replace(scope, links=tuple(link for link in scope.links if not link.a.startswith("gpu")))
    assert plan_open_filter(watch(Expectations(control, "storage"))) is None, "control servers have a filter of their own"
    trials = watch(storage)
    mistake, started = plan_open_filter(trials), []
    trials.fabric.kill_switch = lambda name: None
    trials.fabric.start_switch = lambda name, conf: started.append((name, conf))
    mistake.plant()
    kept = " set community none\n set ip next-hop peer-address\n"
    assert started == [(LEAF, f"route-map NODES-IN permit 10\n{kept}exit\n!\nroute-map NODES-OUT deny 10\n")]
    assert (mistake.culprit, mistake.words) == (LEAF, (f"{LEAF} takes 0.0.0.0/0 from AS 64512",))
