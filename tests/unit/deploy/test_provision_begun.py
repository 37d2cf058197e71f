"""Machines that `gpuyard provision` began and that came to no end: how old that is, what answers SSH, and what may be lost."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest

from cluster_model.deploy.journal import Journal
from cluster_model.deploy.survey import LATELY_S, Consent, Survey
from tests.slowness import wait_for
from tests.unit.deploy.test_provision_states import AGAIN, MAYBE, PATIENT, DoubleMachine, install, make, stay_silent

BEGUN = "2026-03-01T12:00:00.000Z"
NINE_DAYS = datetime.fromisoformat(BEGUN).timestamp() + 9 * 86400
OLD = f"it is on, and its installation began 9 days ago, so it may be at work by now; {AGAIN}"


@pytest.fixture
def journal(tmp_path):
    """Return the journal of a node whose installer wrote on its disks, and was not heard of again."""
    journal = Journal(tmp_path)
    journal.write("a", "begun", at=BEGUN, state="planned")
    journal.write("a", "report", at=BEGUN, state="installing", step="image")
    journal.write("a", "failed", at=BEGUN, state="failed", reason="silent")
    return journal


def consent(now=NINE_DAYS, **more):
    return Consent(**({"answers": lambda address: False, "read_key": lambda address: "", "now": lambda: now} | more))


def run(journal, power="on", script=None, **more):
    machine = DoubleMachine(journal, "a", script)
    machine.power = power
    work = make(journal, machine, consent=consent(**more))
    work.run()
    return machine, work


def begun(journal):
    return [event for event in journal.events("a") if event["event"] == "begun"][-1]


@pytest.mark.parametrize(
    ("age_s", "words"),
    [
        (LATELY_S - 60, ""),
        (LATELY_S + 3600, "its installation began 25 hours ago"),
        (86400 * 400, "its installation began 400 days ago"),
        (-3600, ""),  # the clock was set back
    ],
)
def test_an_age_is_told_once_it_counts(journal, age_s, words):
    now = datetime.fromisoformat(BEGUN).timestamp() + age_s
    assert consent(now).tell_age(journal.node("a")) == words
    assert consent(now).may_resume("a", journal.node("a")) == (not words)


def test_a_time_that_cannot_be_read_is_no_late_one(journal):
    node = replace(journal.node("a"), begun="yesterday")
    assert consent().tell_age(node) == "nobody knows when its installation began"
    assert consent().tell_age(replace(node, begun="")) == ""


@pytest.mark.parametrize("more", [{}, {"reset_running": True}])
def test_a_machine_that_was_begun_long_ago_is_refused_with_its_age_and_not_touched(journal, more):
    machine, work = run(journal, **more)
    assert (work.refused, machine.told) == ({"a": OLD}, [])
    (found,) = Survey(work.hosts, journal, work.consent).run()
    assert (found.act, found.reason) == ("refuse", OLD)


def test_it_is_begun_again_by_its_name_and_its_disks_stay_protected(journal):
    machine, work = run(journal, script=stay_silent, begin_again=frozenset({"b"}))
    assert (work.refused, machine.told) == ({"a": OLD}, [])
    machine, work = run(journal, begin_again=frozenset({"a"}))
    assert (work.refused, machine.told, journal.node("a").state) == ({}, ["pxe", "reset"], "reachable")
    assert (begun(journal)["reinstall"], begun(journal)["resume"]) == (False, False)


def test_one_that_is_off_is_switched_on_and_its_disks_stay_protected(journal):
    machine = DoubleMachine(journal, "a", stay_silent)
    work = make(journal, machine, consent=consent(), wait=False)
    (found,) = Survey(work.hosts, journal, work.consent).run()
    assert (found.act, found.reason) == ("install", "what its last installation left on its disks counts as data")
    work.run()
    assert machine.told == ["pxe", "on"] and not journal.node("a").touched


def test_one_that_was_cut_off_lately_goes_on_without_a_word(journal):
    now = datetime.fromisoformat(BEGUN).timestamp() + 3600
    machine = DoubleMachine(journal, "a", stay_silent)
    machine.power = "on"
    work = make(journal, machine, consent=consent(now), wait=False)
    (found,) = Survey(work.hosts, journal, work.consent).run()
    assert (found.act, found.reason) == ("install", "")
    work.run()
    assert machine.told == ["pxe", "reset"] and journal.node("a").touched


def test_a_second_attempt_of_one_run_goes_on_where_the_first_wrote(journal):
    seen = []

    def install_again(machine):
        seen.append(journal.node("a").touched)
        install(machine)

    def lose_power(machine):
        wait_for(lambda: journal.node("a").state == "powered", 30, "it was not told to be on")
        seen.append(journal.node("a").touched)
        machine.script = install_again
        machine.report("installing", "image")
        machine.power = "off"

    machine, _ = run(journal, script=lose_power, begin_again=frozenset({"a"}))
    assert machine.told == ["pxe", "reset", "pxe", "on"]
    assert [event["resume"] for event in journal.events("a") if "resume" in event] == [False, True]
    assert seen == [False, True]


def test_one_that_is_waited_for_in_vain_is_not_reset_either(journal):
    """It is under way by the journal; the boot server still offers the installation."""
    journal.write("a", "begun", at=BEGUN, state="planned")
    journal.write("a", "booted", at=BEGUN, state="booted")
    machine = DoubleMachine(journal, "a")
    machine.power = "on"
    work = make(journal, machine, consent=consent(), deadlines=replace(PATIENT, report_s=0.2))
    (found,) = Survey(work.hosts, journal, work.consent).run()
    words = "it is being installed: booted; its installation began 9 days ago, and --begin-again a does not wait for it"
    assert (found.act, found.reason) == ("wait", words)
    work.run()
    assert (work.refused, machine.told) == ({"a": OLD}, [])
    machine, work = run(journal, begin_again=frozenset({"a"}))
    assert machine.told == ["pxe", "reset"]


KEY = "ssh-ed25519 AAAAinstaller"


@pytest.mark.parametrize(
    ("told", "shown", "age_s", "refusal"),
    [
        (KEY, KEY, 3600, None),
        (KEY, KEY, 9 * 86400, OLD),
        (KEY, "ssh-ed25519 AAAAother", 3600, MAYBE),
        (KEY, "", 3600, MAYBE),
        ("", "", 3600, MAYBE),
        (None, "", 3600, MAYBE),
    ],
)
def test_the_installer_that_answers_ssh_is_told_from_a_system_at_work_by_its_key(journal, told, shown, age_s, refusal):
    facts = {} if told is None else {"installer_key": told}
    journal.write("a", "report", at=BEGUN, state="failed", step="start", facts=facts, reason="3 disks fit, 2 hold the system")
    now = datetime.fromisoformat(BEGUN).timestamp() + age_s
    machine, work = run(journal, answers=lambda address: True, read_key=lambda address: shown, now=now)
    assert work.refused == ({} if refusal is None else {"a": refusal})
    assert machine.told == ([] if refusal else ["pxe", "reset"])


def test_one_that_answers_ssh_is_begun_again_by_its_name_if_it_was_begun_here(journal):
    again = {"answers": lambda address: True, "begin_again": frozenset({"a", "b"})}
    machine, work = run(journal, **again)
    assert (work.refused, machine.told) == ({}, ["pxe", "reset"])
    stranger = DoubleMachine(journal, "b")
    stranger.power = "on"
    work = make(journal, stranger, consent=consent(**again))
    work.run()
    assert work.refused == {"b": "it is in use: 192.0.2.9 answers SSH; --reinstall b overwrites it"} and stranger.told == []


def test_what_was_installed_is_not_begun_again_by_this_word(journal):
    journal.write("a", "report", at=BEGUN, state="installed", step="done")
    machine, work = run(journal, begin_again=frozenset({"a"}))
    assert (work.refused, machine.told, machine.opened) == ({}, [], 0)
