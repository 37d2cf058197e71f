"""The program of role ceph_restart, without Ceph; molecule/ceph_restart has real daemons."""

import json
import socket
from pathlib import Path

import pytest

from tests.programs import load_program

PROGRAM = Path(__file__).parents[3] / "roles/ceph_restart/files/restart.py"
OSDS = ["ceph-osd@3.service", "ceph-osd@4.service"]
MONITOR, MANAGER = "ceph-mon@control-001.service", "ceph-mgr@control-001.service"
METADATA = "ceph-mds@home.control-001.service"
GATEWAY = "ceph-radosgw@rgw.store.control-001.service"
FSID = "dcf9adda-ceef-58bf-8f2c-82fb91b70d95"
ABOUT = {
    "host": "storage-001",
    "fsid": FSID,
    "release": "16",
    "units": OSDS,
    "wait_s": 0,
    "anyway": False,
    "unclean": 0,
    "sessions": [],
}
KEY = "gpuyard/noout/storage-001"
VERSION = "ceph version {}.2.15 (618f440892089921c3e944a991122ddc44e60516) pacific (stable)"
NEW = "7f0-7f1 r-xp 00000000 fd:00 17                 /usr/bin/ceph-osd\n7f2-7f3 rw-s 00000000 00:01 5 /dev/zero (deleted)\n"
OLD = "7f0-7f1 r-xp 00000000 fd:00 16                 /usr/bin/ceph-osd (deleted)\n"
OLD_LIBRARY = "7f0-7f1 r-xp 00000000 fd:00 12 /usr/lib/ceph/libceph-common.so.2 (deleted)\n"
OLD_DATA = NEW + "7f4-7f5 r--p 00000000 fd:00 13 /usr/lib/locale/locale-archive (deleted)\n"


FIRST, SECOND, FAR = (
    {"id": f"{zone}.{host}", "zone_id": zone, "frontend_config#0": f"beast endpoint={host}:80"}
    for zone, host in (("store", "control-001"), ("store", "control-002"), ("far", "control-003"))
)


class Cluster:
    """What programs answer; a double, which notes what it is told to do."""

    def __init__(self):
        self.units, self.ran, self.refuses = {}, [], {}
        self.keys, self.flags, self.releases = set(), {}, ["16"]
        self.down, self.states, self.quorum = set(), {"active+clean": 64}, ["control-001"]
        self.managers, self.said = ["control-001"], {}
        self.failed, self.gateways = [], {"41": FIRST, "42": SECOND}
        self.serving = {"gid_7": {"name": "home.control-001", "state": "up:active"}}

    def __call__(self, name, *words, limit_s=0):
        said = " ".join([name, *words])
        short = said.replace("--connect-timeout=15 ", "").replace(" --format=json", "")
        if refusal := self.refuses.get(short):
            return 1, "", refusal
        if short.startswith("systemctl list-units"):
            return 0, "".join(f"{unit} loaded {state} running Ceph\n" for unit, state in self.units.items()), ""
        if short.startswith("systemctl show"):
            return 0, f"{list(self.units).index(words[-1]) + 100 if words[-1] in self.units else 0}\n", ""
        if short.startswith("systemctl is-active"):
            return 0, "", ""
        if short.startswith("ceph config-key exists"):
            return (0 if words[-1] in self.keys else 2), "", ""
        if short.startswith("ceph --admin-daemon"):
            return 0, json.dumps({"state": self.said.get(words[1].rpartition("-")[2], "active")}), ""
        answers = {
            "ceph fsid": {"fsid": FSID},
            "ceph versions": {"mon": dict.fromkeys(map(VERSION.format, self.releases), 1)},
            "ceph osd tree": {"nodes": [self._osd(number) for number in (1, 3, 4)]},
            "ceph osd dump": {"crush_node_flags": self.flags},
            "ceph fs dump": {"filesystems": self.tell_files(), "standbys": [{"name": "home.control-002"}]},
            "ceph service dump": {"services": {"rgw": {"daemons": self.tell_gateways()}} if self.gateways else {}},
            "ceph mgr dump": {"active_name": self.managers[0], "standbys": [{"name": name} for name in self.managers[1:]]},
            "ceph status": {
                "quorum_names": self.quorum,
                "pgmap": {"pgs_by_state": [{"state_name": name, "count": count} for name, count in self.states.items()]},
            },
        }
        if short in answers:
            return 0, json.dumps(answers[short]), ""
        if short == "ceph --version":
            return 0, VERSION.format(16) + "\n", ""
        self.ran.append(short)
        return 0, "", ""

    def tell_files(self):
        other = {"gid_9": {"name": "work.control-009", "state": "up:replay"}}  # of another file system, which does not matter
        maps = {"home": (self.serving, self.failed), "work": (other, [1])}
        return [{"mdsmap": {"fs_name": name, "info": info, "failed": failed}} for name, (info, failed) in maps.items()]

    def tell_gateways(self):
        return {"summary": "", **{number: {"metadata": about} for number, about in self.gateways.items()}}

    def _osd(self, number):
        return {"name": f"osd.{number}", "type": "osd", "status": "down" if number in self.down else "up", "reweight": 1.0}


