"""The program of role ceph_purge, without Ceph; molecule/ceph_purge and molecule/ceph_osd have real daemons."""

import json
import multiprocessing
from itertools import pairwise
from pathlib import Path

import pytest

from tests.programs import load_program

PROGRAM = Path(__file__).parents[3] / "roles/ceph_purge/files/purge.py"
FSID, OTHER = "dcf9adda-ceef-58bf-8f2c-82fb91b70d95", "11111111-2222-4333-8444-555555555555"
ABOUT = {"fsid": FSID, "packages": True, "wait_s": 10}
UUID = "{:08d}-1111-4222-8333-444444444444"
STEPS = ["gateways", "servers", "clients", "osds", "monitors", "rest"]
OURS = "# Written by gpuyard, role ceph_client.\n"


@pytest.fixture
def host(tmp_path, monkeypatch):
    """Return the program, whose host is a folder with drives, LVM and systemd, and that notes what it runs."""
    program = load_program(PROGRAM)
    for name in ("CEPH", "LIB", "UNITS", "MAPPED", "BY_ID", "MOUNTS", "PROBE"):
        setattr(program, name, tmp_path / name)
    for name in ("CEPH", "LIB", "UNITS", "MAPPED", "BY_ID"):
        (tmp_path / name).mkdir()
    program.STATES = tmp_path / "STATES"
    program.STATE = program.STATES / "ceph_osd"
    program.MOUNTS.write_text("")
    program.ran, program.answers, program.groups, program.volumes, program.running = [], {}, {}, [], set()
    program.enabled = set()

    def add(name, size=4 * 2**20):
        path = tmp_path / name
        with path.open("wb") as file:
            file.write(b"LVM2 text")
            file.truncate(size)
        (program.BY_ID / f"nvme-{name}").symlink_to(path)
        return str(path)

    def zap(*words):
        about = dict(pairwise(words))
        number, uuid = about["--osd-id"], about["--osd-fsid"]
        program.volumes[:] = [each for each in program.volumes if f"ceph.osd_fsid={uuid}" not in each["lv_tags"]]
        assert not any(f"ceph-osd@{number}" in unit for unit in program.running)
        for path, group in list(program.groups.items()):
            if not any(each["vg_name"] == group for each in program.volumes):
                del program.groups[path]
        return 0, "", ""

    def systemctl(*words):
        units = {word for word in words if "@" in word or word.endswith(".mount")}
        if words[0] == "--quiet":
            return (0 if units & (program.running | (program.enabled if words[1] == "is-enabled" else set())) else 3), "", ""
        if words[0] == "stop" or "--now" in words:
            program.running -= units
        if "--runtime" in words:
            program.enabled -= units
        return 0, "", ""

    def call(name, *words, limit_s=60):
        said = " ".join([name, *words])
        program.ran.append(said)
        for part, answer in program.answers.items():
            if part in said:
                return answer(*words) if callable(answer) else answer
        if name in ("pvs", "lvs"):
            groups = [{"pv_name": path, "vg_name": group} for path, group in program.groups.items()]
            return 0, json.dumps({"report": [{name[:2]: groups if name == "pvs" else program.volumes}]}), ""
        if name == "umount":
            rows = [row for row in program.MOUNTS.read_text().splitlines() if words[0] not in row]
            program.MOUNTS.write_text("\n".join(rows))
            for file in Path(words[0]).iterdir():
                file.unlink()
        if name == "ceph-volume":
            return zap(*words)
        if name == "pvremove":
            del program.groups[words[-1]]
        if name == "systemctl":
            return systemctl(*words)
        return (2 if name == "blkid" else 0), "", ""

    program.add = add
    monkeypatch.setattr(program, "call", call)
    monkeypatch.setattr(program.shutil, "which", lambda name: f"/usr/bin/{name}")
    return program


def be_of(host, fsid=FSID):
    """Have a ceph.conf."""
    (host.CEPH / "ceph.conf").write_text(f"[global]\nfsid = {fsid}\n")


def add_osd(host, path, number, cluster=FSID, group="", kind="block", uuid=""):
    """Have a volume of an OSD on a drive, as ceph-volume makes it."""
    uuid = uuid or UUID.format(number)
    group = host.groups.setdefault(path, group or f"ceph-{uuid}")
    tags = f"ceph.cluster_fsid={cluster},ceph.osd_id={number},ceph.osd_fsid={uuid},ceph.type={kind}"
    host.volumes.append({"vg_name": group, "lv_name": f"osd-{kind}-{uuid}", "lv_tags": tags})


