"""A fleet of BMCs by Redfish and IPMI, some of which misbehave; tests/baremetal/bmc_double.py answers for all of them."""

from __future__ import annotations

import json
import os
import shutil
import ssl
import urllib.request
import zlib
from dataclasses import replace

import pytest

from cluster_model.deploy.power import set_boot, switch_machines
from cluster_model.intent.model.bmc import Bmc as BmcSettings
from cluster_model.transport.bmc.controller import BmcError, BmcLogin, BmcTarget
from cluster_model.transport.bmc.opening import open_bmc
from cluster_model.transport.bmc.planned import Door, list_doors
from cluster_model.transport.bmc.probe import probe
from cluster_model.transport.secrets import Secrets
from cluster_model.verify.hosts.machines import known_serial, visit_bmcs
from tests.baremetal.bmc_double import run_doubles
from tests.planned import open_example
from tests.slowness import stretch

USER, PASSWORD = "admin", "correct horse"
LOGIN = BmcLogin(USER, PASSWORD, cipher=3, answer_s=stretch(30), retries=1)
HURRIED = replace(LOGIN, answer_s=1, retries=0)
"""For BMCs that never answer, or never to an end: they are judged the same however slow the machine is. No other is asked so."""
FAULTS = {  # by number: what it does, the cause that it is told by, and words of the reason
    3: ("silent", "silent", "no answer in 1 s"),
    7: ("no json", "starting", "what answers is no Redfish, or not yet"),
    8: ("booting", "starting", "what answers is no Redfish, or not yet"),
    9: ("booting", "starting", "what answers is no Redfish, or not yet"),
    12: ("wrong json", "language", "what answers is no Redfish"),
    13: ("wrong json", "language", "what answers is no Redfish"),
    14: ("wrong json", "language", "what answers is no Redfish"),
    19: ("full", "busy", "no session to spare"),
    25: ("password", "login", "wrong user or password"),
    43: ("silent", "silent", "no answer"),
    47: ("full", "busy", "no session to spare"),
    53: ("password", "login", "wrong user, password or cipher suite"),
}
MANY = 33
"""Its service has the systems of two machines."""
COUNT, FIRST_IPMI = 60, 40
ORDERS = {"lossy": (70, 71, 72, 73), "deaf": (74, 75), "hostile": (76, 77), "misplaced": (78, 79), "hidden": (80, 82)}
UNENDING = {84: ("deep", "language"), 86: ("endless", "language"), 88: ("drip", "silent"), 90: ("elsewhere", "language")}
"""Beyond the others: what they do with orders to switch power, or say; the odd ones are asked by IPMI."""


def address(number):
    return f"127.89.0.{number + 1}"


def serial(number):
    return f"S{(89 << 16) + number + 1:08}"


@pytest.fixture(scope="module")
def ports():
    missing = [program for program in ("ipmitool", "openssl") if shutil.which(program) is None]
    if missing:
        (pytest.fail if os.environ.get("GPUYARD_REQUIRE_BOOT") else pytest.skip)(f"{', '.join(missing)} missing")
    kinds = {address(n): fault for n, (fault, _, _) in FAULTS.items()} | {address(MANY): "many"}
    kinds |= {address(n): fault for fault, numbers in ORDERS.items() for n in numbers}
    kinds |= {address(n): fault for n, (fault, _) in UNENDING.items()}
    with run_doubles(USER, PASSWORD, kinds) as (_, https, ipmi):
        yield https, ipmi


@pytest.fixture(autouse=True)
def known(tmp_path, monkeypatch):
    monkeypatch.setenv("GPUYARD_KNOWN_BMCS", str(tmp_path / "known_bmcs"))
    return tmp_path / "known_bmcs"


def door(ports, number, login=None):
    login = login or (HURRIED if FAULTS.get(number, [""])[0] == "silent" else LOGIN)
    language = "ipmi" if FIRST_IPMI <= number < COUNT or (number > COUNT and number % 2) else "redfish"
    target = BmcTarget(f"n{number}", address(number), f"R{number % 4}", serial(number), port=ports[language == "ipmi"])
    return Door(target, login, (language,))


