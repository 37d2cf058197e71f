"""Our Redfish and IPMI against other people's: sushy-tools' emulator over TLS with passwords, pyghmi's IPMI server.

tests/baremetal/bmc.py serves both; a sleeping program stands for the machine. test_bmc_fleet.py has what goes wrong in many ways.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from cluster_model.deploy.power import set_boot, switch_machines
from cluster_model.transport.bmc.controller import BmcError, BmcLogin, BmcTarget
from cluster_model.transport.bmc.opening import open_bmc
from cluster_model.transport.bmc.planned import Door
from cluster_model.transport.bmc.probe import probe
from cluster_model.verify.hosts.machines import visit_bmcs
from tests.slowness import stretch, wait_for

EMULATOR = Path(__file__).parents[2] / "baremetal/bmc.py"
USER, PASSWORD = "admin", "correct horse"
LOGIN = BmcLogin(USER, PASSWORD, cipher=3, answer_s=stretch(30), retries=1)
PATIENCE_S = 120
_OWN = f"{os.getpid() // 256 % 256}.{os.getpid() % 256}"
ADDRESS = {"redfish": f"127.90.{_OWN}", "ipmi": f"127.91.{_OWN}"}
"""Of this process alone, so that nobody takes a port that was free when it was looked for."""
MAC = "02:00:5e:10:00:04"


def free_port(address, kind):
    with socket.socket(socket.AF_INET, kind) as line:
        line.bind((address, 0))
        return line.getsockname()[1]


class Emulator:
    """A running emulator, and the door to it."""

    def __init__(self, folder, language):
        self.folder, self.language = folder, language
        self.port = free_port(ADDRESS[language], socket.SOCK_STREAM if language == "redfish" else socket.SOCK_DGRAM)
        self.target = BmcTarget("n1", ADDRESS[language], serial="S1", port=self.port)

    def door(self, login=LOGIN):
        return Door(self.target, login, (self.language,))

    def log(self):
        return [line.split(" ", 1)[1] for line in (self.folder / "power.log").read_text().splitlines()]

    def answers(self):
        ports = {f"{self.language}_port": self.port, f"{'ipmi' if self.language == 'redfish' else 'redfish'}_port": 1}
        return probe("n1", self.target.address, 2, **ports)


@pytest.fixture(scope="module", params=["redfish", "ipmi"])
def emulator(request, tmp_path_factory, machine_tier):
    missing = [program for program in ("ipmitool", "openssl") if shutil.which(program) is None]
    if missing:
        (pytest.fail if os.environ.get("GPUYARD_REQUIRE_BOOT") else pytest.skip)(f"{', '.join(missing)} missing")
    found = Emulator(tmp_path_factory.mktemp("emulator"), request.param)
    told = {
        "name": "n1", "mac": MAC, "serial": "S1", "language": found.language, "firmware": "uefi",
        "program": ["sleep", "infinity"], "bmc": found.target.address, "port": found.port, "user": USER, "password": PASSWORD,
        "uuid": "00000000-0000-4000-8000-000000000001", "disks": [], "tap": "",
    }  # fmt: skip
    (found.folder / "machine.json").write_text(json.dumps(told))
    (found.folder / "power.log").write_text("")
    with (found.folder / "said").open("wb") as said:
        process = subprocess.Popen([sys.executable, str(EMULATOR), str(found.folder)], stdout=said, stderr=said)
    try:
        wait_for(lambda: process.poll() is not None or found.answers().answers, PATIENCE_S, (found.folder / "said").read_text)
        assert process.poll() is None, (found.folder / "said").read_text()
        yield found
    finally:
        process.terminate()
        process.wait(stretch(PATIENCE_S))


@pytest.fixture(autouse=True)
def known(tmp_path, monkeypatch):
    monkeypatch.setenv("GPUYARD_KNOWN_BMCS", str(tmp_path / "known_bmcs"))
    return tmp_path / "known_bmcs"


def test_it_is_discovered_without_a_login(emulator):
    def ask():  # it may be slow, and is asked with little patience
        found = emulator.answers()
        return found if found.answers else None

    found = wait_for(ask, PATIENCE_S, "no answer")
    assert bool(found.redfish) == (emulator.language == "redfish")
    assert found.ipmi == (emulator.language == "ipmi")


def test_its_language_is_found(emulator):
    bmc = open_bmc(emulator.target, LOGIN)
    assert bmc.language == emulator.language
    bmc.close()


def test_inventory(emulator):
    told = visit_bmcs([emulator.door()], 1)["n1"]
    assert told.error is None
    assert told.machine.language == emulator.language
    if emulator.language == "redfish":
        assert told.machine.uuid == "00000000-0000-4000-8000-000000000001"
        assert MAC in dict(told.machine.macs).values()


def test_power(emulator):
    for action, power, last in (
        ("on", "on", "on, boots from hd"),
        ("cycle", "on", "on, boots from hd"),
        ("reset", "on", "on, boots from hd"),
        ("off", "off", "switched off"),
        ("off", "off", "switched off"),
    ):
        (outcome,) = switch_machines([emulator.door()], action, parallel=1)
        assert (outcome.error, outcome.after) == (None, power), action
        assert visit_bmcs([emulator.door()], 1, facts=False)["n1"].machine.power == power
        assert emulator.log()[-1] == last
    assert emulator.log().count("on, boots from hd") == 3


def test_it_boots_from_the_network_once(emulator):
    (told,) = set_boot([emulator.door()], "pxe", parallel=1)
    assert told.error is None
    assert "boots next from network" in emulator.log()
    switch_machines([emulator.door()], "on", parallel=1)
    assert emulator.log()[-1] == "on, boots from network"
    switch_machines([emulator.door()], "reset", parallel=1)
    assert emulator.log()[-1] == "on, boots from hd"
    switch_machines([emulator.door()], "off", parallel=1)


def test_only_redfish_has_a_word_for_http_boot(emulator):
    (told,) = set_boot([emulator.door()], "http", parallel=1)
    if emulator.language == "ipmi":
        assert told.error is not None and told.error.cause == "refusal"
    else:
        assert told.error is None and "boots next from http" in emulator.log()
        set_boot([emulator.door()], "disk", parallel=1)
        assert [line for line in emulator.log() if line.startswith("boots next")][-1] == "boots next from hd"


def test_a_wrong_password_or_user(emulator):
    patient = LOGIN if emulator.language == "redfish" else replace(LOGIN, answer_s=stretch(12))  # pyghmi answers no wrong one
    for wrong in (replace(patient, password="wrong"), replace(patient, user="nobody")):
        with pytest.raises(BmcError, match="wrong user") as failure:
            emulator.door(wrong).open()
        assert failure.value.cause == "login"


def test_how_its_certificate_is_judged(emulator, known):
    if emulator.language == "ipmi":
        assert not known.exists()  # IPMI has none
        return
    emulator.door(replace(LOGIN, tls="off")).open().close()
    assert not known.exists()
    with pytest.raises(BmcError, match="no authority that this machine trusts has signed") as failure:
        emulator.door(replace(LOGIN, tls="verify")).open()
    assert failure.value.cause == "certificate"
    emulator.door().open().close()
    assert known.read_text().startswith(f"{emulator.target.address}:{emulator.port} ")


def test_nobody_is_there(emulator):
    gone = replace(emulator.target, address=f"127.92.{_OWN}", port=1)
    with pytest.raises(BmcError) as failure:
        open_bmc(gone, replace(LOGIN, answer_s=1, retries=0), (emulator.language,))
    assert failure.value.cause == {"redfish": "refused", "ipmi": "silent"}[emulator.language]
