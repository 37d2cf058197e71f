"""An eighth host comes to a store of real daemons in steps: what moves is what comes to it, and slow OSDs have a say."""

import json
import re
import time
from dataclasses import replace

import pytest

from cluster_model.pipeline import inspect
from cluster_model.plan.growth import add_servers
from cluster_model.plan.services.waterline import measure_move
from tests.ceph.yard import HERE, require_ceph, run_yard
from tests.planned import open_folder
from tests.slowness import stretch, wait_for

PROGRAM = (HERE.parents[1] / "roles/ceph_expand/files/expand.py").read_text()
QUICK = {"STEADY_S = 15": "STEADY_S = 3", "HASTY_S = 10": "HASTY_S = 1", "POLL_S = 900, 15, 2": "POLL_S = 900, 15, 0.5"}
"""Managers hear of placement groups every second here, and not every five."""
HOST, OSD = "storage-008", 7


class Growth:
    """The store, and what the role says to it."""

    def __init__(self, yard):
        self.yard = yard
        self.before, self.told = {}, {"most": 0}
        self.own = "1."  # the managers' own pool has a rule of its own, and hardly any data
        self.program = PROGRAM
        for long, short in {**QUICK, "/run/lock": str(yard.folder)}.items():
            assert self.program.count(long) == 1, long
            self.program = self.program.replace(long, short)

    def say(self, verb, *check, fails=False, **about):
        """Run the role's program; return what it told, or what it ended with where it fails."""
        known = {"hosts": [HOST], "osds": 1, "device_class": "ssd", "steps": 4, "most": self.told["most"]}
        known |= {"latency_ms": 0, "until": "", "deadline": 0, "wait_s": stretch(120)}
        done = self.yard.inside(
            "/usr/bin/python3", "-IS", "-c", self.program, verb, *check, given=json.dumps({**known, **about}), check=False
        )
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        return done.stderr if fails else json.loads(done.stdout)

    def read_osds(self):
        """Return what each OSD weighs and has, by number."""
        return {osd["id"]: osd for osd in self.yard.ceph("osd", "df")["nodes"]}

    def list_parts(self):
        """Return where each part of each placement group lies."""
        groups = self.yard.ceph("pg", "ls")["pg_stats"]
        return {(group["pgid"], osd) for group in groups for osd in group["acting"]}

    def weigh(self, parts):
        """Return the bytes of some parts of placement groups."""
        pools = {pool["pool"]: pool for pool in self.yard.ceph("osd", "dump")["pools"]}
        used = {pool["id"]: pool["stats"]["bytes_used"] for pool in self.yard.ceph("df")["pools"]}
        numbers = [int(group.partition(".")[0]) for group, _ in parts]
        return sum(used[number] / pools[number]["pg_num"] / pools[number]["size"] for number in numbers)

    def count_on_new(self):
        """Return how many parts lie on the new OSD."""
        return sum(osd == OSD for _, osd in self.list_parts())

    def count_pins(self):
        """Return how many placement groups are led elsewhere than CRUSH has them."""
        return len(self.yard.ceph("osd", "dump")["pg_upmap_items"])

    def is_clean(self):
        """Return whether all is where it shall be."""
        return all(each["state_name"].startswith("active+clean") for each in self.yard.ceph("status")["pgmap"]["pgs_by_state"])


@pytest.fixture(scope="module")
def growth(tmp_path_factory):
    """Run two pools of the store as `gpuyard storage --add 1` sees it, with data, and without the OSD of the host that comes."""
    require_ceph()
    loaded = open_folder(HERE).loaded
    pools = {name: loaded.cluster.ceph.pools[name] for name in ("datasets", "archive")}
    ceph = loaded.cluster.ceph.model_copy(update={"pools": pools, "filesystems": {}, "object": None})
    opened = inspect(replace(loaded, cluster=loaded.cluster.model_copy(update={"ceph": ceph}))).opened
    plan = inspect(replace(loaded, cluster=add_servers(opened.cluster, "storage", 1))).opened.plan
    with run_yard(tmp_path_factory.mktemp("e", numbered=True), plan, first=7) as yard:
        code, told = yard.say("apply")
        assert code == 0, told
        yard.inside("ceph", "config", "set", "osd", "osd_recovery_sleep_hdd", "0")
        for pool in plan.ceph.pools:  # many small ones: OSDs bring what is in their logs at once, of four writes here
            yard.inside("rados", "-p", pool.name, "bench", "90", "write", "-b", 2**16, "--max-objects", "2000", "--no-cleanup")
        growth = Growth(yard)
        growth.least = measure_move(opened.plan.ceph, plan.ceph)
        wait_for(growth.is_clean, 90, "the store is clean")
        growth.before = growth.list_parts()
        yield growth


@pytest.fixture(scope="module")
def held(growth):
    """Have the OSD there with its weight, and everything where it was."""
    assert growth.say("look")["lacking"] == {HOST: 1}
    told = {"changes": [f"OSDs that are made on {HOST} hold nothing at first"]}
    assert growth.say("begin", "check") == told
    assert growth.say("look")["hosts"] == []
    assert growth.say("begin", "do") == told
    assert growth.say("begin", "do") == {"changes": []}
    growth.yard.make_osds()
    new = growth.read_osds()[OSD]
    assert (new["crush_weight"], new["pgs"]) == (0, 0)
    growth.told = growth.say("hold", "do")
    return growth


