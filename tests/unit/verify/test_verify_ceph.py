"""`gpuyard verify ceph`: what a Ceph answers against the plan, and what is said where nobody answers."""

import copy
import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from ceph_told import VERSION, tell_ceph
from click.testing import CliRunner

from cluster_model.cli.group import cli
from cluster_model.pipeline import inspect
from cluster_model.transport.session import Answer, Login, UnreachableError
from cluster_model.verify.ceph.ask import QUESTIONS, Asked, _read, _word, ask_ceph, dump_asked
from cluster_model.verify.ceph.compare import compare_ceph
from cluster_model.verify.read.collect import find_address

ROOT = Path(__file__).resolve().parents[3]
POD = ROOT / "inventory/superpod-roce"


@pytest.fixture(scope="module")
def plan():
    return inspect(POD).plan


@pytest.fixture(scope="module")
def planned(plan):
    return tell_ceph(plan)


@pytest.fixture
def answers(planned):
    return copy.deepcopy(planned)


def find(plan, answers):
    """Return what is found, as (id, severity, summary)."""
    return [(one.id, one.severity, one.summary) for one in compare_ceph(plan, Asked("control-001", answers)).findings]


def only(plan, answers):
    (found,) = compare_ceph(plan, Asked("control-001", answers)).findings
    return found


def check(message, severity="HEALTH_WARN", muted=False):
    return {"severity": severity, "summary": {"message": message, "count": 1}, "muted": muted}


def node(answers, name):
    return next(one for one in answers["tree"]["nodes"] if one["name"] == name)


def test_as_planned_nothing_is_found_and_all_is_counted(plan, answers):
    found = compare_ceph(plan, Asked("control-001", answers))
    assert found.findings == ()
    assert (found.version, found.monitors, found.osds, round(found.fills["ssd"], 4)) == ("16.2.15", 3, 288, 0.3)
    assert {"client.kubernetes-volumes"} < answers["users"].keys()


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    """Plan the pod with a group of drives that spin beside its flash."""
    group = "  storage: {id: 2, model: generic/2u-24nvme, count: 12, racks: network}\n"
    more = "  cold: {id: 9, model: generic/4u-36hdd, count: 8, racks: network, role: storage}\n"
    erasure = "archive: {erasure: 4+2}"
    text = (
        (POD / "cluster.yml").read_text("utf-8").replace(group, group + more).replace("hosts: storage", "hosts: [storage, cold]")
    )
    text = text.replace(erasure, erasure.replace("4+2", "4+2, device_class: hdd"))
    folder = tmp_path_factory.mktemp("classes")
    (folder / "cluster.yml").write_text(text, "utf-8")
    return inspect(folder).plan


def test_each_class_of_drives_is_held_against_its_own_waterline(classes):
    answers = tell_ceph(classes)
    disks = {osd["name"] for osd in answers["tree"]["nodes"] if osd.get("device_class") == "hdd"}
    assert len(disks) == 8 * 36
    for osd in answers["use"]["nodes"]:
        osd["kb_used"] = round(osd["kb"] * (0.8 if osd["name"] in disks else 0.3))
    assert find(classes, answers) == [("VER050", "error", "filled above the waterline on hdd")]
    found = compare_ceph(classes, Asked("control-001", answers))
    assert {name: round(fill, 4) for name, fill in found.fills.items()} == {"ssd": 0.3, "hdd": 0.8}
    for osd in answers["tree"]["nodes"]:  # as BlueStore takes drives behind a controller that says nothing of them
        if osd["name"] in disks:
            osd["device_class"] = "ssd"
    assert {id_ for id_, _, _ in find(classes, answers)} >= {"VER045", "VER050"}


def test_another_cluster_is_told_and_nothing_else(plan, answers):
    answers["status"]["fsid"] = "00000000-0000-4000-8000-000000000000"
    answers["pools"] = []
    found = only(plan, answers)
    assert (found.id, found.where, found.expected) == ("VER041", "ceph.fsid", plan.ceph.fsid)


