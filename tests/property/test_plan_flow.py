"""Max-flow and reachability on the cabled graph prove the closed forms."""

from collections import defaultdict

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import change, clusters, plan_of
from test_plan_laws import QUICK

BASE = {
    "name": "flow",
    "site": {"domain": "flow.example.net"},
    "racks": {
        "rows": {"A": {"id": 1, "racks": 30}, "N": {"id": 2, "racks": 30}},
        "groups": {
            "gpu": {"id": 1, "rows": ["A"], "power_kw": 100, "feed_kw": 100},
            "network": {"id": 2, "rows": ["N"], "power_kw": 100, "feed_kw": 100},
        },
    },
    "servers": {"gpu": {"id": 1, "model": "test/server-4-rails", "count": 4, "racks": "gpu"}},
    "networks": {
        "compute": {"technology": "roce", "leaf": "test/switch-8x100g", "nos": "frr", "pool": "10.0.0.0/12"},
        "oob": {"leaf": "generic/linux-48x1g", "spine": "generic/linux-32x100g", "nos": "frr", "pool": "10.224.0.0/12"},
    },
}


def is_manager(plan, name):
    return any(server.name == name and server.role == "fabric-manager" for server in plan.servers)


def cabled_graph(plan, network):
    """Return the graph of a network; capacities are Gb/s in either direction. Peer links carry no traffic of a whole fabric."""
    graph = nx.Graph()
    for cable in plan.cables:
        if cable.network == network and cable.kind not in {"fabric_manager", "peer_link"}:
            held = graph.get_edge_data(cable.a, cable.b, {"capacity": 0})["capacity"]
            graph.add_edge(cable.a, cable.b, capacity=held + cable.speed_gbps)
    return graph


