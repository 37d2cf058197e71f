"""The program of role ceph_expand, without Ceph; tests/ceph/test_ceph_expand.py has real daemons."""

import json
import random
from collections import Counter
from datetime import datetime
from pathlib import Path

import pytest

from tests.programs import load_program

PROGRAM = Path(__file__).parents[3] / "roles/ceph_expand/files/expand.py"
FSID = "dcf9adda-ceef-58bf-8f2c-82fb91b70d95"
ABOUT = {
    "hosts": {"storage-003": {"osds": 2, "device_class": "ssd"}},
    "steps": 5,
    "latency_ms": 20,
    "begin": "",
    "end": "",
    "until": "",
    "deadline": 0,
    "profile": "",
    "usual": "",
    "wait_s": 600,
}
RACKS = {"storage-001": "N01", "storage-002": "N02", "storage-003": "N01", "storage-004": "N03"}
OSDS = {
    0: "storage-001",
    1: "storage-001",
    2: "storage-002",
    3: "storage-002",
    6: "storage-004",
    4: "storage-003",
    5: "storage-003",
}
NEW = {4, 5}
BEFORE = {"1.0": [0, 2], "1.1": [1, 3], "1.2": [3, 1], "1.3": [0, 6], "1.4": [2, 6], "2.0": [0, 2, 6], "2.1": [2, 1, 6]}
AFTER = {"1.0": [4, 2], "1.1": [5, 3], "1.2": [3, 0], "1.3": [6, 4], "1.4": [2, 6], "2.0": [5, 6, 2], "2.1": [2, 4, 6]}
"""Where CRUSH has placement groups without and with the new OSDs: 1.2 moves among others, and two parts of 2.0 change places."""
MARK = {"hosts": ["storage-003"], "empty": [], "osds": [4, 5], "weight": [], "balancer": True, "held": True}


class Died(BaseException):
    """The program was killed."""


