"""Growing within the plan moves nothing; what growing beyond it moves is told, cable by cable."""

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from stability import compare_growth
from strategies import change, clusters, plan_of

from cluster_model.plan.compare.plans import compare_plans

QUICK = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@st.composite
def growing_clusters(draw, *, most=16):
    """Draw (a cluster, the same one with more of what is planned built)."""
    document = draw(clusters(most=most))
    grown = document
    for name, group in document["servers"].items():
        if group.get("planned", 0) > group["count"]:
            count = draw(st.integers(group["count"], group["planned"]))
            grown = change(grown, **{f"servers__{name}__count": count})
    return document, grown


@st.composite
def outgrowing_clusters(draw, *, most=10):
    """Draw (a cluster, the same one planned and built larger)."""
    document = draw(clusters(most=most))
    grown = document
    for name, group in document["servers"].items():
        more = draw(st.sampled_from([0, 1, 4, 12]))
        grown = change(
            grown,
            **{
                f"servers__{name}__unit": group.get("unit", group.get("planned", group["count"])),
                f"servers__{name}__count": group["count"] + more,
                f"servers__{name}__planned": group.get("planned", group["count"]) + more,
            },
        )
        if group["model"] == "nvidia/ufm-3.1" or "unit" not in group:
            del grown["servers"][name]["unit"]
    return document, grown


def hold_growth(pair):
    document, grown = pair
    old, _ = plan_of(document)
    new, findings = plan_of(grown)
    if old is None:
        return
    assert new is not None, findings
    assert compare_growth(old, new) == []


@given(growing_clusters())
@QUICK
def test_growing_within_the_plan_changes_nothing_that_stood(pair):
    hold_growth(pair)


@pytest.mark.slow
@given(growing_clusters(most=60))
@settings(QUICK, max_examples=400)
def test_growing_larger_clusters_within_the_plan_changes_nothing_that_stood(pair):
    hold_growth(pair)


@given(growing_clusters())
@settings(QUICK, max_examples=30)
def test_growing_within_the_plan_is_told_as_additions_only(pair):
    document, grown = pair
    old, _ = plan_of(document)
    new, _ = plan_of(grown)
    assume(old is not None and new is not None)
    found = compare_plans(old, new)
    assert {change.action for change in found.devices} <= {"add"}
    assert {change.action for change in found.cables} <= {"add"}
    assert found.addresses == found.moved_addresses == []


@given(outgrowing_clusters())
@settings(QUICK, max_examples=40)
def test_growing_beyond_the_plan_tells_every_cable_that_moves(pair):
    document, grown = pair
    old, _ = plan_of(document)
    new, _ = plan_of(grown)
    assume(old is not None and new is not None)
    found = compare_plans(old, new)
    names = {device.old: device.new for device in found.devices if device.action == "rename"}
    ends = {f"{names.get(c.a, c.a)}:{c.a_port}": f"{names.get(c.b, c.b)}:{c.b_port}" for c in old.cables}
    media = {f"{names.get(c.a, c.a)}:{c.a_port}": (c.medium, c.length_m) for c in old.cables}
    for cable in found.cables:
        if cable.action == "remove":
            assert ends.pop(cable.near) == cable.old
            media.pop(cable.near)
        elif cable.action == "add":
            assert cable.near not in ends
            ends[cable.near], media[cable.near] = cable.new, (cable.medium, cable.length_m)
        elif cable.action == "move":
            assert ends[cable.near] == cable.old != cable.new
            ends[cable.near], media[cable.near] = cable.new, (cable.medium, cable.length_m)
        else:
            assert cable.action == "replace"
            media[cable.near] = (cable.medium, cable.length_m)
    assert ends == {cable.label: f"{cable.b}:{cable.b_port}" for cable in new.cables}
    assert media == {cable.label: (cable.medium, cable.length_m) for cable in new.cables}
    places = {d.name: (d.rack, getattr(d, "u", d.name)) for d in [*new.servers, *new.switches, *new.pdus]}
    assert {device.name for device in found.devices if device.action in {"add", "move"}} <= set(places)


def list_addresses(plan):
    """Return by device and what has it: all addresses that are known to others."""
    found = {}
    for server in plan.servers:
        found |= {(server.name, port.name): port.address for port in server.ports}
        found |= {(server.name, service.network, service.purpose): service.address for service in server.services}
    for device in (*plan.servers, *plan.switches, *plan.pdus):
        management = getattr(device, "bmc", None) or getattr(device, "management", None)
        found[device.name, "management"] = management.address if management else ""
    return found | {(switch.name, "loopback"): switch.loopback for switch in plan.switches}


@given(outgrowing_clusters())
@settings(QUICK, max_examples=40)
def test_growing_beyond_the_plan_tells_every_address_that_moves(pair):
    document, grown = pair
    old, _ = plan_of(document)
    new, _ = plan_of(grown)
    assume(old is not None and new is not None)
    before, after = list_addresses(old), list_addresses(new)
    found = compare_plans(old, new)
    names = {device.old: device.new for device in found.devices if device.action == "rename"}
    moved = [
        (address, after[names.get(key[0], key[0]), *key[1:]])
        for key, address in before.items()
        if address and after.get((names.get(key[0], key[0]), *key[1:]), address) not in {address, ""}
    ]
    told = [(change.old, change.new) for change in found.moved_addresses if change.subject != "boot servers"]
    assert sorted(told) == sorted(moved)


@given(clusters(most=8), st.integers(1, 20))
@settings(QUICK, max_examples=30)
def test_a_later_group_in_racks_of_its_own_without_fabric_ports_changes_nothing_that_stood(document, count):
    old, _ = plan_of(document)
    assume(old is not None)
    more = change(
        document,
        racks__rows={**document["racks"]["rows"], "Z": {"id": 10, "racks": 2}},
        racks__groups={
            **document["racks"]["groups"],
            "later": {"id": 9, "rows": ["Z"], "height_u": 42, "power_kw": 20, "feed_kw": 20},
        },
    )
    more["servers"]["later"] = {
        "id": next(number for number in range(250, 0, -1) if all(g["id"] != number for g in document["servers"].values())),
        "model": "generic/1u",
        "role": "login",
        "count": count,
        "racks": "later",
        "nics": {"storage": [], "business": []},
    }
    new, findings = plan_of(more)
    assert new is not None, findings
    shapes = [(oob.tiers, oob.pods, oob.spines_per_pod, oob.cores_per_group) for oob in (old.network("oob"), new.network("oob"))]
    assume(shapes[0] == shapes[1])  # more racks may need a larger out-of-band fabric
    assert [lost for lost in compare_growth(old, new) if lost[1] != "oob.planned_units"] == []


@given(clusters(most=8))
@settings(QUICK, max_examples=20)
def test_the_order_of_groups_in_the_file_does_not_matter(document):
    old, _ = plan_of(document)
    assume(old is not None)
    turned = change(document)
    turned["servers"] = dict(reversed(document["servers"].items()))
    turned["racks"]["rows"] = dict(reversed(document["racks"]["rows"].items()))
    turned["racks"]["groups"] = dict(reversed(document["racks"]["groups"].items()))
    assert plan_of(turned)[0] == old
