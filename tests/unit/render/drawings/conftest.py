"""Plans to draw."""

from pathlib import Path

import pytest

from cluster_model.catalogue.load import load_catalogue
from cluster_model.intent.load import load_cluster
from cluster_model.plan.build import build_plan

ROOT = Path(__file__).parents[4]


@pytest.fixture(scope="session")
def read_plan():
    """Return what plans an example cluster by its name."""

    def read(name):
        loaded = load_cluster(ROOT / "inventory" / name)
        found, findings = build_plan(loaded.cluster, load_catalogue()[0], loaded.facts, loaded.digest)
        assert found is not None, findings
        return found

    return read


@pytest.fixture(scope="session")
def driving(read_plan):
    return read_plan("driving")
