"""What forbids to exchange the drive of an OSD, word for word."""

import importlib
import sys

import pytest

FSID, OTHER = "dcf9adda-ceef-58bf-8f2c-82fb91b70d95", "11111111-2222-4333-8444-555555555555"
UP = {"number": 7, "uuid": "u7", "up": True, "in": True, "new": False}
DOWN, NEW = UP | {"up": False}, UP | {"up": False, "new": True}
FOUND = {"fsid": FSID, "host": "storage-001", "drive": "S1", "dead": False, "osds": [UP], "destroyed": False}
ABOUT = {"fsid": FSID, "number": "7", "drive": "drain", "found": FOUND, "silent": [], "run": ["storage-001", "storage-002"]}


@pytest.fixture
def judge(collection, monkeypatch):
    """Return a function that judges an OSD, with what is otherwise of the run and of what the cluster said."""
    monkeypatch.syspath_prepend(str(collection))
    module = importlib.import_module("ansible_collections.gpuyard.cluster.plugins.filter.ceph_osd_replace_wrong")

    def judge(about, found):
        return module.FilterModule().filters()["ceph_osd_replace_wrong"](ABOUT | {"found": FOUND | found} | about)

    yield judge
    for name in [name for name in sys.modules if name.startswith("ansible_collections")]:
        del sys.modules[name]


TAKEN = {
    "one that runs": ({}, {}),
    "one that is down": ({}, {"osds": [DOWN]}),
    "placement groups that do not serve, which a drain waits for": ({}, {"dead": True}),
    "one that is destroyed": ({}, {"osds": [], "destroyed": True}),
    "a lost drive": ({"drive": "lost"}, {"osds": [DOWN]}),
    "a lost drive whose OSD is destroyed": ({"drive": "lost"}, {"osds": [], "destroyed": True, "dead": True}),
    "a new drive": ({"drive": "new"}, {"osds": [], "destroyed": True}),
    "a new drive that has its OSD": ({"drive": "new"}, {"dead": True}),
    "a new drive on which a run was cut off": ({"drive": "new"}, {"osds": [NEW]}),
    "the answer of a second monitor": ({"silent": ["unreachable"]}, {}),
}


@pytest.mark.parametrize("row", TAKEN)
def test_what_can_be_done_is_taken(judge, row):
    assert judge(*TAKEN[row]) == []


SILENT = "Ceph: no host of group ceph_monitor answers for the cluster: {}; expected one; fix: see ceph status there"
ELSEWHERE = (
    "osd.7: on {}, which is not in the run; expected a host that can be reached and has packages; fix: leave out --limit; "
    "where the host is gone, ceph osd purge 7 once Ceph has rebuilt what it held"
)
LAST = (
    "osd.7: placement groups do not serve, and its drive may have their last copy; expected all active; "
    "fix: see ceph health detail; bring it back"
)
RUNS = (
    "osd.7: {} up; expected OSDs that are down where their drive is lost; "
    "fix: leave out -e drive=lost, and data moves off it first"
)
REFUSED = {
    "no answer": (
        {"found": {}, "silent": ["unreachable", "ceph df: timed out\n", "unreachable"]},
        {},
        [SILENT.format("unreachable; ceph df: timed out")],
    ),
    "another cluster": (
        {},
        {"fsid": OTHER},
        [
            f"fsid of the cluster that answers: {OTHER}; expected {FSID}, the planned one; "
            "fix: run it with the inventory of the plan of that cluster"
        ],
    ),
    "an OSD that is none": (
        {},
        {"osds": [], "host": ""},
        ["osd.7: not in the cluster; expected one that it has; fix: see ceph osd tree"],
    ),
    "a host that is not in the run": ({"run": ["storage-002"]}, {}, [ELSEWHERE.format("storage-001")]),
    "no host": ({}, {"osds": [], "destroyed": True, "host": ""}, [ELSEWHERE.format("no host")]),
    "lost, and up": ({"drive": "lost"}, {"osds": [UP, UP | {"number": 8}, DOWN]}, [RUNS.format("osd.7, osd.8")]),
    "lost, and perhaps the last copy": ({"drive": "lost"}, {"osds": [DOWN], "dead": True}, [LAST]),
    "a new drive for one that was not taken out": (
        {"drive": "new"},
        {"osds": [DOWN]},
        [
            "osd.7: down, and not destroyed; expected one that was taken out; "
            "fix: run it without -e drive=new first, or with -e drive=lost"
        ],
    ),
    "several at once": (
        {"drive": "lost", "run": []},
        {"dead": True},
        [ELSEWHERE.format("storage-001"), RUNS.format("osd.7"), LAST],
    ),
}


@pytest.mark.parametrize("row", REFUSED)
def test_what_cannot_work_is_refused(judge, row):
    about, found, told = REFUSED[row]
    assert judge(about, found) == told
