"""No static address of a tenant's subnet moves, whoever comes; where somebody finds no place, the checks say so."""

from collections import Counter
from ipaddress import IPv4Address, ip_interface

from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st
from strategies import catalogue, change, drop_none

from cluster_model.checks import check_plan
from cluster_model.intent.model.cluster import Cluster
from cluster_model.plan.build import build_plan
from cluster_model.plan.compare.plans import compare_plans

QUICK = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
NAMES = ["ash", "birch", "cedar", "dogwood"]
LATER = ["aaa", "coral", "zebra"]  # before, between and behind the others by name
BASE = int(IPv4Address("10.48.0.0"))
places = st.integers(BASE + 2, BASE + 120).map(lambda number: str(IPv4Address(number)))


@st.composite
def groups(draw, number):
    """Draw a group of servers, some of them not built yet."""
    count = draw(st.integers(1, 6))
    planned = draw(st.sampled_from([None, count, count + 5]))
    return drop_none(id=number, role="gateway", model="generic/1u", count=count, planned=planned, racks="all")


@st.composite
def pools(draw):
    first = draw(st.integers(BASE + 2, BASE + 100))
    return {"first": str(IPv4Address(first)), "last": str(IPv4Address(first + draw(st.integers(0, 20))))}


@st.composite
def documents(draw):
    """Draw (a cluster with groups that share a tenant's subnet, most with a `first`, the id of a group to come)."""
    ids = draw(st.lists(st.integers(1, 250), min_size=5, max_size=5, unique=True))
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True))
    servers = {name: draw(groups(number)) for name, number in zip(names, ids, strict=False)}
    named = [draw(st.sampled_from([name, f"{name}-001"])) for name in servers]
    first = {name: 16 + 12 * number for number, name in enumerate(servers) if number or draw(st.booleans())}
    subnet = drop_none(id=1, cidr="10.48.0.0/25", first=first, gateway=draw(st.sampled_from([None, "10.48.0.126"])))
    document = {
        "name": "random",
        "site": {"domain": "random.example.net"},
        "racks": {
            "rows": {"A": {"id": 1, "racks": 20}},
            "groups": {"all": {"id": 1, "rows": ["A"], "power_kw": 90, "feed_kw": 90}},
        },
        "servers": servers,
        "networks": {
            "business": {"leaf": "generic/linux-32x100g", "nos": "frr", "pool": "10.112.0.0/16", "racks": "all"},
            "oob": {
                "leaf": "generic/linux-48x1g",
                "spine": "generic/linux-32x100g",
                "nos": "frr",
                "racks": "all",
                "pool": "10.124.0.0/14",
            },
        },
        "tenants": {"red": {"id": 1, "servers": named, "subnets": {"front": subnet}}},
    }
    return document, ids[-1]


@st.composite
def additions(draw):
    """Draw (a cluster, the same one with one more group in the subnet, that group's name)."""
    document, number = draw(documents())
    name = draw(st.sampled_from(LATER))
    servers = {**document["servers"], name: draw(groups(number))}
    order = draw(st.permutations(list(servers)))
    named = draw(st.permutations([*document["tenants"]["red"]["servers"], name]))
    return document, change(document, servers={key: servers[key] for key in order}, tenants__red__servers=named), name


@st.composite
def changes(draw):
    """Draw (a cluster, the same one later, what came or grew)."""
    what = draw(st.sampled_from(["group", "count", "planned", "pool", "gateway"]))
    if what == "group":
        return (*draw(additions())[:2], what)
    document, _ = draw(documents())
    if what in {"pool", "gateway"}:
        value = draw(pools() if what == "pool" else places)
        return document, change(document, **{f"tenants__red__subnets__front__{what}": value}), what
    name = draw(st.sampled_from(sorted(document["servers"])))
    group, more = document["servers"][name], draw(st.integers(1, 40))
    grown = {**group, "planned": max(group["count"], group.get("planned", 0)) + more}
    if what == "count":
        grown["count"] = grown["planned"]
    return document, change(document, servers={**document["servers"], name: grown}), what


def plan_of(document):
    cluster = Cluster.model_validate(document)
    plan, findings = build_plan(cluster, catalogue(), None, "digest")
    assert plan is not None, findings
    return plan, [finding for finding in check_plan(plan, cluster, catalogue()) if finding.id in {"SUB003", "SUB004", "SUB005"}]


def addresses(plan):
    return {(s.name, vlan.subnet): vlan.address for s in plan.servers for bond in s.bonds for vlan in bond.vlans}


def moved(old, new):
    before, after = addresses(old), addresses(new)
    return {key: (address, after.get(key)) for key, address in before.items() if after.get(key) != address}


@given(changes())
@QUICK
def test_no_address_moves_and_who_finds_no_place_is_told(changed):
    document, later, what = changed
    (old, _), (new, found) = plan_of(document), plan_of(later)
    assert moved(old, new) == {}
    assert [change for change in compare_plans(old, new).moved_addresses if "bond0" in change.key] == []
    subnet = later["tenants"]["red"]["subnets"]["front"]
    taken = Counter(ip_interface(address).ip for address in addresses(new).values())
    taken[IPv4Address(subnet.get("gateway", "10.48.0.1"))] += 1
    if "pool" in subnet:
        first, last = (int(IPv4Address(subnet["pool"][end])) for end in ("first", "last"))
        taken.update(IPv4Address(number) for number in range(first, last + 1))
    twice = [address for address, times in taken.items() if times > 1]
    beyond = [address for address in taken if int(address) > BASE + 126]
    event(f"{what}: {'told' if found else 'fits'}")
    assert found or not (twice or beyond), (twice, beyond)


@given(additions())
@QUICK
def test_the_place_that_is_named_for_a_group_that_comes_moves_nobody(changed):
    document, later, name = changed
    (old, before), (_, found) = plan_of(document), plan_of(later)
    assume(not before and found)
    offered = [finding.fix.partition(f"first: {{{name}: ")[2].partition("}")[0] for finding in found]
    offered = [place for place in offered if place]
    assume(offered)
    first = {**later["tenants"]["red"]["subnets"]["front"].get("first", {}), name: int(offered[0])}
    mended, left = plan_of(change(later, tenants__red__subnets__front__first=first))
    assert left == []
    assert moved(old, mended) == {}