def test_monitors_missing_elsewhere_silent_and_beside_the_plan(plan, answers):
    quorum = answers["quorum"]
    first, second, third = quorum["monmap"]["mons"]
    quorum["monmap"]["mons"] = [first, second, {**third, "name": "old"}]
    second["public_addrs"]["addrvec"] = [{"addr": "10.9.9.9:3300"}]
    quorum["quorum_names"] = ["old"]
    answers["status"]["health"]["checks"] = {"MON_DOWN": check("2/3 mons down")}
    answers["managers"] = {"active_name": "control-001", "num_standby": 0}
    assert find(plan, answers) == [
        ("VER042", "error", "monitor control-001 is not in the quorum"),
        ("VER042", "error", "monitor control-002 has another address"),
        ("VER042", "error", "control-003 has no monitor"),
        ("VER042", "warning", "monitors that the plan does not have: old"),
        ("VER043", "warning", "fewer managers than planned"),
    ]
    assert compare_ceph(plan, Asked("control-001", answers)).monitors == 0
    answers["managers"] = {"active_name": "", "num_standby": 0}
    assert ("VER043", "error", "there is no manager") in find(plan, answers)


def test_monitors_of_other_names_are_one_finding_and_none_is_to_be_removed(plan, answers):
    for monitor in answers["quorum"]["monmap"]["mons"]:
        monitor["name"] += ".example.net"
    found = only(plan, answers)
    assert (found.id, found.summary) == ("VER042", "no monitor of the plan is in the cluster by its name and address")
    assert found.actual.startswith("control-001.example.net at 10.") and "remove" not in found.fix


def test_clocks_may_be_a_twentieth_of_a_second_apart(plan, answers):
    skews = answers["clocks"]["time_skew_status"]
    skews["control-002"]["skew"], skews["control-003"]["skew"] = 0.05, -0.2
    found = only(plan, answers)
    assert (found.id, found.actual) == ("VER044", "control-003 by 0.200 s")
    answers["options"].append({"section": "mon", "name": "mon_clock_drift_allowed", "value": "0.3"})
    assert find(plan, answers) == []
    answers["clocks"] = {}
    assert find(plan, answers) == []
    answers["status"]["health"]["checks"] = {"MON_CLOCK_SKEW": check("clock skew detected on mon.b")}
    assert find(plan, answers) == [("VER053", "warning", "Ceph says MON_CLOCK_SKEW")]


def test_osds_are_counted_by_host(plan, answers):
    del node(answers, "storage-001")["children"][22:]
    for name, key, value in (
        ("osd.24", "status", "down"),
        ("osd.25", "reweight", 0),
        ("osd.26", "device_class", "hdd"),
        ("osd.27", "crush_weight", 0),
        ("osd.28", "status", "destroyed"),
    ):
        node(answers, name)[key] = value
    answers["tree"]["nodes"].remove(node(answers, "storage-003"))
    node(answers, "N01")["children"].append(-99)
    answers["tree"]["nodes"].append({"id": -99, "name": "lodger", "type": "host", "children": [0]})
    assert find(plan, answers) == [
        ("VER045", "error", "storage-001 has 22 OSDs"),
        ("VER045", "warning", "storage-002: osd.28 is destroyed, and the number waits for a new drive"),
        ("VER045", "error", "storage-002: osd.24 is down"),
        ("VER045", "warning", "storage-002: osd.25, osd.27 are out, or without weight in CRUSH: no data comes there"),
        ("VER045", "error", "storage-002: osd.26 is of another class, so no planned pool lies there"),
        ("VER045", "error", "storage-003 has no OSDs"),
        ("VER045", "warning", "hosts with OSDs that the plan does not have: lodger"),
    ]
    assert compare_ceph(plan, Asked("control-001", answers)).osds == 288 - 2 - 24 - 2


