"""`gpuyard provision` without machines: BMCs, the boot server and logins are doubles, the journal is real."""

import threading
import time
from dataclasses import replace

import pytest

from cluster_model.deploy.journal import Journal
from cluster_model.deploy.provision import Deadlines, Inrush, Installation
from cluster_model.deploy.survey import Consent, Host, Survey
from cluster_model.transport.bmc.controller import BmcError, BmcTarget

SILENT = Consent(answers=lambda address: False)
PATIENT = Deadlines(power_s=30, look_s=0.1, boot_s=30, report_s=30, login_s=30)
"""For what is to succeed: a busy machine is slow, and only what is to run out gets a deadline that does."""


class DoubleMachine:
    """A machine behind a double of a BMC; what it does once it is switched on is up to `script`."""

    language = "redfish"

    def __init__(self, journal, name, script=None, error=None):
        self.journal, self.name, self.script, self.error = journal, name, script or install, error
        self.target = BmcTarget(name, "192.0.2.1", "A01", f"S-{name}")
        self.power, self.told, self.opened = "off", [], 0
        self.serials = frozenset({f"S-{name}"})

    def open(self):
        self.opened += 1
        if self.error:
            raise self.error
        return self

    def read_power(self):
        return self.power

    def read_serials(self):
        return self.serials

    def boot_once(self, device, *, uefi, persistent=False):
        self.told.append(device)

    def switch(self, action):
        self.told.append(action)
        self.power = "on"
        threading.Thread(target=self.script, args=(self,), daemon=True).start()

    def close(self):
        pass

    def report(self, state, step, **more):
        self.journal.write(self.name, "report", state=state, step=step, **more)


def install(machine):
    machine.journal.write(machine.name, "booted", state="booted")
    machine.report("installing", "disks")
    machine.report("installed", "done", facts={"host_key": f"key of {machine.name}"})


def stay_silent(machine):
    pass


class DoubleProber:
    """Answers a login as told, and keeps the keys that it was asked for."""

    def __init__(self, reason=""):
        self.reason, self.keys = reason, {}

    def __call__(self, host, host_key):
        self.keys[host.name] = host_key
        return self.reason


@pytest.fixture
def journal(tmp_path):
    return Journal(tmp_path)


def make(journal, *machines, probe=None, **more):
    hosts = [Host(m.name, "192.0.2.9", f"{m.name}.x", "02:00:00:00:00:01", False, m) for m in machines]
    more.setdefault("consent", SILENT)
    options = {"batch": 1, "inrush": Inrush(4, 0), "deadlines": PATIENT, "poll_s": 0.02} | more
    return Installation(hosts, journal, probe or DoubleProber(), **options)


def reasons(nodes):
    return {name: (node.state, node.reason) for name, node in nodes.items()}


def test_a_machine_that_is_off_becomes_reachable(journal):
    machine, probe = DoubleMachine(journal, "a"), DoubleProber()
    nodes = make(journal, machine, probe=probe).run()
    assert nodes["a"].state == "reachable"
    assert machine.told == ["pxe", "on"]
    assert probe.keys == {"a": "key of a"}
    events = [event["event"] for event in journal.events("a")]
    assert events[:2] == ["begun", "power"] and events[-1] == "login"


def switched(journal, power, **consent):
    """Return a machine with that power, and what a run with that consent came to for it."""
    machine = DoubleMachine(journal, "a")
    machine.power = power
    work = make(journal, machine, consent=Consent(**({"answers": lambda address: False} | consent)))
    return machine, work, work.run()["a"]


ON = "it is on, and the journal does not know it; --reset-running resets it"
USED = "it is in use: 192.0.2.9 answers SSH; --reinstall a overwrites it"
AGAIN = "--begin-again a resets it, and its disks keep their protection"
MAYBE = f"it may be in use: 192.0.2.9 answers SSH, as an installer may too; {AGAIN}; --reinstall a overwrites it"
UNTOLD = "its BMC does not tell whether it is on, and the journal does not know it; --reset-running resets it"


@pytest.mark.parametrize(
    ("power", "consent", "words"),
    [
        ("on", {}, ON),
        ("unknown", {}, UNTOLD),
        ("on", {"answers": lambda address: True}, USED),
        ("unknown", {"answers": lambda address: True}, USED),
        ("on", {"answers": lambda address: True, "reset_running": True}, USED),
        ("on", {"reinstall": frozenset({"b"})}, ON),
    ],
)
def test_a_machine_that_may_be_at_work_is_refused_and_not_touched(journal, power, consent, words):
    machine, work, node = switched(journal, power, **consent)
    assert work.refused == {"a": words}
    assert (machine.told, node.state, node.offered, node.attempt) == ([], "planned", False, 0)
    assert [(event["event"], event["reason"]) for event in journal.events("a")] == [("refused", words)]


