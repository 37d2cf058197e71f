"""What forbids to remove a cluster of Ceph, word for word."""

import importlib
import sys

import pytest

FSID, OTHER = "dcf9adda-ceef-58bf-8f2c-82fb91b70d95", "11111111-2222-4333-8444-555555555555"
CONF = "/etc/ceph/ceph.conf"
LOOK = {"fsid": FSID, "busy": False, "cephadm": [], "unknown": [], "strange": {}, "mixed": [], "mounted": [], "mapped": []}
GROUPS = {
    "ceph_monitor": ["control-001"],
    "ceph_osd": ["storage-001", "storage-002"],
    "ceph_rgw": ["storage-001"],
    "ceph_packages": ["control-001", "storage-001", "storage-002"],
    "ceph_client": ["gpu-001", "storage-001"],
    "all": ["control-001", "gpu-001", "gpu-002", "storage-001", "storage-002"],
}
HOSTS = ["control-001", "gpu-001", "storage-001", "storage-002"]
ABOUT = {"fsid": FSID, "typed": FSID, "groups": GROUPS, "run": HOSTS, "lost": [], "looks": dict.fromkeys(HOSTS, LOOK)}


@pytest.fixture
def judge(collection, monkeypatch):
    """Return the filter."""
    monkeypatch.syspath_prepend(str(collection))
    module = importlib.import_module("ansible_collections.gpuyard.cluster.plugins.filter.ceph_purge_wrong")
    yield module.FilterModule().filters()["ceph_purge_wrong"]
    for name in [name for name in sys.modules if name.startswith("ansible_collections")]:
        del sys.modules[name]


def without(*hosts):
    """Return what the others told."""
    return {host: LOOK for host in HOSTS if host not in hosts}


def test_a_whole_run_with_the_right_id_is_taken(judge):
    assert judge(ABOUT) == []
    assert judge(ABOUT | {"looks": dict.fromkeys(HOSTS, LOOK | {"fsid": ""})}) == []  # of a run that was cut off at its end


WORD = f"expected {FSID}, the planned cluster; fix: -e ceph_purge_fsid={FSID}, if it shall be removed with all data; else take"
MISSING = "; expected all {} of the cluster at once; fix: leave out --limit, or have it reachable; if it never comes back, -e "
ABOUTS = {
    "no id": ({"typed": ""}, f"ceph_purge_fsid: not set; {WORD}"),
    "another id": ({"typed": OTHER}, f"ceph_purge_fsid: {OTHER}; {WORD}"),
    "a host that is not in the run": (
        {"looks": without("storage-002"), "run": [host for host in HOSTS if host != "storage-002"]},
        f"storage-002: not in this run{MISSING.format('hosts')}" + '\'{"ceph_purge_lost": ["storage-002"]}\'',
    ),
    "a host that is not reached": (
        {"looks": without("control-001")},
        f"control-001: not reached{MISSING.format('hosts')}" + '\'{"ceph_purge_lost": ["control-001"]}\'',
    ),
    "a client that is not in the run": (
        {"looks": without("gpu-001"), "run": [host for host in HOSTS if host != "gpu-001"]},
        f"gpu-001: not in this run{MISSING.format('clients')}" + '\'{"ceph_purge_lost": ["gpu-001"]}\'',
    ),
    "a lost host that is none": (
        {"lost": ["gpu-002"]},
        "ceph_purge_lost: gpu-002; expected a host of the plan; fix: see ansible-inventory --graph for its name",
    ),
    "no packages": (
        {"groups": GROUPS | {"ceph_packages": []}},
        "ceph_packages: no host with daemons; expected those of a Ceph from packages; fix: cephadm rm-cluster removes",
    ),
}


@pytest.mark.parametrize(("change", "said"), ABOUTS.values(), ids=ABOUTS)
def test_what_is_wrong_with_the_run_is_told(judge, change, said):
    [wrong] = judge(ABOUT | change)
    assert wrong.startswith(said)


def test_hosts_that_never_come_back_are_done_without(judge):
    about = {
        "looks": without("storage-002", "gpu-001"),
        "lost": ["storage-002", "gpu-001"],
        "run": ["control-001", "storage-001"],
    }
    assert judge(ABOUT | about) == []


def test_of_many_missing_hosts_twenty_are_told_by_name(judge):
    many = [f"gpu-{number:03d}" for number in range(1, 31)]
    wrong = judge(ABOUT | {"groups": GROUPS | {"ceph_client": many}})
    assert len(wrong) == 21 and wrong[-1] == "and 9 more hosts are missing"


FOLDER = "/var/lib/ceph/osd/ceph-3"
LOOKS = {
    "busy": (
        {"busy": True},
        "storage-001: another run makes or removes daemons there; expected one run at a time; fix: wait until it has ended",
    ),
    "another cluster's conf": (
        {"fsid": OTHER},
        f"storage-001: fsid in {CONF}: {OTHER}; expected {FSID}, the planned cluster; fix: run with the inventory of that "
        "cluster's plan; if it is gone, take the file away",
    ),
    "cephadm": (
        {"cephadm": [OTHER]},
        f"storage-001: daemons of cephadm: of cluster {OTHER}; expected none beside packages; fix: cephadm rm-cluster there, "
        "if it may go",
    ),
    "no conf": (
        {"fsid": "", "unknown": ["/var/lib/ceph/mon/ceph-x"]},
        f"storage-001: /var/lib/ceph/mon/ceph-x and no {CONF}; expected {CONF}, which says whose they are; fix: put {CONF} back, "
        "if they are the planned cluster's; else take them away by hand",
    ),
    "another cluster's folder": (
        {"strange": {FOLDER: f"of cluster {OTHER}"}},
        f"storage-001: {FOLDER}: of cluster {OTHER}; expected OSDs of cluster {FSID} on volumes of LVM; fix: see what it is, and "
        "take it away by hand, if it may go",
    ),
    "volumes of two clusters": (
        {"mixed": ["u3"]},
        "storage-001: OSD u3: volumes of two clusters; expected all of one; fix: see lvs -o +lv_tags there, and take away by "
        "hand what may go",
    ),
    "mounted": (
        {"mounted": ["/mnt/home"]},
        "storage-001: Ceph is mounted at /mnt/home; expected nothing that uses it; fix: umount /mnt/home there, once nobody uses "
        "it (fuser -m /mnt/home)",
    ),
    "mapped": (
        {"mapped": ["/dev/rbd0 (datasets/disk)"]},
        "storage-001: /dev/rbd0 (datasets/disk) is mapped; expected nothing that uses it; fix: rbd unmap /dev/rbd0 there, once "
        "nobody uses it",
    ),
}


@pytest.mark.parametrize(("change", "said"), LOOKS.values(), ids=LOOKS)
def test_what_forbids_it_on_a_host_is_told(judge, change, said):
    assert judge(ABOUT | {"looks": ABOUT["looks"] | {"storage-001": LOOK | change}}) == [said]


def test_all_is_told_at_once(judge):
    looks = without("control-001") | {
        "storage-001": LOOK | {"busy": True, "mounted": ["/a", "/b"]},
        "gpu-001": LOOK | {"fsid": OTHER},
    }
    wrong = judge(ABOUT | {"typed": "", "looks": looks})
    assert [fault.partition(":")[0] for fault in wrong] == [
        "ceph_purge_fsid",
        "control-001",
        "gpu-001",
        "storage-001",
        "storage-001",
        "storage-001",
    ]
