"""What forbids to begin a Ceph by cephadm, or to go on with one, by what hosts said of themselves."""

import importlib
import sys

import pytest

FSID, OTHER = "dcf9adda-ceef-58bf-8f2c-82fb91b70d95", "11111111-2222-4333-8444-555555555555"
MONITORS = {"control-001": "10.72.128.3", "control-002": "10.72.128.4"}
ADDRESSES = {**MONITORS, "storage-001": "10.72.128.0"}
CLUSTER = {"fsid": FSID, "monitors": MONITORS, "quorum": list(MONITORS)}
NEW = {
    "has_address": True,
    "lacks": [],
    "has_dpkg": True,
    "interrupted": False,
    "fsid": "",
    "told": [],
    "packaged": [],
    "clusters": [],
    "daemons": [],
    "half": False,
    "listening": [],
    "cluster": None,
    "why": "no /etc/ceph/ceph.conf",
}
MADE = {"fsid": FSID, "clusters": [FSID], "daemons": ["mon.control-001"], "cluster": CLUSTER, "why": ""}


@pytest.fixture
def judge(collection, monkeypatch):
    """Return a function that judges hosts by what is special about each; a host that is None is not in the run."""
    monkeypatch.syspath_prepend(str(collection))
    module = importlib.import_module("ansible_collections.gpuyard.cluster.plugins.filter.ceph_cephadm_wrong")

    def judge(base=NEW, begin=True, **special):
        hosts = {host: special.get(host.replace("-", "_"), {}) for host in ADDRESSES}
        looks = {host: {**base, "host_name": host, **about} for host, about in hosts.items() if about is not None}
        about = {"plan": {"fsid": FSID, "monitors": MONITORS}, "addresses": ADDRESSES, "looks": looks, "begin": begin}
        return module.FilterModule().filters()["ceph_cephadm_wrong"](about)

    yield judge
    for name in [name for name in sys.modules if name.startswith("ansible_collections")]:
        del sys.modules[name]


def test_hosts_as_planned_are_taken(judge):
    assert judge() == judge(NEW | MADE) == judge(control_001=MADE, control_002=None, begin=False) == []


HOSTS = {
    "another name": ({"host_name": "debian"}, "host name: debian; expected storage-001, by which the cluster knows its host"),
    "no address": ({"has_address": False}, "10.72.128.0: not an address of the host; expected it, for its host"),
    "another cluster": ({"fsid": OTHER}, f"fsid in /etc/ceph/ceph.conf: {OTHER}; expected {FSID}, the planned cluster"),
    "packages": ({"packaged": ["osd/ceph-3"]}, "daemons from packages: osd/ceph-3; expected none beside those of cephadm"),
    "two clusters": ({"clusters": [OTHER]}, f"daemons of cephadm: of cluster {OTHER}; expected none but {FSID}'s"),
}


@pytest.mark.parametrize("row", HOSTS)
def test_a_host_is_refused(judge, row):
    about, told = HOSTS[row]
    [fault] = judge(storage_001=about)
    assert fault.startswith(f"storage-001: {told}") and "; fix: " in fault


def test_all_is_told_at_once(judge):
    faults = judge(control_001={"host_name": "a", "packaged": ["mon/ceph-a"]}, storage_001={"fsid": OTHER})
    assert [fault.partition(":")[0] for fault in faults] == ["control-001", "control-001", "storage-001"]


def test_a_host_that_the_plan_does_not_have_is_refused(judge, monkeypatch):
    monkeypatch.delitem(ADDRESSES, "storage-001")
    monkeypatch.setitem(ADDRESSES, "storage-009", None)
    [fault] = judge()
    assert fault.startswith("storage-009: no daemon in the plan; expected a host with some; fix: gpuyard render")


def test_another_cluster_that_answers_is_told(judge):
    [fault] = judge(control_001={"cluster": {"fsid": OTHER, "monitors": {}, "quorum": []}})
    assert fault.startswith(f"control-001: fsid of the cluster that answers: {OTHER}; expected {FSID}")


def test_a_monitor_elsewhere_is_told_once(judge):
    def move(monitors):
        [fault] = judge(NEW | MADE | {"cluster": CLUSTER | {"monitors": monitors}})
        return fault

    told = move(MONITORS | {"control-002": "10.0.0.9"})
    assert told.startswith("monitor control-002: the cluster has it at 10.0.0.9; expected 10.72.128.4; fix: one at a time")
    assert "ceph orch daemon rm" not in move({"control-001": "10.0.0.9"})


def test_no_cluster_is_begun_without_a_word_or_all_of_its_monitors_hosts(judge):
    [fault] = judge(begin=False)
    assert fault.startswith("ceph_cephadm_begin: no host of this run has a monitor, and none answers; expected the cluster, or")
    [fault] = judge(control_002=None)
    assert fault.startswith("monitors: no host of this run has one, and these were not asked: control-002; expected")
    assert judge(storage_001=None) == []


def test_no_cluster_is_begun_where_one_left_traces(judge):
    """But for what a run left that was cut off in beginning it, which has no OSD yet."""
    silent = {"daemons": ["mon.control-001", "osd.3"], "clusters": [FSID], "fsid": FSID, "why": "ceph quorum_status: timed out"}
    [fault] = judge(control_001=silent)
    assert fault.startswith(f"control-001: /var/lib/ceph/{FSID}: mon.control-001, osd.3; expected no daemon before the cluster")
    assert fault.endswith(
        f"systemctl start ceph-{FSID}.target there, or see why it does not answer: ceph quorum_status: timed out"
    )
    [fault] = judge(control_001=silent | {"half": True})
    assert fault.startswith(f"control-001: /var/lib/ceph/{FSID}: osd.3; expected")
    half = silent | {"half": True, "daemons": ["mon.control-001", "mgr.control-001.abcdef"]}
    heard = {"listening": ["control-001"]}
    assert judge(control_001=half, control_002=heard, storage_001=heard) == []
    assert judge(control_001=half | {"cluster": CLUSTER}, control_002=heard, storage_001=heard) == []
    [fault] = judge(control_001=half, control_002=heard, storage_001=None)
    assert fault.startswith(
        "hosts: control-001 has what a run left that was cut off, and these were not asked: storage-001; expected"
    )
    [fault] = judge(control_001=half, control_002=heard, storage_001={"listening": ["control-002"]})
    assert fault.startswith("monitor control-002: port 3300 or 6789 of 10.72.128.4 answers storage-001, and no host of this run")
