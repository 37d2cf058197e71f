"""Plans to draw."""

from pathlib import Path

import pytest

from tests.planned import open_example

ROOT = Path(__file__).parents[4]


@pytest.fixture(scope="session")
def read_plan():
    """Return what plans an example cluster by its name."""

    def read(name):
        return open_example(name).plan

    return read


@pytest.fixture(scope="session")
def driving(read_plan):
    return read_plan("driving")