def test_all_stays_where_it_is_once_the_host_has_its_weight(held):
    osds = held.read_osds()
    assert held.told["changes"][0] == f"new with a weight, and nothing on it yet: osd.{OSD}"
    assert osds[OSD]["crush_weight"] == pytest.approx(osds[0]["crush_weight"], rel=0.01)
    assert held.count_pins() > 20 and held.told["steps"] in {4, 5}
    assert "norebalance" not in held.yard.ceph("osd", "dump")["flags_set"]
    assert not held.yard.ceph("balancer", "status")["active"]
    wait_for(held.is_clean, 60, "all is clean")
    # Parts of coded pools that change places with each other cannot be pinned, and are few.
    assert held.weigh(held.list_parts() - held.before) < 0.02 * held.weigh(held.before)
    assert held.count_on_new() == 0


def test_a_run_that_was_cut_off_is_gone_on_with(held):
    """As it is left where the program dies between two pins, with the flag set."""
    pins = [pin for pin in held.yard.ceph("osd", "dump")["pg_upmap_items"] if pin["pgid"][:2] != held.own]
    mark = json.loads(held.yard.inside("ceph", "config-key", "get", "gpuyard/expand").stdout)
    held.yard.inside("ceph", "config-key", "set", "gpuyard/expand", json.dumps({**mark, "held": True}))
    held.yard.inside("ceph", "osd", "set", "norebalance")
    for pin in pins[:4]:
        held.yard.inside("ceph", "osd", "rm-pg-upmap-items", pin["pgid"])
    assert held.say("look")["flags"] == [] and held.say("look")["hosts"] == [HOST]
    assert "steps" in held.say("hold", "do")
    assert [pin for pin in held.yard.ceph("osd", "dump")["pg_upmap_items"] if pin["pgid"][:2] != held.own] == pins
    assert "norebalance" not in held.yard.ceph("osd", "dump")["flags_set"]
    wait_for(held.is_clean, 60, "all is clean")
    assert held.count_on_new() == 0


def test_a_step_is_taken_back_while_osds_are_slow(held):
    """With a limit that any write is above, recovery's own too: the step is taken back each time, and the run ends.

    Data comes slowly, so that no step ends before that is seen.
    """
    pins, lay, waiting = held.count_pins(), held.list_parts(), held.say("step", "check")["left"]
    held_up = {"osd_recovery_sleep_hdd": 0.5, "osd_recovery_sleep_ssd": 0.5, "osd_recovery_max_active": 1}
    for name, value in held_up.items():
        held.yard.inside("ceph", "config", "set", "osd", name, value)
    try:
        said = held.say("step", "do", fails=True, latency_ms=1e-3)
    finally:
        for name in held_up:
            held.yard.inside("ceph", "config", "set", "osd", name, 0)
    assert re.match(r"Ceph: a step was taken back: osd\.\d takes \d+ ms, more than 0\.001, the last of 3 times; ", said), said
    wait_for(held.is_clean, 60, "all is clean")
    came = held.list_parts() - lay
    assert all(osd == OSD for _, osd in came), came
    assert len(came) < waiting and held.count_pins() + len(came) >= pins  # what came whole before that stays


def test_no_step_begins_past_the_hour(held):
    pins = held.count_pins()
    told = held.say("step", "do", until="06:00", deadline=time.time() - 1)
    assert told["late"] and told["changes"] == [] and told["left"] > 0
    assert held.count_pins() == pins


def test_data_comes_in_steps_and_no_more_of_it_than_has_to(held):
    whole, steps = held.weigh(held.before), []
    wait_for(held.is_clean, 60, "all is clean")
    while not steps or steps[-1][0]:
        parts = held.list_parts()
        told = held.say("step", "do")
        steps.append((told["left"], held.weigh(held.list_parts() - parts) / whole))
        assert held.is_clean()
        assert len(steps) <= held.told["steps"] + 2, steps
    parts = held.list_parts()
    least, moved = held.weigh({part for part in parts if part[1] == OSD}), held.weigh(parts - held.before)
    assert moved <= 1.05 * least
    assert max(moved for _, moved in steps) < 0.4 * least / whole, steps
    # CRUSH draws for some dozens of placement groups, and so more or less than the share that is its due.
    assert least / whole == pytest.approx(held.least, rel=0.35)


def test_no_two_parts_share_a_rack(held):
    racks = [host["rack"] for host in held.yard.wanted["hosts"].values()]
    groups = [group for group in held.yard.ceph("pg", "ls")["pg_stats"] if group["pgid"][:2] != held.own]
    assert all(len({racks[osd] for osd in group["up"]}) == len(group["up"]) == 3 for group in groups)


def test_nothing_is_left_of_it(held):
    assert held.say("end", "check") == held.say("end", "do") == {"changes": [f"all that comes to osd.{OSD} is there"]}
    assert held.yard.ceph("balancer", "status")["active"]
    assert not [each for each in held.yard.ceph("config", "dump") if each["name"] == "osd_crush_initial_weight"]
    assert [held.say(verb, "do")["changes"] for verb in ("begin", "hold", "step", "end")] == [[]] * 4
    assert (held.say("look")["hosts"], held.say("look")["lacking"]) == ([], {})
