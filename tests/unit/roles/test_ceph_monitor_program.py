"""The program of role ceph_monitor, without Ceph; molecule/ceph_monitor has real daemons."""

import base64
import json
import os
import socket
from pathlib import Path

import pytest

from tests.programs import load_program

PROGRAM = Path(__file__).parents[3] / "roles/ceph_monitor/files/monitor.py"
FSID = "dcf9adda-ceef-58bf-8f2c-82fb91b70d95"
ABOUT = {
    "name": "control-001",
    "fsid": FSID,
    "monitors": {"control-001": "127.0.0.1", "control-002": "127.0.0.2"},
    "managers": ["control-001"],
    "wait_s": 0.0,
}


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Return the program, whose host is a folder, whose owner has all files, and that notes what it runs."""
    program = load_program(PROGRAM)
    program.LIB, program.CONF, program.ADMIN = tmp_path / "lib", tmp_path / "etc/ceph.conf", tmp_path / "etc/admin"
    for folder in ("lib/mon", "lib/mgr", "etc"):
        (tmp_path / folder).mkdir(parents=True)
    program.ran, program.answers = [], {}

    def call(name, *words):
        said = " ".join([name, *(str(word) for word in words)])
        program.ran.append(said)
        if name == "ceph-authtool" and "-C" in words:
            Path(words[1]).write_text("a key\n")
        if name == "monmaptool":
            Path(words[-1]).write_text("a map\n")
        if "--mkfs" in words:
            Path(words[words.index("--mon-data") + 1], "store.db").write_text("")
        return next((answer for part, answer in program.answers.items() if part in said), (0, "", ""))

    monkeypatch.setattr(program, "call", call)
    monkeypatch.setattr(program.shutil, "chown", lambda *_: None)
    monkeypatch.setattr(program.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(program.time, "sleep", lambda _: None)
    return program


def answer_quorum(program, *names, **addresses):
    """Have the cluster answer with these monitors in its quorum."""
    for path in (program.CONF, program.ADMIN):
        path.write_text(f"fsid = {FSID}\n")
    known = [
        {"name": name, "public_addrs": {"addrvec": [{"type": "v2", "addr": f"{addresses.get(name, '127.0.0.1')}:3300"}]}}
        for name in names
    ]
    said = {"quorum_names": list(names), "monmap": {"fsid": FSID, "mons": known}}
    program.answers["quorum_status"] = (0, json.dumps(said), "")


def test_a_fresh_host_says_so(program, monkeypatch):
    monkeypatch.setattr(program, "runs", lambda *_, **__: False)
    monkeypatch.setattr(program, "is_open", lambda _: False)
    looked = program.look(ABOUT)
    assert looked["cluster"] is None and looked["why"] == f"no {program.CONF}"
    assert (looked["fsid"], looked["monitor"], looked["others"], looked["cephadm"]) == ("", False, [], [])
    assert (looked["told"], looked["osds"], looked["interrupted"]) == ([], [], False)
    assert looked["has_address"] and looked["host_name"] == os.uname().nodename.partition(".")[0]


def test_a_host_says_what_it_has(program, monkeypatch):
    answer_quorum(program, "control-001")
    monkeypatch.setattr(program, "is_open", lambda address: address == "127.0.0.2")
    for name in ("mon/ceph-control-001/store.db", "mon/ceph-old", "mon/.gpuyard-control-001", f"{FSID}/mon.a", "osd/ceph-3"):
        (program.LIB / name).mkdir(parents=True)
    (program.LIB / "01234567-89ab-4cde-8f01-23456789abcd").mkdir()
    (program.LIB / "01234567-89ab-4cde-8f01-23456789abcd/cephadm.59b0").write_text("left by a host that was emptied")
    program.CONF.write_text(f"[global]\nfsid={FSID}\nmon host = [v2:10.0.0.1:3300,v1:10.0.0.1:6789] 10.0.0.2\n")
    looked = program.look(ABOUT)
    assert (looked["monitor"], looked["runs"], looked["others"], looked["cephadm"]) == (True, True, ["ceph-old"], [FSID])
    assert (looked["osds"], looked["told"]) == (["ceph-3"], ["10.0.0.1", "10.0.0.2"])
    assert looked["listening"] == ["control-002"]
    assert looked["cluster"] == {"fsid": FSID, "monitors": {"control-001": "127.0.0.1"}, "quorum": ["control-001"]}


def test_addresses_and_ports_are_tried_for_real(program):
    assert (program.is_here("127.0.0.1"), program.is_here("192.0.2.1"), program.is_here("")) == (True, False, False)
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        program.PORTS = {"v2": server.getsockname()[1]}
        assert not program.is_open("127.0.0.1")
        server.listen()
        assert program.is_open("127.0.0.1") and not program.is_open("")


def test_check_mode_runs_nothing(program, monkeypatch):
    monkeypatch.setattr(program, "runs", lambda *_, **__: False)
    told = [program.VERBS[verb](ABOUT, True) for verb in ("first", "lay", "start", "wait", "join", "manager", "settle")]
    assert told == [
        ["monitor control-001, the cluster's first, is made"],
        ["monitor control-001 is made"],
        ["ceph-mon@control-001 runs"],
        [],
        ["ceph-mon@control-001 runs"],
        ["manager control-001 is made", "ceph-mgr@control-001 runs"],
        {"changes": [], "left": []},
    ]
    assert program.ran == [] and not any(program.LIB.glob("*/*"))


def test_a_store_that_is_there_is_never_made_again(program):
    """Another run came first, or somebody put something there."""
    store = program.LIB / "mon/ceph-control-001"
    store.mkdir()
    (store / "store.db").write_text("all that the cluster knows")
    with pytest.raises(SystemExit) as ended:
        program.make_first(ABOUT, False)
    assert str(ended.value).startswith(f"{store}: is not empty; expected no store yet")
    assert (store / "store.db").read_text() == "all that the cluster knows" and not program.ADMIN.exists()


def test_one_run_at_a_time_makes_a_monitor(program):
    with program.open_workshop(), pytest.raises(SystemExit) as ended:
        program.make_first(ABOUT, False)
    assert "another run makes a monitor there" in str(ended.value)


def test_the_first_monitor_is_in_its_place_once_it_is_whole(program):
    """What a run left that was cut off is made anew; a key of an earlier try is kept beside the new one."""
    half = program.LIB / "mon/.gpuyard-control-001"
    half.mkdir()
    (half / "half").write_text("")
    program.ADMIN.write_text("an old key\n")
    program.make_first(ABOUT, False)
    store = program.LIB / "mon/ceph-control-001"
    assert [path.name for path in (program.LIB / "mon").iterdir()] == ["ceph-control-001"]
    assert [path.name for path in store.iterdir()] == ["store.db"]
    assert program.ADMIN.read_text() == "a key\n" and program.ADMIN.stat().st_mode & 0o777 == 0o600
    assert Path(f"{program.ADMIN}.before-gpuyard").read_text() == "an old key\n"
    (made,) = [said for said in program.ran if said.startswith("monmaptool")]
    assert f"--fsid {FSID} --addv control-001 [v2:127.0.0.1:3300,v1:127.0.0.1:6789]" in made
    assert [path for path in program.LIB.iterdir() if path.name not in ("mon", "mgr")] == []


def test_a_monitor_that_cannot_be_made_leaves_no_store(program):
    program.answers["--mkfs"] = (1, "", "error\nno space left on device\n")
    with pytest.raises(SystemExit) as ended:
        program.make_first(ABOUT, False)
    assert str(ended.value) == "ceph-mon control-001: error no space left on device"
    assert not (program.LIB / "mon/ceph-control-001").exists() and not program.ADMIN.exists()


def test_another_monitor_begins_with_what_is_shared(program):
    shared = {"monmap": base64.b64encode(b"\0map").decode(), "keys": "[mon.]\n", "admin": "[client.admin]\n"}
    assert program.lay(ABOUT | shared, False) == ["monitor control-001 is made"]
    assert program.ADMIN.read_text() == "[client.admin]\n"
    program.ADMIN.write_text("an old key\n")
    assert program.lay(ABOUT | shared, False) == ["the administrator's key is there"]
    assert program.ADMIN.read_text() == "[client.admin]\n"
    assert program.lay(ABOUT | shared, False) == []
    program.ADMIN.write_text("another old key\n")
    program.lay(ABOUT | shared, False)
    kept = [path.read_text() for path in sorted(program.ADMIN.parent.glob("admin.before*"))]
    assert kept == ["an old key\n", "another old key\n"]


def test_a_monitor_that_nobody_counts_is_told(program):
    answer_quorum(program, "control-002")
    with pytest.raises(SystemExit) as ended:
        program.join(ABOUT, False)
    fix = (
        "see journalctl -u ceph-mon@control-001 on control-001; ports 3300 and 6789 have to pass, and clocks to agree; one that "
        "was removed once is made anew: move /var/lib/ceph/mon/ceph-control-001 away, and run again"
    )
    assert str(ended.value) == f"the quorum: without control-001; expected control-001 within 0 s; fix: {fix}"


def test_what_waiting_does_not_bring_is_told_at_once(program):
    program.CONF.write_text(f"fsid = {FSID}\n")
    with pytest.raises(SystemExit) as ended:
        program.wait(ABOUT | {"wait_s": 10**6}, False)
    assert str(ended.value).startswith(f"control-001: no {program.ADMIN}; expected it, to ask the cluster; fix: copy")


def test_no_monitor_joins_a_cluster_that_does_not_answer(program, monkeypatch):
    """Another that was to join may have taken the majority with it."""
    monkeypatch.setattr(program, "runs", lambda *_, **__: False)
    answer_quorum(program, "control-002")
    program.answers["quorum_status"] = (1, "", "[errno 110] RADOS timed out\n")
    with pytest.raises(SystemExit):
        program.join(ABOUT, False)
    assert [said for said in program.ran if said.startswith("systemctl")] == []


def test_a_silent_cluster_says_why(program):
    answer_quorum(program, "control-001")
    program.answers["quorum_status"] = (1, "", "[errno 110] RADOS timed out\n")
    with pytest.raises(SystemExit) as ended:
        program.wait(ABOUT, False)
    assert str(ended.value).startswith("the quorum: ceph quorum_status: [errno 110] RADOS timed out; expected one within 0 s")


def test_a_unit_that_gave_up_is_started_again(program, monkeypatch):
    monkeypatch.setattr(program, "runs", lambda *_, **__: False)
    assert program.start_monitor(ABOUT, False) == ["ceph-mon@control-001 runs"]
    assert program.ran == [
        "systemctl reset-failed ceph-mon@control-001",
        "systemctl enable --now --quiet ceph-mon@control-001",
    ]


def test_a_manager_is_made_once(program):
    program.answers["mgr dump"] = (0, '{"available": true, "active_name": "control-001", "standbys": []}', "")
    program.answers["auth get-or-create mgr.control-001"] = (0, "[mgr.control-001]\n", "")
    assert program.make_manager(ABOUT, False) == ["manager control-001 is made"]
    keyring = program.LIB / "mgr/ceph-control-001/keyring"
    assert keyring.read_text() == "[mgr.control-001]\n" and keyring.stat().st_mode & 0o777 == 0o600
    owned = []
    program.shutil.chown = lambda path, *_: owned.append(path.name)
    assert program.make_manager(ABOUT, False) == [] and owned == ["ceph-control-001", "keyring"]


def test_a_manager_that_does_not_come_is_told(program):
    program.answers["mgr dump"] = (0, '{"available": false, "active_name": "control-001", "standbys": []}', "")
    with pytest.raises(SystemExit) as ended:
        program.make_manager(ABOUT, False)
    assert str(ended.value).startswith("manager control-001: not ready; expected it to serve; fix: see journalctl -u ceph-mgr@")


def test_what_is_beside_the_plan_is_told(program):
    answer_quorum(program, "control-001", "old")
    managers = {"available": True, "active_name": "control-001", "standbys": [{"name": "old"}]}
    program.answers["mgr dump"] = (0, json.dumps(managers), "")
    assert program.settle(ABOUT | {"expect": ["control-001"]}, False)["left"] == [
        "monitor old: ceph mon remove old; then systemctl disable --now ceph-mon@old there, and move its "
        f"/var/lib/ceph/mon/ceph-old and {program.ADMIN} away",
        "manager old: systemctl disable --now ceph-mgr@old there; then ceph auth rm mgr.old",
    ]


def test_what_is_shared_is_all_that_a_monitor_needs(program):
    program.answers = {"auth get mon.": (0, "[mon.]\n", ""), "auth get client.admin": (0, "[client.admin]\n", "")}

    def get_map(*words):
        Path(words[-1]).write_bytes(b"\0map")
        return ""

    run = program.run
    program.run = lambda name, *words: get_map(*words) if "getmap" in words else run(name, *words)
    shared = program.share(ABOUT, False)
    assert base64.b64decode(shared["monmap"]) == b"\0map"
    assert (shared["keys"], shared["admin"]) == ("[mon.]\n", "[client.admin]\n")
