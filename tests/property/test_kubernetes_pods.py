"""Pods that the storage network routes, of whatever clusters: leafs know the nodes, and only them, as long as a cluster grows."""

from hypothesis import assume, given
from invariants import check_pods
from strategies import catalogue, change, clusters, plan_of
from test_plan_growth import QUICK, growing_clusters

from cluster_model.render.switch.context import describe_switch
from cluster_model.render.switch.scene import Scene


def ask(document, routing="bgp", groups=99):
    """Return a document with Kubernetes on all its servers, or on the first groups of them."""
    names = sorted(document["servers"])
    asked = {"control": names[0], "workers": names[:groups], "pod_routing": routing}
    return change(document, kubernetes=asked)


@given(clusters())
@QUICK
def test_leafs_know_the_nodes_and_nobody_else(document):
    for asked in (ask(document), ask(document, groups=1), ask(document, routing="vxlan")):
        plan, _ = plan_of(asked)
        assume(plan is not None)
        check_pods(plan)


@given(clusters())
@QUICK
def test_leafs_are_told_of_exactly_the_planned_nodes(document):
    plan, _ = plan_of(ask(document))
    assume(plan is not None and plan.kubernetes.network == "storage")  # K8S026 refuses the rest
    scene = Scene(plan, catalogue())
    planned, told = set(), set()
    for server in plan.servers:
        planned |= {(port.peer, port.address.partition("/")[0]) for port in server.ports if port.network == "storage"}
    for switch in plan.switches:
        if plan.network(switch.network).technology == "infiniband":
            continue
        context = describe_switch(scene, switch)
        assert (context["pods"] is not None) == (switch.network == "storage")
        told |= {(switch.name, session.address) for session in context["node_sessions"]}
        fabric = {session.peer for session in context["sessions"]}
        assert fabric.isdisjoint(server.name for server in plan.servers)
    assert told == planned


@given(growing_clusters())
@QUICK
def test_sessions_stay_while_a_cluster_grows(pair):
    plans = [plan_of(ask(document))[0] for document in pair]
    assume(all(plans))
    before, after = (
        {
            (switch.name, port.name, port.peer, port.peer_address, port.peer_asn)
            for switch in plan.switches
            for port in switch.ports
            if port.use == "host" and port.peer_asn
        }
        for plan in plans
    )
    assert before <= after