def run_osd(host, number, fsid=FSID, kind="tmpfs"):
    """Have the folder of an OSD that runs."""
    folder = host.LIB / f"osd/ceph-{number}"
    folder.mkdir(parents=True)
    (folder / "ceph_fsid").write_text(f"{fsid}\n")
    host.running |= {f"ceph-osd@{number}"}
    host.enabled |= {f"ceph-osd@{number}"}  # until the host starts again
    with host.MOUNTS.open("a") as file:
        file.write(f"{kind} {folder} {kind} rw 0 0\n")


def add_daemon(host, kind, name):
    """Have the folder of a daemon that runs."""
    folder = host.LIB / f"{kind}/ceph-{name}"
    folder.mkdir(parents=True)
    (folder / "keyring").write_text("a key")
    host.running |= {f"ceph-{kind}@{name}"}


def fill(host):
    """Have all of a cluster, and a volume of another one; return paths of the drives."""
    be_of(host)
    paths = [host.add("a"), host.add("b"), host.add("c")]
    add_osd(host, paths[0], 3)
    add_osd(host, paths[1], 4)
    add_osd(host, paths[2], 3, cluster=OTHER, uuid=UUID.format(77))
    for number in (3, 4):
        run_osd(host, number)
        host.running |= {f"ceph-volume@lvm-{number}-{UUID.format(number)}"}
    for kind, name in (("mon", "h"), ("mgr", "h"), ("mds", "home.h"), ("radosgw", "rgw.store.h")):
        add_daemon(host, kind, name)
    (host.UNITS / "mnt-home.mount").write_text(OURS)
    (host.UNITS / "mnt-nfs.mount").write_text("")
    host.PROBE.write_text(f"#!/bin/sh\n{OURS}")
    (host.CEPH / "ceph.client.home.keyring").write_text(OURS)
    (host.CEPH / "ceph.client.admin.keyring").write_text("a key")
    (host.CEPH / "ceph.client.admin.keyring.before-gpuyard").write_text("an older key")
    (host.LIB / "bootstrap-osd").mkdir()
    (host.LIB / "bootstrap-osd/ceph.keyring").write_text("a key")
    (host.LIB / "crash").mkdir()
    (host.STATE / "making").mkdir(parents=True)
    (host.STATES / "ceph_cluster").mkdir()
    (host.STATES / "read").mkdir()
    (host.STATES / "read/ceph_client").write_text("{}")
    (host.STATES / "read/base").write_text("{}")
    return paths


def go(host, verb, is_check=False, about=ABOUT):
    """Do one step in a process of its own, as a run does: its locks end with it. Return its changes, or its complaint."""
    taken, given = multiprocessing.Pipe(duplex=False)

    def do():
        try:
            said = host.act(verb, about, is_check)["changes"]
        except SystemExit as ended:
            said = str(ended)
        given.send((said, host.groups, host.volumes, host.running, host.ran))

    process = multiprocessing.get_context("fork").Process(target=do)
    process.start()
    assert taken.poll(60)
    said, host.groups, host.volumes, host.running, host.ran = taken.recv()
    process.join()
    return said


def purge(host, about=ABOUT):
    """Do what a run does: all steps of which there is something; return the changes, up to the first complaint."""
    found = []
    all_of_it = host.look(about, False)["goes"]
    for verb in [verb for verb in all_of_it if all_of_it[verb] or (verb == "rest" and any(all_of_it.values()))]:
        said = go(host, verb, about=about)
        found += [said] if isinstance(said, str) else said
        if isinstance(said, str):
            break
    return found


def list_all(host):
    """Return all files and folders of the host but for its drives."""
    roots = (host.CEPH, host.LIB, host.UNITS, host.STATES, host.PROBE)
    return sorted(str(path.relative_to(host.CEPH.parent)) for root in roots for path in [root, *root.rglob("*")] if path.exists())


def zaps(host):
    return [said for said in host.ran if said.startswith("ceph-volume")]


