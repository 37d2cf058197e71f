"""What forbids hosts to come to a Ceph that has data, word for word."""

import importlib
import sys

import pytest

FSID, OTHER = "dcf9adda-ceef-58bf-8f2c-82fb91b70d95", "11111111-2222-4333-8444-555555555555"
LOOK = {
    "fsid": FSID,
    "client": "luminous",
    "flags": [],
    "hosts": [],
    "unclean": "",
    "splitting": [],
    "lacking": {"storage-004": 2},
    "fresh": [],
    "deadline": 0,
}
ABOUT = {
    "plan": {"fsid": FSID, "hosts": {"storage-001": {}, "storage-003": {}, "storage-004": {}}},
    "hosts": ["storage-004"],
    "outside": "",
    "silent": [],
}
HOURS = {"begin": "22:00", "end": "06:00", "usual_profile": "balanced"}
COMING = {"hosts": ["storage-004"]}
MIXED = {"lacking": {"storage-004": 2, "archive-001": 36, "archive-002": 36}, "fresh": ["archive-001", "archive-002"]}
TROUBLE = {"unclean": "3 placement groups active+undersized", "splitting": ["datasets", "files"]}


@pytest.fixture
def judge(collection, monkeypatch):
    """Return a function that judges what the cluster said, with what is otherwise of the run."""
    monkeypatch.syspath_prepend(str(collection))
    module = importlib.import_module("ansible_collections.gpuyard.cluster.plugins.filter.ceph_expand_wrong")

    def judge(look, about):
        return module.FilterModule().filters()["ceph_expand_wrong"](ABOUT | {"look": LOOK | look} | about)

    yield judge
    for name in [name for name in sys.modules if name.startswith("ansible_collections")]:
        del sys.modules[name]


@pytest.mark.parametrize(
    "look",
    [{}, COMING, COMING | TROUBLE, {"lacking": {}} | TROUBLE, {"client": "squid"}, {"fresh": ["storage-004"]}, MIXED | COMING],
    ids=["at first", "cut off", "in a step", "all there", "later clients", "a class without data", "mixed, in a step"],
)
def test_what_can_go_on(judge, look):
    assert judge(look, {}) == []


REFUSED = {
    "nobody answers": (
        {},
        {"look": {}, "silent": ["no keyring \n", "unreachable", "no keyring"]},
        [
            "Ceph: no host of group ceph_monitor answers for the cluster: no keyring; unreachable; expected one; "
            "fix: see ceph status there"
        ],
    ),
    "at another hour": (
        {},
        {
            "outside": "14:30",
            "plan": ABOUT["plan"] | {"maintenance": HOURS},
        },
        [
            "time of day: 14:30; expected 22:00 to 06:00, as ceph.maintenance.window of the plan; "
            "fix: run it then, or with -e ceph_expand_now=true"
        ],
    ),
    "at another hour, in a step": (
        COMING,
        {"outside": "08:00", "plan": ABOUT["plan"] | {"maintenance": HOURS}},
        [
            "time of day: 08:00; expected 22:00 to 06:00, as ceph.maintenance.window of the plan; "
            "fix: run it then, or with -e ceph_expand_now=true; after a run that was cut off in a step: "
            "ceph config set osd osd_mclock_profile balanced"
        ],
    ),
    "another cluster": (
        {"fsid": OTHER},
        {},
        [
            f"fsid of the cluster that answers: {OTHER}; expected {FSID}, the planned one; "
            "fix: run it with the inventory of the plan of that cluster"
        ],
    ),
    "no hosts": (
        {},
        {"hosts": []},
        ["""ceph_expand_hosts: empty; expected hosts whose OSDs come; fix: -e '{"ceph_osd_grow": ["storage-004"]}'"""],
    ),
    "hosts of a class without data among others": (
        MIXED,
        {},
        [
            "ceph_expand_hosts: archive-001, archive-002, on whose class of drives nothing lies, among others; "
            "expected those that come in steps, or those that come at once; "
            """fix: let these come first: -e '{"ceph_osd_grow": ["archive-001", "archive-002"]}'"""
        ],
    ),
    "hosts that are not planned": (
        {},
        {"hosts": ["storage-004", "storage-005", "storage-006"]},
        [
            "ceph_expand_hosts: storage-005, storage-006; expected hosts with OSDs in the plan; "
            "fix: plan and render the cluster with it, and run with its inventory"
        ],
    ),
    "others come": (
        {"hosts": ["storage-001", "storage-003"]} | TROUBLE,
        {},
        [
            "ceph_expand_hosts: storage-004, while storage-001, storage-003 come; expected one word at a time; "
            """fix: let these come first: -e '{"ceph_osd_grow": ["storage-001", "storage-003"]}'"""
        ],
    ),
    "old clients, and flags": (
        {"client": "jewel", "flags": ["nobackfill", "norebalance"]} | COMING,
        {},
        [
            "require-min-compat-client: jewel; expected luminous or later, whose clients know where data is pinned; "
            "fix: see ceph features; then ceph osd set-require-min-compat-client luminous",
            "flags of the cluster: nobackfill, norebalance; expected none that stop data from coming to OSDs; "
            "fix: ceph osd unset nobackfill, once whoever set it agrees",
        ],
    ),
    "a cluster that is not calm": (
        TROUBLE,
        {},
        [
            "Ceph: 3 placement groups active+undersized; expected all active+clean before more hosts come; "
            "fix: see ceph health detail, and run it once they are",
            "Ceph: placement groups of datasets, files are being split or merged; expected as many as planned; "
            "fix: see ceph osd pool ls detail, and run it once that is done",
        ],
    ),
}


@pytest.mark.parametrize(("look", "about", "said"), REFUSED.values(), ids=list(REFUSED))
def test_what_is_refused(judge, look, about, said):
    assert judge(look, about) == said
