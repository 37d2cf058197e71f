"""What is planned beyond what is built, and what it takes."""

from dataclasses import replace

from intents import catalogue, plan_of, read, small

from cluster_model.plan.growth import BomChange, compare_bills, grow, plan_grown
from cluster_model.plan.model import BomLine


def test_nothing_grows_where_all_that_is_planned_is_built():
    assert grow(read(small())) is None
    assert grow(read(small(servers__gpu__planned=8))) is None
    assert plan_grown(read(small()), catalogue()) is None


def test_every_group_grows_to_its_final_count_and_the_intent_stays():
    login = {"id": 2, "model": "generic/1u", "count": 2, "racks": "network"}
    cluster = read(small(servers__gpu__planned=12, servers__login=login))
    grown = grow(cluster)
    assert {name: group.count for name, group in grown.servers.items()} == {"gpu": 12, "login": 2}
    assert list(grown.servers) == list(cluster.servers)
    assert cluster.servers["gpu"].count == 8


def test_the_grown_plan_has_all_that_is_planned():
    document = small(servers__gpu__planned=12)
    grown = plan_grown(read(document), catalogue(), None, "digest")
    assert grown == plan_of(small(servers__gpu__planned=12, servers__gpu__count=12))
    assert [len(grown.servers), len(plan_of(document).servers)] == [12, 8]


def test_what_a_bill_has_no_longer_is_told_as_freed():
    plan = plan_of(small())
    server = BomLine("server", "a/b", 0.0, 2)
    built = replace(plan, bom=(server, BomLine("fibre", "om4", 5.0, 3), BomLine("fibre", "om4", 7.0, 4)))
    grown = replace(plan, bom=(server, BomLine("fibre", "om4", 7.0, 3), BomLine("fibre", "om4", 9.0, 6)))
    changes = compare_bills(built, grown)
    assert changes == (
        BomChange("fibre", "om4", 7.0, 4, 3),
        BomChange("fibre", "om4", 9.0, 0, 6),
        BomChange("fibre", "om4", 5.0, 3, 0),
    )
    assert [(change.to_buy, change.freed) for change in changes] == [(0, 1), (6, 0), (0, 3)]