@pytest.mark.parametrize(
    ("power", "consent", "order"),
    [
        ("on", {"reset_running": True}, "reset"),
        ("on", {"reinstall": frozenset({"a"})}, "reset"),
        ("on", {"reinstall": frozenset({"a"}), "answers": lambda address: True}, "reset"),
        ("unknown", {"reset_running": True}, "reset"),
        ("off", {"answers": lambda address: True}, "on"),
    ],
)
def test_a_machine_that_may_be_reset_is(journal, power, consent, order):
    machine, work, node = switched(journal, power, **consent)
    assert (work.refused, machine.told, node.state) == ({}, ["pxe", order], "reachable")


def test_a_machine_that_was_begun_here_is_reset_unless_it_answers_ssh_by_now(journal):
    journal.write("a", "begun", state="planned")
    journal.write("a", "failed", state="failed", reason="no disk")
    assert switched(journal, "on", answers=lambda address: True)[1].refused == {"a": MAYBE}
    machine, _, node = switched(journal, "on")
    assert (machine.told, node.state) == (["pxe", "reset"], "reachable")


def test_a_machine_that_this_run_switched_on_is_begun_again_without_a_word(journal):
    """An installer may answer SSH itself, as Ubuntu's does."""
    machine = DoubleMachine(journal, "a", stay_silent)
    work = make(
        journal, machine, deadlines=replace(PATIENT, boot_s=0.2), consent=Consent(answers=lambda address: machine.power == "on")
    )
    work.run()
    assert (work.refused, machine.told) == ({}, ["pxe", "on", "pxe", "cycle"])


def test_a_bmc_that_falters_before_anything_was_begun_leads_past_no_question(journal):
    class DoubleDazedMachine(DoubleMachine):
        asked = 0

        def read_power(self):
            self.asked += 1
            if self.asked == 1:
                raise BmcError("silent", "no answer in 20 s")
            return "on"

    machine = DoubleDazedMachine(journal, "a")
    work = make(journal, machine)
    work.run()
    assert (work.refused, machine.told) == ({"a": ON}, [])


def test_a_survey_says_what_a_run_would_do_and_does_nothing(journal):
    journal.write("done", "report", state="installed", step="done")
    journal.write("busy", "begun", state="planned")
    journal.write("busy", "report", state="installing", step="image")
    machines = [DoubleMachine(journal, name) for name in ("off", "on", "again", "done", "busy", "dead", "dim", "nameless")]
    for machine in machines[1:]:
        machine.power = "on"
    machines[5].error, machines[6].power = BmcError("silent", "no answer in 20 s"), "unknown"
    before = list(journal.events())
    work = make(journal, *machines)
    work.hosts[-1] = replace(work.hosts[-1], mac="")
    found = Survey(work.hosts, journal, replace(SILENT, reinstall=frozenset({"again"}))).run()
    assert [(finding.name, finding.power, finding.act, finding.reason) for finding in found] == [
        ("off", "off", "install", ""),
        ("on", "on", "refuse", ON),
        ("again", "on", "install", ""),
        ("done", "on", "nothing", "it is installed"),
        ("busy", "on", "wait", "it is being installed: image"),
        ("dead", "", "unread", "its BMC at 192.0.2.1: no answer in 20 s"),
        ("dim", "unknown", "refuse", UNTOLD),
        ("nameless", "on", "fail", "it has no MAC address in the list of servers, so the boot server would not know it"),
    ]
    assert list(journal.events()) == before and not any(machine.told for machine in machines)


def test_a_second_run_touches_nothing(journal):
    machine = DoubleMachine(journal, "a")
    make(journal, machine).run()
    lines, opened = len(list(journal.events())), machine.opened
    make(journal, machine).run()
    assert (len(list(journal.events())), machine.opened) == (lines, opened)