def test_every_bmc_is_read_or_named_with_its_reason(ports):
    visits = visit_bmcs([door(ports, number) for number in range(COUNT)], 32)
    assert list(visits) == [f"n{number}" for number in range(COUNT)]
    failed = {int(name[1:]): told.error for name, told in visits.items() if told.error}
    assert failed.keys() == FAULTS.keys()
    for number, (_, cause, words) in FAULTS.items():
        assert failed[number].cause == cause and words in str(failed[number]), (number, failed[number])
    for number in set(range(COUNT)) - FAULTS.keys():
        machine = visits[f"n{number}"].machine
        assert (machine.serial, machine.power, machine.model) == (serial(number), "off", "D1")
        assert machine.bmc_mac == f"02:00:00:59:00:{number + 1:02x}"
        ports_told = {f"NIC.{port}": f"02:{port:02x}:00:59:00:{number + 1:02x}" for port in (1, 2)}
        assert dict(machine.macs) == (ports_told if machine.language == "redfish" else {})


@pytest.mark.parametrize("number", [1, 41])
def test_power_and_boot_order(ports, number):
    doors = [door(ports, number)]
    (told,) = set_boot(doors, "pxe", parallel=1)
    assert told.error is None
    for action, power in (
        ("on", "on"),
        ("on", "on"),
        ("cycle", "on"),
        ("reset", "on"),
        ("soft", "off"),
        ("off", "off"),
        ("reset", "on"),
    ):
        (outcome,) = switch_machines(doors, action, parallel=1, pause_s=0)
        assert outcome.error is None and outcome.after == power, action
        assert visit_bmcs(doors, 1, facts=False)[f"n{number}"].machine.power == power


def test_a_rack_is_switched_though_some_of_its_bmcs_misbehave(ports):
    doors = [door(ports, number) for number in range(COUNT)]
    outcomes = switch_machines(doors, "on", parallel=32, per_rack=8, pause_s=0)
    failed = {int(outcome.name[1:]) for outcome in outcomes if outcome.error}
    assert failed == FAULTS.keys()
    assert {outcome.after for outcome in outcomes if not outcome.error} == {"on"}


def switch(ports, number, action, answer_s=5):
    """Return the error of an order, and how many starts of the machine and orders to it came of that.

    What is read around the order may take four times `answer_s`; the order's own answer is what is lost.
    """
    before = [count(ports, number, what) for what in ("boots", "orders")]
    (outcome,) = switch_machines([door(ports, number, replace(LOGIN, answer_s=answer_s, retries=3))], action, parallel=1)
    return outcome.error, *(count(ports, number, what) - was for what, was in zip(("boots", "orders"), before, strict=True))


@pytest.mark.parametrize("number", [70, 71])
def test_an_order_whose_answer_is_lost_is_carried_out_once(number, ports):
    assert switch(ports, number, "on") == (None, 1, 1)
    for action in ("cycle", "reset"):
        error, boots, orders = switch(ports, number, action)
        assert (error.cause, boots, orders) == ("unsure", 1, 1)
        assert str(error).startswith(f"no answer to {action} in 5 s, so whether the machine was restarted is not known")
    assert switch(ports, number, "off") == (None, 0, 1)
    assert switch(ports, number, "reset") == (None, 1, 1)  # of a machine that is off, which means on


@pytest.mark.parametrize("number", [72, 73])
def test_a_shutdown_whose_answer_is_lost_is_not_told_twice(number, ports):
    assert switch(ports, number, "on")[0] is None
    assert switch(ports, number, "soft") == (None, 0, 1)


@pytest.mark.parametrize("number", [74, 75])
def test_an_order_that_never_came_is_given_again_where_that_is_seen(number, ports):
    assert switch(ports, number, "on") == (None, 1, 2)
    assert switch(ports, number, "cycle", answer_s=stretch(60)) == (None, 1, 1)


@pytest.mark.parametrize("number", [76, 77])
def test_what_a_bmc_says_is_made_safe_as_it_comes_in(number, ports):
    machine = visit_bmcs([door(ports, number)], 1)[f"n{number}"].machine
    texts = (machine.serial, machine.model)
    assert all(text.isprintable() and "{{gpuyard-" not in text and "\x1b" not in text for text in texts), texts
    assert "[red]M" in machine.model and machine.serial.startswith("S1")
    assert "model" in machine.altered
    if machine.language == "redfish":  # ipmitool ends a field where its line ends
        assert "serial" in machine.altered and known_serial(machine) == ""
        assert machine.serial == "S1 x,{?gpuyard-secret:ops-password}}"


