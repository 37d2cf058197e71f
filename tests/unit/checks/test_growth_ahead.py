"""Where the next growth would recable spines, it is told beforehand, and it is so."""

import pytest

from cluster_model.checks import check_plan
from cluster_model.plan.build import build_plan
from cluster_model.plan.compare.plans import compare_plans
from tests.planned import open_example


@pytest.mark.parametrize(("example", "full"), [("superpod-roce", True), ("lab", False)])
def test_a_unit_beyond_what_is_planned_recables_spines_where_that_was_told(example, full):
    example = open_example(example)
    cluster, catalogue = example.cluster, example.catalogue
    plan = build_plan(cluster, catalogue)[0]
    (found,) = [finding for finding in check_plan(plan, cluster, catalogue) if finding.id == "GRW002"]
    assert ("spines have ports for 0 more leafs of compute" in found.fix) == full
    gpu = cluster.servers["gpu"]
    assert f"as servers.gpu.planned: {[gpu.final_count, gpu.unit]}, with racks for it" in found.fix
    racks = {"racks": cluster.racks.model_copy(update={"rows": {**cluster.racks.rows}})}
    rows = racks["racks"].rows
    rows["A"] = rows["A"].model_copy(update={"racks": [rows["A"].final_racks, 16]})
    more = gpu.model_copy(update={"planned": [gpu.final_count, gpu.unit], "count": gpu.final_count + gpu.unit})
    grown = build_plan(cluster.model_copy(update={**racks, "servers": {**cluster.servers, "gpu": more}}), catalogue)[0]
    moves = [c for c in compare_plans(plan, grown).cables if c.network == "compute" and c.action in {"move", "remove"}]
    assert bool(moves) == full
