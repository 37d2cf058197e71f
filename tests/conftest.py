"""Options and rules that all tests share."""

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# Ansible and its like are installed beside this Python, which need not be the one on the caller's path.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


def pytest_addoption(parser):
    parser.addoption("--slice", default="", help="n/m: run the n-th of m parts of the selected tests")
    parser.addoption("--sonic-yang", default=os.environ.get("GPUYARD_SONIC_YANG", ""), help="folder of SONiC's YANG models")


def pytest_itemcollected(item):
    """Keep tests that share a fixture of their module in one process: what it boots is booted once."""
    module = item.nodeid.partition("::")[0]
    definitions = (found[-1] for found in item._fixtureinfo.name2fixturedefs.values())
    if any(found.scope == "module" or (found.scope == "session" and found.baseid == module) for found in definitions):
        item.add_marker(pytest.mark.xdist_group(module))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Keep the slice asked for, out of what the marker expression left: every m-th unit from the n-th on.

    A unit is one test, or the tests of a module that share what it boots.
    """
    wanted = config.getoption("--slice")
    if not wanted:
        return
    part, parts = map(int, wanted.split("/"))
    units = [getattr(item.get_closest_marker("xdist_group"), "args", (item.nodeid,))[0] for item in items]
    chosen = set(list(dict.fromkeys(units))[part - 1 :: parts])
    config.hook.pytest_deselected(items=[item for item, unit in zip(items, units, strict=True) if unit not in chosen])
    items[:] = [item for item, unit in zip(items, units, strict=True) if unit in chosen]


@pytest.fixture(scope="session")
def collection():
    """Link the checkout to where Ansible looks for gpuyard.cluster, and return the folder of collections."""
    link = ROOT / ".ansible/collections/ansible_collections/gpuyard/cluster"
    link.parent.mkdir(parents=True, exist_ok=True)
    if not link.is_symlink():
        link.symlink_to("../../../..")
    return ROOT / ".ansible/collections"


@pytest.fixture(autouse=True)
def _from_root(monkeypatch):
    """Paths in outputs are relative to the checkout."""
    monkeypatch.chdir(ROOT)