class Cluster:
    """A cluster; a double, which moves data as soon as nothing forbids that, and ends the program at its nth change."""

    def __init__(self):
        self.weights = dict.fromkeys([0, 1, 2, 3, 6], 1.0)
        self.lies, self.pins, self.flags, self.moves = dict(BEFORE), {}, set(), set()
        self.options, self.keys, self.balancer = {}, {}, True
        self.now, self.ran, self.dies, self.slow, self.checks, self.silent = 1e6, [], None, {}, {}, set()
        self.client, self.is_splitting, self.busy, self.takes_long = "luminous", False, 0, False
        self.takes, self.names, self.objects = dict.fromkeys((1, 2), "default~ssd"), {1: "p1", 2: "p2"}, 9
        self.hidden, self.gone, self.fails, self.refuses = set(), set(), 0, ""

    def make(self):
        """Have the OSDs of the new host, as role ceph_osd makes them."""
        for number in NEW - set(self.weights):
            self.weights[number] = 0.0 if self.options.get("osd_crush_initial_weight") == "0" else 1.0

    def draw(self, group):
        """Return where CRUSH has a placement group."""
        return list((AFTER if all(self.weights.get(number) for number in NEW) else BEFORE)[group])

    def lead(self, group):
        """Return where it shall be."""
        now = self.draw(group)
        for come, lie in self.pins.get(group, ()):
            if come in now and lie not in now:
                now[now.index(come)] = lie
        return now

    def move(self):
        """Have data move, if it may."""
        for group in BEFORE if "norebalance" not in self.flags else ():
            goal = self.lead(group)
            is_same = goal == self.lies[group] if group.startswith("2.") else set(goal) == set(self.lies[group])
            if not is_same:
                self.moves |= {(group, osd) for osd in set(goal) - set(self.lies[group])}
                self.busy = 3
            if is_same or not self.takes_long:
                self.lies[group] = goal

    def sleep(self, seconds):
        self.now += seconds
        self.busy = max(0, self.busy - 1)

    def __call__(self, program, *words, given=""):
        for line in given.splitlines():
            self(program, *line.split())
        if given:
            return 0, "", ""
        self.move()
        short = " ".join([program, *words]).replace("--connect-timeout=15 ", "").replace(" --format=json", "")
        if words[1:] == ("--dump", "json"):
            return 0, json.dumps(self.answer("ceph osd dump")), ""
        if program == "osdmaptool":
            return 0, "".join(self.describe(group) for group in BEFORE if group not in self.hidden), ""
        if self.fails:
            self.fails -= 1
            return 1, "", "no quorum"
        if self.refuses and self.refuses in short:
            return 1, "", "timed out"
        said = self.answer(short)
        if said is not None:
            return said if isinstance(said, tuple) else (0, json.dumps(said), "")
        if self.dies is not None and len(self.ran) >= self.dies:
            raise Died
        self.ran.append(short)
        self.change([word for word in words if not word.startswith("--")])
        return 0, "", ""

    def describe(self, group):
        where = (",".join(map(str, each)) for each in (self.draw(group), self.lead(group), self.lies[group]))
        return "{} raw ([{}], p0) up ([{}], p0) acting ([{}], p-1)\n".format(group, *where)

    def answer(self, short):
        """Return what a question is answered; None for what changes something."""
        perf = [{"id": osd, "perf_stats": {"commit_latency_ms": self.slow.get(osd, 0)}} for osd in self.weights]
        state = "active+remapped+backfilling" if self.busy else "active+clean"
        answers = {
            "ceph osd dump": {
                "fsid": FSID,
                "require_min_compat_client": self.client,
                "flags_set": sorted({"sortbitwise", *self.flags}),
                "osds": [{"osd": osd, "uuid": f"u{osd}", "up": 1, "in": 1} for osd in self.weights],
                "pools": [
                    {"pool": number, "type": kind, "size": size, "pool_name": f"p{number}", "pg_num": count}
                    | {"pg_num_target": count, "pg_placement_num": count, "pg_placement_num_target": count + self.is_splitting}
                    | {"crush_rule": number}
                    for number, kind, size, count in ((1, 1, 2, 5), (2, 3, 3, 2))
                ],
                "pg_upmap_items": [
                    {"pgid": group, "mappings": [{"from": come, "to": lie} for come, lie in pairs]}
                    for group, pairs in self.pins.items()
                ],
            },
            "ceph osd df": {
                "nodes": [
                    {"id": osd, "crush_weight": weight, "kb": 0 if osd in self.silent else 2**30, "pgs": self.count(osd)}
                    for osd, weight in self.weights.items()
                ]
            },
            "ceph osd tree": {"nodes": self.list_nodes()},
            "ceph osd perf": {"osdstats": {"osd_perf_infos": perf}},
            "ceph osd crush rule dump": [
                {"rule_id": number, "steps": [{"op": "set_chooseleaf_tries", "num": 5}, {"op": "take", "item_name": takes}]}
                for number, takes in self.takes.items()
            ],
            "ceph df": {
                "pools": [
                    {"id": number, "name": self.names[number], "stats": {"bytes_used": used, "objects": self.objects}}
                    for number, used in ((1, 1000), (2, 600))
                ]
            },
            "ceph status": {"pgmap": {"num_pgs": 7, "misplaced_objects": 9, "pgs_by_state": [{"state_name": state, "count": 7}]}},
            "ceph fsid": {},
            "ceph health": {"checks": self.checks},
            "ceph balancer status": {"active": self.balancer, "mode": "upmap"},
            "ceph config dump": [
                {"section": "osd", "mask": "", "name": name, "value": f"{float(value):f}" if "weight" in name else value}
                for name, value in self.options.items()
            ],
        }
        if short.startswith("ceph config-key get"):
            return (0, self.keys[short.split()[3]], "") if short.split()[3] in self.keys else (2, "", "ENOENT")
        return (0, "", "") if short.startswith("ceph osd getmap") else answers.get(short)

    def count(self, osd):
        return sum(osd in where for where in self.lies.values())

    def list_nodes(self):
        hosts = {host: [osd for osd, name in OSDS.items() if name == host and osd in self.weights] for host in RACKS}
        racks = sorted(set(RACKS.values()))
        nodes = [
            {"id": osd, "type": "osd", "name": f"osd.{osd}", "device_class": "ssd", "status": "up"}
            for osd in self.weights
            if osd not in self.gone
        ]
        nodes += [{"id": -10 - at, "type": "host", "name": host, "children": hosts[host]} for at, host in enumerate(RACKS)]
        inside = {rack: [-10 - at for at, host in enumerate(RACKS) if RACKS[host] == rack] for rack in racks}
        return nodes + [{"id": -2 - at, "type": "rack", "name": rack, "children": inside[rack]} for at, rack in enumerate(racks)]

    def change(self, words):
        """Do what a command says."""
        match words:
            case ["osd", "set", flag]:
                self.flags.add(flag)
            case ["osd", "unset", flag]:
                self.flags.discard(flag)
            case ["osd", "crush", "reweight", name, weight]:
                self.weights[int(name[4:])] = float(weight)
            case ["osd", "pg-upmap-items", group, *pairs]:
                numbers = list(map(int, pairs))
                self.pins[group] = list(zip(numbers[::2], numbers[1::2], strict=True))
            case ["osd", "rm-pg-upmap-items", group]:
                self.pins.pop(group, None)
            case ["config", "set", "osd", name, value]:
                self.options[name] = value
            case ["config", "rm", "osd", name]:
                self.options.pop(name, None)
            case ["config-key", "set", key, value]:
                self.keys[key] = value
            case ["config-key", "rm", key]:
                self.keys.pop(key, None)
            case ["balancer", switch]:
                self.balancer = switch == "on"
            case _:
                raise AssertionError(words)


