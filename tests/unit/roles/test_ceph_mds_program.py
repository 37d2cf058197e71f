"""The program of role ceph_mds, without Ceph; tests/ceph and molecule/ceph_mds have real daemons."""

import json
from pathlib import Path

import pytest

from tests.programs import load_program

PROGRAM = Path(__file__).parents[3] / "roles/ceph_mds/files/mds.py"
FSID = "dcf9adda-ceef-58bf-8f2c-82fb91b70d95"
NAME, OTHER = "home.control-001", "work.control-001"
ABOUT = {"names": [NAME, OTHER], "wait_s": 0.0, "keys": {OTHER: "another=="}}


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Return the program, whose host is a folder, and that notes what it runs."""
    program = load_program(PROGRAM)
    program.LIB, program.CONF = tmp_path / "lib", tmp_path / "ceph.conf"
    (tmp_path / "lib").mkdir()
    program.ran, program.runs_now, program.owned, program.refuses, program.known = [], set(), {}, {}, {}

    def call(name, *words):
        said = " ".join([name, *words]).replace("--connect-timeout=10 ", "").replace(" --format=json", "")
        if refusal := program.refuses.get(said):
            return refusal
        if said.startswith("systemctl --quiet"):
            return (0 if words[-1] in program.runs_now else 3), "", ""
        if said == "ceph fsid":
            return 0, json.dumps({"fsid": FSID}), ""
        if said == "ceph fs dump":
            serving = {
                name: {"name": name, "rank": 0, "state": state} for name, state in program.known.get("serving", {}).items()
            }
            standbys = [{"name": name} for name in program.known.get("standbys", ())]
            about = {"info": serving, "in": [0], "failed": []}
            return 0, json.dumps({"filesystems": [{"mdsmap": about}], "standbys": standbys}), ""
        program.ran.append(said)
        return 0, "a-key==", ""

    monkeypatch.setattr(program, "call", call)
    monkeypatch.setattr(program.shutil, "chown", lambda path, *who: program.owned.update({str(path.relative_to(tmp_path)): who}))
    monkeypatch.setattr(program.shutil, "which", lambda name: None if name == "ceph-mds" else f"/usr/bin/{name}")
    monkeypatch.setattr(program.time, "sleep", lambda _: None)
    return program


def lay(program, name, key="an-old-key=="):
    path = program.keyring(name)
    path.parent.mkdir(parents=True)
    path.write_text(f'[mds.{name}]\n\tkey = {key}\n\tcaps mon = "profile mds"\n')


def test_a_host_tells_what_it_has_and_what_it_lacks(program):
    program.CONF.write_text(f"[global]\nfsid = {FSID}\n")
    lay(program, NAME)
    lay(program, "old.control-001")
    (program.LIB / "00000000-0000-4000-8000-000000000000/mds.x.control-001").mkdir(parents=True)
    program.runs_now = {f"ceph-mds@{NAME}"}
    found = program.look(ABOUT, False)
    assert found.pop("host_name")
    assert found == {
        "lacks": ["ceph-mds"],
        "has_dpkg": True,
        "interrupted": True,
        "fsid": FSID,
        "cephadm": ["00000000-0000-4000-8000-000000000000"],
        "lacking": [OTHER],
        "stopped": [OTHER],
        "beside": ["old.control-001"],
    }


def test_what_lacks_is_made_and_started(program):
    lay(program, NAME)
    told = [f"ceph-mds@{NAME} runs", f"metadata server {OTHER} is made", f"ceph-mds@{OTHER} runs"]
    assert program.make(ABOUT, True) == told
    assert program.ran == [] and not program.keyring(OTHER).exists()
    program.keyring(OTHER).parent.mkdir()
    (program.keyring(OTHER).parent / ".gpuyard-cut-off").write_text("a key")
    assert program.make(ABOUT, False) == told
    assert "an-old-key==" in program.keyring(NAME).read_text()
    assert program.keyring(OTHER).read_text() == f"[mds.{OTHER}]\n\tkey = another==\n"
    assert [path.name for path in program.keyring(OTHER).parent.iterdir()] == ["keyring"]
    assert program.keyring(OTHER).stat().st_mode & 0o777 == 0o600
    assert set(program.owned.values()) == {("ceph", "ceph")} and f"lib/mds/ceph-{OTHER}" in program.owned
    assert program.ran[-3:] == [f"systemctl {words} ceph-mds@{OTHER}" for words in ("reset-failed", "enable --quiet", "restart")]


def test_what_is_there_is_left(program):
    for name in (NAME, OTHER):
        lay(program, name)
    program.runs_now = {f"ceph-mds@{NAME}", f"ceph-mds@{OTHER}"}
    same = {**ABOUT, "keys": {OTHER: "an-old-key=="}}
    assert program.make(same, False) == [] and program.ran == []


def test_a_key_of_a_cluster_that_was_there_before_gives_way(program):
    for name in (NAME, OTHER):
        lay(program, name)
    program.runs_now = {f"ceph-mds@{NAME}", f"ceph-mds@{OTHER}"}
    told = [f"metadata server {OTHER} has the key that Ceph knows", f"ceph-mds@{OTHER} runs"]
    assert program.make({**ABOUT, "keys": {OTHER: ""}}, True) == told  # of one that Ceph would make
    assert program.make(ABOUT, False) == told
    assert "another==" in program.keyring(OTHER).read_text() and program.ran[-1] == f"systemctl restart ceph-mds@{OTHER}"


def test_one_run_at_a_time(program):
    handle = program.hold()
    with pytest.raises(SystemExit) as ended:
        program.make(ABOUT, False)
    assert "another run makes daemons there; expected one run at a time" in ended.value.code
    program.os.close(handle)


def test_a_key_that_is_there_is_shared_and_no_other_rights_are_asked_for(program):
    program.refuses[f"ceph auth get-key mds.{NAME}"] = (2, "", "Error ENOENT")
    assert program.share({"names": [NAME, OTHER]}, True) == {"keys": {NAME: "", OTHER: "a-key=="}}
    program.ran.clear()
    assert program.share({"names": [NAME, OTHER]}, False) == {"keys": {NAME: "a-key==", OTHER: "a-key=="}}
    caps = "mon profile mds mgr profile mds mds allow osd allow rw tag cephfs *=*"
    assert program.ran == [f"ceph auth get-or-create-key mds.{NAME} {caps}", f"ceph auth get-key mds.{OTHER}"]
    program.refuses[f"ceph auth get-key mds.{NAME}"] = (1, "", "no\nquorum")
    with pytest.raises(SystemExit) as ended:
        program.share({"names": [NAME]}, False)
    assert ended.value.code == f"ceph auth get-key mds.{NAME}: no quorum"


def test_the_cluster_has_to_know_them_in_time(program, monkeypatch):
    program.known = {"serving": {NAME: "up:active"}}
    assert program.ask({}, False) == {"fsid": FSID, "servers": [NAME]}
    with pytest.raises(SystemExit) as ended:
        program.settle(ABOUT, False)
    assert ended.value.code.startswith(
        f"metadata server {OTHER}: not in the cluster; expected it within 0 s; fix: see journalctl"
    )
    assert program.settle(ABOUT, True) == []
    program.known = {"serving": {NAME: "up:active"}, "standbys": [OTHER]}
    assert program.settle({**ABOUT, "wait_s": 60}, False) == []
    program.known["serving"] = {NAME: "up:replay"}

    def go_on(_):
        program.known["serving"] = {NAME: "up:active"}

    monkeypatch.setattr(program.time, "sleep", go_on)
    assert program.settle({**ABOUT, "wait_s": 60}, False) == []
    program.known["serving"] = {NAME: "up:replay"}
    assert program.settle(ABOUT, False) == []  # the file system may be held up by others
