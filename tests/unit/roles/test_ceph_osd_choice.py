"""Which drives OSDs are made on, and what forbids it, by what hosts said of themselves."""

import importlib
import sys

import pytest

FSID, OTHER = "dcf9adda-ceef-58bf-8f2c-82fb91b70d95", "11111111-2222-4333-8444-555555555555"
PLACE = {"root": "default", "row": "N", "rack": "N01"}
PLAN = {
    "fsid": FSID,
    "hosts": {"storage-001": PLACE, "storage-002": PLACE},
    "osds": [
        {"hosts": ["storage-001", "storage-002"], "drives": 2, "bytes": 15_360_000_000_000, "rotational": False, "per_drive": 1}
    ],
}
NONE = {"wrong": [], "left": [], "make": [], "wipe": [], "start": [], "done": []}


def drive(name, *osds, holds="", wipes=True, half=False, member=None):
    """Return a drive as a host tells of it."""
    own = {"holds": holds, "wipes": bool(holds) and wipes, "half": half, "member": bool(osds) if member is None else member}
    return {"name": name, "osds": [{"id": uuid[1:], "uuid": uuid} for uuid in osds], **own}


def running(*uuids, **about):
    """Return what the cluster says of OSDs of the first host."""
    return {uuid: {"was_up": True, "up": True, "host": "storage-001", **about} for uuid in uuids}


EMPTY = [drive("nvme-b"), drive("nvme-a")]


@pytest.fixture
def choose(collection, monkeypatch):
    """Return a function that chooses drives of the first host, of two, whose second is as planned."""
    monkeypatch.syspath_prepend(str(collection))
    module = importlib.import_module("ansible_collections.gpuyard.cluster.plugins.filter.ceph_osd_choice")

    def choose(drives, osds=None, cluster=None, per_drive=1, look=None, groups=None, **words):
        plan = {**PLAN, "osds": groups or [PLAN["osds"][0] | {"per_drive": per_drive}]}
        own = {"fsid": FSID, "cephadm": [], "others": [], "busy": False}
        made = [drive(f"nvme-{name}", *(f"{name}{n}" for n in range(per_drive))) for name in "xy"]
        looks = {
            "storage-001": {**own, "host_name": "storage-001", "drives": drives, **(look or {})},
            "storage-002": {**own, "host_name": "storage-002", "drives": made},
        }
        theirs = {osd["uuid"]: {"was_up": True, "up": True, "host": "storage-002"} for each in made for osd in each["osds"]}
        said = {
            "fsid": FSID,
            "has_objects": False,
            "destroyed": {},
            "places": PLAN["hosts"],
            "osds": theirs | (osds or {}),
            **(cluster or {}),
        }
        about = {"plan": plan, "looks": looks, "cluster": said, "wipe": [], "grow": [], "fewer": [], "check": False, **words}
        chosen = module.FilterModule().filters()["ceph_osd_choice"](about)
        others = [chosen[what].pop("storage-002") for what in ("make", "wipe", "start", "done") if what in chosen]
        assert not any(others)
        told = {**chosen, **{what: chosen[what]["storage-001"] for what in ("make", "wipe", "start", "done") if what in chosen}}
        choose.numbers = [each["numbers"] for each in told.get("make", ())]
        return {**told, "make": [each["name"] for each in told.get("make", ())]}

    yield choose
    for name in [name for name in sys.modules if name.startswith("ansible_collections")]:
        del sys.modules[name]


def test_empty_drives_are_taken_by_name(choose):
    assert choose(EMPTY) == NONE | {"make": ["nvme-a", "nvme-b"]}


@pytest.mark.parametrize(
    ("per_drive", "destroyed", "numbers"),
    [(1, [], [[], []]), (1, [7], [[7], []]), (1, [7, 9, 11], [[7], [9]]), (2, [7, 8, 9], [[7, 8], [9]])],
)
def test_osds_get_the_numbers_of_those_that_were_destroyed_on_the_host(choose, per_drive, destroyed, numbers):
    chosen = choose(EMPTY, cluster={"destroyed": {"storage-001": destroyed, "storage-002": [1]}}, per_drive=per_drive)
    assert (chosen["make"], choose.numbers) == (["nvme-a", "nvme-b"], numbers)


def test_what_is_made_is_left_alone(choose):
    assert choose([drive("nvme-a", "a0"), drive("nvme-b", "b0")], running("a0", "b0")) == NONE
    assert choose([drive("nvme-a", "a0"), drive("nvme-b")], running("a0")) == NONE | {"make": ["nvme-b"]}


def test_a_drive_that_holds_something_is_not_needed_where_there_are_enough(choose):
    """Such as a system disk of the same kind."""
    assert choose([*EMPTY, drive("nvme-s", holds="gpt")]) == NONE | {"make": ["nvme-a", "nvme-b"]}