def test_all_of_the_cluster_goes_and_nothing_else(host):
    a, b, c = fill(host)
    host.running |= {"mnt-home.mount", "mnt-nfs.mount", "ceph-crash"}
    changes = purge(host)
    assert zaps(host) == [
        f"ceph-volume lvm zap --destroy --osd-id {number} --osd-fsid {UUID.format(number)}" for number in (3, 4)
    ]
    assert host.running == {"mnt-nfs.mount", "ceph-crash"}
    folders = ["LIB", "LIB/bootstrap-osd", "LIB/crash", *(f"LIB/{kind}" for kind in ("mds", "mgr", "mon", "osd", "radosgw"))]
    assert list_all(host) == sorted(
        ["CEPH", *folders, "STATES", "STATES/read", "STATES/read/base", "UNITS", "UNITS/mnt-nfs.mount"]
    )
    assert not Path(a).read_bytes().strip(b"\0") and not Path(b).read_bytes().strip(b"\0")
    assert Path(c).read_bytes().startswith(b"LVM2") and [each["lv_name"] for each in host.volumes] == [
        f"osd-block-{UUID.format(77)}"
    ]
    lib, etc = host.LIB, host.CEPH
    assert changes[:2] == [
        f"gateway rgw.store.h and {lib}/radosgw/ceph-rgw.store.h are removed",
        f"metadata server home.h and {lib}/mds/ceph-home.h are removed",
    ]
    assert changes[5:9] == [
        "osd.3 is removed, with all its data on nvme-a",
        "osd.4 is removed, with all its data on nvme-b",
        f"manager h and {lib}/mgr/ceph-h are removed",
        f"monitor h and {lib}/mon/ceph-h are removed",
    ]
    assert changes[-1] == f"{etc}/ceph.conf is removed"
    stopped = [said for said in host.ran if said.startswith("systemctl disable --now")]
    assert stopped == [
        "systemctl disable --now ceph-radosgw@rgw.store.h",
        "systemctl disable --now ceph-mds@home.h",
        "systemctl disable --now mnt-home.mount",
        *(f"systemctl disable --now ceph-osd@{n} ceph-volume@lvm-{n}-{UUID.format(n)}" for n in (3, 4)),
        "systemctl disable --now ceph-mgr@h",
        "systemctl disable --now ceph-mon@h",
    ]
    # A unit that failed is told by systemctl for good, and one whose file went until systemd reads them again.
    assert "systemctl reset-failed ceph-mds@home.h" in host.ran and "systemctl daemon-reload" in host.ran


def test_a_second_run_changes_nothing(host):
    fill(host)
    purge(host)
    before = list_all(host)
    host.ran.clear()
    assert purge(host) == [] and zaps(host) == [] and list_all(host) == before


def test_check_mode_tells_all_and_changes_nothing(host):
    fill(host)
    before, volumes = list_all(host), list(host.volumes)
    host.ran.clear()
    told = [each for verb in STEPS for each in go(host, verb, is_check=True)]
    assert {said.split()[0] for said in host.ran} == {"pvs", "lvs"}
    assert (list_all(host), host.volumes) == (before, volumes)
    assert host.look(ABOUT, True)["goes"] == {verb: go(host, verb, is_check=True) for verb in STEPS}
    assert told == purge(host)


def test_what_is_of_another_cluster_is_told(host):
    fill(host)
    look = host.look(ABOUT, False)
    assert look["others"] == [f"OSD 3 of cluster {OTHER} on nvme-c"]
    assert (look["fsid"], look["busy"], look["cephadm"], look["unknown"], look["strange"], look["mixed"]) == (
        FSID,
        False,
        [],
        [],
        {},
        [],
    )


def test_of_a_group_with_volumes_of_two_clusters_one_volume_goes(host):
    be_of(host)
    path = host.add("a")
    add_osd(host, path, 3, group="ceph-both")
    add_osd(host, path, 5, cluster=OTHER, group="ceph-both")
    purge(host)
    assert [each["lv_name"] for each in host.volumes] == [f"osd-block-{UUID.format(5)}"]
    assert Path(path).read_bytes().startswith(b"LVM2") and not host.STATE.exists()