def test_a_silent_machine_is_begun_twice_and_then_failed(journal):
    machine = DoubleMachine(journal, "a", stay_silent)
    nodes = make(journal, machine, deadlines=replace(PATIENT, boot_s=0.2)).run()
    assert reasons(nodes)["a"][0] == "failed" and "never asked the boot server" in nodes["a"].reason
    assert machine.told == ["pxe", "on", "pxe", "cycle"]
    assert nodes["a"].attempt == 2 and not nodes["a"].offered
    assert sum(event["event"] == "stopped" for event in journal.events("a")) == 2


def test_a_machine_that_falls_silent_in_the_middle_is_begun_again(journal):
    def fall_silent(machine):
        machine.script = install
        machine.report("installing", "image")

    nodes = make(journal, DoubleMachine(journal, "a", fall_silent), deadlines=replace(PATIENT, report_s=5)).run()
    assert (nodes["a"].state, nodes["a"].attempt) == ("reachable", 2)
    stopped = next(event for event in journal.events("a") if event["event"] == "stopped")
    assert stopped["reason"].startswith("nothing was heard of it") and stopped["reason"].endswith("after image")


def test_a_machine_that_loses_power_is_not_waited_for(journal):
    def lose_power(machine):
        while journal.node(machine.name).state != "powered":
            time.sleep(0.01)
        machine.script = install
        machine.report("installing", "image")
        machine.power = "off"

    nodes = make(journal, DoubleMachine(journal, "a", lose_power)).run()
    assert (nodes["a"].state, nodes["a"].attempt) == ("reachable", 2)
    stopped = next(event for event in journal.events("a") if event["event"] == "stopped")
    assert stopped["reason"] == "it went off in the middle, after image"


def test_what_the_installer_calls_a_failure_is_not_tried_again(journal):
    def fail(machine):
        machine.report("failed", "disks", reason="3 disks fit, 2 hold the system")

    machine = DoubleMachine(journal, "a", fail)
    nodes = make(journal, machine).run()
    assert reasons(nodes) == {"a": ("failed", "3 disks fit, 2 hold the system")}
    assert nodes["a"].attempt == 1


def test_a_machine_that_goes_off_once_it_is_done_is_not_begun_again(journal):
    class DoubleSlowBmc(DoubleMachine):
        def open(self):
            if self.told:  # a look, after it was switched on: by the time of the answer the machine is done
                install(self)
                self.power = "off"
            return super().open()

    machine = DoubleSlowBmc(journal, "a", lambda machine: machine.report("installing", "image"))
    nodes = make(journal, machine).run()
    assert (nodes["a"].state, nodes["a"].attempt) == ("reachable", 1)


def test_what_a_bmc_says_late_takes_no_node_back(journal):
    journal.write("a", "begun", state="planned")
    journal.write("a", "power", state="discovered")
    journal.write("a", "booted", state="booted")
    journal.write("a", "power", state="powered")
    assert journal.node("a").state == "booted"


def test_a_machine_with_another_mac_is_failed_by_name_at_once(journal):
    def ask_from_elsewhere(machine):
        machine.journal.write("", "stranger", mac="02:00:00:00:00:99", serial="S-a", address="192.0.2.50")

    machine = DoubleMachine(journal, "a", ask_from_elsewhere)
    nodes = make(journal, machine).run()
    assert nodes["a"].state == "failed" and nodes["a"].attempt == 1
    words = "it asks from MAC 02:00:00:00:00:99, and the list of servers says 02:00:00:00:00:01: correct the list"
    assert nodes["a"].reason == words


def test_a_stranger_of_an_earlier_run_is_no_reason(journal):
    journal.write("", "stranger", mac="02:00:00:00:00:99", serial="S-a", address="192.0.2.50")
    time.sleep(0.01)
    assert make(journal, DoubleMachine(journal, "a")).run()["a"].state == "reachable"


def test_strangers_are_named_where_nothing_else_is_known(journal):
    journal.write("", "stranger", mac="02:00:00:00:00:77", serial="?", address="192.0.2.50")
    nodes = make(journal, DoubleMachine(journal, "a", stay_silent), attempts=1, deadlines=replace(PATIENT, boot_s=0.2)).run()
    assert nodes["a"].reason.endswith("machines that nobody knows did: 02:00:00:00:00:77")


def test_one_that_fails_holds_nobody_up(journal):
    broken = DoubleMachine(journal, "a", error=BmcError("login", "wrong user or password"))
    nodes = make(journal, broken, DoubleMachine(journal, "b")).run()
    assert reasons(nodes) == {"a": ("failed", "its BMC at 192.0.2.1: wrong user or password"), "b": ("reachable", "")}


