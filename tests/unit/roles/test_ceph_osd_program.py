"""The program of role ceph_osd, without Ceph; molecule/ceph_osd has real daemons."""

import json
import multiprocessing
from pathlib import Path

import pytest

from tests.programs import load_program

PROGRAM = Path(__file__).parents[3] / "roles/ceph_osd/files/osd.py"
FSID, OTHER = "dcf9adda-ceef-58bf-8f2c-82fb91b70d95", "11111111-2222-4333-8444-555555555555"
SIZE = 20_000_000
OSDS = {"drives": 2, "bytes": SIZE, "rotational": False, "per_drive": 1, "device_class": "ssd"}
ABOUT = {
    "fsid": FSID,
    "osds": OSDS,
    "wait_s": 0.0,
    "start": [],
    "make": [],
    "wipe": [],
    "done": [],
    "key": "[client.bootstrap-osd]\n",
}
UUID = "{:08d}-1111-4222-8333-444444444444"
BATCH = "lvm batch --yes --no-auto --crush-device-class ssd --osds-per-device 1"


def block(path, **about):
    """Return a device as lsblk tells of it."""
    none = dict.fromkeys(("mountpoint", "serial", "wwn", "tran"))
    return {"name": str(path), "type": "disk", "size": SIZE, "rota": False, "ro": False, **none, **about}


