"""The program and the files of role ceph_client, without Ceph; molecule/ceph_osd mounts a file system."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.programs import load_program

ROOT = Path(__file__).parents[3]
FSID = "dcf9adda-ceef-58bf-8f2c-82fb91b70d95"
WHOLE = {
    "filesystem": "home",
    "user": "files-home",
    "folder": "",
    "at": "/mnt/home",
    "unit": "mnt-home.mount",
    "driver": "kernel",
}
FOLDER = {
    **WHOLE,
    "filesystem": "work",
    "user": "red",
    "folder": "red",
    "at": "/mnt/work",
    "unit": "mnt-work.mount",
    "driver": "fuse",
}
PATH = "/volumes/red/red/6f7b5d5e-2c40-4b5e-9a3f-0d3a7c1b9e11"
OURS = "# Written by gpuyard, role ceph_client."
SHARED = {"keys": {"files-home": "one==", "red": "two=="}, "paths": {"work red": PATH}}


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Return the program, whose host is a folder, and that notes what it asks."""
    program = load_program(ROOT / "roles/ceph_client/files/client.py")
    program.CEPH, program.UNITS, program.MOUNTS = tmp_path / "ceph", tmp_path / "units", tmp_path / "mounts"
    program.UNITS.mkdir()
    program.CEPH.mkdir()
    program.MOUNTS.write_text("proc /proc proc rw 0 0\n")
    program.FILESYSTEMS = tmp_path / "filesystems"
    program.FILESYSTEMS.write_text("nodev\tproc\n\text4\nnodev\tfusectl\n")
    program.asked, program.answers, program.there = [], {}, {"dpkg", "ceph", "ceph-fuse"}
    real = program.call

    def call(name, *words, limit_s=0):
        said = " ".join([name, *words]).replace("--connect-timeout=10 ", "")
        program.asked.append(said)
        if name in ("sh", "realpath"):
            return real(name, *words)
        return program.answers.get(said, (0, f"answer to {said}\n", ""))

    monkeypatch.setattr(program, "call", call)
    monkeypatch.setattr(program.shutil, "which", lambda name: f"/usr/bin/{name}" if name in program.there else None)
    return program


def test_a_host_tells_what_is_where_it_mounts(program, tmp_path):
    (tmp_path / "held/x").mkdir(parents=True)
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to("empty")
    (tmp_path / "way").symlink_to("held")
    rows = [("none", f"{tmp_path}/with\\040space", "fuse.ceph-fuse"), ("/dev/sdb1", f"{tmp_path}/disk", "ext4")]
    program.MOUNTS.write_text("".join(f"{' '.join(row)} rw 0 0\n" for row in rows))
    names = ("held", "empty", "file", "none", "with space", "disk", "link", "way/x")
    mounts = [{**FOLDER, "at": f"{tmp_path}/{name}", "unit": f"{name.replace('/', '-')}.mount"} for name in names]
    (program.UNITS / "held.mount").write_text(program.OURS)
    (program.UNITS / "old.mount").write_text(f"{program.OURS}\n[Mount]\n")
    (program.UNITS / "other.mount").write_text("[Mount]\n")
    for user, text in (("red", program.OURS), ("files-home", program.OURS), ("admin", "[client.admin]\n")):
        (program.CEPH / f"ceph.client.{user}.keyring").write_text(text)
    (program.CEPH / "ceph.conf").write_text(f"[global]\nfsid = {FSID}\n")
    program.answers["modprobe --dry-run --quiet ceph"] = (1, "", "")
    program.answers[f"stat --file-system {tmp_path}/with space"] = (1, "", "stat: Transport endpoint is not connected")
    found = program.look({"mounts": mounts})
    assert found == {
        "lacks": ["mount.fuse.ceph"],
        "has_dpkg": True,
        "interrupted": True,
        "has_drivers": ["fuse"],
        "fsid": FSID,
        "mounted": {f"{tmp_path}/with space": "fuse.ceph-fuse", f"{tmp_path}/disk": "ext4"},
        "dead": [f"{tmp_path}/with space"],
        "holding": {f"{tmp_path}/held": "x", f"{tmp_path}/file": "no folder, but a file"},
        "linked": {f"{tmp_path}/link": f"{tmp_path}/link (a link)", f"{tmp_path}/way/x": f"{tmp_path}/held/x"},
        "beside": [str(program.CEPH / "ceph.client.files-home.keyring"), str(program.UNITS / "old.mount")],
    }


