"""No default of ours fires a rule of ours: ECN thresholds, followed or written out, in every example and at every port speed."""

from __future__ import annotations

import pytest
from small_plan import chain, intent, items, lossless, ports, small_design

from cluster_model.checks import RULES
from cluster_model.checks.design import Design
from cluster_model.intent.model.cluster import Cluster
from cluster_model.intent.model.policy import Lossless
from cluster_model.plan.fabric.lossless import mark
from tests.planned import INVENTORY, open_example

ECN = ("ROC009", "ROC011", "ROC012", "ROC022", "ROC023")


def _write_out(rows):
    return {speed: {"min_kb": low, "max_kb": high, "probability_percent": chance} for speed, low, high, chance in rows}


def _find(design, rules=ECN):
    return [f"{finding.id} {finding.summary}" for id_ in rules for finding in RULES[id_]().find(design)]


@pytest.mark.parametrize("name", sorted(path.parent.name for path in INVENTORY.glob("*/cluster.yml")))
def test_examples_may_write_their_defaults_out(name):
    opened = open_example(name)
    data = opened.cluster.model_dump(mode="json", exclude_unset=True)
    ways = [{"marking": Lossless().marking.model_dump()}, {"ecn": _write_out(opened.plan.lossless.ecn)}]
    for way in [{}, *ways]:
        cluster = Cluster.model_validate({**data, "lossless": {**data.get("lossless", {}), **way}})
        assert _find(Design(opened.plan, cluster, opened.catalogue)) == []


def test_the_slow_ports_of_storage_leafs_are_ports():
    assert {100, 400} <= {row[0] for row in open_example("superpod-roce").plan.lossless.ecn}


@pytest.mark.parametrize("speed_gbps", [10, 25, 40, 50, 100, 200, 800, 1600])
@pytest.mark.parametrize("mtu_bytes", [1500, 9000, 9600])
def test_no_port_speed_has_a_default_that_marks_bursts(speed_gbps, mtu_bytes):
    row = (speed_gbps, *mark(Lossless(), speed_gbps))
    sized = chain(ports("switches", "compute", "", speed_gbps=speed_gbps), items("networks", "compute", mtu_bytes=mtu_bytes))
    design = chain(sized, lossless(ecn=(row,)), intent("lossless.ecn", _write_out([row])))(small_design())
    assert _find(design, ["ROC009", "ROC022", "ROC023"]) == []
