"""What joins two cages: copper, active cables, optics; one transceiver or plug per cage."""

from collections import Counter, defaultdict

import pytest
from intents import STORAGE, catalogue, findings_of, plan_example, plan_of, read, small

from cluster_model.plan.cabling.media import Cabler
from cluster_model.plan.context import Context
from cluster_model.plan.ports import End

MIXED = small(
    networks__compute=None,
    networks__storage=STORAGE,
    servers__gpu__count=1,
    servers__storage={"id": 2, "model": "generic/2u-24nvme", "count": 1, "racks": "network"},
)


def plugs_by_cage(plan):
    """Return what is plugged into every cage: a transceiver, or an attached cable with its assembly."""
    cages = {(s.name, port.name): port.cage for s in plan.switches for port in s.ports}
    cages |= {(s.name, port.name): port.cage for s in plan.servers for port in s.ports}
    found = defaultdict(set)
    for cable in plan.cables:
        ends = ((cable.a, cable.a_port, cable.a_optic), (cable.b, cable.b_port, cable.b_optic))
        for name, port, optic in ends:
            if (name, port) in cages:
                found[name, cages[name, port]].add(optic or f"{cable.medium} of {cable.assembly}")
    return found


@pytest.mark.parametrize("name", ["lab", "superpod-h100", "superpod-roce"])
def test_a_cage_of_an_example_has_one_plug(name):
    assert {plug for plugs in plugs_by_cage(plan_example(name)).values() if len(plugs) > 1 for plug in plugs} == set()


def test_hosts_of_two_form_factors_that_share_a_cage_of_the_leaf_meet_one_transceiver():
    plan = plan_of(MIXED)
    hosts = [cable for cable in plan.cables if cable.network == "storage" and cable.kind == "host_leaf"]
    assert {cable.a_optic for cable in hosts} == {"qsfp112-200-sr4", "qsfp56-200-sr4"}
    assert {cable.b_optic for cable in hosts} == {"qsfp-dd-2x200-sr4"}
    assert all(len(plugs) == 1 for plugs in plugs_by_cage(plan).values())


def test_the_bill_counts_optics_by_cage():
    plan = plan_example("superpod-h100")
    bill = Counter({(line.kind, line.item): line.count for line in plan.bom if line.kind == "transceiver"})
    twins = sum(count for (_, item), count in bill.items() if item.startswith("osfp-2x400"))
    compute = [cable for cable in plan.cables if cable.network == "compute" and cable.a_optic]
    host_leaf = [cable for cable in compute if cable.kind == "host_leaf"]
    assert twins >= len(host_leaf) // 2 + len({(c.b, c.b_port) for c in host_leaf}) // 2


def chooser():
    ctx = Context(read(small()), catalogue())
    return ctx, Cabler(ctx)


@pytest.mark.parametrize(
    ("shape", "a", "b", "need_m", "medium"),
    [
        ("twin", End("osfp", 2, 400), End("osfp", 2, 400), 1.4, "dac-osfp-2x400"),
        ("twin", End("osfp", 2, 400), End("osfp", 2, 400), 4.2, "acc-osfp-2x400"),
        ("twin", End("osfp", 2, 400), End("osfp", 2, 400), 5.1, "400g-sr4"),
        ("twin", End("osfp", 2, 400), End("osfp", 2, 400), 51, "400g-dr4"),
        ("apart", End("osfp", 2, 400), End("osfp", 2, 400), 1.4, "400g-sr4"),
        ("fan", End("qsfp112", 1, 400), End("osfp", 2, 400), 2.6, "dac-osfp-2x400-qsfp112-400"),
        ("single", End("rj45", 1, 1), End("rj45", 1, 1), 60, "cat6-1g"),
    ],
)
def test_copper_where_it_reaches_then_the_shortest_optics_that_do(shape, a, b, need_m, medium):
    ctx, cabler = chooser()
    choice = cabler.choose("ethernet", shape, a, b, need_m, "networks.compute.leaf")
    assert choice.medium == medium and choice.length_m >= need_m
    assert bool(choice.a_optic) == medium.startswith("400g")
    assert not ctx.findings


def test_a_length_is_rounded_up_to_what_can_be_ordered():
    _, cabler = chooser()
    assert [cabler.order(need_m) for need_m in (0.1, 0.5, 2.01, 5.5, 99.0, 500.0, 600.0)] == [0.5, 0.5, 2.5, 7, 100, 500, 600.0]


def test_nothing_joins_a_100g_port_and_a_1g_port_once_for_the_whole_tier():
    ctx, cabler = chooser()
    for _ in range(3):
        assert cabler.choose("ethernet", "single", End("qsfp28", 1, 100), End("rj45", 1, 1), 3, "networks.oob.leaf") is None
    assert [(finding.id, finding.actual) for finding in ctx.findings] == [("CAB001", "none fits both cages")]


def test_ends_that_no_one_transceiver_meets_are_named_together():
    ctx, cabler = chooser()
    kin = frozenset({End("osfp", 2, 200), End("qsfp112", 1, 200)})
    far = End("osfp", 4, 200)
    found = cabler.choose("ethernet", "apart", End("osfp", 2, 200), far, 10, "networks.compute.leaf", kin)
    assert (found is None) == bool(ctx.findings)
    far = End("qsfp-dd", 4, 100)
    kin = frozenset({End("qsfp56", 1, 100), End("sfp28", 1, 25)})
    assert cabler.choose("ethernet", "apart", End("qsfp56", 1, 100), far, 10, "networks.compute.leaf", kin) is None
    assert ctx.findings[-1].summary == "nothing joins sfp28 1x25 and qsfp-dd 4x100 over 10 m"


def test_racks_too_far_apart_for_any_medium_are_one_finding():
    far = small(
        networks__storage=STORAGE,
        servers__storage={"id": 2, "model": "generic/2u-24nvme", "count": 2, "racks": "network"},
        racks__geometry={"row_pitch_m": 20, "slack_m": 20},
        racks__rows={"A": {"id": 1, "racks": 8}, "N": {"id": 200, "racks": 4}},
        networks__oob__pool="10.128.0.0/9",
    )
    found = [finding for finding in findings_of(far) if finding.severity == "error"]
    assert {finding.id for finding in found} == {"CAB001"}
    assert len({(finding.where, finding.summary) for finding in found}) == len(found)
    assert any("the longest reaches 500 m" in finding.actual for finding in found)
