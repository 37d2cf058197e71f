import pytest
from gear import Floor

from cluster_model.pipeline import inspect


@pytest.fixture(scope="session")
def lab():
    return inspect(__import__("pathlib").Path(__file__).resolve().parents[3] / "inventory" / "lab").plan


@pytest.fixture
def floor(lab):
    return Floor(lab)