def test_a_host_in_another_rack_is_told(plan, answers):
    number = node(answers, "storage-001")["id"]
    node(answers, "N01")["children"].remove(number)
    node(answers, "N02")["children"].append(number)
    found = only(plan, answers)
    assert (found.id, found.expected, found.actual) == (
        "VER046",
        "root=default row=N rack=N01",
        "root=default row=N rack=N02",
    )


def test_pools_are_compared_with_their_rules(plan, answers):
    _, datasets, archive = answers["pools"]
    datasets |= {"size": 2, "min_size": 1, "pg_num_target": 4096}
    wide = [{"op": "choose_indep", "num": 2, "type": "rack"}, {"op": "chooseleaf_indep", "num": 3, "type": "host"}]
    answers["rules"][2]["steps"] = [{"op": "take", "item_name": "default"}, *wide, {"op": "emit"}]
    archive |= {"application_metadata": {}, "pg_autoscale_mode": "on"}
    answers["pools"] += [
        {**datasets, "pool_name": "mine"},
        {**datasets, "pool_name": ".rgw.root", "application_metadata": {"rgw": {}}},
    ]
    found = [
        (one.id, one.severity, one.where, one.expected, one.actual) for one in compare_ceph(plan, Asked("c", answers)).findings
    ]
    assert found == [
        ("VER047", "error", "ceph.pools.datasets", "size 3, min_size 2, pg_num 8192", "size 2, min_size 1, pg_num 4096"),
        (
            "VER047",
            "error",
            "ceph.pools.archive",
            "rule take default~ssd, chooseleaf_indep 0 rack, emit, pg_autoscale_mode off, application rbd",
            "rule take default, choose_indep 2 rack, chooseleaf_indep 3 host, emit, pg_autoscale_mode on, application none",
        ),
        ("VER047", "warning", "ceph.pools", "those of the plan", ""),
    ]
    del answers["pools"][1]
    datasets["pool_name"] = "datasets"
    assert ("VER047", "error", "pool datasets is not there") in find(plan, answers)


def test_an_erasure_code_of_as_many_chunks_is_not_taken_for_copies(plan, answers):
    answers["pools"][1]["type"] = 3
    found = only(plan, answers)
    assert (found.id, found.severity, found.actual) == ("VER047", "error", "kind erasure code")


def test_placement_groups_alone_are_a_warning(plan, answers):
    answers["pools"][1]["pg_num_target"] = 32
    assert (only(plan, answers).id, only(plan, answers).severity) == ("VER047", "warning")


def test_options_and_users(plan, answers):
    answers["options"] = [one for one in answers["options"] if one["name"] != "osd_mclock_profile"]
    answers["options"] += [
        {"section": "osd", "name": "osd_mclock_profile", "value": value, "mask": f"host:storage-{host:03d}"}
        for host, value in ((1, "balanced"), (2, "custom"), (3, "custom"))
    ]
    answers["users"]["client.kubernetes-volumes"] = {"mon": "allow r"}
    found = compare_ceph(plan, Asked("c", answers)).findings
    assert [(one.id, one.severity, one.actual) for one in found] == [
        ("VER048", "warning", "Ceph's default"),
        ("VER048", "warning", "custom"),
        ("VER049", "error", "mon allow r"),
    ]
    assert found[1].summary.startswith(
        "option osd_mclock_profile is set for osd/host:storage-002, osd/host:storage-003, which wins"
    )
    assert found[1].fix == "ceph config rm osd/host:storage-002 osd_mclock_profile, and the others"


@pytest.fixture(scope="module")
def filed():
    """Plan a cluster whose tenants have folders in its one file system."""
    plan = inspect(ROOT / "inventory/driving").plan
    ceph = replace(plan.ceph, filesystems=plan.ceph.filesystems[:1])
    return replace(plan, ceph=ceph, kubernetes=replace(plan.kubernetes, shared_volumes=()))


