"""What is told of an out-of-band network of three tiers: its counts, and those of another `racks_per_leaf`, which are true."""

import re

import pytest
from intents import change, findings_of, plan_of, small

HALL = {  # 42 racks: more than a spine of 32 ports joins
    "racks__rows": {"A": {"id": 1, "racks": 38}, "N": {"id": 2, "racks": 4}},
    "servers__gpu__count": 38,
    "servers__gpu__unit": 14,
    "servers__gpu__per_rack": 1,
    "networks__compute__rails_per_leaf": 4,
}
SMALL_SPINES = {"networks__oob__spine": None, "racks__rows__A__racks": 4, "racks__rows__N__racks": 2}  # of four ports
CASES = {
    "a hall": HALL,
    "a hall half built": {**HALL, "servers__gpu__count": 20, "servers__gpu__planned": 38},
    "one leaf for two racks already": {**SMALL_SPINES, "racks__rows__A__racks": 9, "networks__oob__racks_per_leaf": 2},
    "spines of four ports": SMALL_SPINES,
    "four uplinks": {**HALL, "networks__oob__uplinks": 4},
}


def told(document):
    return [finding for finding in findings_of(document) if finding.id == "NET042"]


def count(plan):
    network = plan.network("oob")
    return {
        tier: number for tier, number in (("leaf", network.leafs), ("spine", network.spines), ("core", network.cores)) if number
    }


def read_counts(text):
    return {tier: int(number) for number, tier in re.findall(r"([0-9]+) (leaf|spine|core)s?\b", text)}


@pytest.mark.parametrize("values", CASES.values(), ids=CASES)
def test_its_counts_are_those_of_the_plan_with_the_other_value(values):
    document = small(**values)
    (finding,) = told(document)
    assert finding.severity == "info"
    plan = plan_of(document)
    assert read_counts(finding.summary.partition(": ")[2]) == count(plan) and plan.network("oob").tiers == 3
    assert f"is {sum(count(plan).values())} switches" in finding.summary
    better = re.match(r"set networks\.oob\.racks_per_leaf to ([0-9]+): (.*) instead, ([0-9]+) switches;", finding.fix)
    mended = change(document, networks__oob__racks_per_leaf=int(better[1]))
    assert read_counts(better[2]) == count(plan_of(mended))
    assert sum(count(plan_of(mended)).values()) == int(better[3])
    assert plan_of(mended).network("oob").tiers == 2 and told(mended) == []


def test_two_racks_on_a_leaf_would_make_two_tiers():
    (finding,) = told(small(**HALL))
    assert finding.expected == "<= 32 leafs for two tiers (100 Gb/s ports of nvidia/sn3700c)"
    assert finding.actual == "42 leafs, one for every rack"
    assert finding.fix.startswith("set networks.oob.racks_per_leaf to 2: 21 leafs and 2 spines instead, 23 switches; ")


def test_where_racks_fill_their_leaf_a_larger_spine_is_left():
    """A leaf of 48 ports has no room for a second rack of 30 servers, so that no higher value is offered."""
    crowded = {"id": 2, "model": "generic/1u", "role": "control", "count": 33 * 20, "racks": "hall", "per_rack": 20}
    document = small(
        racks__rows__B={"id": 3, "racks": 33},
        racks__groups__hall={"id": 3, "rows": ["B"], "height_u": 52, "power_kw": 60, "feed_kw": 60},
        servers__crowd=crowded,
    )
    (finding,) = told(document)
    spine = "take a spine with 45 ports of 100 Gb/s for two tiers"
    assert finding.fix == f"{spine}, or set networks.oob.tiers to 3 where three are meant"


@pytest.mark.parametrize("values", [{}, {**HALL, "networks__oob__tiers": 3}, {**HALL, "networks__oob__racks_per_leaf": 2}])
def test_two_tiers_and_three_that_were_asked_for_are_no_news(values):
    assert told(small(**values)) == []
