"""Take machines from powered off to a login: through their BMCs, the boot server and the journal that both write.

A node goes planned, discovered (its BMC answers), powered (told to boot from the network, and on), booted (it asked the boot
server), installing, installed (its installer said so), reachable (it answers a login with the host key that it reported). Each
step has a deadline; a node that misses one is started again once, then it is failed, with what is known of the reason. A BMC that
does not answer is asked until its own deadline, and starts nothing: that is no attempt, and leads to no other.
"""

from __future__ import annotations

import random
import re
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from cluster_model.deploy.journal import Journal, Node, State
from cluster_model.deploy.survey import NO_MAC, Consent, Host, is_under_way
from cluster_model.transport.bmc.controller import Bmc, BmcError, Cause, wait_power
from cluster_model.transport.bmc.planned import open_own
from cluster_model.transport.fleet import visit
from cluster_model.transport.gear_text import clean_line
from cluster_model.transport.program import run_program
from cluster_model.transport.session import shorten

ANSWER_BYTES = 64 << 10
"""Longest answer to a login that is read."""
POLL_S = 1.0
"""Seconds between two looks at the journal."""
WAITED_FOR: frozenset[Cause] = frozenset({"silent", "busy", "refused", "starting"})
"""Why a BMC fails that will answer later, as one does that only got power."""


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Seconds that a node has for each step.

    In their order: its BMC answers (one whose rack had no power takes minutes), it switches on, it asks the boot server, it
    reports again, it answers a login.

    A node that is silent for `look_s` seconds is looked at through its BMC: one that lost power need not be waited for.
    """

    bmc_s: float = 180
    power_s: float = 120
    look_s: float = 60
    boot_s: float = 900
    report_s: float = 1800
    login_s: float = 900


class Prober(Protocol):
    """Logs in to a host that should run now."""

    def __call__(self, host: Host, host_key: str) -> str:
        """Return nothing where it answers with the right key and name, else why not, in one line."""
        ...


@dataclass(frozen=True, slots=True)
class SshProber:
    """Logs in by OpenSSH as a user with a key, and trusts the host key that the installer reported, and no other."""

    user: str
    key: Path | None
    known_hosts: Path
    timeout_s: float = 10.0

    def __call__(self, host: Host, host_key: str) -> str:
        """Return nothing where `hostname` answers with the host's name."""
        if host_key and not _HOST_KEY.fullmatch(host_key):
            return "what it reported as its host key is none"
        with _KNOWN:
            _remember(self.known_hosts, host.address, host_key)
        options = {
            "BatchMode": "yes",
            "ConnectTimeout": f"{max(1, round(self.timeout_s))}",
            "UserKnownHostsFile": str(self.known_hosts),
            "GlobalKnownHostsFile": "/dev/null",
            "StrictHostKeyChecking": "yes" if host_key else "accept-new",
            "HostKeyAlgorithms": "ssh-ed25519",
        }
        command = ["ssh", "-T", *(f"-o{name}={value}" for name, value in options.items()), "-l", self.user]
        command += ["-i", str(self.key), "-oIdentitiesOnly=yes"] if self.key else []
        try:
            done = run_program([*command, "--", host.address, "hostname"], self.timeout_s * 3, most=ANSWER_BYTES)
        except subprocess.TimeoutExpired:
            return f"no answer to a login in {self.timeout_s * 3:g} s"
        except OSError as error:
            return f"ssh cannot be run: {error.strerror}"
        if done.code:
            return f"no login: {shorten(done.errors)}"
        said = done.output.strip()
        return "" if said in {host.name, host.fqdn} else f"{clean_line(said, 80)} answers at {host.address}, not {host.name}"


_KNOWN = threading.Lock()
_HOST_KEY = re.compile(r"[a-z0-9@.-]+ [A-Za-z0-9+/]+={0,2}( [\x20-\x7e]*)?")
"""A line of known_hosts without its host: another line in it would be another host's key."""


def _remember(file: Path, address: str, host_key: str) -> None:
    """Put the key that a host reported into known_hosts in place of what stood there for its address."""
    lines = file.read_text("utf-8", "replace").splitlines() if file.exists() else []
    wanted = f"{address} {host_key}"
    if not host_key or wanted in lines:
        return
    kept = [line for line in lines if line.split(" ", 1)[0] != address]
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    aside = file.with_suffix(".new")
    aside.write_text("\n".join([*kept, wanted]) + "\n", "utf-8")
    aside.replace(file)


class RefusedError(Exception):
    """A machine that may be at work, and that nobody said may be reset; the text says why and names the word."""


class Inrush:
    """Lets a few machines of a rack begin to draw current at a time, and each a random moment later."""

    def __init__(self, per_rack: int, pause_s: float) -> None:
        self._slots: dict[str, threading.Semaphore] = defaultdict(lambda: threading.Semaphore(per_rack))
        self._pause_s = pause_s
        self._lock = threading.Lock()

    def run(self, rack: str, switch: Callable[[], None]) -> None:
        """Switch a machine of a rack when it is its turn."""
        with self._lock:
            slot = self._slots[rack]
        with slot:
            switch()
            time.sleep(self._pause_s * random.uniform(1.0, 1.5))


