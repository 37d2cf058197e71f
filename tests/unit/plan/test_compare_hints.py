"""Hints of a comparison: what they offer, and that one is given only where it helps."""

import pytest
from intents import STORAGE, plan_of, read, small

from cluster_model.plan.compare.hints import apply_hints, choose_hints, list_hints
from cluster_model.plan.compare.moves import weigh
from cluster_model.plan.compare.plans import Comparison, compare_plans

ROWS = small()["racks"]["rows"]
GROUPS = small()["racks"]["groups"]
GPU = small()["servers"]["gpu"]


def floor(groups=None, **rows):
    """Return an intent with these rows, by default all of the gpu servers' group but N."""
    listed = {name: {"id": number, "racks": racks} for number, (name, racks) in enumerate({"N": 4, **rows}.items(), 1)}
    named = groups or {"gpu": [name for name in sorted(listed) if name != "N"], "network": ["N"]}
    kinds = {name: {**GROUPS["gpu"], "id": number, "rows": names} for number, (name, names) in enumerate(named.items(), 1)}
    return small(racks__rows=listed, racks__groups=kinds)


def serve(count=8, **groups):
    """Return an intent with these planned numbers of server groups."""
    gpu = {**GPU, "count": count}
    made = {name: {**gpu, "id": number, "planned": planned} for number, (name, planned) in enumerate(groups.items(), 1)}
    made = {name: {**group, "role": "gpu"} for name, group in made.items()}
    return small(servers={name: {key: value for key, value in made[name].items() if value is not None} for name in made})


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (floor(A=8), floor(A=9), ["racks.rows.A.racks: write [8, 1] instead of 9"]),
        (floor(A=8), floor(A=[9]), ["racks.rows.A.racks: write [8, 1] instead of [9]"]),
        (floor(A=[8, 1]), floor(A=12), ["racks.rows.A.racks: write [8, 1, 3] instead of 12"]),
        (floor(A=8), floor(A=8, P=8), ["racks.rows.P.racks: write [0, 8] instead of 8"]),
        (floor(A=4, B=[8, 1]), floor(A=6, B=[8, 1]), ["racks.rows.A.racks: write [4, 0, 2] instead of 6"]),
        (floor(A=8), floor(A=[8, 1]), []),
        (floor(A=8), floor(A=8, P=[0, 8]), []),
        (floor(A=8), floor(A=7), []),
        (floor(A=8), floor({"gpu": ["A"], "network": ["N"], "own": ["P"]}, A=8, P=4), []),
        (serve(gpu=64), serve(gpu=72), ["servers.gpu.planned: write [64, 8] instead of 72"]),
        (serve(gpu=[64, 8]), serve(gpu=[64, 16]), ["servers.gpu.planned: write [64, 8, 8] instead of [64, 16]"]),
        (serve(gpu=None), serve(count=12, gpu=None), ["servers.gpu.planned: write [8, 4]"]),
        (serve(gpu=64), serve(gpu=64, more=8), ["servers.more.planned: write [0, 8] instead of 8"]),
        (serve(gpu=64), serve(gpu=[64, 8]), []),
        (serve(gpu=64), serve(gpu=48), []),
        (serve(gpu=list(range(20))), serve(gpu=[*range(19), 20]), []),
    ],
)
def test_what_grew_can_come_in_a_later_phase(old, new, told):
    assert [str(hint) for hint in list_hints(read(old), read(new))] == told


def test_a_phase_of_rows_is_one_of_servers_too():
    old = small(servers__gpu__planned=[8, 8])
    new = small(servers__gpu__planned=[8, 8], racks__rows__A__racks=9)
    assert [hint.wanted for hint in list_hints(read(old), read(new))] == [(8, 0, 1)]


def advise(old, new):
    """Return the chosen hints and what changes with them, each tried by planning it."""
    before, cluster = plan_of(old), read(new)

    def try_out(hints):
        tried.append(len(hints))
        hinted = apply_hints(cluster, hints)
        return compare_plans(before, plan_of(hinted.model_dump(exclude_unset=True, mode="json")))

    tried = []
    found = compare_plans(before, plan_of(new))
    return choose_hints(list_hints(read(old), cluster), found, try_out), found, tried


def stored(**values):
    return small(networks__storage=STORAGE, **values)


def test_a_hint_that_keeps_all_in_place_is_given():
    chosen, found, _ = advise(stored(), stored(racks__rows__N__racks=5))
    assert weigh(found) > 0
    assert ([str(hint) for hint in chosen[0]], weigh(chosen[1])) == (["racks.rows.N.racks: write [4, 1] instead of 5"], 0)


def test_servers_that_are_planned_on_are_one_too():
    chosen, found, _ = advise(stored(), stored(servers__gpu__planned=16))
    assert weigh(chosen[1]) < weigh(found)
    assert "servers.gpu.planned: write [8, 8] instead of 16" in map(str, chosen[0])


def test_a_hint_that_helps_in_part_is_given():
    """Another pool moves addresses all the same, and the cables stay."""
    chosen, found, _ = advise(small(), small(networks__compute__pool="10.80.0.0/12", servers__gpu__planned=12))
    assert 0 < weigh(chosen[1]) < weigh(found)
    assert not chosen[1].cables and chosen[1].moved_addresses


def test_a_hint_that_does_not_help_is_not_given():
    """Another number of rails for a leaf moves all the cables that more servers do, whenever these come."""
    chosen, found, tried = advise(small(), small(networks__compute__rails_per_leaf=2, servers__gpu__planned=12))
    assert (chosen, tried) == (None, [1])
    assert weigh(found) > 0


def test_only_hints_that_help_are_told():
    hints = list_hints(read(small()), read(small(racks__rows__A__racks=9, servers__gpu__planned=16)))
    assert [hint.part for hint in hints] == ["rows", "servers"]
    plan = plan_of(small())
    much = compare_plans(plan, plan_of(small(networks__compute__pool="10.80.0.0/12")))
    assert weigh(much) > 0
    results = {("rows",): Comparison(), ("servers",): much, ("rows", "servers"): Comparison()}
    chosen = choose_hints(hints, much, lambda way: results[tuple(hint.part for hint in way)])
    assert [hint.part for hint in chosen[0]] == ["rows"], "the hint for servers would add nothing"
    assert choose_hints(hints, much, lambda way: None) is None
    assert choose_hints(hints, much, lambda way: much) is None
    assert choose_hints(hints, Comparison(), lambda way: pytest.fail("nothing moves, so nothing is tried")) is None