@pytest.fixture
def cluster(monkeypatch, tmp_path):
    program, double = load_program(PROGRAM), Cluster()
    double.program = program
    for name, value in (("call", double), ("PROC", tmp_path), ("CONF", tmp_path / "ceph.conf"), ("STEADY_S", 0)):
        monkeypatch.setattr(program, name, value)
    monkeypatch.setattr(program.time, "sleep", lambda _: None)
    return double


def refused(verb, **change):
    with pytest.raises(SystemExit) as ended:
        verb({**ABOUT, **change}, False)
    return ended.value.code


def test_daemons_are_due_whose_program_or_library_was_replaced(cluster, tmp_path):
    names = ("ceph-osd@3.service", "ceph-osd@4.service", "ceph-osd@5.service", MONITOR, MANAGER)
    cluster.units = dict.fromkeys(names, "active") | {"ceph-osd@9.service": "failed", "ceph-crash.service": "active"}
    for number, text in enumerate((OLD, NEW, OLD_DATA, OLD_LIBRARY, ""), 100):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "maps").write_text(text)
    (tmp_path / "ceph.conf").write_text(f"[global]\nfsid = {FSID}\n")
    told = cluster.program.look({}, False)
    assert (told["fsid"], told["release"], told["failed"]) == (FSID, "16", ["ceph-osd@9.service"])
    assert told["units"] == sorted([*names, "ceph-osd@9.service"])
    assert told["outdated"] == [MONITOR, "ceph-osd@3.service"]