def test_file_systems_their_servers_and_what_opens_folders(filed):
    answers = tell_ceph(filed)
    assert compare_ceph(filed, Asked("c", answers)).findings == ()
    assert find(filed, {name: answer for name, answer in answers.items() if name != "files"}) == []
    [home] = answers["files"]["filesystems"]
    about = home["mdsmap"]
    about["max_mds"] = 2
    answers["files"]["standbys"] = [{"name": "home.control-002.xyzabc", "rank": -1, "state": "up:standby"}]
    assert find(filed, answers) == [("VER054", "warning", "file system home is not as planned")]
    about["data_pools"] = [about["metadata_pool"]]
    answers["files"] |= {"standbys": [], "filesystems": [home, {"mdsmap": {**about, "fs_name": "other"}}]}
    about["info"]["gid_0"]["state"] = "up:replay"
    answers["users"]["client.planning"]["osd"] = answers["users"]["client.planning"]["osd"].replace("fsvolumens_planning", "")
    answers["users"]["client.perception"]["osd"] = (
        "profile rbd pool=datasets namespace=perception, allow rw pool=files namespace=fsvolumens__perception_perception"
    )
    answers["status"]["health"]["checks"] = {name: check("…") for name in ("FS_DEGRADED", "MDS_INSUFFICIENT_STANDBY")}
    found = compare_ceph(filed, Asked("c", answers)).findings
    assert [(one.id, one.severity, one.summary, one.actual) for one in found] == [
        ("VER054", "error", "file system home is not as planned", "files in cephfs.home.meta, max_mds 2"),
        ("VER055", "error", "file system home is served by no metadata servers", "home.control-001 up:replay"),
        ("VER055", "warning", "home.control-002 is not there, one of the metadata servers of home", "1"),
        ("VER054", "warning", "file systems that the plan does not have: other", ""),
        ("VER049", "error", "user client.planning has other rights", found[4].actual),
    ]
    about["data_pools"] = [3, 1]
    about["info"]["gid_0"]["state"] = "up:active"
    more = next(one for one in compare_ceph(filed, Asked("c", answers)).findings if one.id == "VER054")
    assert (more.severity, more.actual) == ("warning", "beside it datasets, max_mds 2")
    answers["users"]["client.planning"]["mds"] = "allow rw fsname=home path=/volumes"
    assert ("VER049", "error", "user client.planning has other rights") in find(filed, answers)
    answers["files"]["filesystems"] = []
    assert find(filed, answers)[0] == ("VER054", "error", "file system home is not there")


def test_what_is_planned_for_each_daemon_wins_over_no_other(filed):
    packages = replace(filed, ceph=replace(filed.ceph, deploy="packages"))
    answers = tell_ceph(packages)
    assert [each["who"] for each in answers["options"] if each["name"] == "rgw_frontends"] == [
        f"client.rgw.driving.ingest-00{number}" for number in (1, 2, 3, 4)
    ]
    assert find(packages, answers) == []


def test_gateways_that_nobody_hears_of_any_more_or_of_another_zone(filed):
    answers = tell_ceph(filed)
    daemons = answers["services"]["services"]["rgw"]["daemons"]
    first, second, *_ = daemons
    daemons[first]["metadata"]["id"] += ".xyzabc"  # as cephadm calls them
    assert find(filed, answers) == []
    assert daemons.pop(second)["metadata"]["id"] == "driving.ingest-002"
    assert find(filed, answers) == [("VER056", "warning", "driving.ingest-002 is not there, one of the gateways to objects")]
    daemons[first]["metadata"] |= {"realm_name": "", "zone_name": "default"}
    assert ("VER056", "error", "driving.ingest-001 is a gateway to another zone") in find(filed, answers)
    answers["services"]["services"] = {}
    [found] = compare_ceph(filed, Asked("c", answers)).findings
    assert (found.id, found.severity, found.actual) == ("VER056", "error", "0")
    assert find(filed, {name: answer for name, answer in answers.items() if name != "services"}) == []


