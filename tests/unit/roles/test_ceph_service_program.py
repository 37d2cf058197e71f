"""The program of role ceph_service, without Ceph; molecule/ceph_osd and molecule/ceph_service have real daemons."""

import json
from pathlib import Path

import pytest

from tests.programs import load_program

PROGRAM = Path(__file__).parents[3] / "roles/ceph_service/files/service.py"
FSID = "dcf9adda-ceef-58bf-8f2c-82fb91b70d95"
NAME, OTHER = "home.control-001", "work.control-001"
GATEWAY = "store.control-001"
ABOUT = {
    "kind": "mds",
    "names": [NAME, OTHER],
    "wait_s": 0.0,
    "keys": {OTHER: "another=="},
    "again": [],
    "started": [NAME, OTHER],
    "before": {"4": NAME},
}
GATEWAYS = {
    "kind": "rgw",
    "names": [GATEWAY],
    "wait_s": 0.0,
    "keys": {GATEWAY: "a-key=="},
    "again": [],
    "started": [GATEWAY],
    "before": {"4": GATEWAY},
}


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
                f"gid_{number}": {"gid": number, "name": name, "rank": 0, "state": state}
                for number, (name, state) in enumerate(program.known.get("serving", {}).items(), 5)
            }
            standbys = [{"gid": number, "name": name} for number, name in enumerate(program.known.get("standbys", ()), 50)]
            about = {"info": serving, "in": [0], "failed": []}
            return 0, json.dumps({"filesystems": [{"mdsmap": about}], "standbys": standbys}), ""
        if said == "ceph config dump":
            return 0, json.dumps(program.known.get("options", [])), ""
        if said == "ceph service dump":
            daemons = {number: {"metadata": about} for number, about in program.known.get("gateways", {}).items()}
            return 0, json.dumps({"services": {"rgw": {"daemons": {"summary": "", **daemons}}} if daemons else {}}), ""
        program.ran.append(said)
        return 0, "a-key==", ""

    monkeypatch.setattr(program, "call", call)
    monkeypatch.setattr(program.shutil, "chown", lambda path, *who: program.owned.update({str(path.relative_to(tmp_path)): who}))
    monkeypatch.setattr(program.shutil, "which", lambda name: None if name in ("ceph-mds", "radosgw") else f"/usr/bin/{name}")
    monkeypatch.setattr(program.time, "sleep", lambda _: None)
    return program


def keyring(program, name, kind="mds"):
    return program.KINDS[kind].find_keyring(name)


def lay(program, name, key="an-old-key=="):
    path = keyring(program, name)
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
        "sections": [],
        "cephadm": ["00000000-0000-4000-8000-000000000000"],
        "lacking": [OTHER],
        "stopped": [OTHER],
        "beside": ["old.control-001"],
    }


def test_what_lacks_is_made_and_started(program):
    lay(program, NAME)
    told = [f"ceph-mds@{NAME} runs", f"metadata server {OTHER} is made", f"ceph-mds@{OTHER} runs"]
    assert program.make(ABOUT, True) == {"changes": told, "started": [NAME, OTHER]}
    assert program.ran == [] and not keyring(program, OTHER).exists()
    keyring(program, OTHER).parent.mkdir()
    (keyring(program, OTHER).parent / ".gpuyard-cut-off").write_text("a key")
    assert program.make(ABOUT, False) == {"changes": told, "started": [NAME, OTHER]}
    assert "an-old-key==" in keyring(program, NAME).read_text()
    assert keyring(program, OTHER).read_text() == f"[mds.{OTHER}]\n\tkey = another==\n"
    assert [path.name for path in keyring(program, OTHER).parent.iterdir()] == ["keyring"]
    assert keyring(program, OTHER).stat().st_mode & 0o777 == 0o600
    assert set(program.owned.values()) == {("ceph", "ceph")} and f"lib/mds/ceph-{OTHER}" in program.owned
    assert program.ran[-3:] == [f"systemctl {words} ceph-mds@{OTHER}" for words in ("reset-failed", "enable --quiet", "restart")]


def test_what_is_there_is_left(program):
    for name in (NAME, OTHER):
        lay(program, name)
    program.runs_now = {f"ceph-mds@{NAME}", f"ceph-mds@{OTHER}"}
    same = {**ABOUT, "keys": {OTHER: "an-old-key=="}}
    assert program.make(same, False) == {"changes": [], "started": []} and program.ran == []


def test_a_key_of_a_cluster_that_was_there_before_gives_way(program):
    for name in (NAME, OTHER):
        lay(program, name)
    program.runs_now = {f"ceph-mds@{NAME}", f"ceph-mds@{OTHER}"}
    told = [f"metadata server {OTHER} has the key that Ceph knows", f"ceph-mds@{OTHER} runs"]
    assert program.make({**ABOUT, "keys": {OTHER: ""}}, True)["changes"] == told  # of one that Ceph would make
    assert program.make(ABOUT, False) == {"changes": told, "started": [OTHER]}
    assert "another==" in keyring(program, OTHER).read_text() and program.ran[-1] == f"systemctl restart ceph-mds@{OTHER}"


def test_one_run_at_a_time(program):
    handle = program.hold()
    with pytest.raises(SystemExit) as ended:
        program.make(ABOUT, False)
    assert "another run makes daemons there; expected one run at a time" in ended.value.code
    program.os.close(handle)