@pytest.fixture
def program(monkeypatch, tmp_path):
    """Return the program, with a double of the cluster, in which time passes at once."""
    program = load_program(PROGRAM)
    program.cluster = Cluster()
    monkeypatch.setattr(program, "call", program.cluster)
    monkeypatch.setattr(program, "WORKERS", 1)
    monkeypatch.setattr(program, "LOCK", tmp_path / "lock")
    monkeypatch.setattr(program.time, "sleep", program.cluster.sleep)
    monkeypatch.setattr(program.time, "monotonic", lambda: program.cluster.now)
    monkeypatch.setattr(program.time, "time", lambda: program.cluster.now)
    return program


def run(program, **about):
    """Play the playbook; return how much was left, and what was told."""
    about, told = ABOUT | about, []
    program.look(about, False)
    told += program.begin(about, False)
    program.cluster.make()
    held = program.hold(about, False)
    told += held["changes"]
    for _ in range(held["steps"] + 1):
        step = program.step(about | {"most": held["most"]}, False)
        told += step["changes"]
        if step["late"] or not step["left"]:
            break
    if not step["left"]:
        told += program.end(about, False)
    return step["left"], told


def is_restored(cluster):
    """Return whether nothing is left of what was set for a time."""
    return (cluster.options, cluster.keys, cluster.balancer, cluster.flags) == ({}, {}, True, set())


@pytest.mark.parametrize(
    ("takes", "objects", "fresh"),
    [
        ({}, 9, []),
        ({1: "default~hdd", 2: "default~hdd"}, 9, ["storage-003"]),
        ({1: "default~hdd"}, 9, []),
        ({}, 0, ["storage-003"]),
        ({1: "default", 2: "default~hdd"}, 9, []),  # on drives of all classes
        ({1: "row-a~hdd", 2: "default~hdd"}, 9, ["storage-003"]),
    ],
)
def test_hosts_of_a_class_on_which_nothing_lies_come_at_once(program, takes, objects, fresh):
    program.cluster.takes |= takes
    program.cluster.objects = objects
    assert program.look(ABOUT, False)["fresh"] == fresh
    assert bool(program.begin(ABOUT, False)) == (not fresh)
    assert bool(program.cluster.options or program.cluster.keys) == (not fresh)