def test_the_fill_is_held_against_what_is_planned(plan):
    line = plan.ceph.tiers[0].waterline
    above = compare_ceph(plan, Asked("c", tell_ceph(plan, line + 0.01))).findings
    assert [(one.id, one.severity, one.summary) for one in above] == [("VER050", "error", "filled above the waterline")]
    tier = replace(plan.ceph.tiers[0], fill_target=0.4, expand_at=0.35)
    target = replace(plan, ceph=replace(plan.ceph, tiers=(tier,)))
    for fill, said in ((0.36, "filled above expand_at"), (0.41, "filled above fill_target")):
        found = only(target, tell_ceph(plan, fill))
        assert (found.id, found.severity, found.summary, found.where) == ("VER050", "warning", said, f"ceph.{said.split()[-1]}")


def test_a_full_osd_is_told_by_name_and_an_uneven_cluster_by_its_measure(plan, answers):
    used = answers["use"]["nodes"][7]
    used["kb_used"] = round(used["kb"] * 0.96)
    assert find(plan, answers) == [
        ("VER050", "error", "osd.7 is nearfull or fuller; the fullest is full: Ceph takes no writes"),
        ("VER051", "warning", "OSDs are less even than the waterline counts on"),
    ]
    answers["status"]["pgmap"]["pgs_by_state"].append({"state_name": "active+remapped+backfilling", "count": 1})
    assert [one[0] for one in find(plan, answers)] == ["VER050"]
    node(answers, "osd.7")["reweight"] = 0
    assert [one[0] for one in find(plan, answers)] == ["VER045"]


def test_drives_of_another_class_and_other_hosts_do_not_thin_it_out(plan):
    answers = tell_ceph(plan, 0.6)
    answers["use"]["nodes"] += [{"name": f"osd.{900 + n}", "kb": 10**12, "kb_used": 0} for n in range(9)]
    answers["tree"]["nodes"] += [{"id": 900 + n, "name": f"osd.{900 + n}", "type": "osd", "status": "up"} for n in range(9)]
    assert find(plan, answers) == [("VER050", "error", "filled above the waterline")]


def test_without_a_manager_nobody_counts(plan, answers):
    answers["managers"] = {}
    del answers["use"]
    found = compare_ceph(plan, Asked("control-001", answers))
    assert [(one.id, one.severity) for one in found.findings] == [("VER043", "error"), ("VER050", "warning")]
    assert found.fills == {"ssd": None}


def test_versions_and_the_health_that_no_finding_tells(plan, answers):
    answers["versions"]["osd"] = {VERSION: 2, VERSION.replace("16.2.15", "18.2.7"): 1, "unknown": 1}
    checks = {
        "OSD_DOWN": ("HEALTH_WARN", "1 osds down", False),
        "OSD_SLOW_PING_TIME_BACK": ("HEALTH_WARN", "slow heartbeats", False),
        "POOL_FULL": ("HEALTH_WARN", "1 pool is full", False),
        "OSD_FULL": ("HEALTH_ERR", "1 full osds", False),
        "DAEMON_OLD_VERSION": ("HEALTH_WARN", "older daemons", False),
        "OSDMAP_FLAGS": ("HEALTH_WARN", "noout flag(s) set", False),
        "PG_AVAILABILITY": ("HEALTH_ERR", "3 pgs inactive", False),
        "RECENT_CRASH": ("HEALTH_WARN", "1 daemons have recently crashed", True),
    }
    answers["status"]["health"]["checks"] = {
        name: check(message, severity, muted) for name, (severity, message, muted) in checks.items()
    }
    found = compare_ceph(plan, Asked("c", answers))
    assert [(one.id, one.severity, one.actual) for one in found.findings] == [
        ("VER052", "warning", "16.2.15: mgr, mon, osd; 18.2.7: osd"),
        ("VER053", "warning", "noout flag(s) set"),
        ("VER053", "warning", "1 osds down"),
        ("VER053", "error", "1 full osds"),
        ("VER053", "warning", "slow heartbeats"),
        ("VER053", "error", "3 pgs inactive"),
        ("VER053", "warning", "1 pool is full"),
    ]
    assert found.version == "18.2.7"


