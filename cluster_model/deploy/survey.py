"""What machines are at before anything is done to them, and which of them nobody may touch without a word.

A machine that is off is switched on: the installer itself refuses a disk that holds something. One that is on may be at work, so
it is reset only where the journal says that it was begun here of late, or the user says so; one that was begun long ago, or
answers SSH, only by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from time import time
from typing import TYPE_CHECKING, Literal

from cluster_model.transport.bmc.controller import BmcError, Power
from cluster_model.transport.bmc.planned import Door, open_own
from cluster_model.transport.fleet import visit
from cluster_model.transport.host import answers_ssh, read_host_key

if TYPE_CHECKING:
    from cluster_model.deploy.journal import Journal, Node

Act = Literal["install", "wait", "nothing", "refuse", "fail", "unread"]
UNDER_WAY = frozenset({"powered", "booted", "installing"})
LATELY_S = 24 * 3600.0
"""Seconds for which what the journal says of a machine that was begun is taken for what it is at: an installation takes one hour,
somebody who looks after it comes back the next day, and whoever put the machine to work otherwise told the journal nothing."""
NO_MAC = "it has no MAC address in the list of servers, so the boot server would not know it"


@dataclass(frozen=True, slots=True)
class Host:
    """A machine to install.

    Args:
        name: the server.
        address: where it answers once it runs.
        fqdn: the name that it must have then.
        mac: MAC that it boots through; empty where it is not known.
        http: whether its firmware boots by HTTP rather than PXE.
        door: the way into its BMC.
    """

    name: str
    address: str
    fqdn: str
    mac: str
    http: bool
    door: Door


@dataclass(frozen=True, slots=True)
class Consent:
    """What the user has said may be lost.

    Args:
        reinstall: hosts that are installed again whatever is on them, by name.
        begin_again: hosts that were begun here and are begun again whatever they are at, by name; their disks stay protected.
        reset_running: whether machines that are on and that the journal does not know may be reset.
        answers: tells whether an address answers SSH.
        read_key: tells the host key that is shown there.
        now: seconds since the epoch.
    """

    reinstall: frozenset[str] = frozenset()
    begin_again: frozenset[str] = frozenset()
    reset_running: bool = False
    answers: Callable[[str], bool] = answers_ssh
    read_key: Callable[[str], str] = read_host_key
    now: Callable[[], float] = time

    def refuse(self, host: Host, node: Node, power: Power) -> str:
        """Return why a host must not be begun, and the words that allow it; empty where it may be."""
        if power == "off" or host.name in self.reinstall or (node.begun and host.name in self.begin_again):
            return ""
        again = f"--begin-again {host.name} resets it, and its disks keep their protection"
        if self.answers(host.address) and not self._is_installer(host, node):
            overwrite = f"--reinstall {host.name} overwrites it"
            if node.begun:
                return f"it may be in use: {host.address} answers SSH, as an installer may too; {again}; {overwrite}"
            return f"it is in use: {host.address} answers SSH; {overwrite}"
        state = "it is on" if power == "on" else "its BMC does not tell whether it is on"
        if old := self.tell_age(node):
            return f"{state}, and {old}, so it may be at work by now; {again}"
        return "" if node.begun or self.reset_running else f"{state}, and the journal does not know it; --reset-running resets it"

    def tell_age(self, node: Node) -> str:
        """Return how long ago a host was begun, in words; empty where that was lately, or never."""
        if not node.begun:
            return ""
        try:
            age_h = (self.now() - datetime.fromisoformat(node.begun).timestamp()) / 3600
        except ValueError:
            return "nobody knows when its installation began"
        if age_h * 3600 <= LATELY_S:
            return ""
        return f"its installation began {f'{age_h / 24:,.0f} days' if age_h >= 48 else f'{age_h:.0f} hours'} ago"

    def may_resume(self, name: str, node: Node) -> bool:
        """Return whether what an installer left on a host's disks is nobody's data: no longer after a day, or by a word."""
        return name not in self.begin_again and not self.tell_age(node)

    def _is_installer(self, host: Host, node: Node) -> bool:
        """Return whether what answers SSH is the installer that told its key: Ubuntu's runs a server of its own."""
        told = node.facts.get("installer_key")
        return bool(told) and told == self.read_key(host.address)


@dataclass(frozen=True, slots=True)
class Finding:
    """What a host is at and what would be done to it; `power` is empty where its BMC told nothing, and `reason` why."""

    name: str
    act: Act
    power: Power | Literal[""] = ""
    reason: str = ""
    cause: str = ""


def is_under_way(node: Node) -> bool:
    """Return whether a host is being installed, so that it is waited for."""
    return node.offered and node.state in UNDER_WAY


@dataclass(slots=True)
class Survey:
    """A look at hosts through their BMCs, which changes nothing.

    Args:
        hosts: what is to be installed.
        journal: what was done already.
        consent: what may be lost.
        parallel: BMCs asked at once.
        progress: told of each host that was looked at.
    """

    hosts: Sequence[Host]
    journal: Journal
    consent: Consent
    parallel: int = 64
    progress: Callable[[], None] = field(default=lambda: None)

    def run(self) -> list[Finding]:
        """Return what would be done to each host, in their order."""
        found = {}
        for finding in self._visit():
            found[finding.name] = finding
            self.progress()
        return [found[host.name] for host in self.hosts]

    def _visit(self) -> Iterator[Finding]:
        nodes = self.journal.nodes([host.name for host in self.hosts])
        yield from visit(self.hosts, lambda host: self._look(host, nodes[host.name]), self.parallel)

    def _look(self, host: Host, node: Node) -> Finding:
        power: Power | Literal[""] = ""
        error: BmcError | None = None
        try:
            bmc = open_own(host.door)
            try:
                power = bmc.read_power()
            finally:
                bmc.close()
        except BmcError as failure:
            error = failure
        if host.name not in self.consent.reinstall:
            if node.installed:
                return Finding(host.name, "nothing", power, "it is installed")
            if is_under_way(node) and host.name not in self.consent.begin_again:
                words = f"it is being installed: {node.step or node.state}"
                if old := self.consent.tell_age(node):
                    words += f"; {old}, and --begin-again {host.name} does not wait for it"
                return Finding(host.name, "wait", power, words)
        if not host.mac:
            return Finding(host.name, "fail", power, NO_MAC)
        if error is not None or not power:
            return Finding(
                host.name, "unread", "", f"its BMC at {host.door.target.address}: {error}", error.cause if error else ""
            )
        refusal = self.consent.refuse(host, node, power)
        if refusal:
            return Finding(host.name, "refuse", power, refusal)
        kept = node.touched and host.name not in self.consent.reinstall and not self.consent.may_resume(host.name, node)
        return Finding(host.name, "install", power, "what its last installation left on its disks counts as data" if kept else "")
