"""Laws that every plan of a random cluster obeys."""

import pytest
from hypothesis import HealthCheck, example, given, settings
from invariants import check_all
from strategies import catalogue, clusters, plan_of, read

QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
LONG = settings(QUICK, max_examples=600)

# A leaf with a cage for fabric managers alone, which runs in its one mode whether one is plugged in or not.
X800 = {
    "name": "random",
    "site": {"domain": "random.example.net"},
    "racks": {
        "rows": {"A": {"id": 1, "racks": 3}, "N": {"id": 9, "racks": 8}},
        "groups": {
            "gpu": {"id": 1, "rows": ["A"], "height_u": 44, "power_kw": 15, "feed_kw": 10},
            "network": {"id": 2, "rows": ["N"], "height_u": 48, "power_kw": 40, "feed_kw": 30},
        },
    },
    "servers": {"a-dgx-b300": {"id": 1, "model": "nvidia/dgx-b300", "role": "gpu", "count": 1, "unit": 36, "racks": "gpu"}},
    "networks": {
        "compute": {"technology": "infiniband", "leaf": "nvidia/q3400-ra", "design": "rail-optimized", "planes": 1},
        "oob": {"leaf": "generic/linux-48x1g", "spine": "generic/linux-32x100g", "nos": "frr", "pool": "10.224.0.0/12"},
    },
}


def hold(document):
    """Plan a document; a plan obeys every law, a refusal says what, where and how to go on."""
    plan, findings = plan_of(document)
    errors = [finding for finding in findings if finding.severity == "error"]
    assert (plan is None) == bool(errors)
    for finding in findings:
        assert all((finding.where, finding.summary, finding.expected, finding.actual, finding.fix)), finding
        assert not finding.summary.endswith(".") and "None" not in finding.fix + finding.expected + finding.actual, finding
    if plan is not None:
        check_all(plan, read(document), catalogue())
    return plan


@given(clusters())
@example(X800)
@QUICK
def test_a_plan_obeys_every_law_and_a_refusal_says_the_way_out(document):
    hold(document)


@given(clusters(small=True))
@QUICK
def test_a_plan_of_small_switches_obeys_every_law(document):
    hold(document)


@given(clusters(most=6))
@settings(QUICK, max_examples=20)
def test_the_same_intent_gives_the_same_plan(document):
    assert plan_of(document) == plan_of(document)


@pytest.mark.slow
@given(clusters(most=60))
@LONG
def test_many_larger_plans_obey_every_law(document):
    hold(document)