class Sessions:
    """Sessions to hosts that do not exist; a double that answers, or not, as the test says."""

    def __init__(self, plan, answers, dead=(), without=(), silent=()):
        self.answers, self.without, self.silent = answers, without, silent
        names = {find_address(plan, server): server.name for server in plan.servers}
        self.names, self.dead, self.asked = names, dead, []

    def __call__(self, target, login):
        self.host = self.names[target.address]
        return self

    def ask(self, commands):
        self.asked.append((self.host, len(commands)))
        if self.host in self.dead:
            raise UnreachableError("connection refused or closed")
        if self.host in self.without:
            return [Answer("unable to get monitor info from DNS SRV\n[errno 2] RADOS object not found\n", False)] * len(commands)
        return [Answer(said := self._answer(command), bool(said)) for command in commands]

    def _answer(self, command):
        (name,) = (name for name, words in QUESTIONS.items() if f"=15 {words} --format=json" in command)
        return "" if name in self.silent else f"{json.dumps(self.answers[name])}\n\nInferring fsid f\n"

    def close(self):
        self.host = ""


def test_the_first_monitor_that_answers_is_asked(plan, answers):
    sessions = Sessions(plan, answers, dead={"control-001"}, without={"control-002"})
    asked = ask_ceph(plan, Login(), sessions)
    assert (asked.host, asked.answers) == ("control-003", answers)
    assert asked.reasons == {
        "control-001": "connection refused or closed",
        "control-002": "[errno 2] RADOS object not found",
    }
    assert sessions.asked == [("control-001", 1), ("control-002", 1), ("control-003", 1), ("control-003", len(QUESTIONS) - 2)]


def test_what_managers_do_not_answer_is_left_out(plan, answers):
    asked = ask_ceph(plan, Login(), Sessions(plan, answers, silent={"use"}))
    assert asked.host == "control-001" and not {"use", "services"} & asked.answers.keys()
    asked = ask_ceph(plan, Login(), Sessions(plan, answers, silent={"tree"}))
    assert asked.reasons["control-003"] == "ceph osd tree: no answer within 45 s"


def test_of_gateways_managers_are_asked_where_they_are_planned(filed):
    asked = ask_ceph(filed, Login(), Sessions(filed, tell_ceph(filed)))
    assert asked.answers["services"]["services"]["rgw"]["daemons"]
    asked = ask_ceph(filed, Login(), Sessions(filed, tell_ceph(filed), silent={"services", "use"}))
    assert asked.host == "control-001" and "services" not in asked.answers


def test_another_cluster_is_asked_nothing_more(plan, answers):
    answers["status"]["fsid"] = "00000000-0000-4000-8000-000000000000"
    sessions = Sessions(plan, answers)
    found = compare_ceph(plan, ask_ceph(plan, Login(), sessions))
    assert (sessions.asked, found.is_ours, found.findings[0].id) == ([("control-001", 1)], False, "VER041")


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_shell_takes_each_question(name, plan, tmp_path):
    """With doubles of `ceph` and `sudo` that say on their standard error what they should not."""
    options = [{"section": "mgr", "name": "mgr/dashboard/password", "value": "SECRET"}, {"name": "public_network"}]
    gateway = {"metadata": {"id": "a", "hostname": "SECRET"}}
    told = {
        "users": {"auth_dump": [{"entity": "client.a", "key": "SECRET", "caps": {"mon": "allow r"}}]},
        "options": options,
        "services": {"services": {"rgw": {"daemons": {"summary": "", "4": gateway}}, "osd": {}}},
    }
    (tmp_path / "told").write_text(json.dumps(told.get(name, {"asked": name})))
    for program, text in (("ceph", f"echo warning: old >&2; echo; cat {tmp_path}/told; echo"), ("sudo", 'shift; exec "$@"')):
        (tmp_path / program).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / program).chmod(0o755)
    command = f"( {_word(name, plan.ceph)}\n) 2>&1 </dev/null"
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stderr, "SECRET" in done.stdout) == (0, "", False)
    wanted = {
        "users": {"client.a": {"mon": "allow r"}},
        "options": options[1:],
        "services": {"services": {"rgw": {"daemons": {"4": {"metadata": {"id": "a"}}}}}},
    }
    assert _read(Answer(done.stdout)) == wanted.get(name, {"asked": name})
    (tmp_path / "ceph").write_text("#!/bin/sh\necho Error ENOENT: no such thing >&2\nexit 2\n")
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode and done.stdout.split("\n")[-2] == "Error ENOENT: no such thing"


