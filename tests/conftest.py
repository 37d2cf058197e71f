"""Options and rules that all tests share."""

import os
import signal
import sys
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling

from tests.forked import Command

ROOT = Path(__file__).resolve().parent.parent

# A shell that starts the tests in the background has them ignore Ctrl-C, and what they start, and interrupt, would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Ansible and its like are installed beside this Python, which need not be the one on the caller's path.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


def pytest_addoption(parser):
    parser.addoption("--slice", default="", help="n/m: run the n-th of m parts of the selected tests")
    parser.addoption("--sonic-yang", default=os.environ.get("GPUYARD_SONIC_YANG", ""), help="folder of SONiC's YANG models")


LONGEST = ("tests/system/test_t", "tests/molecule/", "tests/system/", "tests/docs/", "tests/ibsim/")
"""Tests that start first, longest first: were one of minutes the last, a single worker would run it and the others stand by."""


def name_unit(nodeid):
    """Return what a test is run together with: its file, whose tests share what they boot; a scenario is by itself."""
    return nodeid if nodeid.startswith("tests/molecule/") else nodeid.partition("::")[0]


class UnitScheduling(LoadScopeScheduling):
    """Keeps a unit in one process; with pytest 9.2 the marks that `--dist loadgroup` goes by get lost (xdist 3.8)."""

    def _split_scope(self, nodeid):
        return name_unit(nodeid)


def pytest_xdist_make_scheduler(config, log):
    config.option.loadscopereorder = False  # by the number of tests, which puts a scenario, of one test, at the end
    return UnitScheduling(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Put the longest first, and keep the slice asked for of what the marker expression left: every m-th unit from the n-th."""
    items.sort(key=lambda item: [item.nodeid.startswith(place) for place in LONGEST], reverse=True)
    wanted = config.getoption("--slice")
    if not wanted:
        return
    part, parts = map(int, wanted.split("/"))
    units = list(dict.fromkeys(name_unit(item.nodeid) for item in items))
    chosen = [item for item in items if name_unit(item.nodeid) in units[part - 1 :: parts]]
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen


@pytest.fixture(scope="session")
def collection():
    """Link the checkout to where Ansible looks for gpuyard.cluster, and return the folder of collections."""
    link = ROOT / ".ansible/collections/ansible_collections/gpuyard/cluster"
    link.parent.mkdir(parents=True, exist_ok=True)
    if not link.is_symlink():
        link.symlink_to("../../../..")
    return ROOT / ".ansible/collections"


@pytest.fixture(scope="module")
def command():
    """Return gpuyard, to run in processes of its own with limits."""
    with Command() as loaded:
        yield loaded


@pytest.fixture(autouse=True)
def _from_root(monkeypatch):
    """Paths in outputs are relative to the checkout."""
    monkeypatch.chdir(ROOT)