@pytest.fixture
def host(tmp_path, monkeypatch):
    """Return the program, whose host is a folder with drives, and that notes what it runs."""
    program = load_program(PROGRAM)
    for name in ("CONF", "KEYRING", "STATE", "BY_ID", "SOCKETS", "BLOCKS", "LIB"):
        setattr(program, name, tmp_path / name)
    program.BY_ID.mkdir()
    program.ran, program.answers, program.blocks, program.groups, program.volumes = [], {}, [], [], []

    def add(name, link="", **about):
        path = tmp_path / name
        with path.open("wb") as file:
            file.truncate(about.get("size", SIZE))
        program.blocks.append(block(path, **about))
        if link:
            (program.BY_ID / link).symlink_to(path)
        return str(path)

    def call(name, *words):
        said = " ".join([name, *map(str, words)])
        program.ran.append(said)
        if name == "lsblk":
            return 0, json.dumps({"blockdevices": program.blocks}), ""
        if name in ("pvs", "lvs"):
            rows = program.groups if name == "pvs" else program.volumes
            return 0, json.dumps({"report": [{name[:2]: rows}]}), ""
        for part, answer in program.answers.items():
            if part in said:
                return answer(*words) if callable(answer) else answer
        return (2 if name == "blkid" else 0), "", ""

    program.add = add
    monkeypatch.setattr(program, "call", call)
    monkeypatch.setattr(program.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(program.time, "sleep", lambda _: None)
    return program


def add_group(host, path, group="vg0", drives="1"):
    """Have a group of LVM on a drive."""
    host.groups.append({"pv_name": path, "vg_name": group, "pv_count": drives})


def add_osd(host, path, number, cluster=FSID, drives="1"):
    """Have an OSD on a drive, as ceph-volume makes it."""
    uuid, group = UUID.format(number), f"ceph-{UUID.format(number)}"
    add_group(host, path, group, drives)
    tags = f"ceph.cluster_fsid={cluster},ceph.osd_id={number},ceph.osd_fsid={uuid},ceph.type=block"
    host.volumes.append({"vg_name": group, "lv_name": f"osd-block-{uuid}", "lv_tags": tags})


def make_osds(host, count=1, code=0):
    """Have `ceph-volume lvm batch` make OSDs on the drive that it is told, or fail."""

    def batch(*words):
        for number in range(count):
            add_osd(host, next(str(word) for word in words if str(word).startswith("/")), 70 + len(host.volumes) + number)
        return code, "", "RuntimeError: no luck\n" if code else ""

    host.answers["lvm batch"] = batch


def see(host):
    """Return the drives of the host as they are judged, by name."""
    return {drive["name"]: drive | {"numbers": []} for drive in host.look(ABOUT, False)["drives"]}


def tell(host):
    """Return what is told of each drive that is looked at."""
    return {name: (drive["holds"], drive["wipes"], [osd["id"] for osd in drive["osds"]]) for name, drive in see(host).items()}


def test_drives_of_the_planned_kind_in_the_host_are_looked_at(host):
    host.add("a", "nvme-A")
    host.add("b", size=19_600_001)
    others = {"c": {"rota": True}, "d": {"size": 19_500_000}, "e": {"type": "rom"}, "f": {"ro": True}, "g": {"tran": "iscsi"}}
    for name, about in others.items():
        host.add(name, **about)
    host.blocks.append(block("/nowhere/h"))
    for name, transport in (("i", "tcp"), ("j", "pcie")):
        host.add(name)
        (host.BLOCKS / name / "device").mkdir(parents=True)
        (host.BLOCKS / name / "device/transport").write_text(f"{transport}\n")
    assert list(see(host)) == ["nvme-A", "b", "j"]


def test_a_drive_has_the_name_that_says_most(host):
    path = host.add("a", "wwn-0x5000c500a1b2c3d4-and-more-of-it")
    for link in ("nvme-S1", "nvme-SAMSUNG_S1", "nvme-SAMSUNG_S1-part1", "lvm-pv-uuid-which-is-long-and-says-nothing"):
        (host.BY_ID / link).symlink_to(path)
    assert list(see(host)) == ["nvme-SAMSUNG_S1"]
    host.add("b", serial="S2")
    assert list(see(host)) == ["nvme-SAMSUNG_S1", "S2"]


def test_what_a_drive_holds_is_told_and_whether_a_word_may_have_it_wiped(host):
    add_osd(host, host.add("a"), 3)
    add_osd(host, host.add("b"), 4, cluster=OTHER)
    add_group(host, host.add("c"))
    add_group(host, host.add("d"), "")
    host.add("e", mountpoint="/srv")
    host.add(
        "f",
        children=[
            {"name": "/dev/f1", "type": "part", "mountpoint": "/boot"},
            {"name": "/dev/f2", "type": "part", "mountpoint": None},
        ],
    )
    host.add("g", children=[{"name": "/dev/g1", "type": "part", "mountpoint": None}])
    stacked = [{"name": "/dev/md0", "type": "raid1", "mountpoint": None}]
    host.add("h", children=[{"name": "/dev/h1", "type": "part", "mountpoint": None, "children": stacked}])
    for name, kind in (("i", "TYPE=ext4"), ("j", "PTTYPE=gpt"), ("k", "TYPE=ceph_bluestore"), ("l", "TYPE=LVM2_member")):
        host.answers[f"export {host.add(name)}"] = (0, f"DEVNAME=x\n{kind}\n", "")
    host.answers[f"export {host.add('m')}"] = (8, "", "blkid: ambivalent result\n")
    host.answers[f"export {host.add('n')}"] = (2, "", "blkid: error: input/output error\n")
    with Path(host.add("o")).open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"\1")
    add_osd(host, host.add("p"), 5, drives="2")
    assert tell(host) == {
        "a": ("", False, ["3"]),
        "b": (f"LVM, volume group ceph-{UUID.format(4)}", False, []),
        "c": ("LVM, volume group vg0", False, []),
        "d": ("LVM, volume group none yet", False, []),
        "e": ("what is in use: e at /srv", False, []),
        "f": ("what is in use: f1 at /boot", False, []),
        "g": ("partitions g1", True, []),
        "h": ("partitions h1", False, []),
        "i": ("ext4", True, []),
        "j": ("gpt", True, []),
        "k": ("ceph_bluestore", False, []),
        "l": ("LVM2_member", False, []),
        "m": ("blkid: ambivalent result", False, []),
        "n": ("blkid: error: input/output error", False, []),
        "o": ("data that blkid does not know", True, []),
        "p": (f"LVM, volume group ceph-{UUID.format(5)}", False, ["5"]),
    }
    assert host.look(ABOUT, False)["others"] == [f"OSD 4 of cluster {OTHER}"]


def test_a_drive_that_is_gone_or_in_use_is_told(host, monkeypatch):
    host.add("a")

    def refuse(path, flags, *_):
        raise OSError(16, "Device or resource busy")

    monkeypatch.setattr(host.os, "open", refuse)
    assert [(drive["holds"], drive["wipes"]) for drive in host.list_drives(FSID)] == [
        ("something that is in use (Device or resource busy)", False)
    ]


def test_lvm_without_a_devices_file_is_asked_again(host):
    refused = []
    run = host.call

    def call(name, *words):
        if name in ("pvs", "lvs") and "--devicesfile" in words:
            refused.append(name)
            return 3, "", "unrecognized option\n"
        return run(name, *words)

    host.call = call
    add_osd(host, host.add("a"), 3)
    assert tell(host)["a"] == ("", False, ["3"]) and set(refused) == {"pvs", "lvs"}