@dataclass(slots=True)
class Installation:
    """An installation of some hosts.

    Args:
        hosts: what is to be installed.
        journal: where everything is written down.
        probe: logs in to what should run.
        batch: machines that install at once: what the boot server's line and disk can feed.
        inrush: who may switch on now.
        deadlines: seconds for each step.
        attempts: how often a node is begun in one run.
        wait: whether to stay until machines answer a login; else each is started, and that is all.
        consent: what may be lost, spelled out by the user.
        progress: told of a node whose state changed.
        poll_s: seconds between two looks.
        refused: what was left alone for want of consent, and why; filled as it runs.
    """

    hosts: Sequence[Host]
    journal: Journal
    probe: Prober
    batch: int = 16
    inrush: Inrush = field(default_factory=lambda: Inrush(4, 2.0))
    deadlines: Deadlines = field(default_factory=Deadlines)
    attempts: int = 2
    wait: bool = True
    consent: Consent = field(default_factory=Consent)
    progress: Callable[[Node], None] = lambda node: None
    poll_s: float = POLL_S
    refused: dict[str, str] = field(default_factory=dict)
    _begun: set[str] = field(default_factory=set)

    def run(self) -> dict[str, Node]:
        """Install what is not installed, `batch` hosts at a time; return how far each came."""
        for name in visit(self.hosts, self._install, self.batch):
            self.progress(self.journal.node(name))
        return self.journal.nodes([host.name for host in self.hosts])

    def _install(self, host: Host) -> str:
        try:
            node = self.journal.node(host.name)
            if host.name in self.consent.reinstall or not self._is_done(host, node):
                self._take_through(host, node)
        except RefusedError as error:
            self.refused[host.name] = str(error)
            self.journal.write(host.name, "refused", what="start", reason=str(error))
        except OSError as error:
            self._fail(host, f"the journal cannot be written: {error.strerror}")
        except Exception as error:  # the others are not to be left in the middle of what they are at
            self._fail(host, f"gpuyard has a defect, please report it ({type(error).__name__}: {error})")
        return host.name

    def _is_done(self, host: Host, node: Node) -> bool:
        """Return whether there is nothing to do: it is installed, so at most its login is waited for."""
        if not node.installed and node.state != "reachable":
            return False
        if self.wait:
            self._await_login(host, self.journal.node(host.name))
        return True

    def _take_through(self, host: Host, node: Node) -> None:
        reason = NO_MAC
        for attempt in range(self.attempts if host.mac else 0):
            # A node that is being installed already, since this program was interrupted, is waited for.
            if attempt or host.name in self.consent.begin_again or not is_under_way(node):
                try:
                    reason = self._start(host)
                except BmcError as error:
                    reason = f"its BMC at {host.door.target.address}: {error}"
                    break
                if reason:
                    continue
            if not self.wait:
                return
            reason = self._await_installed(host)
            if not reason:
                self._await_login(host, self.journal.node(host.name))
                return
            if self.journal.node(host.name).state == "failed":  # by its own word: another try would end the same
                return
            self.journal.write(host.name, "stopped", reason=reason, attempt=attempt + 1)
            if self._find_elsewhere(host):  # it asks from a MAC that the list does not have, and would again
                break
        self._fail(host, reason)

    def _start(self, host: Host) -> str:
        """Boot a machine from the network; return why it is not on.

        Raises:
            BmcError: its BMC lets nobody in.
            RefusedError: it may be at work, and nobody said that it may be reset.
        """
        again = host.name in self._begun
        bmc = self._reach(host)
        try:
            power = bmc.read_power()
            node = self.journal.node(host.name)
            if not again and (refusal := self.consent.refuse(host, node, power)):
                raise RefusedError(refusal)
            resume = again or self.consent.may_resume(host.name, node)
            # From here on the boot server offers the installation, so nothing may come before that is not consented to.
            self.journal.write(host.name, "begun", state="planned", reinstall=host.name in self.consent.reinstall, resume=resume)
            self._begun.add(host.name)
            self._tell(host, "power", "discovered", language=bmc.language, power=power)

            def switch() -> None:
                bmc.boot_once("http" if host.http and bmc.language == "redfish" else "pxe", uefi=host.door.target.uefi)
                now = bmc.read_power()
                try:
                    bmc.switch("on" if now == "off" else "cycle" if again and now == "on" else "reset")
                except BmcError as error:
                    if error.cause != "unsure":
                        raise
                    # The machine tells by itself whether it was restarted: it asks the boot server, or it does not.
                    self.journal.write(host.name, "bmc", reason=str(error), cause=error.cause)

            self.inrush.run(host.door.target.rack, switch)
            # A BMC that does not tell has no more to say: the machine shows by itself that it started.
            if bmc.read_power() != "unknown" and not wait_power(bmc, "on", self.deadlines.power_s, self.poll_s):
                return f"its BMC took the order, and after {self.deadlines.power_s:g} s it is not on"
            self._tell(host, "power", "powered")
        except BmcError as error:  # in the middle of an order, so it may be half done: another attempt gives it anew
            self.journal.write(host.name, "bmc", reason=str(error), cause=error.cause)
            return f"its BMC at {host.door.target.address}: {error}"
        finally:
            bmc.close()
        return ""

    def _reach(self, host: Host) -> Bmc:
        """Return a host's BMC, logged in to; where nobody answers, it is asked again until its deadline."""
        end, told = time.monotonic() + self.deadlines.bmc_s, ""
        while True:
            try:
                return open_own(host.door)
            except BmcError as error:
                if str(error) != told:
                    told = str(error)
                    self.journal.write(host.name, "bmc", reason=told, cause=error.cause)
                    self.progress(self.journal.node(host.name))
                if error.cause not in WAITED_FOR or time.monotonic() + self.poll_s > end:
                    raise
            time.sleep(self.poll_s)

    def _await_installed(self, host: Host) -> str:
        """Wait until the installer says that it is done; return why not."""
        seen, moved, looked = None, time.monotonic(), 0.0
        while True:
            node = self.journal.node(host.name)
            if node.state == "installed":
                self.progress(node)
                return ""
            if node.state == "failed":
                return node.reason
            if (node.state, node.step) != seen:
                seen, moved, looked = (node.state, node.step), time.monotonic(), 0.0
                self.progress(node)
            silent_s = time.monotonic() - moved
            unheard = node.state in {"planned", "discovered", "powered"}
            if unheard and (silent_s > self.deadlines.boot_s or self._find_elsewhere(host)):
                return self._explain_silence(host)
            if silent_s > self.deadlines.report_s:
                return f"nothing was heard of it for {self.deadlines.report_s:g} s after {node.step or node.state}"
            if silent_s - looked > self.deadlines.look_s:
                looked = silent_s
                if self._is_off(host) and self.journal.node(host.name).state == node.state:
                    return f"it went off in the middle, after {node.step or node.state}"
            time.sleep(self.poll_s)

    def _is_off(self, host: Host) -> bool:
        """Return whether a BMC says that its machine is off; a BMC that says nothing now is no reason to give up."""
        try:
            bmc = host.door.open()
        except BmcError:
            return False
        try:
            return bmc.read_power() == "off"
        except BmcError:
            return False
        finally:
            bmc.close()

    def _find_elsewhere(self, host: Host) -> str:
        """Return the MAC that the machine with this host's serial number has asked from since it was begun; empty if none."""
        serial, begun = host.door.target.serial, self.journal.node(host.name).begun
        asked = (event for event in self.journal.strangers().values() if serial and event.get("serial") == serial)
        return next((str(event["mac"]) for event in asked if str(event["at"]) >= begun), "")

    def _explain_silence(self, host: Host) -> str:
        """Return what may be the reason that a machine never asked the boot server."""
        elsewhere = self._find_elsewhere(host)
        if elsewhere:
            return f"it asks from MAC {elsewhere}, and the list of servers says {host.mac}: correct the list"
        words = f"it is on, and never asked the boot server (MAC {host.mac})"
        strangers = list(self.journal.strangers().values())
        if strangers:
            macs = ", ".join(str(event.get("mac")) for event in strangers[-4:])
            return f"{words}; machines that nobody knows did: {macs}"
        return f"{words}: look at its cable, the boot order, and the relay of its leaf"

    def _await_login(self, host: Host, node: Node) -> None:
        """Wait until a host answers a login, and write that down; a host that did before and does not is only told."""
        end, begun = time.monotonic() + self.deadlines.login_s, node.state
        reason = ""
        while True:
            reason = self.probe(host, str(node.facts.get("host_key", "")))
            if not reason:
                break
            if begun == "reachable" or time.monotonic() > end:
                break
            time.sleep(self.poll_s)
        if reason:
            self._fail(host, f"it is installed, and does not answer a login: {reason}")
        elif begun != "reachable":
            self._tell(host, "login", "reachable", address=host.address)

    def _fail(self, host: Host, reason: str) -> None:
        self.journal.write(host.name, "failed", state="failed", reason=reason)
        self.progress(self.journal.node(host.name))

    def _tell(self, host: Host, event: str, state: State, **more: Any) -> None:
        self.journal.write(host.name, event, state=state, **more)
        self.progress(self.journal.node(host.name))


def count_states(nodes: Mapping[str, Node] | Iterable[Node]) -> dict[State, int]:
    """Return how many nodes are in each state, in the order of the way; states without a node are left out."""
    from cluster_model.deploy.journal import STATES

    states = [node.state for node in (nodes.values() if isinstance(nodes, Mapping) else nodes)]
    return {state: states.count(state) for state in STATES if state in states}