def test_an_osd_with_a_volume_of_another_cluster_is_refused_and_never_zapped(host):
    be_of(host)
    add_osd(host, host.add("a"), 3)
    add_osd(host, host.add("b"), 3, cluster=OTHER, kind="db")
    run_osd(host, 3)
    assert host.look(ABOUT, False)["mixed"] == [UUID.format(3)]
    assert go(host, "osds") == [] and zaps(host) == [] and len(host.volumes) == 2
    osd = host.Osd("3", UUID.format(3), ())  # which it became after it was listed
    said = host.remove_osd(osd, ABOUT, {})
    assert said.startswith("osd.3: volumes of two clusters; expected all of one; fix: see lvs") and zaps(host) == []


def test_a_host_without_a_ceph_conf_has_no_state_afterwards(host):
    add_osd(host, host.add("a"), 3)
    assert len(purge(host)) == 2 and not host.STATE.exists() and purge(host) == []


def test_several_osds_on_a_drive_go_and_then_it_is_empty(host):
    be_of(host)
    path = host.add("a")
    for number in (3, 10):
        add_osd(host, path, number, group="ceph-both")
    assert go(host, "osds") == [f"osd.{number} is removed, with all its data on nvme-a" for number in (3, 10)]
    assert len(zaps(host)) == 2 and not Path(path).read_bytes().strip(b"\0")


def test_where_one_osd_fails_the_others_go_on_and_the_next_run_too(host):
    fill(host)
    host.answers[f"--osd-id 3 --osd-fsid {UUID.format(3)}"] = (1, "", "RuntimeError: no luck\n")
    *_, said = purge(host)
    assert said == "osd.3: ceph-volume lvm zap: RuntimeError: no luck"
    assert len(zaps(host)) == 2 and (host.CEPH / "ceph.conf").exists() and (host.LIB / "mon/ceph-h").is_dir()
    assert sorted(path.name for path in (host.LIB / "osd").iterdir()) == ["ceph-3"]
    said = go(host, "rest")
    assert (
        said.startswith(f"{host.CEPH}/ceph.conf: it is needed, since this is left: osd.3") and (host.CEPH / "ceph.conf").exists()
    )
    host.answers.clear()
    assert purge(host)[0] == "osd.3 is removed, with all its data on nvme-a"
    assert host.look(ABOUT, False)["goes"] == {verb: [] for verb in STEPS}


def test_volumes_that_are_there_after_all_are_told(host):
    be_of(host)
    add_osd(host, host.add("a"), 3)
    host.answers["lvm zap"] = (0, "", "")
    assert go(host, "osds").startswith("osd.3: its volumes are there after ceph-volume lvm zap; expected none; fix: ")


@pytest.mark.parametrize("after", range(len(STEPS)))
def test_a_run_that_is_cut_off_between_steps_goes_on(host, after):
    paths = fill(host)
    for verb in STEPS[:after]:
        go(host, verb)
    purge(host)
    assert host.look(ABOUT, False)["goes"] == {verb: [] for verb in STEPS}
    assert not any(Path(path).read_bytes().strip(b"\0") for path in paths[:2]) and not (host.CEPH / "ceph.conf").exists()


def test_a_drive_whose_volumes_went_before_it_was_cut_off_is_made_empty(host):
    be_of(host)
    path = host.add("a")
    add_osd(host, path, 3)

    def die(*_):
        host.volumes.clear()
        host.groups[path] = ""  # LVM still has the drive
        raise SystemExit("cut off")

    host.answers["lvm zap"] = die
    assert go(host, "osds") == "cut off"
    host.answers.clear()
    assert host.look(ABOUT, False)["goes"]["osds"] == ["what LVM left on nvme-a is removed"]
    purge(host)
    assert f"pvremove --yes {path}" in host.ran and not Path(path).read_bytes().strip(b"\0")


@pytest.mark.parametrize("found", ["ext4", "gone"])
def test_a_drive_that_is_another_by_now_is_not_made_empty(host, found):
    be_of(host)
    path = host.add("a")
    (host.STATE / "wiping").mkdir(parents=True)
    (host.STATE / "wiping/nvme-a").touch()
    if found == "gone":
        (host.BY_ID / "nvme-a").unlink()
        assert go(host, "osds") == ["what LVM left on nvme-a is removed"]
    else:
        host.answers["blkid"] = (0, "TYPE=ext4\n", "")
        assert go(host, "osds").startswith("nvme-a: holds TYPE=ext4 by now; expected nothing")
    assert Path(path).read_bytes().startswith(b"LVM2")


