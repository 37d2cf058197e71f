"""Switch counts against the published tables and the derived limits."""

import pytest
from intents import findings_of, plan_of, small, vary_example

from cluster_model.plan.fabric.clos import Clos, derive_uplinks, divisor_from, size_clos
from cluster_model.plan.refusal import Refused


def size(leafs, uplinks, ports, **values):
    """Return the dimensions of a plane, with switches of one radix."""
    asked = {"leafs_per_unit": 8, "tiers": None, "spines": None, "cores": None, "usual_spines": 4, "core_ports": ports}
    return size_clos(leafs=leafs, uplinks=uplinks, spine_ports=ports, **{**asked, **values})


def refuse(leafs, uplinks, ports, **values):
    """Return why there is no such plane."""
    with pytest.raises(Refused) as refused:
        size(leafs, uplinks, ports, **values)
    return refused.value


# DGX SuperPOD H100 reference architecture, network fabrics, table 4: (units, nodes, leafs, spines, compute and UFM cables,
# leaf-spine cables). The cables are 8 per node and 4 for UFM.
SUPERPOD = [(1, 31, 8, 4, 252, 256), (2, 63, 16, 8, 508, 512), (3, 95, 24, 16, 764, 768), (4, 127, 32, 16, 1020, 1024)]


@pytest.mark.parametrize(("units", "nodes", "leafs", "spines", "host_cables", "fabric_cables"), SUPERPOD)
def test_superpod_rows_by_the_closed_form(units, nodes, leafs, spines, host_cables, fabric_cables):
    found = size(units * 8, 32, 64)
    assert (found.tiers, found.leafs, found.spines) == (2, leafs, spines)
    assert found.leafs * found.uplinks == fabric_cables and found.links_per_spine * found.spines == 32


@pytest.mark.parametrize(("units", "nodes", "leafs", "spines", "host_cables", "fabric_cables"), SUPERPOD)
def test_superpod_rows_through_the_plan(units, nodes, leafs, spines, host_cables, fabric_cables):
    plan = plan_of(vary_example("superpod-h100", servers__gpu__count=nodes))
    network = plan.network("compute")
    assert plan.gpus == 8 * nodes
    assert (network.tiers, network.units, network.leafs, network.spines, network.cores) == (2, units, leafs, spines, 0)
    assert network.cables == {
        "host_leaf": 8 * nodes,
        "fabric_manager": 4,
        "leaf_spine": fabric_cables,
        "spine_core": 0,
    }
    assert network.host_leaf_cables + network.fabric_manager_cables == host_cables
    assert network.oversubscription == 1.0 and network.uplinks == 32
    loads = [sum(port.use == "host" for port in leaf.ports) for leaf in plan.switches if leaf.role == "leaf"][:leafs]
    assert max(loads) <= 32


@pytest.mark.parametrize("units", [1, 2, 3, 4])
def test_a_unit_too_full_for_its_fabric_managers_is_refused(units):
    found = findings_of(vary_example("superpod-h100", servers__gpu__count=32 * units))
    assert [(finding.id, finding.fix) for finding in found if finding.severity == "error"] == [
        ("NET007", f"set it to {32 * units - 1}, or plan another unit")
    ]


@pytest.mark.parametrize(("rails_per_leaf", "leafs", "spines"), [(1, 32, 8), (2, 16, 8)])
def test_the_same_four_units_on_switches_of_128_ports(rails_per_leaf, leafs, spines):
    network = plan_of(vary_example("superpod-roce", networks__compute__rails_per_leaf=rails_per_leaf)).network("compute")
    assert (network.leafs, network.spines, network.leaf_spine_cables) == (leafs, spines, 1024)