def test_where_nobody_answers_why_is_told(plan, answers):
    asked = ask_ceph(plan, Login(), Sessions(plan, answers, dead={f"control-00{n}" for n in (1, 2, 3)}))
    (found,) = compare_ceph(plan, asked).findings
    assert (found.id, found.actual.count("connection refused or closed")) == ("VER040", 3)


def run(file, *words):
    return CliRunner().invoke(cli, ["verify", "ceph", str(POD), "--observed", str(file), *words])


@pytest.fixture
def saved(answers, tmp_path):
    """Return a function: answers to a file that --save wrote."""

    def save(told=None, **more):
        file = tmp_path / "ceph.json"
        file.write_text(dump_asked(Asked("control-001", told or answers, more.get("reasons", {}), 1.0)))
        return file

    return save


def test_what_was_saved_is_compared(answers, saved):
    done = run(saved())
    assert (done.exit_code, done.stdout) == (
        0,
        "superpod-roce: control-001 answered; Ceph 16.2.15; 3 of 3 monitors in the quorum; 288 of 288 OSDs up; filled to 0.300, "
        "waterline 0.533\n\nNo findings.\n",
    )
    answers["pools"][1]["size"] = 2
    done = run(saved())
    assert done.exit_code == 1
    assert (
        "VER047 error: pool datasets is not as planned\n  planned size 3\n  found   size 2\n  do      run playbooks"
        in done.stdout
    )
    document = json.loads(run(saved(), "--format", "json").stdout)
    assert document["osds"] == {"planned": 288, "up": 288}
    assert document["findings"][0]["id"] == "VER047" and document["findings"][0]["line"] > 0


def test_nobody_has_an_exit_code_of_its_own(tmp_path):
    (tmp_path / "ceph.json").write_text(dump_asked(Asked(reasons={"control-001": "no answer in 60 s"})))
    done = run(tmp_path / "ceph.json")
    assert (done.exit_code, "VER040 error: no host with a monitor" in done.stdout) == (3, True)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text[:-9], "it is no JSON"),
        (lambda text: text.replace("gpuyard-ceph-1", "gpuyard-ceph-9"), "not of the form gpuyard-ceph-1"),
        (lambda text: text.replace('"reasons":{}', '"reasons":1'), "expected reasons"),
        (lambda text: text.replace('"fsid"', '"fs_id"'), "status.fsid: Field required"),
        (lambda text: text.replace('"min_size":2', '"min_size":"two"'), "pools.0.min_size: "),
    ],
)
def test_a_file_of_another_form_is_refused(saved, change, said):
    file = saved()
    file.write_text(change(file.read_text()))
    done = run(file)
    assert (done.exit_code, said in done.stderr) == (2, True), done.output


def test_a_cluster_without_ceph_is_told(tmp_path):
    text = (ROOT / "tests/errors/bases/control.yml").read_text("utf-8")
    (tmp_path / "cluster.yml").write_text(text, "utf-8")
    done = CliRunner().invoke(cli, ["verify", "ceph", str(tmp_path)])
    assert (done.exit_code, "has no Ceph: add ceph:" in done.stderr) == (2, True)
