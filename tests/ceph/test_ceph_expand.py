"""An eighth host comes to a store of real daemons in steps: what moves is what comes to it, and slow OSDs have a say."""

import json
import re
import time

import pytest

from tests.ceph.growth import HOST, OSD, run_growth
from tests.ceph.yard import require_ceph
from tests.slowness import wait_for

pytestmark = pytest.mark.slow
"""Six minutes alone, and more than twice that beside other tests."""


@pytest.fixture(scope="module")
def growth(tmp_path_factory):
    """Run the store, without the host that comes."""
    require_ceph()
    with run_growth(tmp_path_factory.mktemp("e", numbered=True)) as growth:
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