def halves(plan, network):
    """Return, per plane, the host ports of one half of the leafs and of the other as (host port, leaf, Gb/s).

    The halves are of pods where several are built, of the host ports of each leaf where leafs are not joined, or where there
    is one leaf.
    """
    record = plan.network(network)
    for plane in range(1, record.planes + 1):
        leafs = [s for s in plan.switches if s.network == network and s.role == "leaf" and s.plane == plane]
        ports = {leaf.name: [] for leaf in leafs}
        for leaf in leafs:
            for port in leaf.ports:
                if port.use == "host" and not is_manager(plan, port.peer):
                    ports[leaf.name].append((f"{port.peer}:{port.peer_port}", leaf.name, port.speed_gbps))
        if record.tiers == 1 or len(leafs) == 1:
            for found in ports.values():
                yield found[: len(found) // 2], found[len(found) // 2 :]
            continue
        pods = sorted({leaf.pod for leaf in leafs})
        if record.tiers == 3 and len(pods) > 1:
            near = [leaf.name for leaf in leafs if leaf.pod in pods[: len(pods) // 2]]
        else:
            near = [leaf.name for leaf in leafs[: len(leafs) // 2]]
        yield (
            [port for leaf in near for port in ports[leaf]],
            [port for leaf in leafs if leaf.name not in near for port in ports[leaf.name]],
        )


def measure_bisection(plan, network):
    """Return the max-flow from the hosts of one half to those of the other, over all planes."""
    total = 0
    switches = {switch.name for switch in plan.switches}
    for near, far in halves(plan, network):
        graph = nx.DiGraph()
        graph.add_nodes_from(("source", "sink"))
        for a, b, held in cabled_graph(plan, network).edges(data="capacity"):
            if {a, b} <= switches:
                graph.add_edge(a, b, capacity=held)
                graph.add_edge(b, a, capacity=held)
        for name, leaf, gbps in near:
            graph.add_edge("source", name, capacity=gbps)
            graph.add_edge(name, leaf, capacity=gbps)
        for name, leaf, gbps in far:
            graph.add_edge(leaf, name, capacity=gbps)
            graph.add_edge(name, "sink", capacity=gbps)
        total += nx.maximum_flow_value(graph, "source", "sink", flow_func=nx.algorithms.flow.dinitz)
    return total


def check_flow(plan):
    for network in plan.networks:
        if network.name != "oob":
            assert network.bisection_gbps == measure_bisection(plan, network.name), network


def check_reach(plan):
    """Hold that hosts of a joined plane all reach each other, over as many shortest paths as the design has."""
    for network in plan.networks:
        graph = cabled_graph(plan, network.name)
        switches = {switch.name: switch for switch in plan.switches if switch.network == network.name}
        fabric = graph.subgraph(switches)
        if network.tiers == 1:
            assert fabric.number_of_edges() == 0
            continue
        for plane in range(1, network.planes + 1):
            leafs = [switch for switch in switches.values() if switch.role == "leaf" and switch.plane == plane]
            own = fabric.subgraph([switch.name for switch in switches.values() if switch.plane == plane])
            assert nx.is_connected(own)
            by_pod = defaultdict(list)
            for leaf in leafs:
                by_pod[leaf.pod].append(leaf.name)
            first = leafs[0]
            inside = next((name for name in by_pod[first.pod] if name != first.name), None)
            outside = next((names[0] for pod, names in by_pod.items() if pod != first.pod), None)
            if inside:
                paths = list(nx.all_shortest_paths(own, first.name, inside))
                assert {len(path) for path in paths} == {3} and len(paths) == network.spines_per_pod
            if outside:
                paths = list(nx.all_shortest_paths(own, first.name, outside))
                assert {len(path) for path in paths} == {5}
                assert len(paths) == network.spines_per_pod * network.cores_per_group
                for path in paths:
                    asns = [switches[name].asn for name in path]
                    assert len(set(asns)) == len(asns) or not any(asns)


SHAPES = {
    "one tier": {"networks__compute__tiers": 1, "servers__gpu__count": 4},
    "one tier, odd hosts": {"networks__compute__tiers": 1, "servers__gpu__count": 3},
    "two tiers": {"servers__gpu__unit": 4, "servers__gpu__count": 8},
    "two tiers, uneven last unit": {"servers__gpu__unit": 4, "servers__gpu__count": 7},
    "two tiers, one host alone in its unit": {"servers__gpu__unit": 4, "servers__gpu__count": 5},
    "two tiers, half of them built": {"servers__gpu__unit": 4, "servers__gpu__count": 4, "servers__gpu__planned": 8},
    "two tiers oversubscribed": {"servers__gpu__unit": 6, "servers__gpu__count": 12, "networks__compute__oversubscription": 3.0},
    "two tiers, more spines than needed": {
        "servers__gpu__unit": 4,
        "servers__gpu__count": 8,
        "networks__compute__switches": {"spine": 4},
    },
    "leaf-spine, one leaf built": {
        "networks__compute__design": "leaf-spine",
        "servers__gpu__unit": 1,
        "servers__gpu__count": 1,
        "servers__gpu__planned": 4,
    },
    "three tiers": {"servers__gpu__unit": 4, "servers__gpu__count": 16},
    "three tiers, uneven last pod": {"servers__gpu__unit": 4, "servers__gpu__count": 18},
    "three tiers, odd pods": {"servers__gpu__unit": 4, "servers__gpu__count": 12},
    "three tiers, two pods of six built": {"servers__gpu__unit": 4, "servers__gpu__count": 8, "servers__gpu__planned": 24},
    "three tiers, one pod of six built": {"servers__gpu__unit": 4, "servers__gpu__count": 3, "servers__gpu__planned": 24},
    "three tiers oversubscribed": {
        "servers__gpu__unit": 6,
        "servers__gpu__count": 15,
        "networks__compute__oversubscription": 3.0,
        "networks__compute__tiers": 3,
    },
    "two planes": {
        "servers__gpu__model": "test/server-2-rails",
        "servers__gpu__unit": 4,
        "servers__gpu__count": 10,
        "networks__compute__planes": 2,
    },
    "dual top of rack": {
        "servers__gpu__model": "test/server-2-rails",
        "servers__gpu__unit": 4,
        "servers__gpu__count": 7,
        "networks__compute__leafs_per_rail": 2,
    },
}


@pytest.mark.parametrize("shape", SHAPES)
def test_bisection_is_the_max_flow(shape):
    plan, findings = plan_of(change(BASE, **SHAPES[shape]))
    assert plan is not None, findings
    network = plan.network("compute")
    assert {"one": 1, "two": 2, "three": 3}.get(shape.split()[0] if "tier" in shape else "", network.tiers) == network.tiers
    assert network.bisection_gbps == measure_bisection(plan, "compute")
    check_reach(plan)


@pytest.mark.parametrize("gbps", [100, 50])
def test_a_non_blocking_fabric_passes_half_of_all_its_hosts(gbps):
    plan, _ = plan_of(change(BASE, servers__gpu__unit=4, servers__gpu__count=16, networks__compute__oversubscription=100 / gbps))
    network = plan.network("compute")
    assert network.tiers == 3
    assert network.bisection_gbps == 16 * 4 * gbps // 2


@given(clusters(small=True), st.data())
@settings(QUICK, max_examples=40)
def test_bisection_of_random_small_fabrics_is_the_max_flow(document, data):
    plan, _ = plan_of(document)
    if plan is not None:
        check_flow(plan)
        check_reach(plan)


@given(clusters(most=6))
@settings(QUICK, max_examples=20)
def test_bisection_of_random_fabrics_is_the_max_flow(document):
    plan, _ = plan_of(document)
    if plan is not None:
        check_flow(plan)
        check_reach(plan)