def test_a_daemon_that_does_not_stop_is_told_and_keeps_its_folder(host):
    fill(host)
    host.answers["systemctl disable --now ceph-mds"] = (1, "", "Job timed out\n")
    *_, said = purge(host)
    assert said.startswith(
        "ceph-mds@home.h: not stopped and disabled: Job timed out; expected it within 10 s; fix: see journalctl"
    )
    assert (host.LIB / "mds/ceph-home.h").is_dir() and zaps(host) == []


def test_an_osd_that_does_not_stop_is_told_and_not_zapped(host):
    be_of(host)
    add_osd(host, host.add("a"), 3)
    run_osd(host, 3)
    host.answers["is-active ceph-osd@3"] = (0, "", "")
    assert go(host, "osds").startswith("ceph-osd@3: not stopped and disabled") and zaps(host) == []


def test_what_a_run_left_that_made_a_monitor_goes(host):
    be_of(host)
    for path in (host.LIB / "mon/.gpuyard-h", host.LIB / ".gpuyard-keys"):
        path.mkdir(parents=True)
    (host.CEPH / ".gpuyard-admin").write_text("a key")
    purge(host)
    assert list_all(host) == ["CEPH", "LIB", "LIB/mon", "STATES", "UNITS"]


def test_lvm_without_a_devices_file_is_asked_again(host):
    run, told = host.call, []

    def call(name, *words, limit_s=60):
        if name in ("pvs", "lvs"):
            told.append((name, "--devicesfile" in words))
            if "--devicesfile" in words:
                return 3, "", "unrecognized option\n"
        return run(name, *words, limit_s=limit_s)

    host.call = call
    add_osd(host, host.add("a"), 3)
    assert [(each.number, each.drives) for each in host.read_volumes()] == [("3", (str(host.CEPH.parent / "a"),))]
    assert told == [("pvs", True), ("pvs", False), ("lvs", True), ("lvs", False)]


def test_an_osd_that_is_not_unmounted_is_told_and_not_zapped(host):
    be_of(host)
    add_osd(host, host.add("a"), 3)
    run_osd(host, 3)
    host.answers["umount"] = (32, "", "target is busy\n")
    assert go(host, "osds") == f"osd.3: umount {host.LIB}/osd/ceph-3: target is busy" and zaps(host) == []


def test_of_an_osd_whose_drive_died_the_folder_goes(host):
    be_of(host)
    run_osd(host, 3)
    (host.LIB / "osd/ceph-4").mkdir()
    (host.UNITS / "multi-user.target.wants").mkdir()
    unit = f"ceph-volume@lvm-3-{UUID.format(3)}"
    (host.UNITS / f"multi-user.target.wants/{unit}.service").write_text("")
    told = [f"osd.{number} is removed, which has no volume any more" for number in (3, 4)]
    told.append(f"{unit} is disabled, whose OSD has no volume any more")
    assert host.look(ABOUT, False)["strange"] == {} and go(host, "osds") == told
    assert list((host.LIB / "osd").iterdir()) == [] and zaps(host) == []
    assert f"systemctl disable --now {unit}" in host.ran


def test_units_of_osds_that_have_volumes_are_not_stale(host):
    paths = fill(host)
    (host.UNITS / "multi-user.target.wants").mkdir()
    for number, uuid in ((3, 3), (4, 4), (3, 77), (3, 99)):
        (host.UNITS / f"multi-user.target.wants/ceph-volume@lvm-{number}-{UUID.format(uuid)}.service").write_text("")
    assert host.list_stale(ABOUT) == [f"ceph-volume@lvm-3-{UUID.format(99)}"] and len(paths) == 3
    be_of(host, OTHER)
    assert host.list_stale(ABOUT) == []


def test_what_cannot_be_removed_is_told(host, monkeypatch):
    fill(host)

    def refuse(path):
        raise OSError(30, "Read-only file system", str(path))

    monkeypatch.setattr(host.shutil, "rmtree", refuse)
    said = go(host, "gateways")
    assert said.startswith(f"{host.LIB}/radosgw/ceph-rgw.store.h: Read-only file system; expected to remove it; fix: see dmesg")