def test_a_drive_that_holds_something_is_told_by_name_and_wiped_on_a_word(choose):
    drives = [drive("nvme-a"), drive("nvme-s", holds="ext4")]
    short, held = choose(drives)["wrong"]
    assert short.startswith("storage-001: drives for OSDs: 1 of 15.36 TB that do not spin; expected 2; fix: see lsblk")
    assert held == (
        "storage-001: nvme-s: holds ext4; expected an empty drive, if it is for OSDs; "
        """fix: if that may be lost, -e '{"ceph_osd_wipe": ["storage-001:nvme-s"]}', which wipes it"""
    )
    chosen = choose(drives, wipe=["storage-001:nvme-s"])
    assert chosen == NONE | {"make": ["nvme-a", "nvme-s"], "wipe": ["nvme-s"]}


@pytest.mark.parametrize("holds", ["LVM, volume group vg0", "what is in use: sda1 at /", "ceph_bluestore"])
def test_what_is_somebodys_is_wiped_on_no_word(choose, holds):
    drives = [drive("nvme-a"), drive("nvme-s", holds=holds, wipes=False, member="LVM" in holds)]
    faults = choose(drives, wipe=["storage-001:nvme-s"])["wrong"]
    assert [fault.partition("; expected")[0] for fault in faults] == [
        "storage-001: drives for OSDs: 1 of 15.36 TB that do not spin",
        f"storage-001: nvme-s: holds {holds}",
        "ceph_osd_wipe: storage-001:nvme-s",
    ]
    assert "ceph_osd_wipe" not in faults[1]


@pytest.mark.parametrize("word", ["nvme-s", "storage-002:nvme-s", "storage-001:nvme-a", "storage-001:nvme-z"])
def test_a_word_that_wipes_nothing_is_refused(choose, word):
    faults = choose([*EMPTY, drive("nvme-s", holds="ext4")], wipe=[word])["wrong"]
    assert [fault.partition("; fix")[0] for fault in faults] == [
        f"ceph_osd_wipe: {word}; expected a drive of this run that is needed and may be wiped"
    ]


def test_a_dead_drive_holds_up_no_host_that_has_osds(choose):
    chosen = choose([drive("nvme-a", "a0"), drive("nvme-s", holds="ext4")], running("a0"))
    assert (chosen["wrong"], len(chosen["left"])) == ([], 2)
    assert choose([drive("nvme-a")], fewer=["storage-001"])["wrong"] == []


def test_a_host_has_the_drives_of_its_own_group(choose):
    others, own = {**PLAN["osds"][0], "hosts": ["storage-002"]}, {**PLAN["osds"][0], "hosts": ["storage-001"], "drives": 1}
    [fault] = choose(EMPTY, groups=[others, own])["wrong"]
    assert fault.startswith("storage-001: empty drives: 2, nvme-a, nvme-b; expected 1; fix: ")
    assert choose(EMPTY[:1], groups=[others, own])["make"] == ["nvme-b"]
    assert choose([], groups=[others]) == NONE


def test_hosts_without_the_word_are_left_beside_one_that_has_it(choose):
    """Also one on which none could be made; what it has is started all the same."""
    cluster, other = {"has_objects": True}, ["storage-002"]
    said = "storage-001: {} of 2 drives have OSDs; the others are made on the word for the host, ceph_osd_grow"
    for drives in ([*EMPTY, drive("nvme-c")], [], [drive("nvme-s", holds="ext4")]):
        for look in ({}, {"host_name": "debian", "busy": True}):
            assert choose(drives, cluster=cluster, grow=other, look=look) == NONE | {"left": [said.format(0)]}
    half = [drive("nvme-a", "a0"), drive("nvme-b")]
    started = [{"id": "0", "uuid": "a0"}]
    chosen = choose(half, running("a0", up=False), cluster=cluster, grow=other)
    assert chosen == NONE | {"left": [said.format(1)], "start": started}
    [fault] = choose([drive("nvme-a"), drive("nvme-s", holds="ext4")], cluster=cluster, grow=other, wipe=["storage-001:nvme-s"])[
        "wrong"
    ]
    assert fault.startswith("ceph_osd_wipe: storage-001:nvme-s; expected a drive of this run")


def test_more_empty_drives_than_planned_are_refused(choose):
    [fault] = choose([*EMPTY, drive("nvme-c")])["wrong"]
    assert fault.startswith("storage-001: empty drives: 3, nvme-a, nvme-b, nvme-c; expected 2; fix: ")


def test_what_a_run_left_that_was_cut_off_is_made_again(choose):
    """A group without volumes, or an OSD that never was up; not one that was, and not what somebody put there since."""
    group, never = drive("nvme-a", half=True, member=True), drive("nvme-a", "a0", half=True)
    assert choose([group, drive("nvme-b")]) == NONE | {"make": ["nvme-a", "nvme-b"]}
    assert choose([never, drive("nvme-b")], running("a0", was_up=False))["make"] == ["nvme-a", "nvme-b"]
    assert choose([never, drive("nvme-b")])["make"] == ["nvme-a", "nvme-b"]
    assert choose([never, drive("nvme-b")], running("a0")) == NONE | {"make": ["nvme-b"], "done": ["nvme-a"]}
    [_, fault] = choose([drive("nvme-a", holds="ext4", half=True), drive("nvme-b")])["wrong"]
    assert fault.startswith("storage-001: nvme-a: holds ext4")