def test_what_managers_keep_on_all_classes_counts_for_nothing(program):
    program.cluster.takes, program.cluster.names = {1: "default", 2: "default~hdd"}, {1: ".mgr", 2: "p2"}
    assert program.look(ABOUT, False)["fresh"] == ["storage-003"]


def test_no_more_moves_than_comes_to_new_osds(program):
    cluster = program.cluster
    assert run(program) == (
        0,
        [
            "OSDs that are made on storage-003 hold nothing at first",
            "new with a weight, and nothing on it yet: osd.4, osd.5",
            "1 placement group cannot be pinned, and some of it moves at once",
            "1 placement group for osd.4, osd.5, 4 left",
            "1 placement group for osd.4, osd.5, 3 left",
            "1 placement group for osd.4, osd.5, 2 left",
            "1 placement group for osd.4, osd.5, 1 left",
            "1 placement group for osd.4, osd.5, 0 left",
            "all that comes to osd.4, osd.5 is there",
        ],
    )
    assert cluster.moves == {(group, osd) for group, where in cluster.lies.items() for osd in where if osd in NEW}
    assert {group: where for group, where in cluster.lies.items() if set(where) & NEW} == {
        "1.0": [4, 2],
        "1.1": [5, 3],
        "1.3": [6, 4],
        "2.0": [5, 6, 2],
        "2.1": [2, 4, 6],
    }
    assert cluster.pins == {"1.2": [(0, 1)]}  # for the balancer
    assert is_restored(cluster)
    done = len(cluster.ran)
    assert run(program) == (0, []) and len(cluster.ran) == done


@pytest.mark.parametrize("profiles", [{}, {"profile": "high_recovery_ops", "usual": "balanced"}], ids=["", "with profiles"])
def test_a_run_that_is_cut_off_anywhere_is_gone_on_with(program, profiles):
    cluster = program.cluster
    run(program, **profiles)
    whole, pins, moves = cluster.lies, cluster.pins, cluster.moves
    for dies in range(len(cluster.ran)):
        cluster.__init__()
        cluster.dies = dies
        with pytest.raises(Died):
            run(program, **profiles)
        if not any(short.startswith("ceph osd rm-pg") for short in cluster.ran):
            assert {group for group, where in cluster.lies.items() if set(where) & NEW} <= {"2.0"}, cluster.ran
        cluster.dies = None
        assert run(program, **profiles)[0] == 0
        assert (cluster.lies, cluster.pins, cluster.moves) == (whole, pins, moves), dies
        assert cluster.options.pop("osd_mclock_profile", "") == profiles.get("usual", "")
        assert is_restored(cluster), dies


def test_a_dry_run_changes_nothing(program):
    about = ABOUT
    assert program.begin(about, True) == ["OSDs that are made on storage-003 hold nothing at first"]
    assert program.hold(about, True) == {"changes": [], "steps": 0, "most": 0}
    assert program.step(about, True) == {"changes": [], "left": 0, "late": False}
    assert program.end(about, True) == []
    program.begin(about, False)
    program.cluster.make()
    done = len(program.cluster.ran)
    assert program.hold(about, True)["changes"] == ["new with a weight, and nothing on it yet: osd.4, osd.5"]
    assert program.step(about, True)["left"] == 0
    assert program.end(about, True) == ["all that comes to osd.4, osd.5 is there"]
    with pytest.raises(SystemExit, match=r"^osd.4, osd.5: without a weight; expected all that was made to have come; fix: "):
        program.end(about, False)
    assert len(program.cluster.ran) == done


