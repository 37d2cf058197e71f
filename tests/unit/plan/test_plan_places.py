"""Where server groups begin in a tenant's subnet."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from intents import plan_of

from cluster_model.intent.model.cluster import Cluster
from cluster_model.plan.tenancy.places import FIRST_PLACE, list_seats, place_groups

LEAF = {"leaf": "generic/linux-32x100g", "nos": "frr", "pool": "10.112.0.0/16"}


def document(groups, servers, subnet):
    """Return an intent with groups of small servers, (id, count, planned) by name, in a tenant's subnet."""
    made = {
        name: {"id": id_, "role": "gateway", "model": "generic/1u", "count": count, "planned": planned, "racks": "all"}
        for name, (id_, count, planned) in groups.items()
    }
    return {
        "name": "places",
        "site": {"domain": "places.example.net"},
        "racks": {
            "rows": {"A": {"id": 1, "racks": 20}},
            "groups": {"all": {"id": 1, "rows": ["A"], "power_kw": 90, "feed_kw": 90}},
        },
        "servers": made,
        "networks": {
            "business": {**LEAF, "racks": "all"},
            "oob": {
                "leaf": "generic/linux-48x1g",
                "spine": "generic/linux-32x100g",
                "nos": "frr",
                "racks": "all",
                "pool": "10.124.0.0/14",
            },
        },
        "tenants": {"red": {"id": 1, "servers": servers, "subnets": {"front": {"id": 1, "cidr": "10.48.0.0/22", **subnet}}}},
    }


def starts(groups, servers, **subnet):
    cluster = Cluster.model_validate(document(groups, servers, subnet))
    return place_groups(cluster, cluster.tenants["red"].subnets["front"], list_seats(cluster, servers))


def addresses(plan):
    return {server.name: vlan.address for server in plan.servers for bond in server.bonds for vlan in bond.vlans}


THREE = {"train": (1, 4, 40), "infer": (2, 2, 8), "store": (7, 3, 3)}


@pytest.mark.parametrize(
    ("servers", "subnet", "places"),
    [
        (["infer"], {}, {"infer": 16}),
        (["train", "infer", "store"], {}, {"train": 16, "infer": 56, "store": 64}),
        (["store", "infer", "train"], {}, {"train": 16, "infer": 56, "store": 64}),  # by id, whatever the order
        (["train", "store"], {}, {"train": 16, "store": 56}),
        # servers that do not meet stay where they were before there were slices
        (["train-001..train-004", "infer-005..infer-006"], {}, {"train": 16, "infer": 16}),
        (["train-001..train-004", "infer-004"], {}, {"train": 16, "infer": 56}),
        (["train", "infer"], {"first": {"train": 200}}, {"train": 200, "infer": 16}),
        (["train", "infer"], {"first": {"infer": 20}}, {"infer": 20, "train": 28}),
        (["train", "infer"], {"gateway": "10.48.0.58"}, {"train": 16, "infer": 59}),
        (["train", "infer"], {"pool": {"first": "10.48.0.60", "last": "10.48.0.99"}}, {"train": 16, "infer": 100}),
    ],
)
def test_groups_have_places_beside_each_other(servers, subnet, places):
    assert starts(THREE, servers, **subnet) == places


def test_the_plan_has_them_and_no_address_twice():
    found = addresses(plan_of(document(THREE, ["store", "infer", "train"], {})))
    assert len(found) == len(set(found.values())) == 9
    assert (found["train-001"], found["infer-001"], found["store-003"]) == ("10.48.0.16/22", "10.48.0.56/22", "10.48.0.66/22")


@st.composite
def several_groups(draw):
    ids = draw(st.lists(st.integers(1, 250), min_size=2, max_size=4, unique=True))
    groups = {}
    for name, id_ in zip("abcd", ids, strict=False):
        planned = draw(st.integers(1, 9))
        groups[f"group-{name}"] = (id_, draw(st.integers(1, planned)), planned)
    return groups


@settings(max_examples=25, deadline=None)
@given(several_groups(), st.randoms(use_true_random=False), st.data())
def test_growth_within_the_plan_changes_no_address(groups, random, data):
    servers = list(groups)
    old = addresses(plan_of(document(groups, servers, {})))
    assert len(set(old.values())) == len(old)
    grown = {name: (id_, data.draw(st.integers(count, planned)), planned) for name, (id_, count, planned) in groups.items()}
    turned = random.sample(list(grown.items()), len(grown))
    new = addresses(plan_of(document(dict(turned), random.sample(servers, len(servers)), {})))
    assert {name: new[name] for name in old} == old
    assert len(set(new.values())) == len(new)
    lowest = min(groups, key=lambda name: groups[name][0])
    assert old[f"{lowest}-001"] == f"10.48.0.{FIRST_PLACE}/22"