def test_a_key_that_is_there_is_shared_and_no_other_rights_are_asked_for(program):
    program.refuses[f"ceph auth get-key mds.{NAME}"] = (2, "", "Error ENOENT")
    about = {"kind": "mds", "names": [NAME, OTHER]}
    assert program.share(about, True) == {"keys": {NAME: "", OTHER: "a-key=="}}
    program.ran.clear()
    assert program.share(about, False) == {"keys": {NAME: "a-key==", OTHER: "a-key=="}}
    caps = "mon profile mds mgr profile mds mds allow osd allow rw tag cephfs *=*"
    assert program.ran == [f"ceph auth get-or-create-key mds.{NAME} {caps}", f"ceph auth get-key mds.{OTHER}"]
    program.refuses[f"ceph auth get-key mds.{NAME}"] = (1, "", "no\nquorum")
    with pytest.raises(SystemExit) as ended:
        program.share({"kind": "mds", "names": [NAME]}, False)
    assert ended.value.code == f"ceph auth get-key mds.{NAME}: no quorum"


def test_the_cluster_has_to_know_them_in_time(program, monkeypatch):
    program.known = {"serving": {NAME: "up:active"}}
    assert program.ask(ABOUT, False) == {"fsid": FSID, "servers": [NAME], "sessions": {"5": NAME}, "moved": []}
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


def test_a_gateway_is_made_as_a_user_that_is_there(program):
    assert program.look(GATEWAYS, False)["lacks"] == ["radosgw"]
    assert program.make(GATEWAYS, False)["changes"] == [f"gateway {GATEWAY} is made", f"ceph-radosgw@rgw.{GATEWAY} runs"]
    path = program.LIB / f"radosgw/ceph-rgw.{GATEWAY}/keyring"
    assert path.read_text() == f"[client.rgw.{GATEWAY}]\n\tkey = a-key==\n"
    (program.LIB / "radosgw/ceph-rgw.old.control-001").mkdir()
    (program.LIB / "radosgw/ceph-admin").mkdir()  # no gateway of a name that the plan could give
    assert program.look(GATEWAYS, False)["beside"] == ["old.control-001"]
    program.refuses[f"ceph auth get-key client.rgw.{GATEWAY}"] = (2, "", "Error ENOENT")
    assert program.share(GATEWAYS, True) == {"keys": {GATEWAY: ""}}
    with pytest.raises(SystemExit) as ended:
        program.share(GATEWAYS, False)
    assert ended.value.code.startswith(
        f"user client.rgw.{GATEWAY}: not in the cluster; expected it; fix: run playbooks/ceph.yml whole"
    )


def test_gateways_of_a_configuration_that_would_be_replaced_are_told(program):
    program.CONF.write_text("[global]\n[client.rgw.h1.rgw0]\nrgw_frontends = x\n [client.radosgw.gateway]\n[client.home]\n")
    assert program.look(GATEWAYS, False)["sections"] == ["client.rgw.h1.rgw0", "client.radosgw.gateway"]
    assert program.look(ABOUT, False)["sections"] == []


def test_a_gateway_that_listens_elsewhere_is_told_and_restarted(program):
    def order(port):
        program.known["options"] = [
            {"section": f"client.rgw.{GATEWAY}", "name": "rgw_frontends", "value": f"beast endpoint=a:{port}"}
        ]

    program.known = {"gateways": {"4": {"id": GATEWAY, "frontend_config#0": "beast endpoint=a:80"}, "6": {}}}
    told = program.ask(GATEWAYS, False)
    assert (told["servers"], told["sessions"], told["moved"]) == (["6", GATEWAY], {"4": GATEWAY, "6": "6"}, [])
    order(80)
    assert program.ask(GATEWAYS, False)["moved"] == []
    order(81)
    assert program.ask(GATEWAYS, False)["moved"] == [GATEWAY]
    program.known["gateways"]["10"] = {"id": GATEWAY, "frontend_config#0": "beast endpoint=a:81"}
    assert program.ask(GATEWAYS, False)["moved"] == []  # the session before is known for a minute more
    path = keyring(program, GATEWAY, "rgw")
    path.parent.mkdir(parents=True)
    path.write_text("key = a-key==")
    program.runs_now = {f"ceph-radosgw@rgw.{GATEWAY}"}
    assert program.make(GATEWAYS, False)["started"] == [] and program.ran == []
    again = {**GATEWAYS, "again": [GATEWAY]}
    assert program.make(again, True)["changes"] == [f"ceph-radosgw@rgw.{GATEWAY} is restarted"] and program.ran == []
    assert program.make(again, False)["started"] == [GATEWAY]
    assert program.ran[-1] == f"systemctl restart ceph-radosgw@rgw.{GATEWAY}"


def test_a_gateway_is_back_once_it_has_begun_anew(program):
    """The cluster knows the one before for a minute more."""
    program.known = {"gateways": {"4": {"id": GATEWAY}}}
    with pytest.raises(SystemExit) as ended:
        program.settle(GATEWAYS, False)
    assert ended.value.code.startswith(f"gateway {GATEWAY}: not in the cluster; expected it within 0 s; fix: see journalctl")
    assert "without its realm and zone" in ended.value.code
    assert program.settle({**GATEWAYS, "started": []}, False) == []  # it came up by itself meanwhile
    program.known["gateways"]["5"] = {"id": GATEWAY}
    assert program.settle(GATEWAYS, False) == []