def test_steps_move_as_much_each(program):
    """Parts of both pools are 100 bytes, and five come."""
    for count, steps, most in ((1000, 5, 0.5), (5, 5, 100), (3, 5, 500 / 3), (2, 3, 250), (1, 1, 500)):
        program.cluster.__init__()
        program.begin(ABOUT, False)
        program.cluster.make()
        held = program.hold(ABOUT | {"steps": count}, False)
        assert (held["steps"], held["most"]) == (steps, most), count


def test_a_step_is_taken_back_while_an_osd_is_slow(program):
    cluster = program.cluster
    program.begin(ABOUT, False)
    cluster.make()
    program.hold(ABOUT, False)
    turns, cluster.takes_long = iter([{}] * 12 + [{2: 25}] * 8), True

    def sleep(seconds):
        cluster.slow = next(turns, {})
        cluster.sleep(seconds)

    program.time.sleep = sleep
    with pytest.raises(SystemExit, match="expected that it gets on within 600 s"):
        program.step(ABOUT, False)
    assert [short for short in cluster.ran if "pg-upmap-items 1.0" in short] == [
        "ceph osd pg-upmap-items 1.0 4 0",
        "ceph osd rm-pg-upmap-items 1.0",
        "ceph osd pg-upmap-items 1.0 4 0",
        "ceph osd rm-pg-upmap-items 1.0",
        "ceph osd pg-upmap-items 1.0 4 0",
    ]
    assert "norebalance" not in cluster.flags


def test_a_step_that_is_slow_itself_ends_the_run(program):
    """As where recovery alone has an OSD take longer than it may: the cluster is calm each time before it."""
    cluster = program.cluster
    program.begin(ABOUT, False)
    cluster.make()
    program.hold(ABOUT, False)
    pins, cluster.takes_long = dict(cluster.pins), True

    def sleep(seconds):
        cluster.slow = {} if cluster.pins == pins else {2: 25}
        cluster.sleep(seconds)

    program.time.sleep = sleep
    with pytest.raises(SystemExit) as ended:
        program.step(ABOUT, False)
    said = "Ceph: a step was taken back: osd.2 takes 25 ms, more than 20, the last of 3 times; expected that something comes of a"
    assert str(ended.value).startswith(f"{said} step; fix: run again with a higher ceph_expand_latency_ms")
    assert cluster.ran.count("ceph osd rm-pg-upmap-items 1.0") == 3
    assert cluster.pins == pins and "norebalance" not in cluster.flags


@pytest.mark.parametrize(
    ("set_up", "said"),
    [
        (
            {"slow": {3: 20.5}},
            "Ceph: osd.3 takes 20.5 ms, more than 20; expected a calm cluster within 600 s; fix: see ceph status",
        ),
        (
            {"checks": {"SLOW_OPS": {}}},
            "Ceph: slow requests, see ceph health detail; expected a calm cluster within 600 s; fix: ",
        ),
    ],
)
def test_no_step_begins_while_clients_wait(program, set_up, said):
    program.begin(ABOUT, False)
    program.cluster.make()
    program.hold(ABOUT, False)
    vars(program.cluster).update(set_up)
    pins = dict(program.cluster.pins)
    with pytest.raises(SystemExit, match=f"^{said}"):
        program.step(ABOUT, False)
    assert program.cluster.pins == pins


def test_a_step_is_taken_back_when_its_time_is_over(program):
    cluster = program.cluster
    program.begin(ABOUT, False)
    cluster.make()
    program.hold(ABOUT, False)
    pins, cluster.takes_long = dict(cluster.pins), True
    about = ABOUT | {"until": "06:00", "deadline": cluster.now + 30}
    assert program.step(about, False) == {"changes": ["a step was taken back: it is past 06:00"], "left": 5, "late": True}
    assert program.step(about, False) == {"changes": [], "left": 5, "late": True}
    assert cluster.pins == pins and "norebalance" not in cluster.flags