class DoubleLateMachine(DoubleMachine):
    """Its BMC does not answer the first times."""

    late, cause = 3, "refused"

    def open(self):
        super().open()
        if self.opened <= self.late:
            raise BmcError(self.cause, "nobody listens")
        return self


def test_a_bmc_that_answers_late_costs_no_attempt(journal):
    nodes = make(journal, DoubleLateMachine(journal, "a"), attempts=1).run()
    assert (nodes["a"].state, nodes["a"].attempt, nodes["a"].reason) == ("reachable", 1, "")
    assert [event["reason"] for event in journal.events("a") if event["event"] == "bmc"] == ["nobody listens"]


def test_a_bmc_that_never_answers_is_asked_until_its_deadline_and_leads_to_no_second_attempt(journal):
    machine = DoubleMachine(journal, "a", error=BmcError("refused", "nobody listens"))
    nodes = make(journal, machine, deadlines=replace(PATIENT, bmc_s=3)).run()
    assert reasons(nodes) == {"a": ("failed", "its BMC at 192.0.2.1: nobody listens")}
    assert machine.opened > 1 and nodes["a"].attempt == 0


class DoubleFalteringMachine(DoubleMachine):
    """Its BMC takes logins, and fails the first order."""

    cause = "silent"

    def boot_once(self, device, *, uefi, persistent=False):
        super().boot_once(device, uefi=uefi, persistent=persistent)
        if len(self.told) == 1:
            raise BmcError(self.cause, "no answer in 20 s")


def test_a_bmc_that_falls_silent_in_the_middle_of_an_order_is_told_again(journal):
    nodes = make(journal, DoubleFalteringMachine(journal, "a")).run()
    assert (nodes["a"].state, nodes["a"].attempt) == ("reachable", 2)
    assert [event["reason"] for event in journal.events("a") if event["event"] == "bmc"] == ["no answer in 20 s"]


def test_a_bmc_that_fell_silent_in_every_attempt_is_named(journal):
    nodes = make(journal, DoubleFalteringMachine(journal, "a"), attempts=1).run()
    assert reasons(nodes) == {"a": ("failed", "its BMC at 192.0.2.1: no answer in 20 s")}


def test_a_machine_whose_bmc_does_not_tell_what_came_of_an_order_is_waited_for(journal):
    class DoubleUnsureMachine(DoubleMachine):
        def switch(self, action):
            super().switch(action)
            raise BmcError("unsure", "no answer to on in 20 s")

    machine = DoubleUnsureMachine(journal, "a")
    nodes = make(journal, machine).run()
    assert (nodes["a"].state, nodes["a"].attempt, machine.told) == ("reachable", 1, ["pxe", "on"])
    assert [event["cause"] for event in journal.events("a") if event["event"] == "bmc"] == ["unsure"]


def test_a_bmc_that_is_still_starting_is_waited_for(journal):
    class DoubleStartingMachine(DoubleLateMachine):
        cause = "starting"

    nodes = make(journal, DoubleStartingMachine(journal, "a"), attempts=1).run()
    assert (nodes["a"].state, nodes["a"].attempt) == ("reachable", 1)


@pytest.mark.parametrize("told", [{"S-b"}, {"Default string", "S-b", "CHASSIS"}])
def test_a_machine_that_is_not_the_planned_one_is_given_no_order(journal, told):
    machine = DoubleMachine(journal, "a")
    machine.serials = frozenset(told)
    reset = Consent(frozenset({"a"}), reset_running=True, answers=SILENT.answers)
    (found,) = Survey(make(journal, machine).hosts, journal, reset).run()
    assert (found.act, found.cause) == ("unread", "machine")
    node = make(journal, machine, consent=reset).run()["a"]
    assert node.state == "failed" and "S-b, and the list of servers gives a S-a; gpuyard bmc inventory tells" in node.reason
    assert (machine.told, machine.opened) == ([], 2) and not node.begun


@pytest.mark.parametrize("told", [set(), {""}, {"To Be Filled By O.E.M."}, {"CHASSIS", "S-a"}])
def test_a_machine_that_does_not_say_otherwise_is_the_planned_one(journal, told):
    machine = DoubleMachine(journal, "a")
    machine.serials = frozenset(told)
    assert make(journal, machine).run()["a"].state == "reachable"