def test_folders_that_are_not_the_clusters_are_told_and_left(host):
    be_of(host)
    run_osd(host, 3, fsid=OTHER)
    run_osd(host, 4, kind="xfs")
    (host.LIB / "osd/ceph-5").mkdir()
    (host.LIB / "osd/ceph-5/fsid").write_text("")
    assert host.look(ABOUT, False)["strange"] == {
        f"{host.LIB}/osd/ceph-3": f"of cluster {OTHER}",
        f"{host.LIB}/osd/ceph-4": "of an OSD that is on no volume of LVM",
        f"{host.LIB}/osd/ceph-5": "of an unknown cluster",
    }
    assert go(host, "osds") == [] and len(host.running) == 2


def test_without_a_ceph_conf_nothing_but_tagged_volumes_is_known(host):
    paths = fill(host)
    (host.CEPH / "ceph.conf").unlink()
    look = host.look(ABOUT, False)
    assert [Path(path).name for path in look["unknown"]] == ["ceph-rgw.store.h", "ceph-home.h", "ceph-h", "ceph-h"]
    state = [f"{host.STATES}/{name} is removed" for name in ("ceph_cluster", "ceph_osd", "read/ceph_client")]
    osds = [f"osd.{number} is removed, with all its data on nvme-{name}" for number, name in ((3, "a"), (4, "b"))]
    assert look["goes"] == {**{verb: [] for verb in STEPS}, "osds": osds, "rest": state}
    be_of(host, OTHER)
    assert host.look(ABOUT, False)["unknown"] == [] and host.look(ABOUT, False)["goes"]["monitors"] == []
    assert len(paths) == 3


def test_a_client_alone_keeps_keys_that_somebody_else_wrote(host):
    fill(host)
    about = ABOUT | {"packages": False}
    told = [each for verb in ("clients", "rest") for each in host.look(about, False)["goes"][verb]]
    assert not any("admin" in each for each in told) and any("ceph.client.home.keyring" in each for each in told)
    assert told[-1] == f"{host.CEPH}/ceph.conf is removed"


def test_what_uses_it_is_told(host):
    rows = ["10.0.0.1:/ /mnt/a\\040b ceph rw 0 0", "ceph-fuse /mnt/home fuse.ceph-fuse rw 0 0", "x /mnt/x fuse.sshfs rw 0 0"]
    host.MOUNTS.write_text("\n".join(rows))
    for number, fsid in (("0", FSID), ("1", OTHER), ("2", "")):
        (host.MAPPED / number).mkdir()
        for name, text in (("cluster_fsid", fsid), ("pool", "datasets"), ("name", f"disk{number}")):
            (host.MAPPED / number / name).write_text(f"{text}\n")
    (host.LIB / OTHER / "osd.3").mkdir(parents=True)
    look = host.look(ABOUT, False)
    assert look["mounted"] == ["/mnt/a b", "/mnt/home"] and look["cephadm"] == [OTHER]
    assert look["mapped"] == ["/dev/rbd0 (datasets/disk0)", "/dev/rbd2 (datasets/disk2)"]


def test_what_is_stored_is_told_where_the_cluster_answers(host):
    fill(host)
    pools = {"pools": [{"stats": {"stored": 5}}, {"stats": {"stored": 7}}]}
    for answer, told in (((0, json.dumps(pools), ""), 12), ((0, "{}", ""), None), ((1, "", "timed out"), None)):
        host.answers[" df "] = answer
        assert host.look(ABOUT, True)["stored_bytes"] == told
    host.ran.clear()
    assert host.look(ABOUT, False)["stored_bytes"] is None and not any(said.startswith("ceph ") for said in host.ran)


@pytest.mark.parametrize("which", ["lock", "folder"])
def test_one_run_at_a_time(host, which):
    fill(host)
    context = multiprocessing.get_context("fork")
    ready, done = context.Event(), context.Event()

    def hold():
        path = host.STATE / "lock" if which == "lock" else host.LIB
        handle = host.os.open(path, host.os.O_RDONLY | (host.os.O_CREAT if which == "lock" else 0))
        host.fcntl.flock(handle, host.fcntl.LOCK_EX)
        ready.set()
        done.wait(60)

    assert host.look(ABOUT, False)["busy"] is False
    other = context.Process(target=hold)
    other.start()
    try:
        assert ready.wait(60)
        assert host.look(ABOUT, False)["busy"] is True
        assert "another run makes or removes daemons there; expected one run at a time" in go(host, "osds")
        assert zaps(host) == []
    finally:
        done.set()
        other.join()