def test_osds_are_made_one_drive_after_the_other(host):
    a, b = host.add("a", "nvme-A"), host.add("b", "nvme-B")
    make_osds(host)
    seen = see(host)
    told = host.make(ABOUT | {"make": [seen["nvme-B"], seen["nvme-A"]]}, False)
    assert told == ["an OSD is made on nvme-B", "an OSD is made on nvme-A"]
    assert [said for said in host.ran if said.startswith("ceph-volume")] == [
        f"ceph-volume {BATCH} {b}",
        f"ceph-volume {BATCH} {a}",
    ]
    assert host.KEYRING.read_text() == ABOUT["key"] and host.KEYRING.stat().st_mode & 0o777 == 0o600
    assert list((host.STATE / "making").iterdir()) == []


def test_a_drive_that_is_another_by_now_is_not_touched(host):
    """Between the look and the work somebody made a file system on one, and another was exchanged."""
    host.add("a", "nvme-A")
    host.add("b", "nvme-B", serial="S1")
    judged = list(see(host).values())
    host.answers[f"export {host.blocks[0]['name']}"] = (0, "TYPE=ext4\n", "")
    host.blocks[1]["serial"] = "S2"
    with pytest.raises(SystemExit) as ended:
        host.make(ABOUT | {"make": judged}, False)
    assert [line.partition(";")[0] for line in str(ended.value).splitlines()] == ["nvme-A: is ext4", "nvme-B: is gone"]
    assert [said for said in host.ran if said.startswith("ceph-volume")] == []
    assert not (host.STATE / "making").exists()


def test_where_one_drive_fails_the_others_go_on(host):
    host.add("a", "nvme-A")
    host.add("b", "nvme-B")
    judged = list(see(host).values())
    make_osds(host, count=0, code=1)
    with pytest.raises(SystemExit) as ended:
        host.make(ABOUT | {"make": judged}, False)
    assert str(ended.value).splitlines() == [
        f"{name}: ceph-volume lvm batch: RuntimeError: no luck" for name in ("nvme-A", "nvme-B")
    ]
    assert [drive["half"] for drive in see(host).values()] == [True, True]


def test_fewer_osds_than_asked_for_are_told_whatever_ceph_volume_ends_with(host):
    host.add("a", "nvme-A")
    judged = list(see(host).values())
    make_osds(host, count=0)
    with pytest.raises(SystemExit) as ended:
        host.make(ABOUT | {"make": judged}, False)
    assert str(ended.value).startswith("nvme-A: 0 OSDs after ceph-volume lvm batch; expected 1; fix: see /var/log/ceph")
    assert see(host)["nvme-A"]["half"]


def test_what_a_run_left_half_made_is_cleared_away_first(host):
    path = host.add("a", "nvme-A")
    add_osd(host, path, 3)
    (host.STATE / "making").mkdir(parents=True)
    (host.STATE / "making/nvme-A").write_text("")
    judged = see(host)["nvme-A"]
    assert judged["half"]

    def zap(*_):
        host.groups.clear()
        host.volumes.clear()
        return 0, "", ""

    host.answers["lvm zap"] = zap
    make_osds(host)
    host.ran.clear()
    host.make(ABOUT | {"make": [judged]}, False)
    assert [said for said in host.ran if said.split()[0] not in ("lsblk", "pvs", "lvs", "blkid")] == [
        f"systemctl disable --now ceph-osd@3 ceph-volume@lvm-3-{UUID.format(3)}",
        "umount /var/lib/ceph/osd/ceph-3",
        f"ceph --name client.bootstrap-osd --keyring {host.KEYRING} osd purge-new 3 --yes-i-really-mean-it",
        f"ceph-volume lvm zap --destroy {path}",
        f"ceph-volume {BATCH} {path}",
    ]


def test_a_word_wipes_what_was_judged_and_both_ends(host):
    path = host.add("a", "nvme-A")
    with Path(path).open("r+b") as file:
        file.write(b"superblock")
        file.seek(-10, 2)
        file.write(b"backup of ")
    judged = see(host)["nvme-A"]
    assert judged["wipes"]
    make_osds(host)
    host.make(ABOUT | {"make": [judged], "wipe": ["nvme-A"]}, False)
    assert f"wipefs --all {path}" in host.ran and not Path(path).read_bytes().strip(b"\0")