def test_no_step_begins_where_it_gets_late_while_all_gets_calm(program):
    cluster = program.cluster
    program.begin(ABOUT, False)
    cluster.make()
    program.hold(ABOUT, False)
    done, about = len(cluster.ran), ABOUT | {"until": "06:00", "deadline": cluster.now + 5, "profile": "high_recovery_ops"}
    assert program.step(about, False) == {"changes": [], "left": 5, "late": True}
    assert len(cluster.ran) == done


def test_new_osds_get_no_weights_where_it_got_late_while_they_were_made(program):
    cluster, about = program.cluster, ABOUT | {"until": "06:00", "deadline": 1}
    program.begin(about, False)
    cluster.make()
    done = len(cluster.ran)
    with pytest.raises(
        SystemExit, match=r"^Ceph: it is past 06:00; expected new OSDs to get their weights before that; fix: run again"
    ):
        program.hold(about, False)
    assert len(cluster.ran) == done
    program.hold(ABOUT, False)
    assert cluster.weights[4] > 0
    program.hold(about, False)  # nothing is new


def test_a_profile_that_cannot_be_set_back_is_told(program):
    """With what came of the step, or with why it failed."""
    cluster, about = program.cluster, ABOUT | {"profile": "high_recovery_ops", "usual": "balanced"}
    program.begin(about, False)
    cluster.make()
    program.hold(about, False)
    cluster.refuses = "osd_mclock_profile balanced"
    stays = (
        "; osd_mclock_profile stays high_recovery_ops, ceph config set osd osd_mclock_profile balanced: timed out: ceph config"
    )
    [told] = program.step(about, False)["changes"]
    assert told.startswith("1 placement group for osd.4, osd.5, 4 left; ") and stays in told
    cluster.takes_long = True
    with pytest.raises(SystemExit, match="expected that it gets on within 600 s") as failed:
        program.step(about, False)
    assert stays in str(failed.value)


def test_a_new_osd_that_is_down_holds_no_other_up(program):
    program.begin(ABOUT, False)
    program.cluster.make()
    program.cluster.silent = {5}
    assert program.hold(ABOUT, False)["changes"] == [
        "new with a weight, and nothing on it yet: osd.4",
        "down or not in, and left without a weight: osd.5",
    ]
    assert program.cluster.weights[4] > 0 and program.cluster.weights[5] == 0
    with pytest.raises(
        SystemExit, match=r"^osd.5: without a weight; expected all that was made to have come; fix: see systemctl"
    ):
        program.end(ABOUT, False)


@pytest.mark.parametrize(
    ("break_it", "said"),
    [
        (
            {"is_splitting": True},
            "Ceph: pools p1, p2 are being split; expected all parts there before new OSDs get their weights",
        ),
        ({"lies": BEFORE | {"2.0": [0, 2**31 - 1, 6]}}, "Ceph: 1 placement group without all parts; expected all parts there"),
        ({"hidden": {"1.1"}}, "osdmaptool: tells of 6 placement groups; expected all 7; fix: nothing was changed"),
    ],
)
def test_what_cannot_be_pinned_gets_no_weight(program, break_it, said):
    program.begin(ABOUT, False)
    program.cluster.make()
    program.cluster.takes_long = True
    vars(program.cluster).update(break_it)
    done = len(program.cluster.ran)
    with pytest.raises(SystemExit, match=f"^{said}"):
        program.hold(ABOUT, False)
    assert len(program.cluster.ran) == done


def test_monitors_may_take_turns_meanwhile(program):
    program.begin(ABOUT, False)
    program.cluster.make()
    program.cluster.fails = 5
    assert program.hold(ABOUT, False)["steps"] == 5
    program.cluster.fails = 1000
    with pytest.raises(SystemExit, match="no quorum"):
        program.step(ABOUT, False)


def test_two_runs_at_once_are_refused(program, tmp_path):
    with (tmp_path / "lock").open("w") as other:
        program.fcntl.flock(other, program.fcntl.LOCK_EX)
        with pytest.raises(SystemExit, match="another run has hosts come; expected one at a time; fix: wait"):
            program.lock()
    program.lock()


