"""BMCs by IPMI 2.0, with ipmitool: it knows the vendors' deviations, and one process a call keeps them apart."""

from __future__ import annotations

import os
import re
import subprocess

from cluster_model.intent.source.hardware_addresses import parse_mac
from cluster_model.transport.bmc.controller import (
    Action,
    Bmc,
    BmcError,
    BmcLogin,
    BmcTarget,
    BootDevice,
    Language,
    Machine,
    Power,
    clean_machine,
    give_order,
    retry,
)
from cluster_model.transport.bmc.probe import answers_ipmi
from cluster_model.transport.gear_text import clean_line
from cluster_model.transport.program import run_program

PORT = 623
ANSWER_BYTES = 1 << 20
"""Longest output of ipmitool that is read; the longest FRU is 64 KiB."""
_LOGIN = re.compile(r"RAKP 2 HMAC is invalid|unauthorized name|password|insufficient privilege|Activate Session error", re.I)
_FULL = re.compile(r"insufficient resources", re.I)
_CIPHER = re.compile(r"no matching cipher|cipher suite|Invalid (authentication|integrity|confidentiality) algorithm", re.I)
_SILENT = re.compile(r"Unable to establish|Get Device ID command failed|timed? ?out|Unable to [GS]et|No response", re.I)
_NO_SESSION = re.compile(r"Unable to establish", re.I)
"""Said where no session came to be, so that no command was sent (ipmitool 1.8.19, src/plugins/lanplus/lanplus.c)."""
_FIELD = re.compile(r"^ *([^:]+?) *: (.*)$", re.M)


class IpmiBmc:
    """A BMC that ipmitool reaches over lanplus. Nothing is open between calls."""

    language: Language = "ipmi"

    def __init__(self, target: BmcTarget, login: BmcLogin) -> None:
        self._target = target
        self._login = login

    def read_power(self) -> Power:
        """Return whether the machine is on."""
        said = self._ask("chassis", "power", "status").lower()
        return "on" if said.rstrip().endswith("is on") else "off" if said.rstrip().endswith("is off") else "unknown"

    def switch(self, action: Action) -> None:
        """Switch power, as give_order does."""
        give_order(self.read_power, self._order, action, self._login)

    def _order(self, order: Action) -> None:
        self._run(("chassis", "power", order), once=True)

    def read_serials(self) -> frozenset[str]:
        """Return the serial numbers of the first FRU: product, chassis and board."""
        fru = _fields(self._try("fru", "print", "0"))
        return frozenset(clean_line(fru[name]) for name in ("Product Serial", "Chassis Serial", "Board Serial") if name in fru)

    def boot_once(self, device: BootDevice, *, uefi: bool, persistent: bool = False) -> None:
        """Boot from `device` at the next start. IPMI's boot flags have no HTTP (IPMI 2.0, table 28-14): it is refused."""
        if device == "http":
            raise BmcError("refusal", "IPMI cannot ask for HTTP boot: use pxe, or Redfish")
        options = [word for word, wanted in (("efiboot", uefi and device != "none"), ("persistent", persistent)) if wanted]
        self._ask("chassis", "bootdev", device, *([f"options={','.join(options)}"] if options else []))

    def read_machine(self) -> Machine:
        """Return power, serial number, model and the BMC's own MAC; IPMI does not tell of network cards."""
        # A board without FRU data or with another LAN channel is no reason to know nothing.
        fru, controller, lan = (_fields(self._try(*words)) for words in (("fru", "print", "0"), ("mc", "info"), ("lan", "print")))
        machine = Machine(
            "ipmi",
            self.read_power(),
            fru.get("Product Serial") or fru.get("Chassis Serial") or fru.get("Board Serial", ""),
            fru.get("Product Manufacturer") or fru.get("Board Mfg") or controller.get("Manufacturer Name", ""),
            fru.get("Product Name") or fru.get("Board Product", ""),
            firmware=controller.get("Firmware Revision", ""),
            bmc_mac=parse_mac(lan.get("MAC Address", "")) or "",
        )
        return clean_machine(machine)

    def close(self) -> None:
        """Nothing is open between calls."""

    def _try(self, *words: str) -> str:
        try:
            return self._ask(*words)
        except BmcError as error:
            if error.cause != "refusal":
                raise
            return ""

    def _ask(self, *words: str) -> str:
        return retry(lambda: self._run(words), self._login)

    def _run(self, words: tuple[str, ...], *, once: bool = False) -> str:
        login, target = self._login, self._target
        # -N and -R: seconds before a packet is sent again, one more each time, and how often it is sent in all; ipmitool gives up
        # after twice their sum, which is about one answer's time. A BMC may carry out an order as often as it comes.
        # It knows whole seconds alone: where an answer has less than 2 s it is sent once, so that silence costs 2 s and not 6.
        answer_s, sent = (login.answer_s, 1) if once else (login.answer_s / 4, 2 if login.answer_s >= 2 else 1)
        command = ["ipmitool", "-I", "lanplus", "-H", target.address, "-p", str(target.port or PORT), "-U", login.user, "-E"]
        command += ["-C", str(login.cipher), "-L", "ADMINISTRATOR", "-N", str(max(1, round(answer_s))), "-R", str(sent)]
        limit_s = login.answer_s * 2 + 5
        environment = {**os.environ, "IPMI_PASSWORD": login.password, "LC_ALL": "C"}
        try:
            done = run_program([*command, *words], limit_s, environment=environment, most=ANSWER_BYTES)
        except subprocess.TimeoutExpired:
            raise BmcError("unsure" if once else "silent", f"no answer in {limit_s:g} s") from None
        except FileNotFoundError:
            raise BmcError("language", "ipmitool is missing (package ipmitool)") from None
        if done.code == 0:
            return done.output
        said = done.errors + done.output
        error = _explain(said)
        if error.cause == "silent" and not _NO_SESSION.search(said):  # it was logged in to, and its answer was lost
            raise BmcError("unsure", str(error)) if once else error
        # This needs no session, so one that is there answers at once; a whole answer's time would double what silence costs.
        if error.cause == "silent" and answers_ipmi(target.address, target.port or PORT, login.answer_s / 4):
            raise BmcError("login", "it answers and opens no session: wrong user, password or cipher suite (bmc.ipmi_cipher)")
        raise error


def _explain(said: str) -> BmcError:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    text = lines[0].removeprefix("Error: ") if lines else "ipmitool failed and said nothing"
    if _FULL.search(said):
        return BmcError("busy", f"it has no session to spare: {text}")
    if _LOGIN.search(said):
        return BmcError("login", f"wrong user or password: {text}")
    if _CIPHER.search(said):
        return BmcError("language", f"it refuses the cipher suite: {text}")
    if _SILENT.search(said):
        return BmcError("silent", f"no answer: {text}")
    return BmcError("refusal", text)


def _fields(text: str) -> dict[str, str]:
    """Return the `Name : value` lines of ipmitool, the first of each name."""
    found: dict[str, str] = {}
    for name, value in _FIELD.findall(text):
        found.setdefault(name, value.strip())
    return found


def open_ipmi(target: BmcTarget, login: BmcLogin) -> Bmc:
    """Return a BMC that answered to the user and password."""
    bmc = IpmiBmc(target, login)
    bmc.read_power()
    return bmc
