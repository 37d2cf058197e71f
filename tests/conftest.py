"""Options and rules that all tests share."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

from tests.events import Events
from tests.forked import Command
from tests.locks import PLACES, Holder, find_lock
from tests.slowness import stretch
from tests.tiers import FIXTURE, QuickGuard, is_machine, name_unit

ROOT = Path(__file__).resolve().parent.parent

# A shell that starts the tests in the background has them ignore Ctrl-C, and what they start, and interrupt, would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Ansible and its like are installed beside this Python, which need not be the one on the caller's path.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

# A gate that draws new examples refuses a change for what it did not touch: it takes the same ones every time. `make fuzz` draws.
FUZZ = int(os.environ.get("GPUYARD_FUZZ", "0"))
settings.register_profile("gate", derandomize=not FUZZ, database=None, deadline=None)
settings.load_profile("gate")

GUARD = QuickGuard()
HOLDER = Holder()
DEADLINES_S = {"slow": 3600, "machine": 600, "quick": 120}
"""How long a test may take with what is made ready for it, on an idle machine, by its stage."""


def pytest_addoption(parser):
    parser.addoption("--sonic-yang", default=os.environ.get("GPUYARD_SONIC_YANG", ""), help="folder of SONiC's YANG models")


LONGEST = (
    *("tests/system/test_t", "tests/molecule/", "tests/system/", "tests/kubernetes/", "tests/ceph/", "tests/docs/"),
    "tests/ibsim/",
    "tests/contract/test_gate.py",
    *("tests/roles/test_role_arguments.py", "tests/unit/cli/test_cli_new.py", "tests/roles/test_ansible_lint.py"),
)
"""Tests that start first, longest first: were one of minutes the last, a single worker would run it and the others stand by."""


class UnitScheduling(LoadScopeScheduling):
    """Keeps a unit in one process; with pytest 9.2 the marks that `--dist loadgroup` goes by get lost (xdist 3.8).

    Units that wait for each other anyway are in one process too: the other does something meanwhile.
    """

    def _split_scope(self, nodeid):
        lock = find_lock(nodeid)
        return lock if PLACES.get(lock) == 1 else name_unit(nodeid)


def pytest_xdist_make_scheduler(config, log):
    config.option.loadscopereorder = False  # by the number of tests, which puts a scenario, of one test, at the end
    return UnitScheduling(config, log)


def pytest_configure(config):
    """Write events where run-tests reads them; workers tell this process, and it tells for all."""
    if (path := os.environ.get("GPUYARD_TEST_EVENTS")) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Events(Path(path)))


def pytest_itemcollected(item):
    if is_machine(item):
        item.add_marker("machine")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Give each a deadline, which GPUYARD_FUZZ stretches too; put the longest first; draw more examples where they are drawn."""
    for item in items:
        stage = next((mark for mark in ("slow", "machine") if item.get_closest_marker(mark)), "quick")
        item.add_marker(pytest.mark.timeout(stretch(DEADLINES_S[stage]) * max(1, FUZZ)))
    items.sort(key=lambda item: [item.nodeid.startswith(place) for place in LONGEST], reverse=True)
    for test in {getattr(item, "obj", None) for item in items} if FUZZ else ():
        if drawn := getattr(test, "_hypothesis_internal_use_settings", None):
            test._hypothesis_internal_use_settings = settings(drawn, max_examples=FUZZ * drawn.max_examples)


@pytest.hookimpl(wrapper=True, tryfirst=True)  # around the deadline: who waits for a lock has not begun
def pytest_runtest_protocol(item, nextitem):
    HOLDER.take(find_lock(item.nodeid))
    GUARD.test = "" if item.get_closest_marker("machine") else item.nodeid
    try:
        return (yield)
    finally:
        GUARD.test = ""
        if nextitem is None or name_unit(nextitem.nodeid) != name_unit(item.nodeid):
            HOLDER.take("")


@pytest.hookimpl(wrapper=True)
def pytest_timeout_set_timer(settings):
    """Let the deadline ring again and again: at its end, `with Popen(...)` waits for a process that does not end."""
    done = yield
    signal.setitimer(signal.ITIMER_REAL, settings.timeout, settings.timeout / 10)
    return done


@pytest.fixture(scope="session", name=FIXTURE)
def _machine():
    """Asked for by what starts a daemon, a container, a VM or a namespace by itself, or needs the network; see tests/tiers.py."""


@pytest.fixture(scope="session")
def collection():
    """Let Ansible know the checkout as gpuyard.cluster, and return the folder of collections."""
    subprocess.run([ROOT / "scripts/link-collection"], check=True)
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
