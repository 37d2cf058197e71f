"""Sessions of leafs with nodes: silent nodes are a warning, and few lines however many they are."""

from dataclasses import replace
from pathlib import Path

import pytest
from test_verify_fabric import change, make_fabric

from cluster_model.pipeline import inspect
from cluster_model.verify.fabric import compare_fabric
from cluster_model.verify.manual import MANUALS
from cluster_model.verify.node_sessions import list_node_ports

LEAFS = ("storage-leaf-u01-01", "storage-leaf-u01-02")


@pytest.fixture
def observed(lab):
    return make_fabric(lab)


def silence(plan, observed, *nodes, leafs=LEAFS, **values):
    """Let sessions with nodes, all or some, be other than established on leafs."""
    for name in leafs:
        there = {port.peer_address for port in list_node_ports(plan.switch(name)) if not nodes or port.peer in nodes}
        told = observed.devices[name].sessions
        change(observed, name, sessions=tuple(replace(one, **values) if one.peer in there else one for one in told))


def unplug(plan, observed, leaf, node):
    ports = dict(observed.devices[leaf].ports)
    for port in list_node_ports(plan.switch(leaf)):
        if port.peer == node:
            ports[port.name] = replace(ports[port.name], carrier=False)
    change(observed, leaf, ports=ports)


def find(plan, observed):
    jobs = compare_fabric(plan, observed).jobs
    assert {(job.finding.id, job.finding.severity) for job in jobs} <= {("VER038", "warning")}
    assert "VER038" in MANUALS
    return [(job.device, job.finding.summary, job.finding.actual, job.finding.fix.partition(",")[0]) for job in jobs]


def test_a_cluster_without_kubernetes_is_one_line_for_its_leafs(lab, observed):
    silence(lab, observed, state="Active")
    summary = f"no BGP session of control-001, control-002, control-003, gpu-001 and 7 more with {', '.join(LEAFS)}"
    assert find(lab, observed) == [(LEAFS[0], summary, "Active", "install Kubernetes there")]


def test_each_unit_of_a_large_cluster_has_a_line():
    plan = inspect(Path("inventory/driving")).plan
    leafs = [switch for switch in plan.switches if switch.network == "storage" and switch.role == "leaf"]
    asked = {
        leaf.name: replace(leaf, ports=tuple(replace(port, peer_asn=port.peer_asn or 64512) for port in leaf.ports))
        for leaf in leafs
    }
    plan = replace(plan, switches=tuple(asked.get(switch.name, switch) for switch in plan.switches))
    observed = make_fabric(plan)
    silence(plan, observed, leafs=list(asked), state="Idle")
    assert sum(len(list_node_ports(leaf)) for leaf in asked.values()) > 50
    assert len(find(plan, observed)) == len({leaf.unit for leaf in leafs})


def test_a_node_whose_agent_is_dead_is_one_finding_at_the_node(lab, observed):
    silence(lab, observed, "gpu-002", state="Active")
    assert [row[:2] for row in find(lab, observed)] == [("gpu-002", f"no BGP session of gpu-002 with {', '.join(LEAFS)}")]


def test_a_node_without_a_link_to_one_leaf(lab, observed):
    silence(lab, observed, "gpu-002", leafs=LEAFS[:1], state="Active")
    unplug(lab, observed, LEAFS[0], "gpu-002")
    summary = f"no BGP session of gpu-002 with {LEAFS[0]}"
    fix = "mend the links first: gpuyard verify cabling"
    assert find(lab, observed) == [("gpu-002", summary, "the port has no link", fix)]


def test_a_leaf_that_does_not_know_its_nodes(lab, observed):
    silence(lab, observed, state="Active")
    there = {port.peer_address for port in list_node_ports(lab.switch(LEAFS[0]))}
    change(observed, LEAFS[0], sessions=tuple(one for one in observed.devices[LEAFS[0]].sessions if one.peer not in there))
    (row,) = find(lab, observed)
    assert row[2:] == (
        f"{LEAFS[0]} not configured, {LEAFS[1]} Active",
        f"load the rendered configuration onto {LEAFS[0]}",
    )


def test_a_leaf_that_expects_another_number_of_nodes(lab, observed):
    silence(lab, observed, leafs=LEAFS[1:], state="Idle", asn=65000)
    (row,) = find(lab, observed)
    assert row[2:] == ("AS 65000 and not 64512", f"load the rendered configuration onto {LEAFS[1]}")


def test_a_leaf_with_another_number_or_that_told_of_no_session_is_not_blamed_for_nodes(lab, observed):
    silence(lab, observed, state="Active")
    change(observed, LEAFS[0], asn=65000)
    change(observed, LEAFS[1], sessions=None)
    assert {job.finding.id for job in compare_fabric(lab, observed).jobs} == {"VER031"}


def test_sessions_with_others_are_no_findings(lab, observed):
    for name in LEAFS:
        told = observed.devices[name].sessions
        change(observed, name, sessions=(*told, replace(told[0], peer="192.0.2.9", state="Idle", asn=1)))
    assert find(lab, observed) == []
