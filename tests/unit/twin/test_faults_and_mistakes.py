"""What is broken and planted where, and what rows say is played; a double stands for the fabric, which nothing is done to."""

from types import SimpleNamespace

import pytest

from cluster_model.twin.emulation import list_emulated
from cluster_model.twin.ethernet.scope import Sampling, choose_scope
from cluster_model.twin.faults import list_faults
from cluster_model.twin.mistakes import choose_mistakes
from cluster_model.twin.report import Verdict
from cluster_model.twin.tenancy.tenants import expect


@pytest.fixture
def watch(trees):
    """Return a function: name of a plan and networks to the double of their trials."""

    def get(name, *networks):
        tree = trees(name)
        scope = choose_scope(tree, frozenset(), Sampling(full=True), networks)
        fabric = SimpleNamespace(files=lambda switch: tree.switch_files(scope.switches[switch]), exchange=print)
        return [
            SimpleNamespace(
                network=network,
                fabric=fabric,
                expectations=expect(scope, network, tree.plan),
                try_cables=lambda: Verdict(""),
                try_sessions=lambda: Verdict(""),
                try_routes=lambda: Verdict(""),
            )
            for network in networks
        ]

    return get


def test_each_mistake_is_planted_in_a_network_of_its_own(watch):
    chosen = choose_mistakes(watch("lab", "compute", "storage"))
    assert [mistake.name.split()[0] for mistake in chosen["compute"]] == ["cables", "compute-leaf-u02-02"]
    assert [mistake.name for mistake in chosen["storage"]] == [
        "storage-leaf-u01-02 as AS 4220000009",
        "storage-leaf-u01-01 takes all that nodes tell it",
    ]


def test_with_tenants_a_vni_is_wrong_and_the_restart_comes_last(watch):
    mistakes = choose_mistakes(watch("driving", "business"))["business"]
    assert [mistake.restarts for mistake in mistakes] == [False, False, True]
    wrong = mistakes[1]
    assert (wrong.name, wrong.culprit) == ("business-leaf-u03-02 puts inference-serve into VNI 11049", "business-leaf-u03-02")
    assert wrong.words == ("business-leaf-u03-02 lacks VNI 10049", "11049")


def test_where_nodes_tell_leafs_of_their_pods_the_cable_of_one_is_cut(watch):
    names = [fault.name for fault in list_faults(watch("lab", "storage")[0].expectations)]
    assert [name for name in names if "host to leaf" in name] == [
        "host to leaf cable cut (control-001:enp65s0f0np0 to storage-leaf-u01-01:swp4)"
    ]


def test_spines_borders_a_leaf_and_each_class_of_cable_fail(watch):
    names = [fault.name for fault in list_faults(watch("driving", "business")[0].expectations)]
    assert [name for name in names if name.endswith(" without power")] == [
        "business-spine-01 without power",
        "business-spine-02 without power",
        "business-border-01 without power",
        "business-border-02 without power",
        "business-leaf-u01-01 without power",
    ]
    kinds = [name.partition(" cable cut ")[0] for name in names if " cable cut " in name]
    assert kinds == ["external", "host to leaf", "leaf to spine", "peer link"]


@pytest.mark.parametrize(
    ("name", "network", "timers", "played"),
    [
        ("driving", "business", 4.0, {"MLAG", "router MACs", "timers"}),
        ("driving-frr", "business", 4.0, {"Ethernet segments", "router MACs", "timers"}),
        ("driving-frr", "compute", 1.0, {"router MACs"}),
        ("lab", "compute", 1.0, set()),
        ("lab", "storage", 1.0, {"nodes of Kubernetes"}),
    ],
)
def test_what_is_played_is_said(trees, name, network, timers, played):
    tree = trees(name)
    scope = choose_scope(tree, frozenset(), Sampling(), [network])
    assert set(list_emulated(tree, scope, timers)) == played