def test_an_osd_that_the_cluster_does_not_know_is_somebodys(choose):
    chosen = choose([drive("nvme-a", "a0"), drive("nvme-b")])
    assert [fault.partition(";")[0] for fault in chosen["wrong"]][1:] == [
        "storage-001: nvme-a: holds OSD 0, which the cluster does not know"
    ]
    assert chosen["start"] == []


@pytest.mark.parametrize(
    ("about", "started"),
    [
        ({"up": False}, ["0"]),
        ({"up": False, "host": ""}, ["0"]),
        ({"up": True}, []),
        ({"up": False, "host": "storage-002"}, []),  # which sees the same drive
    ],
)
def test_osds_that_are_down_are_started_on_their_host(choose, about, started):
    chosen = choose([drive("nvme-a", "a0"), drive("nvme-b", "b0")], running("b0") | running("a0", **about))
    assert [osd["id"] for osd in chosen["start"]] == started


def test_other_osds_on_a_drive_than_planned_are_refused(choose):
    drives = [drive("nvme-a", "a0"), drive("nvme-b", "b0", "b1")]
    faults = choose(drives, running("a0", "b0", "b1"), per_drive=2)["wrong"]
    assert [fault.partition("; fix")[0] for fault in faults] == ["storage-001: nvme-a: 1 OSDs; expected 2 on each drive"]


def test_a_cluster_with_data_grows_on_a_word_for_each_host(choose):
    full = {"has_objects": True}
    [fault] = choose(EMPTY, cluster=full)["wrong"]
    assert fault.startswith(
        "ceph_osd_grow: OSDs would be made on storage-001, and data begins to move onto them at once; expected"
    )
    assert """-e '{"ceph_osd_grow": ["storage-001"]}'""" in fault
    for grow in (["storage-01"], ["storage-001", "storage-01"]):
        fault = choose(EMPTY, cluster=full, grow=grow)["wrong"][0]
        assert fault.startswith("ceph_osd_grow: storage-01; expected hosts with OSDs, such as storage-001; fix: ")
    assert choose(EMPTY, cluster=full, grow=["storage-001"])["wrong"] == []


HOSTS = {
    "another name": ({"host_name": "debian"}, "host name: debian; expected storage-001, by which CRUSH knows its OSDs"),
    "another cluster": ({"fsid": OTHER}, f"fsid in /etc/ceph/ceph.conf: {OTHER}; expected {FSID}, the planned cluster"),
    "cephadm": ({"cephadm": [FSID]}, f"OSDs of cephadm: of cluster {FSID}; expected none beside packages"),
}


@pytest.mark.parametrize("row", HOSTS)
def test_a_host_is_refused(choose, row):
    about, told = HOSTS[row]
    [fault] = choose(EMPTY, look=about)["wrong"]
    assert fault.startswith(f"storage-001: {told}") and "; fix: " in fault


def test_what_may_destroy_others_is_refused(choose):
    [fault] = choose(EMPTY, look={"others": [f"OSD 3 of cluster {OTHER}"]})["wrong"]
    assert fault.startswith(f"storage-001: has OSD 3 of cluster {OTHER}; expected no OSD of another cluster; fix: take it off")
    [fault] = choose(EMPTY, look={"busy": True})["wrong"]
    assert fault.startswith("storage-001: another run makes or starts OSDs there")
    faults = choose([drive("nvme-a"), drive("nvme-a")])["wrong"]
    assert [fault.partition(";")[0] for fault in faults] == ["storage-001: nvme-a: 2 drives are called so"]
    assert choose(EMPTY, cluster={"fsid": OTHER})["wrong"][0].startswith(
        f"fsid of the cluster that answers: {OTHER}; expected {FSID}"
    )


def test_a_host_elsewhere_in_crush_gets_no_osds(choose):
    for here, words in (({"root": "default"}, "root=default"), ({}, "nowhere")):
        places = {"places": {"storage-001": here, "storage-002": PLACE}}
        [fault] = choose(EMPTY, cluster=places)["wrong"]
        assert fault.startswith(
            f"storage-001: in CRUSH: {words}; expected root=default row=N rack=N01; fix: run playbooks/ceph.yml"
        )
        assert choose(EMPTY, cluster=places, check=True)["wrong"] == []
        assert choose([drive("nvme-a", "a0"), drive("nvme-b", "b0")], running("a0", "b0"), cluster=places)["wrong"] == []
    parked = {"places": {"storage-001": {"root": "staging"}, "storage-002": PLACE}}
    assert choose(EMPTY, cluster=parked)["wrong"] == []