def test_a_flag_that_somebody_sets_in_the_middle_stays(program):
    program.begin(ABOUT, False)
    program.cluster.make()
    program.hold(ABOUT, False)
    program.cluster.flags.add("norebalance")
    program.pin()
    assert program.cluster.flags == {"norebalance"}
    assert program.look(ABOUT, False)["flags"] == ["norebalance"]


def test_an_osd_that_somebody_gave_no_weight_keeps_it(program):
    program.cluster.weights[7] = 0.0
    run(program)
    assert program.cluster.weights[7] == 0 and is_restored(program.cluster)


def test_a_pin_that_the_cluster_takes_away_again_is_told(program):
    program.begin(ABOUT, False)
    program.cluster.make()
    change, program.cluster.takes_long = program.cluster.change, True
    program.cluster.change = lambda words: None if words[1:3] == ["pg-upmap-items", "1.0"] else change(words)
    assert program.hold(ABOUT, False)["changes"][1].startswith("2 placement groups cannot be pinned")
    assert "norebalance" not in program.cluster.flags


def test_managers_hear_of_a_new_osd_a_little_later(program):
    program.begin(ABOUT, False)
    program.cluster.make()
    program.cluster.silent = {4, 5}
    program.time.sleep = lambda _: program.cluster.silent.pop()
    assert program.hold(ABOUT, False)["changes"][0] == "new with a weight, and nothing on it yet: osd.4, osd.5"


def test_what_somebody_had_set_is_set_again(program):
    program.cluster.options["osd_crush_initial_weight"] = "0.5"
    program.cluster.balancer = False
    run(program)
    assert float(program.cluster.options["osd_crush_initial_weight"]) == 0.5
    assert not program.cluster.balancer


def test_the_cluster_is_asked_for_what_forbids_it(program):
    cluster = program.cluster
    cluster.flags, cluster.is_splitting, cluster.busy = {"norebalance", "noout", "noin"}, True, 1
    cluster.client, cluster.gone = "jewel", {4}
    cluster.weights |= {4: 1.0, 5: 1.0}
    told = program.look(ABOUT | {"until": "06:00"}, False)
    assert told.pop("deadline") > 0
    assert told == {
        "fsid": FSID,
        "client": "jewel",
        "flags": ["noin", "norebalance"],
        "hosts": [],
        "unclean": "7 placement groups active+remapped+backfilling",
        "splitting": ["p1", "p2"],
        "lacking": {"storage-003": 1},
        "fresh": [],
        "outside": "",
    }
    cluster.keys["gpuyard/expand"] = json.dumps(MARK)
    assert program.look(ABOUT, False)["flags"] == ["noin"]


@pytest.mark.parametrize(
    ("until", "now", "end"),
    [
        ("06:00", "2026-11-28 22:15", "2026-11-29 06:00"),
        ("22:30", "2026-11-28 22:15", "2026-11-28 22:30"),
        ("", "2026-11-28 22:15", ""),
    ],
)
def test_a_time_of_day_is_the_next_one(program, until, now, end):
    found = program.find_deadline(until, datetime.fromisoformat(now))
    assert found == (datetime.fromisoformat(end).timestamp() if end else 0)


@pytest.mark.parametrize(
    ("begin", "end", "inside", "outside"),
    [
        ("22:00", "06:00", ["22:00", "23:59", "00:00", "05:59"], ["06:00", "14:30", "21:59"]),
        ("01:00", "05:30", ["01:00", "05:29"], ["00:59", "05:30", "23:00"]),
        ("", "06:00", ["00:00", "05:00", "06:00", "12:00"], []),
        ("", "", ["12:00"], []),
    ],
)
def test_hours_may_go_past_midnight(program, begin, end, inside, outside):
    def find(time_of_day):
        return program.find_outside(begin, end, datetime.fromisoformat(f"2026-11-28 {time_of_day}:30"))

    assert [find(time_of_day) for time_of_day in inside] == [""] * len(inside)
    assert [find(time_of_day) for time_of_day in outside] == outside