def test_one_that_ends_meanwhile_is_not_due_and_one_that_may_not_be_read_is_told(cluster, monkeypatch):
    cluster.units = {"ceph-osd@3.service": "active"}
    assert cluster.program.look({}, False)["outdated"] == []

    def forbid(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(cluster.program.Path, "read_text", forbid)
    with pytest.raises(PermissionError):
        cluster.program.is_outdated("ceph-osd@3.service")


def test_another_cluster_and_another_release_are_refused(cluster):
    assert "expected 0000, as the host's ceph.conf has it" in refused(cluster.program.state, fsid="0000")
    cluster.releases = ["16", "18"]
    assert "16, 18; expected the same; fix: an upgrade to another release" in refused(cluster.program.state)


def test_they_stop_once_the_cluster_says_so(cluster):
    assert cluster.program.ready(ABOUT, False) == {"unclean": 0, "sessions": []}
    cluster.states = {"active+clean": 60, "active+remapped+backfilling": 9, "active+undersized": 2, "peering": 1}
    assert cluster.program.ready({**ABOUT, "units": [MONITOR]}, False) == {"unclean": 3, "sessions": []}
    cluster.program.ready({**ABOUT, "units": [MANAGER]}, False)
    cluster.program.ready({**ABOUT, "units": [METADATA]}, False)
    assert cluster.ran == [
        "ceph osd ok-to-stop 3 4",
        "ceph mon ok-to-stop control-001",
        "ceph mds ok-to-stop home.control-001",
    ]


@pytest.mark.parametrize(
    ("refuses", "down", "said"),
    [
        ({"ceph osd ok-to-stop 3 4": "Error EBUSY: 12 PGs would become inactive"}, (), "12 PGs would become inactive"),
        ({}, {1}, "osd.1 is down already"),
        ({}, {3}, "osd.3 is down already"),
    ],
)
def test_what_may_not_stop_is_refused_on_time(cluster, refuses, down, said):
    cluster.refuses, cluster.down = refuses, set(down)
    why = refused(cluster.program.ready)
    assert said in why and """-e '{"ceph_restart_anyway": ["storage-001"]}'""" in why
    assert said in cluster.program.ready(ABOUT, True)["waits"]
    assert cluster.program.ready({**ABOUT, "anyway": True}, False) == {"unclean": 0, "sessions": []}


def test_the_flag_is_set_for_the_host_and_taken_away_again(cluster):
    program = cluster.program
    assert program.hold(ABOUT, True) == [] and cluster.ran == []
    program.hold(ABOUT, False)
    assert cluster.ran == [f"ceph config-key set {KEY} ", "ceph osd set-group noout storage-001"]
    cluster.keys, cluster.flags = {KEY}, {"storage-001": ["noout"]}
    program.hold(ABOUT, False)  # of a run that was cut off
    assert len(cluster.ran) == 2
    assert program.state(ABOUT, False) == {"held": True}
    program.settle(ABOUT, False)
    assert cluster.ran[2:] == ["ceph osd unset-group noout storage-001", f"ceph config-key rm {KEY}"]


def test_a_mark_without_a_flag_is_taken_away_and_makes_nobody_elses_flag_ours(cluster):
    cluster.keys = {KEY}
    assert cluster.program.state(ABOUT, True) == {"held": False} and cluster.ran == []
    assert cluster.program.state(ABOUT, False) == {"held": False}
    assert cluster.ran == [f"ceph config-key rm {KEY}"]
    cluster.ran.clear()
    cluster.refuses = {"ceph osd set-group noout storage-001": "Error EINVAL: no such host"}
    assert "no such host" in refused(cluster.program.hold)
    assert cluster.ran == [f"ceph config-key set {KEY} ", f"ceph config-key rm {KEY}"]


def test_a_flag_of_somebody_else_stays(cluster):
    cluster.flags = {"storage-001": ["noout"]}
    cluster.program.hold(ABOUT, False)
    cluster.program.settle(ABOUT, False)
    assert cluster.ran == []


def test_a_question_that_is_not_answered_is_no_answer(cluster):
    cluster.refuses = {f"ceph config-key exists {KEY}": "timed out"}
    assert "config-key exists: timed out" in refused(cluster.program.state)
    assert "config-key exists: timed out" in refused(cluster.program.settle)


def test_daemons_are_restarted_and_a_refusal_tells_of_the_flag(cluster):
    told = cluster.program.restart(ABOUT, True)
    assert told == ["ceph-osd@3 is restarted", "ceph-osd@4 is restarted"] and cluster.ran == []
    assert cluster.program.restart(ABOUT, False) == told
    assert cluster.ran == [f"systemctl reset-failed {' '.join(OSDS)}", f"systemctl restart {' '.join(OSDS)}"]
    cluster.refuses = {f"systemctl restart {' '.join(OSDS)}": "Job failed"}
    assert "Job failed; until it comes to its end noout may stay set" in refused(cluster.program.restart)


def test_each_says_itself_whether_it_serves(cluster):
    cluster.said = {"001.asok": "peon", "osd.4.asok": "booting"}
    cluster.units = dict.fromkeys([*OSDS, MONITOR, MANAGER], "active")
    assert cluster.program.serve({**ABOUT, "units": [MONITOR], "wait_s": 5}, False) == []
    assert cluster.program.serve({**ABOUT, "units": [MANAGER], "wait_s": 5}, False) == []
    assert "osd.4 is booting; expected daemons that serve" in refused(cluster.program.serve)
    cluster.said = {"001.asok": "up:rejoin"}
    assert "mds.home.control-001 is up:rejoin" in refused(cluster.program.serve, units=[METADATA])
    cluster.said = {"001.asok": "electing"}
    assert "mon.control-001 is electing" in refused(cluster.program.serve, units=[MONITOR])


def test_a_daemon_that_begins_anew_and_again_does_not_serve(cluster, monkeypatch):
    numbers = iter(range(1000))
    monkeypatch.setattr(cluster.program, "find_process", lambda _: str(next(numbers)))
    assert "begins anew and again" in refused(cluster.program.serve)


@pytest.mark.parametrize(
    ("units", "change", "said"),
    [
        (OSDS, {"down": {4}}, "osd.4 is not back"),
        ([MONITOR], {"quorum": []}, "mon.control-001 is not back"),
        ([MANAGER], {"managers": ["other"]}, "mgr.control-001 is not back"),
        ([METADATA], {"serving": {}}, "mds.home.control-001 is not back"),
        ([METADATA], {"failed": [1]}, "nobody serves all of home"),
        (
            [METADATA],
            {"serving": {"gid_8": {"name": "home.control-001", "state": "up:replay"}}},
            "metadata server home.control-001 is up:replay",
        ),
        (OSDS, {"states": {"active+clean": 60, "active+undersized+degraded": 4}}, "4 placement groups lack copies"),
        (OSDS, {"refuses": {"ceph status": "timed out"}}, "ceph status: timed out"),
        (OSDS, {"refuses": {"ceph osd unset-group noout storage-001": "no quorum"}}, "unset-group noout: no quorum"),
    ],
)
def test_the_next_host_waits_until_all_is_as_before(cluster, units, change, said):
    cluster.keys = {KEY}
    for name, value in change.items():
        setattr(cluster, name, value)
    why = refused(cluster.program.settle, units=units)
    assert said in why and "noout may stay set" in why
    assert cluster.ran == []
    assert cluster.program.settle({**ABOUT, "units": units}, True) == []


def test_copies_that_were_missing_before_may_be_missing_still(cluster):
    cluster.states = {"active+clean": 60, "active+undersized": 4}
    assert cluster.program.settle({**ABOUT, "unclean": 4}, False) == []


def test_a_gateway_stops_where_another_answers_and_has_to_come_back(cluster, monkeypatch):
    asked = []
    monkeypatch.setattr(cluster.program, "answers", lambda listens: asked.append(listens) or "control-002" in listens)
    about = {**ABOUT, "units": [GATEWAY]}
    cluster.units = {GATEWAY: "active"}
    assert cluster.program.look({}, False)["units"] == [GATEWAY]
    assert cluster.program.ready(about, False) == {"unclean": 0, "sessions": ["41", "42"]}
    assert asked == ["beast endpoint=control-002:80"]
    assert cluster.program.restart(about, False) == ["ceph-radosgw@rgw.store.control-001 is restarted"]
    # The one before is known for a minute more, and is not taken for one that came back.
    assert "radosgw.rgw.store.control-001 is not back" in refused(cluster.program.settle, units=[GATEWAY], sessions=["41", "42"])
    cluster.gateways["43"] = FIRST
    assert cluster.program.settle({**about, "sessions": ["41", "42"]}, False) == []
    for others in ({"44": FAR}, {"45": {**SECOND, "frontend_config#0": "beast endpoint=control-009:80"}}):
        cluster.gateways = {"43": FIRST, **others}
        assert "no other gateway answers; expected daemons that may stop" in refused(cluster.program.ready, units=[GATEWAY])
    assert cluster.program.ready({**about, "anyway": True}, False)["unclean"] == 0
    cluster.gateways = {}
    assert "no other gateway answers" in refused(cluster.program.ready, units=[GATEWAY])


def test_whether_a_gateway_answers_is_asked_at_its_port(cluster):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert cluster.program.answers(f"beast endpoint=127.0.0.1:{port}")
    assert not cluster.program.answers(f"beast endpoint=127.0.0.1:{port}")
    assert not cluster.program.answers("beast port=80")
