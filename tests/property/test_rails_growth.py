"""Rails in pods while a cluster grows within its plan: a server more is appended, and nothing that stood changes."""

from hypothesis import assume, given
from strategies import clusters, plan_of
from test_kubernetes_growth import ask, read_objects
from test_plan_growth import QUICK, growing_clusters

from cluster_model.plan.services.rails import find_misfit
from cluster_model.render.kubernetes.network.rails import render_network


@given(growing_clusters())
@QUICK
def test_growing_within_the_plan_only_appends_to_the_pools(pair):
    old, _ = plan_of(ask(pair[0]))
    new, _ = plan_of(ask(pair[1]))
    assume(old is not None and new is not None)
    before, after = read_objects(old, render_network), read_objects(new, render_network)
    assert before.keys() <= after.keys()
    for key, found in before.items():
        grown = after[key]
        if key[0] == "CIDRPool":
            stood, parts = found["spec"].pop("staticAllocations"), grown["spec"].pop("staticAllocations")
            assert [part for part in parts if part in stood] == stood
            assert len({part["prefix"] for part in parts}) == len({part["nodeName"] for part in parts}) == len(parts)
        assert grown == found


@given(clusters(most=16))
@QUICK
def test_rails_are_given_where_nothing_hinders_and_hold_every_port(document):
    plan, _ = plan_of(ask(document))
    assume(plan is not None)
    workers = [server for server in plan.servers if server.group in {node.group for node in plan.kubernetes.nodes}]
    fits = find_misfit(plan.networks, workers) is None
    assert (plan.kubernetes.rdma == "host-device") == fits
    ports = {(server.name, port.gateway) for server in workers for port in server.ports if port.network == "compute"}
    given = [(seat.server, seat.gateway) for rail in plan.kubernetes.rails for seat in rail.seats]
    assert len(given) == len(set(given))
    assert set(given) == (ports if fits else set())