def test_one_run_at_a_time_makes_osds(host):
    host.add("a", "nvme-A")
    judged = list(see(host).values())
    assert host.look(ABOUT, False)["busy"] is False
    context = multiprocessing.get_context("fork")
    ready, done = context.Event(), context.Event()

    def hold():
        host.lock(False)
        ready.set()
        done.wait(60)

    other = context.Process(target=hold)
    other.start()
    assert ready.wait(60)
    try:
        assert host.look(ABOUT, False)["busy"] is True
        with pytest.raises(SystemExit) as ended:
            host.make(ABOUT | {"make": judged}, False)
        assert "another run makes or starts OSDs there" in str(ended.value)
    finally:
        done.set()
        other.join()


def test_check_mode_runs_nothing(host):
    host.add("a", "nvme-A")
    about = ABOUT | {"make": list(see(host).values()), "wipe": ["nvme-A"], "start": [{"id": "3", "uuid": "u"}]}
    host.ran.clear()
    assert host.make(about, True) == ["an OSD is made on nvme-A, wiped first"]
    assert (host.start(about, True), host.settle(about, True)) == (["osd.3 runs"], [])
    assert host.ran == [] and not host.KEYRING.exists() and not host.STATE.exists()


STOPPED = [{"id": "3", "uuid": "u3"}, {"id": "4", "uuid": "u4"}]


def test_osds_that_stopped_are_activated(host):
    assert host.start(ABOUT | {"start": STOPPED}, False) == ["osd.3 runs", "osd.4 runs"]
    assert host.ran[-2:] == ["systemctl reset-failed ceph-osd@4", "ceph-volume lvm activate 4 u4"]


def test_all_osds_that_do_not_start_are_told(host):
    host.answers["activate"] = (1, "", "no label\n")
    with pytest.raises(SystemExit) as ended:
        host.start(ABOUT | {"start": STOPPED}, False)
    assert str(ended.value) == "osd.3: no label\nosd.4: no label"


def test_an_osd_that_does_not_come_is_told(host):
    path = host.add("a", "nvme-A")
    add_osd(host, path, 3)
    (host.STATE / "making").mkdir(parents=True)
    (host.STATE / "making/nvme-B").write_text("")
    about = ABOUT | {"make": [see(host)["nvme-A"]], "done": ["nvme-B"]}
    host.answers["osd.3.asok"] = (0, '{"state": "booting"}', "")
    with pytest.raises(SystemExit) as ended:
        host.settle(about, False)
    assert str(ended.value).startswith("OSDs: osd.3 is booting; expected all active within 0 s; fix: see journalctl")
    host.answers["osd.3.asok"] = (0, '{"state": "active"}', "")
    assert host.settle(about, False) == [] and list((host.STATE / "making").iterdir()) == []


def test_the_cluster_says_where_hosts_are_and_how_osds_are(host):
    tree = {
        "nodes": [
            {"id": -1, "type": "root", "name": "default", "children": [-2]},
            {"id": -2, "type": "rack", "name": "N01", "children": [-3]},
            {"id": -3, "type": "host", "name": "storage-001", "children": [1]},
            {"id": 1, "type": "osd", "name": "osd.1"},
            {"id": -4, "type": "host", "name": "storage-002", "children": [4, 5]},
            {"id": 4, "type": "osd", "name": "osd.4"},
        ],
        "stray": [{"id": 2, "type": "osd", "name": "osd.2"}],
    }
    pools = [{"name": ".mgr", "stats": {"objects": 2}}, {"name": "data", "stats": {"objects": 0}}]
    osds = [{"osd": n, "uuid": f"u{n}", "up_from": 7 * (n in (1, 5)), "up": int(n == 1), "state": []} for n in (1, 2, 3, 4, 5)]
    osds[3]["state"], osds[4]["state"] = ["destroyed", "exists"], ["exists", "new"]
    host.answers = {
        " df ": (0, json.dumps({"pools": pools}), ""),
        "osd tree": (0, json.dumps(tree), ""),
        "osd dump": (0, json.dumps({"fsid": FSID, "osds": osds}), ""),
    }
    assert host.ask({"uuids": ["u1", "u2", "u5", "u9"]}, False) == {
        "fsid": FSID,
        "has_objects": False,
        "places": {"storage-001": {"rack": "N01", "root": "default"}, "storage-002": {}},
        "osds": {
            "u1": {"was_up": True, "up": True, "host": "storage-001"},
            "u2": {"was_up": False, "up": False, "host": ""},
            "u5": {"was_up": False, "up": False, "host": "storage-002"},  # the one before it was
        },
        "destroyed": {"storage-002": [4]},
    }


