"""Options and rules that all tests share."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def pytest_addoption(parser):
    parser.addoption("--slice", default="", help="n/m: run the n-th of m parts of the selected tests")
    parser.addoption("--sonic-yang", default=os.environ.get("GPUYARD_SONIC_YANG", ""), help="folder of SONiC's YANG models")


def pytest_collection_modifyitems(config, items):
    """Keep the slice asked for; tests of one file stay together."""
    wanted = config.getoption("--slice")
    if not wanted:
        return
    part, parts = map(int, wanted.split("/"))
    files = sorted({item.fspath for item in items})
    mine = {file for index, file in enumerate(files) if index % parts == part - 1}
    config.hook.pytest_deselected(items=[item for item in items if item.fspath not in mine])
    items[:] = [item for item in items if item.fspath in mine]


@pytest.fixture(autouse=True)
def _from_root(monkeypatch):
    """Paths in outputs are relative to the checkout."""
    monkeypatch.chdir(ROOT)