def test_a_monitor_shares_keys_and_paths_and_says_what_is_not_there(program):
    program.answers["ceph fsid --format=json"] = (0, json.dumps({"fsid": FSID}), "")
    program.answers["ceph auth get-key client.red"] = (2, "", "Error ENOENT")
    way = "ceph fs subvolume getpath work red --group_name=red"
    program.answers[way] = (0, f"{PATH}\n", "")
    assert program.share({"mounts": [WHOLE, FOLDER, FOLDER]}) == {
        "fsid": FSID,
        "keys": {"files-home": "answer to ceph auth get-key client.files-home", "red": ""},
        "paths": {"work red": PATH},
        "missing": ["user client.red"],
    }
    program.answers[way] = (2, "", "Error ENOENT")
    assert program.share({"mounts": [FOLDER]})["missing"] == ["user client.red", "folder red of file system work"]
    program.answers[way] = (1, "", "2026-11-27T19:00:00.000+0000 7f0 1 noise\nno\nquorum")
    with pytest.raises(SystemExit) as ended:
        program.share({"mounts": [FOLDER]})
    assert ended.value.code == "ceph fs subvolume getpath: no quorum"


def test_where_there_is_no_ceph_cephadm_asks(program):
    program.there = {"cephadm"}
    program.answers["cephadm shell -- ceph fsid --format=json"] = (0, json.dumps({"fsid": FSID}), "Inferring fsid")
    assert program.share({"mounts": [WHOLE]})["keys"] == {
        "files-home": "answer to cephadm shell -- ceph auth get-key client.files-home"
    }
    program.there = set()
    with pytest.raises(SystemExit) as ended:
        program.share({"mounts": [WHOLE]})
    assert "fix: install the package ceph-common" in ended.value.code


@pytest.fixture
def laid():
    """Return what is written on a host with two mounts."""
    module = load_program(ROOT / "plugins/filter/ceph_client_files.py")
    about = {"mounts": [WHOLE, FOLDER], "shared": SHARED}
    return module.FilterModule().filters()["ceph_client_files"](about)


def test_units_mount_by_either_driver_and_keys_stay_with_root(laid):
    kernel, fuse, check = laid["files"]
    assert (kernel["path"], fuse["path"]) == ("/etc/systemd/system/mnt-home.mount", "/etc/systemd/system/mnt-work.mount")
    assert "What=:/\n" in kernel["content"] and "Type=ceph\n" in kernel["content"]
    assert "Options=name=files-home,mds_namespace=home,noatime,_netdev\n" in kernel["content"]
    assert "What=none\n" in fuse["content"] and "Type=fuse.ceph\n" in fuse["content"]
    assert (
        f"ceph.id=red,ceph.conf=/etc/ceph/ceph.conf,ceph.client_fs=work,ceph.client_mountpoint={PATH},_netdev\n"
        in fuse["content"]
    )
    assert [(each["path"], each["mode"], each["content"]) for each in laid["secrets"]] == [
        ("/etc/ceph/ceph.client.files-home.keyring", "0600", f"{OURS}\n[client.files-home]\n\tkey = one==\n"),
        ("/etc/ceph/ceph.client.red.keyring", "0600", f"{OURS}\n[client.red]\n\tkey = two==\n"),
    ]
    assert [each["name"] for each in laid["units"]] == ["mnt-home.mount", "mnt-work.mount"]
    assert "one==" not in str(laid["files"]) and check["mode"] == "0755"


