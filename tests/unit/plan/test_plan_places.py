"""Where servers stand in a tenant's subnet."""

import pytest
from intents import plan_of

from cluster_model.intent.model.cluster import Cluster
from cluster_model.plan.tenancy.places import list_seats

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


def addresses(groups, servers, **subnet):
    """Return the first address of each group that the plan has."""
    plan = plan_of(document(groups, servers, subnet))
    found = {}
    for server in plan.servers:
        for vlan in server.bonds[0].vlans:
            found.setdefault(server.group, vlan.address)
    return found


THREE = {"train": (1, 4, 40), "infer": (2, 2, 8), "store": (7, 3, 3)}


@pytest.mark.parametrize(
    ("servers", "subnet", "first"),
    [
        (["infer"], {}, {"infer": "10.48.0.16/22"}),
        (["train", "infer"], {}, {"train": "10.48.0.16/22", "infer": "10.48.0.16/22"}),  # SUB004 refuses it: nobody makes way
        (["train", "infer"], {"first": {"infer": 56}}, {"train": "10.48.0.16/22", "infer": "10.48.0.56/22"}),
        (["train", "infer"], {"first": {"train": 300}}, {"train": "10.48.1.44/22", "infer": "10.48.0.16/22"}),
        (["infer-002"], {"first": {"infer": 100}}, {"infer": "10.48.0.101/22"}),  # server 2, whoever is there of the others
        (["infer"], {"gateway": "10.48.0.16"}, {"infer": "10.48.0.16/22"}),
        (["infer"], {"pool": {"first": "10.48.0.10", "last": "10.48.0.99"}}, {"infer": "10.48.0.16/22"}),
    ],
)
def test_a_server_stands_where_first_and_its_number_say(servers, subnet, first):
    assert addresses(THREE, servers, **subnet) == first


def test_seats_are_those_planned_of_a_whole_group_and_those_named_of_a_slice():
    cluster = Cluster.model_validate(document(THREE, ["infer"], {}))
    assert list_seats(cluster, ["store", "infer-003..infer-004"]) == [
        ("infer", 3),
        ("infer", 4),
        ("store", 1),
        ("store", 2),
        ("store", 3),
    ]
    assert [number for _, number in list_seats(cluster, ["infer"])] == list(range(1, 9))
    assert list_seats(cluster, ["nobody"]) == []
