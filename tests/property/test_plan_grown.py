"""The plan of what is planned holds the plan of what is built, on every cluster that is here: drawings and bills rely on it."""

from collections import Counter
from pathlib import Path

import pytest
from stability import compare_growth

from cluster_model.plan.build import build_plan
from cluster_model.plan.growth import compare_bills, grow, plan_grown
from tests.planned import open_folder

ROOT = Path(__file__).resolve().parents[2]
CLUSTERS = sorted(
    [
        *(path.parent for path in ROOT.glob("inventory/*/cluster.yml")),
        *(path.parent for path in ROOT.glob("tests/golden/switches/*/cluster.yml")),
        *ROOT.glob("tests/errors/bases/*.yml"),
    ]
)
MORE = (1, 5)


def plan_more(cluster, name, more):
    """Return the intent with servers of a group planned beyond what it has."""
    group = cluster.servers[name]
    group = group.model_copy(update={"planned": group.final_count + more})
    return cluster.model_copy(update={"servers": {**cluster.servers, name: group}})


def list_growing():
    """Yield (where, opened, intent): each cluster as it is where more is planned, and each of its groups planned larger."""
    for path in CLUSTERS:
        opened = open_folder(path)
        yield path, opened, opened.cluster
        for name in opened.cluster.servers:
            for more in MORE:
                yield f"{path} {name} + {more}", opened, plan_more(opened.cluster, name, more)


@pytest.fixture(scope="module")
def pairs():
    """Return (where, plan, grown plan) of every cluster that has room for what is planned."""
    found = []
    for where, opened, cluster in list_growing():
        built, _ = build_plan(cluster, opened.catalogue, opened.loaded.facts)
        grown = plan_grown(cluster, opened.catalogue, opened.loaded.facts)
        assert built is not None or grown is None, where
        if built is not None and grow(cluster) is not None:
            assert grown is not None, where
            found.append((where, built, grown))
    assert len(found) > 40
    return found


def test_what_is_built_stands_in_it_as_it_stood(pairs):
    for where, built, grown in pairs:
        assert compare_growth(built, grown) == [], where


def test_what_is_bought_makes_one_bill_of_the_other(pairs):
    for where, built, grown in pairs:
        bill = Counter({(line.kind, line.item, line.length_m): line.count for line in built.bom})
        for change in compare_bills(built, grown):
            assert change.to_buy >= 0 and change.freed >= 0 and change.to_buy != change.freed, where
            bill[change.kind, change.item, change.length_m] += change.to_buy - change.freed
        assert +bill == Counter({(line.kind, line.item, line.length_m): line.count for line in grown.bom}), where


def test_servers_are_bought_as_many_as_are_planned_more(pairs):
    for where, built, grown in pairs:
        bought = sum(change.to_buy for change in compare_bills(built, grown) if change.kind == "server")
        assert bought == len(grown.servers) - len(built.servers) > 0, where
