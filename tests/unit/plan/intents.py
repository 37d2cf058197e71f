"""Intents for the plan's tests: a small cluster to vary, and the examples."""

import copy
import functools
from pathlib import Path

from cluster_model.catalogue.load import load_catalogue
from cluster_model.intent.load import load_cluster
from cluster_model.intent.model.cluster import Cluster
from cluster_model.intent.references.agreement import check_references
from cluster_model.plan.build import build_plan
from tests.planned import open_example

ROOT = Path(__file__).resolve().parents[3]

SMALL = {
    "name": "small",
    "site": {"domain": "small.example.net"},
    "racks": {
        "rows": {"A": {"id": 1, "racks": 8}, "N": {"id": 2, "racks": 4}},
        "groups": {
            "gpu": {"id": 1, "rows": ["A"], "height_u": 48, "power_kw": 60, "feed_kw": 60},
            "network": {"id": 2, "rows": ["N"], "height_u": 48, "power_kw": 40, "feed_kw": 40},
        },
    },
    "servers": {"gpu": {"id": 1, "model": "nvidia/dgx-h100", "count": 8, "unit": 4, "racks": "gpu", "per_rack": 4}},
    "networks": {
        "compute": {"technology": "roce", "leaf": "nvidia/sn5600", "nos": "sonic", "pool": "10.64.0.0/12"},
        "oob": {"leaf": "nvidia/sn2201", "spine": "nvidia/sn3700c", "nos": "sonic", "pool": "10.124.0.0/14"},
    },
}
STORAGE = {"technology": "tcp", "leaf": "nvidia/sn4700", "nos": "sonic", "pool": "10.96.0.0/12"}


@functools.cache
def catalogue():
    return load_catalogue()[0]


def small(**values):
    """Return a copy of the small intent with values changed by path, e.g. `servers__gpu__count=3`."""
    return change(SMALL, **values)


def change(document, **values):
    """Return a copy of a document with values set by path; None takes a key away."""
    document = copy.deepcopy(document)
    for path, value in values.items():
        *parts, last = path.split("__")
        place = document
        for part in parts:
            place = place.setdefault(part, {})
        if value is None:
            place.pop(last, None)
        else:
            place[last] = value
    return document


def read(document):
    cluster = Cluster.model_validate(document)
    assert check_references(cluster) == []
    return cluster


def plan_of(document):
    """Return the plan of a document; it must have one."""
    plan, findings = build_plan(read(document), catalogue(), None, "digest")
    assert plan is not None, findings
    return plan


def findings_of(document):
    """Return the findings of a document."""
    return build_plan(read(document), catalogue(), None, "digest")[1]


def load_example(name):
    """Return an example's intent as it is."""
    loaded = load_cluster(ROOT / "inventory" / name)
    assert loaded.cluster is not None and not loaded.findings
    return loaded


def vary_example(name, **values):
    """Return an example as a document with values changed by path."""
    return change(load_example(name).cluster.model_dump(exclude_unset=True, mode="json"), **values)


def plan_example(name):
    """Return an example's plan."""
    return open_example(name).plan
