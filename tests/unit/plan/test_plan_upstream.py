"""The out-of-band network's way out: the last free cage of the switch named, and a default route."""

import copy
import re
from ipaddress import IPv4Network

import pytest
import yaml
from intents import catalogue, change, plan_of, read, small, vary_example

from cluster_model.checks import check_plan
from cluster_model.plan.build import build_plan
from cluster_model.plan.fabric.upstream import find_free_prefix

WAYS = [{"switch": "oob-spine-01", "prefix": "10.255.255.0/31"}, {"switch": "oob-spine-02", "prefix": "10.255.255.4/30"}]


def ways(plan):
    return {switch.name: switch.upstreams for switch in plan.switches if switch.upstreams}


def test_the_router_has_the_first_address_and_the_switch_the_second():
    found = ways(plan_of(small(networks__oob__upstreams=WAYS)))
    assert [(way.address, way.gateway) for way in found["oob-spine-01"]] == [("10.255.255.1/31", "10.255.255.0")]
    assert [(way.address, way.gateway) for way in found["oob-spine-02"]] == [("10.255.255.6/30", "10.255.255.5")]


def test_it_takes_the_last_cage_and_no_planned_one():
    plan = plan_of(small(networks__oob__upstreams=[WAYS[0], {**WAYS[0], "prefix": "10.255.255.8/31"}]))
    (first, second) = ways(plan)["oob-spine-01"]
    switch = plan.switch("oob-spine-01")
    assert first.cage == max(mode.cage for mode in switch.modes) and second.cage == first.cage - 1
    assert {first.cage, second.cage}.isdisjoint(port.cage for port in switch.ports)
    assert plan.network("oob").has_upstream and not plan.network("compute").has_upstream


@pytest.mark.parametrize("racks", [2, 3])
def test_more_racks_do_not_move_it(racks):
    plan = plan_of(vary_example("lab", racks__rows__N__racks=racks + 1))
    assert ways(plan)["oob-spine-01"][0].cage == 32


SITE = {"domain": "small.example.net", "dns": ["10.255.0.53", "10.255.0.54"], "ntp": ["10.255.0.123"]}
ONE_RACK = {
    "racks__rows": {"A": {"id": 1, "racks": 2}},
    "racks__groups": {"hall": {"id": 1, "rows": ["A"], "height_u": 48, "power_kw": 60, "feed_kw": 60}},
    "servers__gpu__racks": "hall",
    "servers__gpu__count": 2,
    "servers__gpu__unit": 2,
    "networks__compute__racks": "hall",
    "networks__oob__racks": "hall",
    "networks__oob__racks_per_leaf": 2,
}
TIERS = {  # out-of-band networks, and the switches that the site's router is best plugged into
    "one leaf": (1, ONE_RACK, ["oob-leaf-a01"]),
    "leafs that nothing joins": (
        1,
        {"networks__oob__tiers": 1, "networks__oob__racks_per_leaf": 4},
        ["oob-leaf-a01", "oob-leaf-n01"],
    ),
    "two tiers": (2, {}, ["oob-spine-01", "oob-spine-02"]),
    "spines without a free cage": (
        2,
        {"networks__oob__spine": None, "racks__rows__A__racks": 2, "racks__rows__N__racks": 2},
        ["oob-leaf-a01", "oob-leaf-a02"],
    ),
    "three tiers": (3, {"networks__oob__tiers": 3}, ["oob-core-g01-01", "oob-core-g02-01"]),
    "a pool that has the usual prefix": (
        2,
        {"networks__compute__pool": "172.16.0.0/13", "networks__oob__pool": "10.0.0.0/8"},
        ["oob-spine-01", "oob-spine-02"],
    ),
}


def validate(document):
    """Return what plan and rules say of the ways out of a document, and of its whole network."""
    cluster = read(document)
    plan, findings = build_plan(cluster, catalogue(), None, "digest")
    found = [*findings, *(check_plan(plan, cluster, catalogue()) if plan else [])]
    return [finding for finding in found if finding.id.startswith("NET") and finding.where.startswith("networks.oob")]