@pytest.fixture
def check(laid, tmp_path):
    """Return a function that asks what looks after mounts, of a host with file systems of two kinds."""
    ours = tmp_path / "check"
    text = laid["files"][2]["content"].replace("/mnt/", f"{tmp_path}/").replace("limit=30", "limit=2")
    text = text.replace("/proc/self/mounts", f"{tmp_path}/mounts").replace("/run/gpuyard", f"{tmp_path}/run/gpuyard")
    ours.write_text(text)
    ours.chmod(0o755)
    for name in ("home", "work"):
        (tmp_path / name).mkdir()

    def check(*kinds, path=""):
        rows = zip(("home", "work", "work"), kinds, strict=False)
        (tmp_path / "mounts").write_text("".join(f"none {tmp_path}/{name} {kind} rw 0 0\n" for name, kind in rows))
        environment = {**os.environ, "PATH": f"{path}:{os.environ['PATH']}"}
        done = subprocess.run([ours], capture_output=True, text=True, check=False, timeout=60, env=environment)
        return done.returncode, done.stderr

    return check


def test_what_looks_after_mounts_before_a_job_is_not_content_with_a_folder(check, tmp_path):
    """A file system that is not mounted leaves a folder that takes everything."""
    assert check("ceph", "fuse.ceph-fuse") == (0, "")
    code, why = check("ceph", "ext4")
    assert code == 1 and why.startswith(f"{tmp_path}/work: not mounted; systemctl start ")
    assert check("ceph", "ceph", "tmpfs")[0] == 1  # over it
    assert [path.name for path in (tmp_path / "work").iterdir()] == []
    (tmp_path / "home").rmdir()
    (tmp_path / "home").write_text("")
    code, why = check("ceph", "ceph")
    assert (
        code == 1 and why.startswith(f"{tmp_path}/home: does not take what is written, within 2 s") and len(why.splitlines()) == 1
    )
    assert [path.name for path in (tmp_path / "run/gpuyard-ceph-mounts").iterdir() if path.suffix != ".lock"] == []


def test_nobody_waits_for_what_hangs(check, tmp_path):
    """A process in the kernel cannot be ended; here it does not want to. The next trial does not wait, nor begin one more."""
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    (bin_ / "sync").write_text(f"#!/bin/sh\ntrap '' TERM\necho $$ >>{tmp_path}/hanging\nexec sleep 300\n")
    (bin_ / "sync").chmod(0o755)
    try:
        for _ in range(2):
            code, why = check("ceph", path=bin_)
            assert code == 1 and "home: does not take what is written, within 2 s" in why and "work: not mounted" in why
        assert len((tmp_path / "hanging").read_text().split()) == 1
    finally:
        for number in (tmp_path / "hanging").read_text().split():
            os.kill(int(number), signal.SIGKILL)


def test_a_kernel_has_a_driver_in_it_or_as_a_module(program):
    nothing = {"mounts": []}
    for kind in ("ceph", "fuse"):
        program.answers[f"modprobe --dry-run --quiet {kind}"] = (1, "", "")
    assert program.look(nothing)["has_drivers"] == []
    program.FILESYSTEMS.write_text("nodev\tproc\n\tfuseblk\nnodev\tfuse\n")
    assert program.look(nothing)["has_drivers"] == ["fuse"]
    program.answers["modprobe --dry-run --quiet ceph"] = (0, "", "")
    assert program.look(nothing)["has_drivers"] == ["kernel", "fuse"]


def test_a_mount_whose_program_died_is_no_link(program, monkeypatch, tmp_path):
    def fail(path):
        raise OSError(107, "Transport endpoint is not connected", str(path))

    monkeypatch.setattr(program.Path, "is_symlink", fail)
    assert program.find_real(f"{tmp_path}/home") == f"{tmp_path}/home"
