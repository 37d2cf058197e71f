"""The program of role ceph_cephadm, without Ceph; molecule/ceph_cephadm has real daemons."""

import json
import os
import pwd
import stat
from pathlib import Path

import pytest

from tests.programs import load_program

PROGRAM = Path(__file__).parents[3] / "roles/ceph_cephadm/files/cephadm.py"
FSID = "dcf9adda-ceef-58bf-8f2c-82fb91b70d95"
ABOUT = {
    "name": "control-001",
    "fsid": FSID,
    "address": "127.0.0.1",
    "monitors": {"control-001": "127.0.0.1", "control-002": "127.0.0.2"},
    "wait_s": 0.0,
}
BEGIN = ABOUT | {"options": {"global": {"public_network": "10.72.128.0/20"}}, "image": "", "pull": True, "user": "root"}
HOST = {"service_type": "host", "hostname": "storage-001", "addr": "127.0.0.3", "labels": ["osd"]}
KNOWN = {"hostname": "storage-001", "addr": "127.0.0.3", "labels": ["osd", "mine"], "status": ""}
OSDS = {
    "service_type": "osd",
    "service_id": "storage",
    "placement": {"label": "osd"},
    "unmanaged": True,
    "spec": {"osds_per_device": 1},
}
FILL = ABOUT | {"spec": OSDS, "osds": 2, "hosts": ["storage-001", "storage-002"], "grow": [], "fewer": []}
FILL["planned"] = ["osd.storage", "osd.archive"]


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Return the program, whose host is a folder, whose owner has all files, and that notes what it runs."""
    program = load_program(PROGRAM)
    program.LIB, program.CONF, program.ADMIN = tmp_path / "lib", tmp_path / "ceph.conf", tmp_path / "admin"
    program.STATE = tmp_path / "state"
    program.LIB.mkdir()
    program.ran, program.given = [], []
    known = [{"hostname": name, "addr": "127.0.0.3", "labels": ["osd"], "status": ""} for name in ("storage-001", "storage-002")]
    program.answers = {
        "orch status": '{"available": true}',
        "health detail": '{"checks": {}}',
        "orch host ls": json.dumps(known),
        "orch ls": "No services reported",
    }

    def call(name, *words, text=None, limit_s=0):
        said = " ".join([name, *(word for word in words if not word.startswith("--connect-timeout"))])
        program.ran.append(said.replace(" --format=json", ""))
        program.given += [json.loads(text)] if text else []
        answer = next((answer for part, answer in reversed(program.answers.items()) if part in said), "")
        answer = answer(*words) if callable(answer) else answer
        return (0, answer, "") if isinstance(answer, str) else answer

    program.lock_for_good = program.lock
    monkeypatch.setattr(program, "lock", lambda: program.STATE.mkdir(exist_ok=True))  # which is held until a program ends
    monkeypatch.setattr(program, "call", call)
    monkeypatch.setattr(program.os, "chown", lambda *_: None)
    monkeypatch.setattr(program.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(program.time, "sleep", lambda _: None)
    return program


def answer_quorum(program, *names):
    """Have the cluster answer with these monitors in its quorum."""
    for path in (program.CONF, program.ADMIN):
        path.write_text(f"fsid = {FSID}\nmon_host = [v2:127.0.0.1:3300/0,v1:127.0.0.1:6789/0]\n")
    known = [{"name": name, "public_addrs": {"addrvec": [{"type": "v2", "addr": "127.0.0.1:3300"}]}} for name in names]
    program.answers["quorum_status"] = json.dumps({"quorum_names": list(names), "monmap": {"fsid": FSID, "mons": known}})


def answer_osds(program, objects=0, **hosts):
    """Have the cluster answer with OSDs, as a host and the state of each."""
    nodes, osds = [], []
    for host, states in hosts.items():
        numbers = [len(osds) + at for at in range(len(states))]
        osds += [{"id": number, "type": "osd", "status": state} for number, state in zip(numbers, states, strict=True)]
        nodes.append({"id": -1 - len(nodes), "type": "host", "name": host.replace("_", "-"), "children": numbers})
    program.answers["osd tree"] = json.dumps({"nodes": [*nodes, *osds], "stray": []})
    pools = [{"name": ".mgr", "stats": {"objects": 2}}, {"name": "datasets", "stats": {"objects": objects}}]
    program.answers["df"] = json.dumps({"pools": pools})
    count = {"num_osds": len(osds), "num_up_osds": sum(osd["status"] == "up" for osd in osds)}
    program.answers["ceph status"] = json.dumps({"osdmap": count, "pgmap": {"pgs_by_state": [{"state_name": "active+clean"}]}})


def test_a_fresh_host_says_so(program, monkeypatch):
    monkeypatch.setattr(program, "is_open", lambda _: False)
    looked = program.look(ABOUT, False)
    assert looked["cluster"] is None and looked["why"] == f"no {program.CONF}"
    assert (looked["fsid"], looked["told"], looked["packaged"], looked["clusters"], looked["daemons"]) == ("", [], [], [], [])
    assert (looked["has_address"], looked["half"], looked["lacks"], looked["listening"]) == (True, False, [], [])
    assert looked["host_name"] == os.uname().nodename


def test_a_host_says_what_it_has(program, monkeypatch):
    answer_quorum(program, "control-001")
    monkeypatch.setattr(program, "is_open", lambda address: address == "127.0.0.2")
    other = "01234567-89ab-4cde-8f01-23456789abcd"
    for name in (f"{FSID}/mon.control-001", f"{FSID}/crash", f"{other}/osd.4", "osd/ceph-3", "bootstrap-osd", "mon"):
        (program.LIB / name).mkdir(parents=True)
    (program.LIB / FSID / "cephadm.59b0").write_text("which every host has")
    program.STATE.mkdir()
    (program.STATE / "beginning").write_text(f"{FSID}\n")
    looked = program.look(ABOUT, False)
    assert (looked["clusters"], looked["daemons"], looked["packaged"]) == ([other, FSID], ["mon.control-001"], ["osd/ceph-3"])
    assert (looked["fsid"], looked["told"], looked["half"], looked["listening"]) == (FSID, ["127.0.0.1"], True, ["control-002"])
    assert looked["cluster"] == {"fsid": FSID, "monitors": {"control-001": "127.0.0.1"}, "quorum": ["control-001"]}


@pytest.mark.parametrize(
    ("name", "there", "lacks"),
    [
        ("control-001", ("docker", "lvcreate", "ceph"), ["cephadm"]),
        ("storage-001", ("lvcreate",), ["podman"]),
        ("storage-001", ("podman",), ["lvcreate"]),
    ],
)
def test_a_host_says_what_it_lacks(program, monkeypatch, name, there, lacks):
    """Docker suffices, and tools are for hosts with monitors."""
    monkeypatch.setattr(program.shutil, "which", lambda program: program if program in there else None)
    monkeypatch.setattr(program, "is_open", lambda _: False)
    assert program.look(ABOUT | {"name": name}, False)["lacks"] == lacks


def test_a_cluster_is_begun_with_what_is_planned(program):
    confs = []
    program.answers["bootstrap"] = lambda *words: confs.append(Path(words[words.index("--config") + 1]).read_text()) or ""
    about = BEGIN | {"image": "registry.example.net/ceph:v18", "pull": False, "user": "ops"}
    about |= {"options": BEGIN["options"] | {"mgr": {"mgr/cephadm/use_repo_digest": "false"}}}
    assert program.begin(about, False) == [f"cluster {FSID} is begun on control-001"]
    [said] = program.ran
    assert said.startswith(f"cephadm --image registry.example.net/ceph:v18 bootstrap --fsid {FSID} --mon-ip 127.0.0.1 --config ")
    assert {"--ssh-user ops", "--skip-pull"} <= {f"--{part.strip()}" for part in said.split("--")}
    assert confs == ["[global]\npublic_network = 10.72.128.0/20\n[mgr]\nmgr/cephadm/use_repo_digest = false\n"]
    assert not (program.STATE / "beginning").exists()


def test_a_beginning_that_was_cut_off_is_begun_anew(program):
    program.answers["bootstrap"] = (1, "", "ERROR: no space left\n")
    with pytest.raises(SystemExit) as ended:
        program.begin(BEGIN, False)
    assert str(ended.value).startswith("cephadm bootstrap") and str(ended.value).endswith("ERROR: no space left")
    assert (program.STATE / "beginning").read_text() == f"{FSID}\n"
    (program.LIB / FSID / "mon.control-001").mkdir(parents=True)
    (program.LIB / FSID / "osd.3").mkdir()
    with pytest.raises(SystemExit) as ended:
        program.begin(BEGIN, False)
    assert str(ended.value).startswith(
        f"cluster {FSID}: has osd.3, and {program.STATE / 'beginning'} is there; expected what a run"
    )
    (program.LIB / FSID / "osd.3").rmdir()
    program.ran.clear()
    program.answers["bootstrap"] = ""
    assert program.begin(BEGIN, True) == [f"cluster {FSID} is begun on control-001, anew: an earlier run was cut off in it"]
    assert program.ran == []
    program.begin(BEGIN, False)
    assert [said.split()[1] for said in program.ran] == ["rm-cluster", "bootstrap"]


def test_a_cluster_that_is_there_by_now_is_never_begun(program):
    (program.LIB / FSID / "mon.control-001").mkdir(parents=True)
    with pytest.raises(SystemExit) as ended:
        program.begin(BEGIN, False)
    assert "has mon.control-001 by now; expected no monitor yet" in str(ended.value) and program.ran == []


def test_one_run_at_a_time(program):
    program.lock = program.lock_for_good
    held = load_program(PROGRAM)
    held.STATE = program.STATE
    held.lock()
    with pytest.raises(SystemExit) as ended:
        program.begin(BEGIN, False)
    assert "another run is at it" in str(ended.value) and program.ran == []


def test_managers_are_let_in_once(program, tmp_path, monkeypatch):
    own = pwd.getpwuid(os.getuid())
    monkeypatch.setattr(program.pwd, "getpwnam", lambda _: pwd.struct_passwd((*own[:5], str(tmp_path / "home"), own[6])))
    (tmp_path / "home").mkdir()
    about = ABOUT | {"user": "ops", "key": "ssh-ed25519 AAAA ceph-1"}
    said = ["managers may come by SSH, as ops"]
    assert program.trust(about, True) == said and not (tmp_path / "home/.ssh").exists()
    assert program.trust(about, False) == said and program.trust(about, False) == []
    file = tmp_path / "home/.ssh/authorized_keys"
    assert (stat.S_IMODE(file.stat().st_mode), stat.S_IMODE(file.parent.stat().st_mode)) == (0o600, 0o700)
    file.write_text("#ssh-ed25519 AAAA taken out\nssh-rsa BBBB mine")
    assert program.trust(about, False) == said
    assert file.read_text() == "#ssh-ed25519 AAAA taken out\nssh-rsa BBBB mine\nssh-ed25519 AAAA ceph-1\n"
    file.write_text('from="10.0.0.0/8" ssh-ed25519 AAAA narrower\n')
    assert program.trust(about, False) == []


def test_a_user_that_is_not_there_is_told(program):
    with pytest.raises(SystemExit) as ended:
        program.trust(ABOUT | {"user": "no-such-user", "key": "ssh-ed25519 AAAA"}, True)
    assert str(ended.value).startswith("ceph_cephadm_user: no-such-user; expected a user of the host; fix: ")


PLACES = {
    "new": ([], ["host storage-001 is added, at 127.0.0.3: osd"]),
    "as planned, and more": ([KNOWN], []),
    "elsewhere": ([KNOWN | {"addr": "10.0.0.9"}], ["host storage-001 is at 127.0.0.3, no longer at 10.0.0.9"]),
    "without a label": ([KNOWN | {"labels": []}], ["host storage-001 has label osd"]),
}


@pytest.mark.parametrize("row", PLACES)
def test_hosts_come_to_the_cluster(program, row):
    there, changes = PLACES[row]
    answer_quorum(program, "control-001", "control-002")
    program.answers["orch host ls"] = json.dumps(there)
    about = ABOUT | {"specs": [HOST], "run": ["storage-001"]}
    assert program.place(about, True) == {"changes": changes, "left": []} and program.given == []
    assert program.place(about, False) == {"changes": changes, "left": []}
    assert program.given == ([HOST] if changes else [])


def test_what_is_not_as_planned_about_hosts_is_told(program):
    answer_quorum(program, "control-001", "control-002")
    others = [KNOWN | {"status": "Offline"}, KNOWN | {"hostname": "old"}]
    program.answers["orch host ls"] = json.dumps(others)
    about = ABOUT | {"specs": [HOST, HOST | {"hostname": "storage-002"}], "run": ["storage-001"]}
    assert program.place(about, False) == {
        "changes": [],
        "left": [
            "host storage-002 is not in this run, and not added",
            "host old is not in the plan: ceph orch host drain old; once it is empty, ceph orch host rm old",
            "host storage-001 is Offline: ceph cephadm check-host storage-001 says more",
        ],
    }


def test_no_monitor_is_added_while_another_is_not_counted(program):
    """Or what keeps that one out takes the majority away. Where none is to be added it is told alone."""
    answer_quorum(program, "control-001")
    said = json.loads(program.answers["quorum_status"])
    said["monmap"]["mons"] += [said["monmap"]["mons"][0] | {"name": "control-002"}]
    program.answers["quorum_status"] = json.dumps(said)
    names = ["control-001", "control-002", "control-003"]
    program.answers["orch host ls"] = json.dumps([KNOWN | {"hostname": name} for name in names])
    about = ABOUT | {"specs": [], "run": names, "monitors": dict.fromkeys(names, "127.0.0.1")}
    with pytest.raises(SystemExit) as ended:
        program.place(about, False)
    assert str(ended.value).startswith("the quorum: without control-002; expected control-002 in it within 0 s")
    assert [said for said in program.ran if "daemon add" in said] == []
    told = "monitor control-002 is not in the quorum: see ceph orch ps; where its host was installed anew, ceph orch daemon rm "
    left = program.place(about | {"monitors": ABOUT["monitors"]}, False)["left"]
    assert left[-1] == f"{told}mon.control-002 --force, and run again"


def test_all_hosts_that_fail_are_told_and_the_others_come(program):
    program.answers["orch host ls"] = "[]"
    program.answers["orch apply"] = (22, "", "Error EINVAL: Failed to connect\n")
    about = ABOUT | {"specs": [HOST, HOST | {"hostname": "storage-002"}], "run": ["storage-001", "storage-002"]}
    with pytest.raises(SystemExit) as ended:
        program.place(about, False)
    assert str(ended.value) == "storage-001: Error EINVAL: Failed to connect\nstorage-002: Error EINVAL: Failed to connect"


def test_monitors_are_added_one_after_the_other(program):
    """One that a run added that was cut off is waited for alone."""
    answer_quorum(program, "control-001")
    program.answers["orch host ls"] = json.dumps([KNOWN | {"hostname": name} for name in ABOUT["monitors"]])
    program.answers["orch ps"] = "No daemons reported"
    program.answers["orch daemon add"] = lambda *_: answer_quorum(program, "control-001", "control-002") or ""
    about = ABOUT | {"specs": [], "run": list(ABOUT["monitors"])}
    added = ["monitor control-002 is added, at 127.0.0.2"]
    assert program.place(about, True)["changes"] == program.place(about, False)["changes"] == added
    assert [said for said in program.ran if "daemon add" in said] == ["ceph orch daemon add mon control-002:127.0.0.2"]
    program.ran.clear()
    answer_quorum(program, "control-001")
    program.answers["orch ps"] = json.dumps([{"daemon_type": "mon", "daemon_id": "control-002"}])
    with pytest.raises(SystemExit) as ended:
        program.place(about, False)
    assert str(ended.value).startswith(
        "the quorum: without control-002; expected control-002 in it within 0 s; fix: see ceph log"
    )
    assert [said for said in program.ran if "daemon add" in said] == []


MANAGERS = {"service_type": "mgr", "placement": {"hosts": ["storage-001", "storage-002"]}}
SERVICES = {
    "none yet": ("No services reported", ["service osd.storage is planned"]),
    "as planned": ([OSDS | {"service_name": "osd.storage", "spec": {"osds_per_device": 1, "objectstore": "bluestore"}}], []),
    "managed": ([OSDS | {"service_name": "osd.storage", "unmanaged": False}], ["service osd.storage: unmanaged as planned"]),
    "other hosts": (
        [OSDS | {"service_name": "osd.storage", "placement": {"hosts": ["a"]}}],
        ["service osd.storage: placement as planned; no longer on a"],
    ),
}


@pytest.mark.parametrize("row", SERVICES)
def test_services_are_brought_to_the_plan(program, row):
    there, changes = SERVICES[row]
    program.answers["--export"] = there if isinstance(there, str) else json.dumps(there)
    about = ABOUT | {"specs": [OSDS]}
    assert program.serve(about, True) == {"changes": changes, "left": []} and program.given == []
    assert program.serve(about, False)["changes"] == changes and len(program.given) == len(changes)
    assert all(given["placement"] == OSDS["placement"] and given["unmanaged"] for given in program.given)


def test_what_somebody_told_of_a_service_beside_the_plan_stays(program):
    gateways = {"service_type": "rgw", "service_id": "lab", "placement": {"hosts": ["storage-001"]}, "spec": {"rgw_zone": "lab"}}
    beside = {"networks": ["10.0.0.0/8"], "service_name": "rgw.lab", "unmanaged": True}
    there = gateways | beside | {"spec": {"rgw_zone": "old", "ssl": True}}
    program.answers["orch ls"] = json.dumps([{"service_name": "rgw.lab", "status": {"running": 1, "size": 1}}])
    program.answers["--export"] = json.dumps([there])
    said = program.serve(ABOUT | {"specs": [gateways]}, False)
    assert said == {"changes": ["service rgw.lab: spec, unmanaged as planned"], "left": []}
    spec = {"rgw_zone": "lab", "ssl": True}
    assert program.given == [gateways | {"networks": ["10.0.0.0/8"], "unmanaged": False, "spec": spec}]
    assert program.holds({"placement": {}}, {"placement": {}, "encrypted": False}) and not program.holds({}, {"encrypted": True})


def test_a_service_waits_for_its_hosts(program):
    """With one that it does not know the orchestrator takes none of the others."""
    program.answers["orch ls"] = json.dumps([{"service_name": "mgr", "status": {"running": 1, "size": 2}}])
    elsewhere = MANAGERS | {"placement": {"hosts": ["storage-001:10.0.0.1", "storage-009"]}}
    files = OSDS | {"placement": {"label": "mds"}}
    assert program.serve(ABOUT | {"specs": [elsewhere, files]}, False) == {
        "changes": [],
        "left": [
            "service mgr waits for storage-009 to be in the cluster",
            "service osd.storage waits for a host with label mds to be in the cluster",
            "service mgr: 1 of 2 daemons run: see ceph orch ps",
        ],
    }
    assert program.given == []


def test_daemons_that_do_not_come_are_told(program):
    """Of a service that was changed; one whose host is away for long holds nothing up."""
    program.answers["orch ls"] = json.dumps([{"service_name": "mgr", "status": {"running": 1, "size": 2}}])
    program.answers["--export"] = "[]"
    with pytest.raises(SystemExit) as ended:
        program.serve(ABOUT | {"specs": [MANAGERS]}, False)
    assert str(ended.value).startswith(
        "daemons that run: mgr 1 of 2; expected all of them, the next within 0 s; fix: see ceph orch ps"
    )
    program.answers["--export"] = json.dumps([MANAGERS | {"service_name": "mgr"}])
    said = program.serve(ABOUT | {"specs": [MANAGERS]}, False)
    assert said == {"changes": [], "left": ["service mgr: 1 of 2 daemons run: see ceph orch ps"]}


def test_what_the_orchestrator_does_not_take_is_told(program):
    """Some releases end as if they had."""
    for answer in ((22, "", "Error EINVAL: no\n"), (0, "Failed to apply spec for mgr: no\n", "")):
        program.answers["orch apply"] = answer
        with pytest.raises(SystemExit) as ended:
            program.serve(ABOUT | {"specs": [MANAGERS]}, False)
        assert str(ended.value).startswith("service mgr: ") and str(ended.value).endswith(": no")


def test_an_orchestrator_that_does_not_answer_is_told(program):
    program.answers["orch status"] = (2, "", "Error ENOENT: No orchestrator configured\n")
    with pytest.raises(SystemExit) as ended:
        program.serve(ABOUT | {"specs": []}, False)
    assert str(ended.value).startswith("ceph orch status: Error ENOENT: No orchestrator configured; expected it to answer within")


def test_osds_are_made_where_they_lack_and_by_themselves_never_after(program):
    answer_osds(program, storage_001=["up", "up"], storage_002=["up", "destroyed"])
    program.answers["orch apply"] = lambda *_: answer_osds(program, storage_001=["up", "up"], storage_002=["up", "up"]) or ""
    assert program.fill(FILL, True) == {"changes": ["an OSD is made on storage-002"], "left": []} and program.given == []
    assert program.fill(FILL, False)["changes"] == ["an OSD is made on storage-002"]
    assert program.given == [OSDS | {"placement": {"hosts": ["storage-002"]}, "unmanaged": False}, OSDS]
    assert "ceph orch device ls storage-002 --refresh" in program.ran
    assert program.fill(FILL, False) == {"changes": [], "left": []} and len(program.given) == 2


def test_osds_that_do_not_come_are_told_with_the_drives_that_are_not_taken(program):
    answer_osds(program, storage_001=["up", "up"], storage_002=["up"])
    own = {"path": "/dev/sda", "available": False, "rejected_reasons": ["LVM detected"], "lvs": [{"cluster_fsid": FSID}]}
    old = own | {"path": "/dev/sdb", "lvs": [{"cluster_fsid": "01234567-89ab-4cde-8f01-23456789abcd"}]}
    used = {"path": "/dev/sdc", "available": False, "rejected_reasons": ["locked"]}
    files = {"path": "/dev/sdd", "available": False, "rejected_reasons": ["Has a FileSystem"]}
    drives = [own, old, used, files, files | {"path": "/dev/sde", "available": True}]
    program.answers["device ls"] = json.dumps([{"name": "storage-002", "addr": "127.0.0.4", "devices": drives}])
    with pytest.raises(SystemExit) as ended:
        program.fill(FILL, False)
    told = str(ended.value)
    refused = "/dev/sdb (LVM detected), /dev/sdd (Has a FileSystem)"
    assert told.startswith(
        f"storage-002: OSDs: 1 of 2 up; not taken: {refused}; expected all, the next within 0 s; fix: see ceph"
    )
    assert "ceph orch device zap storage-002 PATH --force" in told and """-e '{"ceph_cephadm_fewer": ["storage-002"]}'""" in told
    assert program.given[-1] == OSDS, "the orchestrator makes none by itself"
    said = "osd.storage: code: 1, stderr:Inferring\npodman: stderr usage\npodman: stderr  error: no such drive\nTrace"
    failed = {"summary": {"message": "Failed to apply 1 service(s): osd.storage"}, "detail": [{"message": said}]}
    program.answers["health detail"] = json.dumps({"checks": {"CEPHADM_APPLY_SPEC_FAIL": failed, "MON_DISK_LOW": failed}})
    with pytest.raises(SystemExit) as ended:
        program.fill(FILL, False)
    assert str(ended.value).endswith(
        "; CEPHADM_APPLY_SPEC_FAIL: Failed to apply 1 service(s): osd.storage: usage: error: no such drive"
    )
    assert program.fill(FILL | {"fewer": ["storage-002"]}, False) == {"changes": [], "left": []}


def test_a_service_that_makes_osds_by_itself_is_stopped_and_another_is_told(program):
    """Such as one that a run left that was cut off, and one that somebody made."""
    answer_osds(program, storage_001=["up", "up"], storage_002=["up", "up"])
    left = OSDS | {"service_name": "osd.storage", "unmanaged": False, "placement": {"hosts": ["storage-002"]}}
    other = {"service_type": "osd", "service_id": "all", "service_name": "osd.all", "placement": {"host_pattern": "*"}}
    archive = left | {"service_id": "archive", "service_name": "osd.archive"}  # whose turn comes
    program.answers["--export"] = json.dumps([left, other, archive, MANAGERS | {"service_name": "mgr"}])
    said = {
        "changes": ["service osd.storage makes no OSD by itself"],
        "left": ["service osd.all makes an OSD of each drive that fits and is empty; it is not in the plan"],
    }
    assert program.fill(FILL, True) == said and program.given == []
    assert program.fill(FILL, False) == said and program.given == [OSDS]


def test_a_service_that_stays_managed_is_told_beside_why(program):
    answer_osds(program, storage_001=["up", "up"])
    program.answers["orch apply"] = (1, "", "Error: no manager\n")
    with pytest.raises(SystemExit) as ended:
        program.fill(FILL, False)
    assert str(ended.value).splitlines() == [
        "service osd.storage: Error: no manager",
        "service osd.storage makes OSDs by itself still: Error: no manager; run again",
    ]


def test_data_begins_to_move_on_a_word_alone(program):
    """Hosts without it wait, and hold up nothing else."""
    answer_osds(program, objects=5, storage_001=["up"])

    def tell(name, count):
        word = f"""-e '{{"ceph_cephadm_grow": ["{name}"]}}' has them made on its empty drives, and data moves there at once"""
        return f"{name}: {count} of 2 OSDs; {word}"

    assert program.fill(FILL, True) == {"changes": [], "left": [tell("storage-001", 1), tell("storage-002", 0)]}
    grown = program.fill(FILL | {"grow": ["storage-002"]}, True)
    assert grown == {"changes": ["2 OSDs are made on storage-002"], "left": [tell("storage-001", 1)]}


def test_a_cluster_that_cannot_say_may_have_data(program):
    answer_osds(program, storage_001=["down", "down"])
    left = program.fill(FILL, True)["left"]
    assert left[0] == "storage-001: none of its 2 OSDs is up; where it was installed anew, ceph cephadm osd activate storage-001"
    assert left[1].startswith("storage-002: 0 of 2 OSDs; -e ") and len(left) == 2
    answer_osds(program, storage_001=["up"])
    states = {"osdmap": {"num_osds": 1, "num_up_osds": 1}, "pgmap": {"pgs_by_state": [{"state_name": "unknown"}]}}
    program.answers["ceph status"] = json.dumps(states)
    assert len(program.fill(FILL, True)["left"]) == 2


def test_no_osd_is_asked_for_on_hosts_that_the_orchestrator_does_not_know_or_reach(program):
    """It would make none on the others either."""
    answer_osds(program, storage_001=["up", "up"])
    program.answers["orch host ls"] = json.dumps([KNOWN, KNOWN | {"hostname": "storage-002", "status": "Offline"}])
    said = program.fill(FILL | {"hosts": ["storage-001", "storage-002", "storage-003"]}, False)
    assert said == {
        "changes": [],
        "left": [
            "storage-002: 0 of 2 OSDs; the host is Offline",
            "storage-003: 0 of 2 OSDs; the host is not in the cluster",
        ],
    }
    assert program.given == []


def test_what_comes_little_by_little_is_waited_for(program, monkeypatch):
    clock = iter(range(0, 100, 3))
    monkeypatch.setattr(program.time, "monotonic", lambda: next(clock))
    lacks = iter([3, 3, 2, 1, 0])
    program.wait_for(ABOUT | {"wait_s": 10}, lambda: next(lacks), lambda: "late")
    with pytest.raises(SystemExit, match="late"):
        program.wait_for(ABOUT | {"wait_s": 10}, lambda: 3, lambda: "late")
