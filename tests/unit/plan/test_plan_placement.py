"""Where everything stands: servers from the bottom, switches from the top."""

from collections import Counter

import pytest
from intents import STORAGE, plan_of, small


def places(plan, prefix):
    return [(device.name, device.rack, device.u) for device in [*plan.servers, *plan.switches] if device.name.startswith(prefix)]


def test_servers_fill_racks_from_the_bottom_one_after_the_other():
    assert places(plan_of(small()), "gpu-")[:5] == [
        ("gpu-001", "A01", 1),
        ("gpu-002", "A01", 9),
        ("gpu-003", "A01", 17),
        ("gpu-004", "A01", 25),
        ("gpu-005", "A02", 1),
    ]


def test_without_a_number_per_rack_servers_are_dealt_over_all_racks():
    plan = plan_of(small(servers__gpu__per_rack=None, servers__gpu__count=10))
    assert Counter(server.rack for server in plan.servers) == {f"A0{i}": 2 if i < 3 else 1 for i in range(1, 9)}


def test_switches_fill_racks_from_the_top_neighbours_in_different_racks():
    plan = plan_of(small())
    leafs = [(s.rack, s.u) for s in plan.switches if s.network == "compute" and s.role == "leaf"]
    assert [rack for rack, _ in leafs[:5]] == ["N01", "N02", "N03", "N04", "N01"]
    assert leafs[0] == ("N01", 46) and leafs[4] == ("N01", 44)  # U48 is kept for the rack's out-of-band leaf


def test_leafs_stand_among_the_servers_of_their_unit_where_they_share_a_rack_group():
    plan = plan_of(small(networks__compute__racks={"leaf": "gpu", "spine": "network"}, networks__compute__rails_per_leaf=2))
    for switch in plan.switches:
        if switch.network == "compute":
            assert switch.rack == (f"A0{switch.unit}" if switch.role == "leaf" else switch.rack)
            assert (switch.rack[0] == "A") == (switch.role == "leaf")


def test_servers_put_by_hand_keep_their_place_and_their_neighbours_theirs():
    by_rule = {name: (rack, u) for name, rack, u in places(plan_of(small()), "gpu-")}
    by_hand = small(servers__gpu__place=[{"number": 2, "rack": "A08", "u": 11, "reason": "a test"}])
    found = {name: (rack, u) for name, rack, u in places(plan_of(by_hand), "gpu-")}
    assert found.pop("gpu-002") == ("A08", 11)
    by_rule.pop("gpu-002")
    assert found == by_rule


def test_blocked_racks_stay_empty_and_are_told():
    blocked = {"A01": {"reason": "a pillar", "blocked": True}, "N02": {"reason": "foreign", "blocked": True}}
    plan = plan_of(small(racks__exceptions=blocked))
    assert not {device.rack for device in [*plan.servers, *plan.switches]} & {"A01", "N02"}
    assert {(rack.name, rack.reason) for rack in plan.racks if rack.blocked} == {("A01", "a pillar"), ("N02", "foreign")}


def test_a_lower_rack_takes_what_fits():
    plan = plan_of(small(racks__exceptions={"A01": {"reason": "a beam", "height_u": 20}}))
    assert Counter(server.rack for server in plan.servers) == {"A01": 2, "A02": 4, "A03": 2}


@pytest.mark.parametrize("count", [1, 3, 8])
def test_what_is_planned_keeps_its_place_while_it_is_not_built(count):
    whole = {name: (rack, u) for name, rack, u in places(plan_of(small(servers__gpu__planned=20)), "")}
    part = {name: (rack, u) for name, rack, u in places(plan_of(small(servers__gpu__planned=20, servers__gpu__count=count)), "")}
    assert part.items() <= whole.items()


def test_two_groups_share_racks_by_their_ids_whatever_their_order_in_the_file():
    store = {"id": 2, "model": "generic/2u-24nvme", "role": "storage", "count": 3, "racks": "gpu"}
    document = small(servers__store=store, networks__storage=STORAGE)
    turned = {**document, "servers": dict(reversed(document["servers"].items()))}
    assert plan_of(document) == plan_of(turned)
    assert places(plan_of(document), "store-") == [("store-001", "A01", 33), ("store-002", "A02", 33), ("store-003", "A03", 1)]
