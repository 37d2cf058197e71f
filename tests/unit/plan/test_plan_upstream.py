"""The out-of-band network's way out: the last free cage of the switch named, and a default route."""

import pytest
from intents import plan_of, small, vary_example

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