def test_osds_get_numbers_that_are_free_again(host):
    path = host.add("a", "nvme-A")
    make_osds(host)
    judged = see(host)["nvme-A"] | {"numbers": [7]}
    assert host.make(ABOUT | {"make": [judged]}, False) == ["an OSD is made on nvme-A, osd.7 again"]
    assert f"ceph-volume {BATCH} {path} --osd-ids 7" in host.ran


def osd(number, up=1, state=("exists", "up"), inside=1):
    """Return an OSD as the cluster tells of it."""
    return {"osd": number, "uuid": f"u{number}", "up": up, "in": inside, "state": list(state)}


def have_cluster(host, osds, drives, states=("active+clean",)):
    """Have a cluster with two hosts answer, which has the even OSDs on the second."""
    nodes = [{"id": each["osd"], "type": "osd"} for each in osds]
    names = {"storage-001": 1, "storage-002": 0}
    nodes += [
        {
            "id": -1 - odd,
            "type": "host",
            "name": name,
            "children": [n["id"] for n in nodes if n["type"] == "osd" and n["id"] % 2 == odd],
        }
        for name, odd in names.items()
    ]
    summary = {"num_pg_by_state": [{"name": state, "num": 3} for state in states]}
    host.answers |= {
        "osd tree": (0, json.dumps({"nodes": nodes}), ""),
        "osd dump": (0, json.dumps({"fsid": FSID, "osds": osds}), ""),
        "osd metadata": (0, json.dumps([{"id": number, **about} for number, about in drives.items()]), ""),
        "pg stat": (0, json.dumps({"pg_summary": summary}), ""),
    }


def test_the_others_on_the_drive_of_an_osd_are_found(host):
    """By serial numbers: the drive was called otherwise when the other OSD began."""
    drives = {1: {"device_ids": "nvme0n1=S1", "devices": "nvme0n1"}, 3: {"device_ids": "nvme1n1=S1", "devices": "nvme1n1"}}
    drives |= {5: {"device_ids": "nvme1n1=S2"}, 2: {"device_ids": "nvme0n1=S1"}}  # the last is of the other host
    drives |= {9: {"device_ids": "", "devices": "sdb"}, 11: {"devices": "sdb"}}
    known = [osd(1), osd(2), osd(3, up=0, inside=0, state=("exists", "new")), osd(5), osd(7, state=("destroyed", "exists"))]
    have_cluster(host, [*known, osd(9), osd(11)], drives)
    said = host.find({"number": 3}, False)
    assert (said["host"], said["drive"], said["dead"], said["destroyed"]) == ("storage-001", "S1", False, False)
    assert said["osds"] == [
        {"number": 1, "uuid": "u1", "up": True, "in": True, "new": False},
        {"number": 3, "uuid": "u3", "up": False, "in": False, "new": True},
    ]
    assert [each["number"] for each in host.find({"number": 5}, False)["osds"]] == [5]
    nameless = host.find({"number": 9}, False)
    assert ([each["number"] for each in nameless["osds"]], nameless["drive"]) == ([9], "sdb")
    gone = host.find({"number": 7}, False)
    assert (gone["osds"], gone["destroyed"], gone["host"]) == ([], True, "storage-001")
    unknown = host.find({"number": 13}, False)
    assert (unknown["osds"], unknown["destroyed"], unknown["host"]) == ([], False, "")


@pytest.mark.parametrize(
    "state", ["down+remapped", "stale+active+clean", "active+recovery_unfound+degraded", "unknown", "peered"]
)
def test_placement_groups_whose_last_copy_may_be_on_a_drive_are_told(host, state):
    have_cluster(host, [osd(1)], {}, ("active+clean", "active+undersized+degraded"))
    assert not host.find({"number": 1}, False)["dead"]
    have_cluster(host, [osd(1)], {}, ("active+clean", state))
    assert host.find({"number": 1}, False)["dead"]


LEAVE = {"leave": [{"number": 3, "uuid": UUID.format(3), "up": True, "in": True}], "lost": False, "wait_s": 0.0}


