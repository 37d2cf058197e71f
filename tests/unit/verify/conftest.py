import pytest
from gear import Floor

from cluster_model.cli.common import inspect_cluster


@pytest.fixture(scope="session")
def lab():
    return inspect_cluster(__import__("pathlib").Path(__file__).resolve().parents[3] / "inventory" / "lab").plan


@pytest.fixture
def floor(lab):
    return Floor(lab)