def apply_fix(document, finding):
    """Return a document with what a fix says typed into it."""
    if "upstreams: " in finding.fix:
        return change(document, networks__oob__upstreams=yaml.safe_load(finding.fix.partition(": ")[2])["upstreams"])
    document = copy.deepcopy(document)
    *_, index, key = finding.where.split(".")
    document["networks"]["oob"]["upstreams"][int(index)][key] = re.fullmatch(rf"set {key} to ([^ ,]+)(,.*)?", finding.fix)[1]
    return document


@pytest.mark.parametrize(("tiers", "values", "switches"), TIERS.values(), ids=TIERS)
def test_the_way_out_that_a_finding_names_is_one(tiers, values, switches):
    document = small(site=SITE, **values)
    (finding,) = [finding for finding in validate(document) if finding.id == "NET019"]
    assert finding.severity == "warning"
    mended = apply_fix(document, finding)
    assert [way["switch"] for way in mended["networks"]["oob"]["upstreams"]] == switches
    assert validate(mended) == []
    network = plan_of(mended).network("oob")
    assert (network.tiers, network.has_upstream) == (tiers, True)


@pytest.mark.parametrize(
    "ways",
    [
        [("oob-spine-09", "10.255.255.0/31"), ("oob-spine-10", "10.255.255.2/31")],  # neither is there
        [("oob-spine-09", "10.255.255.0/31"), (0, "10.255.255.2/31")],  # the first that would do is taken
        [(0, "10.255.255.0/24"), (-1, "10.255.255.0/31")],  # too wide, and beside a right one
        [("oob-leaf-a01", f"10.255.255.{n}/31") for n in range(0, 10, 2)],  # more links than cages
    ],
)
@pytest.mark.parametrize("shape", ["leafs that nothing joins", "two tiers", "three tiers"])
def test_the_fix_of_a_link_that_cannot_be_makes_one_that_can(shape, ways):
    _, values, switches = TIERS[shape]
    asked = [{"switch": switches[name] if isinstance(name, int) else name, "prefix": prefix} for name, prefix in ways]
    document = small(site=SITE, **values, networks__oob__upstreams=asked)
    found = [finding for finding in validate(document) if finding.id == "NET018"]
    assert found
    for finding in found:
        document = apply_fix(document, finding)
    assert [finding.id for finding in validate(document) if finding.severity == "error"] == []
    assert len({way["switch"] for way in document["networks"]["oob"]["upstreams"]}) > 1  # never the same one twice


def test_where_no_cage_is_free_it_says_what_to_buy():
    full = {
        "networks__oob__spine": "nvidia/sn2201",
        "networks__oob__uplinks": 4,
        "racks__rows__A__racks": 2,
        "racks__rows__N__racks": 2,
    }
    (finding,) = [finding for finding in validate(small(site=SITE, **full)) if finding.id == "NET019"]
    assert finding.fix == "take a model with more ports for networks.oob.spine, and plug the site's router into it"


@pytest.mark.parametrize(("ntp", "told"), [([], "{}"), ([1], "{} and 1 more"), ([1, 2, 3], "{} and 3 more")])
def test_services_beyond_the_third_are_counted(ntp, told):
    site = {**SITE, "ntp": [*SITE["ntp"], *(f"10.255.0.{number}" for number in ntp)]}
    (finding,) = [finding for finding in validate(small(site=site)) if finding.id == "NET019"]
    assert finding.actual == f"none, and services at {told.format('10.255.0.53, 10.255.0.54, 10.255.0.123')}"


def test_a_site_without_services_needs_no_way_out():
    assert validate(small()) == []
    assert validate(small(site=SITE, networks__oob__upstreams=WAYS)) == []


@pytest.mark.parametrize(
    ("near", "taken", "free"),
    [
        ("10.255.255.0/31", [], "10.255.255.0/31"),
        ("10.255.255.0/31", ["10.255.255.0/31"], "10.255.255.2/31"),
        ("10.255.255.0/31", ["10.0.0.0/8"], "172.31.255.0/31"),
        ("10.255.255.0/30", ["10.255.255.0/24", "172.16.0.0/12"], "192.168.255.0/30"),
        ("255.255.255.254/31", ["255.255.255.254/31"], "10.255.255.0/31"),
        ("10.255.255.0/31", ["0.0.0.0/0"], "10.255.255.0/31"),
    ],
)
def test_a_free_prefix_overlaps_nothing(near, taken, free):
    assert str(find_free_prefix(IPv4Network(near), [IPv4Network(prefix) for prefix in taken])) == free