def test_an_osd_is_left_once_it_holds_nothing(host):
    answers = iter(["", '{"safe_to_destroy": []}', '{"safe_to_destroy": [3]}'])
    host.answers["safe-to-destroy"] = lambda *_: (0, next(answers), "")
    assert host.drain(LEAVE | {"wait_s": 60}, False) == ["osd.3 is out, and data moves off it"]
    assert next(answers, "none") == "none" and "ceph --connect-timeout=10 osd out 3" in host.ran


def test_an_osd_that_holds_something_is_told(host):
    host.answers["safe-to-destroy"] = (0, '{"safe_to_destroy": [], "active": [3]}', "")
    host.answers["osd df"] = (0, json.dumps({"nodes": [{"id": 3, "pgs": 12}]}), "")
    with pytest.raises(SystemExit) as ended:
        host.drain(LEAVE, False)
    assert str(ended.value).startswith(
        "placement groups: osd.3 has 12; expected none on it, and all copies there, within 0 s; fix: run"
    )


def test_a_lost_drive_is_not_waited_for(host):
    assert host.drain(LEAVE | {"lost": True}, False) == []
    assert host.destroy(LEAVE | {"lost": True}, False) == ["osd.3 is destroyed"]
    assert host.ran == ["ceph --connect-timeout=10 osd destroy 3 --yes-i-really-mean-it"]


def test_ceph_is_asked_whether_an_osd_may_be_destroyed_until_it_says_so(host):
    answers = iter([(16, "", "Error EBUSY: osd.3 is not `down`"), (11, "", "Error EAGAIN: stats"), (0, "", "")])
    host.answers["osd destroy"] = lambda *_: next(answers)
    assert host.destroy(LEAVE | {"wait_s": 60}, False) == ["osd.3 is destroyed"]
    assert host.ran == ["ceph --connect-timeout=10 osd destroy 3"] * 3
    host.answers["osd destroy"] = (13, "", "Error EACCES\n")
    with pytest.raises(SystemExit) as ended:
        host.destroy(LEAVE | {"wait_s": 60}, False)
    assert str(ended.value).startswith("osd.3: Error EACCES; expected it to be destroyed")
    host.answers["osd destroy"] = (16, "", "Error EBUSY: OSD(s) 3 have 2 pgs\n")
    with pytest.raises(SystemExit) as ended:
        host.destroy(LEAVE, False)
    assert str(ended.value).startswith(
        "osd.3: Error EBUSY: OSD(s) 3 have 2 pgs; expected it to be destroyed within 0 s; fix: see"
    )


def test_an_osd_is_stopped_and_its_drive_not_asked(host):
    host.answers["is-active"] = (3, "", "")
    assert host.stop(LEAVE, False) == ["osd.3 is stopped"]
    units = f"ceph-osd@3 ceph-volume@lvm-3-{UUID.format(3)}"
    assert host.ran == [
        f"systemctl disable --now {units}",
        f"systemctl disable --runtime {units}",
        "systemctl reset-failed ceph-osd@3",
        "systemctl is-active --quiet ceph-osd@3",
        f"umount {host.LIB}/osd/ceph-3",
    ]
    host.lock = lambda _: None  # which this process has by now
    for question, answer in (("is-active", (0, "", "")), ("disable", (host.LATE, "", "no end"))):
        host.answers = {question: answer, "is-active": (3, "", "")} | {question: answer}
        with pytest.raises(SystemExit) as ended:
            host.stop(LEAVE, False)
        assert str(ended.value).startswith("osd.3: does not stop; expected it to end; fix: ")


def test_another_clusters_osd_of_the_same_number_is_not_stopped(host):
    (host.LIB / "osd/ceph-3").mkdir(parents=True)
    (host.LIB / "osd/ceph-3/fsid").write_text(f"{OTHER}\n")
    with pytest.raises(SystemExit) as ended:
        host.stop(LEAVE, False)
    assert str(ended.value).startswith(f"osd.3 there: OSD {OTHER}; expected {UUID.format(3)}, as the cluster has it; fix: ")
    assert host.ran == []


def test_check_mode_leaves_an_osd_where_it_is(host):
    assert host.drain(LEAVE, True) == ["osd.3 is out, and data moves off it"]
    assert (host.stop(LEAVE, True), host.destroy(LEAVE, True)) == (["osd.3 is stopped"], ["osd.3 is destroyed"])
    assert host.ran == [] and not host.STATE.exists()