@pytest.mark.parametrize("number", UNENDING)
def test_an_answer_ends_in_time_and_in_size_and_leads_nowhere_else(number, ports):
    fault, cause = UNENDING[number]
    told = visit_bmcs([door(ports, number, replace(HURRIED, answer_s=2 if fault == "drip" else stretch(30)))], 1)[f"n{number}"]
    assert told.error is not None and told.error.cause == cause
    if fault == "elsewhere":
        assert "it leads to https://127.90.0.1" in str(told.error)
        assert count(ports, number, "asked", "127.90.0.1") == 0


def test_what_a_library_makes_of_it_ends_no_visit_to_others(ports, monkeypatch):
    def fail(*_):
        raise zlib.error("what nobody thought of")

    monkeypatch.setattr("cluster_model.transport.bmc.redfish.RedfishBmc._macs", fail)
    told = visit_bmcs([door(ports, 1), door(ports, 42)], 1)
    assert told["n1"].error is not None and "no Redfish: error: what nobody thought of" in str(told["n1"].error)
    assert told["n42"].error is None


@pytest.mark.parametrize("number", [78, 79])
def test_another_machine_than_the_planned_one_is_given_no_order(number, ports):
    for outcome in (
        *switch_machines([door(ports, number)], "on", parallel=1),
        *set_boot([door(ports, number)], "pxe", parallel=1),
    ):
        assert outcome.error is not None and outcome.error.cause == "machine"
        assert f"S-other, and the list of servers gives n{number} {serial(number)}" in str(outcome.error)
    assert count(ports, number, "orders") == 0
    assert visit_bmcs([door(ports, number)], 1)[f"n{number}"].machine.serial == "S-other"


@pytest.mark.parametrize("number", [1, 41])
def test_a_machine_is_known_by_the_serial_number_of_its_chassis_and_board_too(number, ports):
    """By Redfish and by IPMI alike: the label that was typed into the list may be any of them."""
    one = door(ports, number)
    for letter in "CB":
        own = replace(one, target=replace(one.target, serial=letter + serial(number)[1:]))
        assert switch_machines([own], "on", parallel=1)[0].error is None, letter
    other = replace(one, target=replace(one.target, serial="P1"))
    (outcome,) = switch_machines([other], "on", parallel=1)
    told = ", ".join(letter + serial(number)[1:] for letter in "BCS")
    assert str(outcome.error).startswith(f"its machine has the serial number {told}, and the list of servers gives n{number} P1;")


@pytest.mark.parametrize("number", [78, 79])
def test_in_an_emergency_another_machine_is_switched_off_by_name(number, ports):
    doors, name = [door(ports, number)], f"n{number}"
    bmc = doors[0].open()
    bmc.switch("on")
    bmc.close()
    for action in ("on", "soft", "cycle", "reset"):
        (outcome,) = switch_machines(doors, action, parallel=1, despite=[name])
        assert outcome.error is not None and outcome.error.cause == "machine", action
    (outcome,) = switch_machines(doors, "off", parallel=1, despite=["n1"])
    assert outcome.error is not None and outcome.error.cause == "machine"
    (outcome,) = switch_machines(doors, "off", parallel=1, despite=[name])
    assert (outcome.error, outcome.before, outcome.after) == (None, "on", "off")
    assert "S-other, and the list of servers gives" in outcome.despite


@pytest.mark.parametrize("number", [80, 82])
def test_a_machine_that_is_off_is_switched_on_where_its_bmc_hides_power_and_refuses_to_restart_it(number, ports):
    bmc = door(ports, number).open()
    assert bmc.read_power() == "unknown"
    bmc.switch("reset")
    assert (count(ports, number, "boots"), count(ports, number, "orders")) == (1, 1)
    bmc.switch("reset" if number == 80 else "cycle")
    assert (count(ports, number, "boots"), count(ports, number, "orders")) == (2, 2)
    bmc.close()