@pytest.mark.parametrize(
    ("gpus", "leafs", "spines", "cores"),
    [(16_384, 256, 256, 128), (102_400, 1_600, 1_600, 1_024)],
)
def test_three_tiers_of_128_ports(gpus, leafs, spines, cores):
    found = size(gpus // 64, 64, 128)
    assert found.tiers == 3
    assert found.leafs == leafs
    assert found.pods * found.spines == spines
    assert found.core_groups * found.cores == cores
    assert found.spine_uplinks == found.leafs_per_pod * found.links_per_spine


@pytest.mark.parametrize("radix", [16, 32, 64])
def test_three_tiers_end_at_a_quarter_of_the_cube_of_the_radix(radix):
    most = radix**3 // 4
    leafs = most // (radix // 2)
    full = size(leafs, radix // 2, radix, leafs_per_unit=1)
    assert isinstance(full, Clos) and full.pods == radix and full.leafs * full.uplinks == most
    above = refuse(leafs + 1, radix // 2, radix, leafs_per_unit=1)
    assert above.rule == "NET005"
    assert above.expected.startswith(f"at most {radix} pods")


def test_the_largest_two_tiers_and_the_first_three():
    assert size(64, 32, 64).tiers == 2
    assert size(65, 32, 64).tiers == 3
    assert refuse(65, 32, 64, tiers=2).rule == "NET005"


@pytest.mark.parametrize("leafs", [1, 4])
def test_one_tier_has_no_spines(leafs):
    found = size(leafs, 32, 64, tiers=1)
    assert (found.tiers, found.leafs, found.uplinks, found.spines, found.core_groups) == (1, leafs, 0, 0, 0)


def test_one_leaf_needs_no_spine_unless_asked_for():
    assert size(1, 32, 64).tiers == 1
    assert size(1, 32, 64, tiers=2).spines == 2


def test_a_pod_takes_whole_units():
    found = size(60, 32, 64, leafs_per_unit=12, tiers=3)
    assert found.leafs_per_pod == 24 and found.pods == 3
    assert refuse(40, 32, 64, leafs_per_unit=40, tiers=3).rule == "NET005"


@pytest.mark.parametrize(
    ("values", "rule", "fix"),
    [
        ({"spines": 12}, "NET006", "set it to 8 or 16, or set uplinks to 36"),
        ({"spines": 64}, "NET006", "set it to 32, or set uplinks to 64"),
        ({"spines": 8}, "NET001", "set it to 16, or leave it out"),
    ],
)
def test_spines_by_hand_must_divide_the_uplinks_and_have_the_ports(values, rule, fix):
    found = refuse(24, 32, 64, **values)
    assert (found.rule, found.fix) == (rule, fix)


def test_one_is_told_in_the_singular():
    assert refuse(24, 32, 64, spines=1).summary == "1 spine has too few ports"
    assert refuse(24, 32, 64, spines=8).summary == "8 spines have too few ports"


def test_spines_by_hand_are_taken():
    assert size(24, 32, 64, spines=32).spines == 32
    assert size(256, 64, 128, cores=16).cores == 16
    assert refuse(256, 64, 128, cores=3).rule == "NET006"


@pytest.mark.parametrize(
    ("leafs", "uplinks", "usual", "spines"),
    [
        (2, 8, 2, 2),
        (2, 1, 2, 1),  # one uplink goes to one spine
        (8, 8, 2, 2),  # a storage network has no four where two do
        (2, 8, 4, 2),  # nobody has twice as many spines as leafs
        (3, 16, 4, 2),
        (4, 16, 4, 4),
        (8, 4, 4, 4),
        (8, 6, 4, 2),  # six uplinks do not divide by four
        (4, 2, 4, 2),
    ],
)
def test_a_spine_may_fail_and_of_four_a_quarter_goes_with_it(leafs, uplinks, usual, spines):
    assert size(leafs, uplinks, 128, usual_spines=usual).spines == spines


def test_a_pod_of_three_tiers_has_as_many_spines():
    found = size(16, 4, 64, tiers=3)
    assert (found.tiers, found.spines) == (3, 4)


@pytest.mark.parametrize("name", ["compute", "oob"])
def test_every_network_of_a_small_cluster_has_a_spine_to_lose(name):
    network = plan_of(small(servers__gpu__count=2, servers__gpu__unit=2, networks__compute__rails_per_leaf=4)).network(name)
    assert network.leafs > 1 and network.spines == 2


def test_the_compute_network_of_four_leafs_has_four_spines():
    assert plan_of(small(networks__compute__rails_per_leaf=4)).network("compute").spines == 4
    by_hand = small(networks__compute__rails_per_leaf=4, networks__compute__switches={"spine": 2})
    assert plan_of(by_hand).network("compute").spines == 2


@pytest.mark.parametrize(("number", "least", "found"), [(32, 12, 16), (32, 33, None), (7, 2, 7), (6, 0, 1)])
def test_divisors(number, least, found):
    assert divisor_from(number, least) == found


@pytest.mark.parametrize(
    ("host_gbps", "speed_gbps", "oversubscription", "uplinks"),
    [
        (12_800, 400, 1.0, 32),
        (12_800, 400, 3.0, 11),
        (12_800, 800, 1.0, 16),
        (100, 400, 1.0, 1),
        (12_800, 400, 0.8, 40),
        (300, 100, 1.1, 3),
    ],
)
def test_uplinks_follow_from_bandwidth(host_gbps, speed_gbps, oversubscription, uplinks):
    assert derive_uplinks(host_gbps, speed_gbps, oversubscription) == uplinks


def test_uplinks_of_another_speed_carry_the_same_bandwidth():
    network = plan_of(small(networks__compute__fabric_speed_gbps=800)).network("compute")
    assert (network.host_speed_gbps, network.fabric_speed_gbps, network.uplinks) == (400, 800, 2)
    assert network.oversubscription == 1.0


def test_oversubscription_is_that_of_a_full_leaf():
    network = plan_of(small(networks__compute__uplinks=3)).network("compute")
    assert network.oversubscription == pytest.approx(4 / 3, abs=1e-3)


def test_a_half_built_plan_has_the_spines_of_the_whole():
    whole = plan_of(vary_example("superpod-h100")).network("compute")
    half = plan_of(vary_example("superpod-h100", servers__gpu__count=40, servers__gpu__planned=127)).network("compute")
    assert (half.leafs, half.units, half.planned_units) == (16, 2, 4)
    assert half.spines == whole.spines == 16 and half.leaf_spine_cables == 512
