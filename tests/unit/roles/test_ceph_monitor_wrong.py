"""What forbids to make or to start monitors of Ceph, by what their hosts said of themselves."""

import importlib
import sys

import pytest

FSID, OTHER = "dcf9adda-ceef-58bf-8f2c-82fb91b70d95", "11111111-2222-4333-8444-555555555555"
MONITORS = {"control-001": "10.72.128.3", "control-002": "10.72.128.4", "control-003": "10.72.128.5"}
PLAN = {"fsid": FSID, "monitors": MONITORS, "managers": ["control-001", "control-002"]}
CLUSTER = {"fsid": FSID, "monitors": MONITORS, "quorum": list(MONITORS)}
NEW = {
    "has_address": True,
    "lacks": [],
    "fsid": "",
    "monitor": False,
    "runs": False,
    "manager": False,
    "others": [],
    "whole": False,
    "osds": [],
    "told": [],
    "interrupted": False,
    "cephadm": [],
    "listening": [],
    "cluster": None,
    "why": "no /etc/ceph/ceph.conf",
}
MADE = {"fsid": FSID, "monitor": True, "runs": True, "cluster": CLUSTER}


@pytest.fixture
def judge(collection, monkeypatch):
    """Return a function that judges hosts by what is special about each; a host that is None is not in the run."""
    monkeypatch.syspath_prepend(str(collection))
    module = importlib.import_module("ansible_collections.gpuyard.cluster.plugins.filter.ceph_monitor_wrong")

    def judge(base=NEW, begin=True, **special):
        hosts = {host: special.get(host.replace("-", "_"), {}) for host in MONITORS}
        looks = {host: {**base, "host_name": host, **about} for host, about in hosts.items() if about is not None}
        return module.FilterModule().filters()["ceph_monitor_wrong"]({"plan": PLAN, "looks": looks, "begin": begin})

    yield judge
    for name in [name for name in sys.modules if name.startswith("ansible_collections")]:
        del sys.modules[name]


@pytest.mark.parametrize("base", [NEW, NEW | MADE])
def test_hosts_as_planned_are_taken(judge, base):
    assert judge(base) == []


def test_a_cluster_goes_on_without_some_of_its_hosts(judge):
    """Of the others one is not in the run, and one was installed anew."""
    assert judge(control_001=MADE, control_002=None) == []


HOSTS = {
    "another name": ({"host_name": "debian"}, "host name: debian; expected control-002, by which the cluster knows its monitor"),
    "no address": ({"has_address": False}, "10.72.128.4: not an address of the host; expected it, for its monitor"),
    "another cluster": ({"fsid": OTHER}, f"fsid in /etc/ceph/ceph.conf: {OTHER}; expected {FSID}, the planned cluster"),
    "another monitor": ({"others": ["ceph-a"]}, "/var/lib/ceph/mon: ceph-a; expected ceph-control-002 alone"),
    "another unit": ({"whole": True}, "ceph-mon.service: runs, or would; expected ceph-mon@control-002 alone"),
    "cephadm": ({"cephadm": [OTHER]}, f"daemons of cephadm: of cluster {OTHER}; expected none beside packages"),
    "who answers": (
        {"cluster": {"fsid": OTHER, "monitors": {}, "quorum": []}},
        f"fsid of the cluster that answers: {OTHER}; expected {FSID}",
    ),
}


@pytest.mark.parametrize("row", HOSTS)
def test_a_host_is_refused(judge, row):
    about, told = HOSTS[row]
    [fault] = judge(control_002=about)
    assert fault.startswith(f"control-002: {told}") and "; fix: " in fault


def test_all_is_told_at_once(judge):
    faults = judge(control_001={"host_name": "a", "has_address": False}, control_003={"fsid": OTHER})
    assert [fault.partition(":")[0] for fault in faults] == ["control-001", "control-001", "control-003"]


def test_a_host_that_the_plan_does_not_have_is_refused(judge, monkeypatch):
    monkeypatch.setitem(PLAN, "monitors", {name: where for name, where in MONITORS.items() if name != "control-003"})
    assert judge() == [
        "control-003: no monitor in the plan; expected one of control-001, control-002; "
        "fix: gpuyard render the cluster, and run with its inventory"
    ]


def test_monitors_elsewhere_are_told_once_and_never_all_removed(judge):
    def move(*names):
        cluster = CLUSTER | {"monitors": MONITORS | dict.fromkeys(names, "10.0.0.9")}
        return [fault.partition("; expected ") for fault in judge(NEW | MADE | {"cluster": cluster})]

    [(told, _, rest)] = move("control-003")
    assert told == "monitor control-003: the cluster has it at 10.0.0.9"
    assert rest.startswith("10.72.128.5; fix: systemctl disable --now ceph-mon@control-003 there, ceph mon remove control-003")
    assert ["one at a time, with a run between each" in rest for _, _, rest in move("control-002", "control-003")] == [True, True]
    assert ["remove" in rest for _, _, rest in move(*MONITORS)] == [False, False, False]


def test_no_cluster_is_begun_without_all_of_its_hosts(judge):
    [fault] = judge(control_002=None, control_003=None)
    assert fault.startswith("monitors: no host of this run has one, and these were not asked: control-002, control-003; expected")


def test_no_cluster_is_begun_without_a_word(judge):
    [fault] = judge(begin=False)
    assert fault.startswith("ceph_monitor_begin: no host of this run has a monitor, and none answers; expected the cluster, or")
    assert judge(NEW | MADE, begin=False) == judge(begin=False, control_001=MADE) == []


def test_no_cluster_is_begun_where_another_left_traces(judge):
    """Such as the monitors of a plan that had them elsewhere, or OSDs whose monitors are lost."""
    [fault] = judge(control_001={"fsid": FSID, "told": ["10.72.128.3", "10.72.129.9"]})
    assert fault.startswith("control-001: mon_host in /etc/ceph/ceph.conf: 10.72.129.9, of the planned cluster, where the plan")
    [fault] = judge(control_002={"osds": ["ceph-3"]})
    assert fault.startswith("control-002: /var/lib/ceph/osd: ceph-3; expected no OSD before the cluster is begun; fix: make the")


def test_no_cluster_is_begun_beside_one_that_listens(judge):
    [fault] = judge(control_001={"listening": ["control-003"]}, control_002={"listening": ["control-003"]})
    assert fault.startswith("monitor control-003: port 3300 or 6789 of 10.72.128.5 answers control-002, and no host of this run")