@pytest.mark.parametrize("number", [2, 42])
def test_no_session_is_left_behind(ports, number):
    """A BMC double has six sessions: a seventh visit needs that the others logged out."""
    for _ in range(8):
        assert visit_bmcs([door(ports, number)], 1)[f"n{number}"].error is None


def count(ports, number, what, place=""):
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with urllib.request.urlopen(
        f"https://{place or address(number)}:{ports[0]}/counts", timeout=stretch(30), context=context
    ) as answer:
        return json.load(answer)[what]


def test_a_wrong_password_is_tried_once(ports):
    """Every attempt counts towards a lock-out, so neither basic authentication nor IPMI is tried with it."""
    before = count(ports, 25, "logins")
    with pytest.raises(BmcError, match=r"^wrong user or password") as failure:
        open_bmc(door(ports, 25).target, LOGIN)
    assert failure.value.cause == "login"
    assert count(ports, 25, "logins") == before + 1


def test_a_machine_is_found_among_others_by_serial_number_or_mac(ports):
    by_serial = door(ports, MANY).target
    by_mac = replace(by_serial, serial="", macs=frozenset({f"02:02:00:59:00:{MANY + 1:02x}"}))
    for target in (by_serial, by_mac):
        bmc = open_bmc(target, LOGIN, ("redfish",))
        assert bmc.read_machine().serial == serial(MANY)
        bmc.close()
    for target in (replace(by_serial, serial="S1"), replace(by_serial, serial="")):
        with pytest.raises(BmcError, match="none of its 2 systems has the serial number or a MAC address of n33"):
            open_bmc(target, LOGIN, ("redfish",))


def test_redfish_is_tried_before_ipmi(ports):
    target = BmcTarget("n1", address(1), port=ports[0])
    assert open_bmc(target, LOGIN).language == "redfish"


def test_one_that_is_starting_will_answer_later_whatever_else_it_does_not_speak(ports):
    target = BmcTarget("n8", address(8), port=ports[0])  # nobody speaks IPMI at this port, as where a BMC has Redfish alone
    with pytest.raises(BmcError) as failure:
        open_bmc(target, replace(LOGIN, answer_s=stretch(8), retries=0))
    assert failure.value.cause == "starting"


def test_a_certificate_that_changed_is_refused(ports, known):
    door(ports, 1).open().close()
    place = f"{address(1)}:{ports[0]}"
    assert known.read_text().split()[0] == place
    known.write_text(f"{place} {'0' * 64}\n")
    with pytest.raises(BmcError, match="another one than at the first visit") as failure:
        door(ports, 1).open()
    assert failure.value.cause == "certificate"
    with pytest.raises(BmcError, match="no authority that this machine trusts") as failure:
        door(ports, 1, replace(LOGIN, tls="verify")).open()
    assert failure.value.cause == "certificate"


@pytest.mark.parametrize("number", [7, 12, 25])
def test_a_certificate_is_trusted_only_once_it_was_the_bmcs(number, ports, known):
    with pytest.raises(BmcError):
        door(ports, number).open()
    assert not known.exists()


def test_nobody_at_the_port(ports):
    nobody = BmcTarget("n1", address(1), port=1)
    with pytest.raises(BmcError) as failure:
        open_bmc(nobody, HURRIED, ("redfish",))
    assert failure.value.cause == "refused"
    with pytest.raises(BmcError, match="no answer") as failure:
        open_bmc(nobody, HURRIED, ("ipmi",))
    assert failure.value.cause == "silent"


def test_who_answers_is_told_before_any_login(ports):
    found = probe("n1", address(1), stretch(30), redfish_port=ports[0], ipmi_port=ports[1])
    assert (found.redfish, found.vendor, found.ipmi) == ("1.15.0", "Double", True)
    assert not probe("n1", address(3), 0.5, redfish_port=ports[0], ipmi_port=ports[1]).answers


def test_firmware_follows_the_plan():
    plan = open_example("lab").plan
    doors, findings = list_doors(plan, plan.servers, BmcSettings(user="x"), Secrets({"GPUYARD_SECRET_BMC_PASSWORD": "x"}))
    assert not findings
    assert {d.target.name.partition("-")[0] for d in doors if not d.target.uefi} == {"control"}
    assert {d.target.name.partition("-")[0] for d in doors if d.target.uefi} == {"gpu", "storage"}