def test_a_defect_at_one_machine_leaves_the_others_alone(journal):
    class DoubleOddMachine(DoubleMachine):
        def read_power(self):
            raise LookupError("nobody thought of that")

    nodes = make(journal, DoubleOddMachine(journal, "a"), DoubleMachine(journal, "b")).run()
    assert nodes["b"].state == "reachable"
    assert reasons({"a": nodes["a"]})["a"] == (
        "failed", "gpuyard has a defect, please report it (LookupError: nobody thought of that)"
    )  # fmt: skip


def test_a_wrong_password_is_tried_once(journal):
    machine = DoubleMachine(journal, "a", error=BmcError("login", "wrong user or password"))
    make(journal, machine).run()
    assert machine.opened == 1


def test_a_host_without_a_mac_is_failed_without_touching_it(journal):
    machine = DoubleMachine(journal, "a")
    work = make(journal, machine)
    work.hosts = [Host("a", "192.0.2.9", "a.x", "", False, machine)]
    nodes = work.run()
    assert nodes["a"].state == "failed" and "no MAC address" in nodes["a"].reason
    assert machine.opened == 0


def test_a_run_that_was_interrupted_goes_on_where_it_was(journal):
    journal.write("a", "begun", state="planned")
    journal.write("a", "power", state="powered")
    journal.write("a", "report", state="installing", step="image")
    machine = DoubleMachine(journal, "a")
    machine.power = "on"
    threading.Timer(0.1, install, (machine,)).start()
    nodes = make(journal, machine).run()
    assert (nodes["a"].state, nodes["a"].attempt, machine.told) == ("reachable", 1, [])


def test_an_installed_node_is_only_waited_for(journal):
    journal.write("a", "report", state="installed", step="done", facts={"host_key": "k"})
    machine, probe = DoubleMachine(journal, "a"), DoubleProber()
    assert make(journal, machine, probe=probe).run()["a"].state == "reachable"
    assert (machine.opened, probe.keys) == (0, {"a": "k"})


def test_a_node_that_may_hold_data_is_installed_again_only_by_name(journal):
    machine, other = DoubleMachine(journal, "a"), DoubleMachine(journal, "b")
    make(journal, machine, other).run()
    journal.write("a", "failed", state="failed", reason="does not answer")
    make(journal, machine, other).run()
    assert machine.opened == other.opened == 1
    make(journal, machine, other, consent=Consent(frozenset({"a"}), answers=lambda address: False)).run()
    assert (machine.opened, other.opened) == (2, 1)
    begun = [event for event in journal.events("a") if event["event"] == "begun"]
    assert [event["reinstall"] for event in begun] == [False, True]


def test_a_host_that_answers_with_the_wrong_name_is_failed_and_stays_installed(journal):
    nodes = make(
        journal,
        DoubleMachine(journal, "a"),
        probe=DoubleProber("b answers at 192.0.2.9, not a"),
        deadlines=replace(PATIENT, login_s=0.2),
    ).run()
    assert nodes["a"].state == "failed" and "b answers" in nodes["a"].reason
    assert nodes["a"].installed


def test_without_waiting_machines_are_only_started(journal):
    machine = DoubleMachine(journal, "a", stay_silent)
    nodes = make(journal, machine, wait=False).run()
    assert nodes["a"].state == "powered" and nodes["a"].offered


def test_no_more_than_a_batch_installs_at_once(journal):
    lock, now, most, pair = threading.Lock(), [0], [0], threading.Barrier(2)

    def count(machine):
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        pair.wait(30)
        with lock:
            now[0] -= 1
        install(machine)

    nodes = make(journal, *(DoubleMachine(journal, f"n{i}", count) for i in range(6)), batch=2).run()
    assert {node.state for node in nodes.values()} == {"reachable"}
    assert most[0] == 2


def test_no_more_than_a_few_of_a_rack_switch_on_at_once():
    inrush, lock, now, most = Inrush(2, 0.05), threading.Lock(), [0], [0]

    def switch():
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.05)
        with lock:
            now[0] -= 1

    threads = [threading.Thread(target=inrush.run, args=("A01", switch)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most[0] <= 2


def test_a_machine_that_does_not_come_on_is_failed(journal):
    class DoubleDeadMachine(DoubleMachine):
        def switch(self, action):
            self.told.append(action)

    nodes = make(journal, DoubleDeadMachine(journal, "a"), attempts=1, deadlines=replace(PATIENT, power_s=0.2)).run()
    assert nodes["a"].reason.endswith("it is not on")