def test_a_step_goes_by_a_profile_of_its_own(program):
    """What was in force before is so again after each, also where one fails; nothing is set where none begins."""
    cluster, about = program.cluster, ABOUT | {"profile": "high_recovery_ops", "usual": "high_client_ops"}
    program.begin(about, False)
    cluster.make()
    program.hold(about, False)

    def list_changes():
        return [short for short in cluster.ran if "osd_mclock_profile" in short or "rm-pg-upmap-items" in short]

    assert list_changes() == []
    program.step(about, False)
    first, *_, last = list_changes()
    assert (first, last) == (
        "ceph config set osd osd_mclock_profile high_recovery_ops",
        "ceph config set osd osd_mclock_profile high_client_ops",
    )
    assert sum("osd_mclock_profile" in short for short in list_changes()) == 2
    before, cluster.takes_long = len(list_changes()), True
    with pytest.raises(SystemExit, match="expected that it gets on"):
        program.step(about, False)
    assert list_changes()[before] == first and list_changes()[-1] == last
    before = len(list_changes())
    assert program.step(about | {"until": "06:00", "deadline": cluster.now - 1}, False)["late"]
    assert program.step(about, True)["changes"] == []
    assert len(list_changes()) == before


LAYOUTS = {
    "a part in each rack": (5, 1, (2, 3, 4)),
    "racks as many as parts": (3, 1, (3,)),
    "two in each of two": (2, 2, (4,)),
    "two in each of three": (3, 2, (6,)),
}
"""Racks, parts of a placement group in a rack at most, and how many parts there are."""


@pytest.mark.parametrize(("count", "most", "sizes"), LAYOUTS.values(), ids=list(LAYOUTS))
def test_pins_lead_back_and_one_part_moves_for_each_new_osd(program, count, most, sizes):
    """A thousand draws over racks of hosts; pins are judged by what Ceph does with them."""
    dice = random.Random(7)
    places = {osd: {"host": f"h{osd // 2}", "rack": f"r{osd // 2 % count}"} for osd in range(16 * count)}
    slots = [f"r{rack}" for rack in range(count) for _ in range(most)]
    given_up = 0

    def draw(size):
        hosts, drawn = set(), []
        for rack in dice.sample(slots, size):
            osd = dice.choice([osd for osd, place in places.items() if place["rack"] == rack and place["host"] not in hosts])
            hosts.add(places[osd]["host"])
            drawn.append(osd)
        return drawn

    for _ in range(1000):
        size, is_coded = dice.choice(sizes), dice.random() < 0.5
        raw, lies = draw(size), draw(size)
        led = program.lead(raw, program.match(raw, lies, is_coded))
        off = [at for at in range(size) if led[at] != lies[at]] if is_coded else []
        assert {led[at] for at in off} == {lies[at] for at in off}  # a ring
        assert set(led) == set(lies)
        new = {osd for osd in raw if osd not in lies and dice.random() < 0.5}
        goal = program.choose(raw, lies, new, places)
        assert len({places[osd]["host"] for osd in goal}) == len(set(goal)) == size
        assert max(Counter(places[osd]["rack"] for osd in goal).values()) <= most
        assert new <= set(goal)
        moved = sum(goal[at] != lies[at] for at in range(size))
        given_up += moved > len(new)
        assert moved == len(new) or goal == raw
    assert given_up < 100


def test_a_placement_group_that_crush_has_no_place_for_is_not_pinned(program):
    program.cluster.lies["1.0"], program.cluster.takes_long = [0, 2, 6], True  # one copy too many, for now
    program.begin(ABOUT, False)
    program.cluster.make()
    assert "2 placement groups cannot be pinned" in program.hold(ABOUT, False)["changes"][1]
    assert "1.0" not in program.cluster.pins
