"""What later phases bring, and servers put elsewhere. The law for random clusters is tests/property/test_phases.py."""

import pytest
from intents import STORAGE, catalogue, plan_of, small

from cluster_model.intent.model.cluster import Cluster
from cluster_model.intent.phases import as_of, count_phases, order_servers, sort_groups
from cluster_model.plan.build import build_plan
from cluster_model.plan.compare.plans import compare_plans

NETWORK_ROW = "racks__rows__N__racks"


def moved(old, new):
    """Return what a person would have to move: devices, cables and addresses of what stands."""
    found = compare_plans(old, new)
    devices = [(change.action, change.name) for change in found.devices if change.action != "add"]
    return devices + [(change.action, change.near) for change in found.cables if change.action != "add"] + found.moved_addresses


def stored(**values):
    return small(networks__storage=STORAGE, **values)


def test_a_rack_that_comes_later_moves_nothing_and_a_longer_row_does():
    old = plan_of(stored())
    racks = small()["racks"]["rows"]["N"]["racks"]
    assert moved(old, plan_of(stored(**{NETWORK_ROW: [racks, 1]}))) == []
    assert moved(old, plan_of(stored(**{NETWORK_ROW: racks + 1}))) != []


def test_a_row_that_comes_later_moves_nothing_whatever_its_id_and_size():
    rows, groups = small()["racks"]["rows"], small()["racks"]["groups"]
    free = next(number for number in range(1, 250) if number not in {row["id"] for row in rows.values()})
    wide = {**rows, "B": {"id": free, "racks": [0, 16]}}
    listed = {**groups, "network": {**groups["network"], "rows": ["B", *groups["network"]["rows"]]}}
    assert moved(plan_of(stored()), plan_of(stored(racks__rows=wide, racks__groups=listed))) == []


def test_servers_of_a_later_phase_stand_in_its_racks_first_and_are_numbered_on():
    rows = small()["racks"]["rows"]
    count = small()["servers"]["gpu"]["count"]
    grown = plan_of(
        stored(
            racks__rows={**rows, "A": {**rows["A"], "racks": [rows["A"]["racks"], 2]}},
            servers__gpu__planned=[count, 8],
            servers__gpu__count=count + 8,
        )
    )
    later = [server for server in grown.servers if server.group == "gpu" and server.number > count]
    assert {server.rack for server in later} == {f"A{rows['A']['racks'] + 1:02d}", f"A{rows['A']['racks'] + 2:02d}"}
    assert [server.number for server in later] == list(range(count + 1, count + 9))


def test_what_a_phase_has_no_room_for_is_told_and_stands_with_the_next():
    rows = small()["racks"]["rows"]
    document = small(racks__rows={**rows, "A": {**rows["A"], "racks": [1, rows["A"]["racks"]]}})
    plan, findings = build_plan(Cluster.model_validate(document), catalogue())
    assert plan is not None
    told = [finding for finding in findings if finding.id == "PLC001"]
    assert [finding.severity for finding in told] == ["warning"] and told[0].summary.startswith("in phase 1, ")


def test_a_cluster_is_cut_back_to_a_phase():
    cluster = Cluster.model_validate(
        small(
            **{NETWORK_ROW: [4, 0, 2]},
            servers__gpu__planned=[4, 4],
            servers__gpu__count=5,
            servers__more={"id": 1, "model": "generic/1u", "role": "login", "count": 2, "planned": [0, 0, 2], "racks": "network"},
            servers__gpu__id=9,
        )
    )
    assert count_phases(cluster) == 3
    first, second = as_of(cluster, 1), as_of(cluster, 2)
    assert [first.racks.rows["N"].final_racks, second.racks.rows["N"].final_racks, cluster.racks.rows["N"].final_racks] == [
        4,
        4,
        6,
    ]
    assert "more" not in second.servers and (first.servers["gpu"].count, second.servers["gpu"].count) == (4, 5)
    assert sort_groups(cluster)[-1] == "more"
    assert order_servers(cluster, ["more", "gpu"])[-3:] == [("gpu", 8), ("more", 1), ("more", 2)]


@pytest.mark.parametrize("per_rack", [4, None])
def test_a_server_put_elsewhere_keeps_the_ports_of_all_others(per_rack):
    old = plan_of(stored(servers__gpu__per_rack=per_rack))
    put = [{"number": 2, "rack": "A08", "u": 33, "reason": "a beam"}]
    new = plan_of(stored(servers__gpu__per_rack=per_rack, servers__gpu__place=put))
    found = compare_plans(old, new)
    assert {change.name for change in found.devices if change.kind == "server"} == {"gpu-002"}
    assert {change.near.partition(":")[0] for change in found.cables if change.action in {"move", "remove"}} == {"gpu-002"}
    assert {change.subject.partition(" ")[0].partition(":")[0] for change in found.moved_addresses} == {"gpu-002"}
