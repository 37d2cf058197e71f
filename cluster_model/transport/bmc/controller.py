"""What a BMC is, whichever protocol it speaks: asked for power and facts, told to switch power and to boot otherwise once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from functools import partial
from time import monotonic, sleep
from typing import Literal, Protocol, TypeVar

from cluster_model.transport.gear_text import clean_line

Power = Literal["on", "off", "unknown"]
Action = Literal["on", "off", "soft", "cycle", "reset"]
BootDevice = Literal["pxe", "http", "disk", "none"]
Language = Literal["redfish", "ipmi"]
Tls = Literal["pin", "verify", "off"]
Cause = Literal["silent", "busy", "refused", "starting", "login", "certificate", "language", "refusal", "unsure", "machine"]
"""Why a BMC failed: no answer; it cannot now, as without a free session; nobody at the port; a page where Redfish should be, as
while it boots; wrong user or password; another certificate; it speaks something else; it understood and would not; it was given
an order and did not answer, so that nobody knows whether it was carried out; it is in another machine than the planned one."""
NO_SERIAL = frozenset({"", "0", "0123456789", "default string", "none", "not specified", "to be filled by o.e.m.", "n/a", "na"})
"""What boards say that were never given a serial number, in lower case."""

Result = TypeVar("Result")


class BmcError(Exception):
    """A BMC that did not do as told; the text is the reason, in one line."""

    def __init__(self, cause: Cause, reason: str) -> None:
        super().__init__(clean_line(reason, 500))
        self.cause: Cause = cause


@dataclass(frozen=True, slots=True)
class BmcTarget:
    """Where a machine's BMC is reached, and what tells that the right machine answers.

    Args:
        name: the server.
        address: of the BMC, without length.
        rack: rack, for what must not happen to many machines of one rack at once.
        serial: serial number of the server; empty where it is not known yet.
        macs: MAC addresses of its ports that are known.
        uefi: whether it boots by UEFI.
        port: port of the protocol; 0 is the protocol's own (443 Redfish, 623 IPMI).
    """

    name: str
    address: str
    rack: str = ""
    serial: str = ""
    macs: frozenset[str] = frozenset()
    uefi: bool = True
    port: int = 0


@dataclass(frozen=True, slots=True)
class BmcLogin:
    """How to log in to a BMC.

    Args:
        user: user name.
        password: its password.
        cipher: IPMI cipher suite; 17 is the one that present firmware wants (ipmitool(1), -C).
        tls: how Redfish's certificate is judged: the same as at the first visit, by the machine's authorities, or not at all.
        scheme: `https`, or `http` for a BMC without TLS.
        answer_s: seconds to wait for one answer.
        retries: attempts after one that had no answer, or found no free session.
    """

    user: str
    password: str = field(repr=False)
    cipher: int = 17
    tls: Tls = "pin"
    scheme: Literal["https", "http"] = "https"
    answer_s: float = 20.0
    retries: int = 2


@dataclass(frozen=True, slots=True)
class Machine:
    """What a BMC tells of its machine; empty or 0 where it is silent.

    `macs` are (name of the port there, MAC); `altered` the fields whose text was not fit to be passed on as it came.
    """

    language: Language
    power: Power = "unknown"
    serial: str = ""
    manufacturer: str = ""
    model: str = ""
    uuid: str = ""
    bios: str = ""
    firmware: str = ""
    bmc_mac: str = ""
    macs: tuple[tuple[str, str], ...] = ()
    memory_gib: float = 0
    processors: int = 0
    health: str = ""
    altered: tuple[str, ...] = ()


def clean_machine(machine: Machine) -> Machine:
    """Return what a BMC tells as text that is safe; `altered` names what was not."""
    texts = {part.name: str(getattr(machine, part.name)) for part in fields(machine) if part.type == "str"}
    cleaned = {name: clean_line(text) for name, text in texts.items()}
    altered = tuple(name for name, text in texts.items() if cleaned[name] != text.strip())
    macs = tuple((clean_line(name), mac) for name, mac in machine.macs)
    return replace(machine, **cleaned, macs=macs, altered=altered)  # type: ignore[arg-type]


class Bmc(Protocol):
    """A BMC that was logged in to. Every call raises BmcError where it fails."""

    @property
    def language(self) -> Language:
        """Return the protocol that it is spoken to in."""
        ...

    def read_power(self) -> Power:
        """Return whether the machine is on."""
        ...

    def switch(self, action: Action) -> None:
        """Switch power. A machine that is off already and told to go off stays so without an error."""
        ...

    def read_serials(self) -> frozenset[str]:
        """Return the serial numbers that it has for its machine: of the product, and perhaps of chassis and board."""
        ...

    def boot_once(self, device: BootDevice, *, uefi: bool, persistent: bool = False) -> None:
        """Boot from `device` at the next start, or at every one; `none` takes that back."""
        ...

    def read_machine(self) -> Machine:
        """Return what the BMC tells of its machine."""
        ...

    def close(self) -> None:
        """Log out; never raises. BMCs have few sessions, so one that is kept open locks others out."""
        ...


class BmcOpener(Protocol):
    """Opens BMCs of one protocol."""

    def __call__(self, target: BmcTarget, login: BmcLogin) -> Bmc:
        """Return a BMC that was logged in to; BmcError where it could not be."""
        ...


def retry(work: Callable[[], Result], login: BmcLogin) -> Result:
    """Return what `work` returns, tried again where a BMC was silent or busy, a little later each time."""
    for pause_s in _pauses(login.retries):
        try:
            return work()
        except BmcError as error:
            if error.cause not in {"silent", "busy"}:
                raise
            sleep(pause_s)
    return work()


def _pauses(count: int) -> Iterator[float]:
    yield from (min(0.5 * 2**number, 8.0) for number in range(count))


def give_order(read_power: Callable[[], Power], send: Callable[[Action], None], action: Action, login: BmcLogin) -> None:
    """Switch power by an order that is sent once; a second one follows only where the first is seen not to have happened.

    Cycling and resetting a machine that is off means switching it on; one that is as it is told to be is told nothing.

    Args:
        read_power: asks for the machine's power; may be asked again at will.
        send: sends an order once; BMCError `unsure` where it went out and no answer came.
        action: what to do.
        login: how long and how often to try.

    Raises:
        BmcError: `unsure` where the answer was lost and the machine's power does not tell what came of the order.
    """
    wanted: Power = "off" if action in {"off", "soft"} else "on"
    power = read_power()
    if power == wanted and action in {"on", "off", "soft"}:
        return
    order: Action = "on" if power == "off" else action
    for _ in range(login.retries + 1):
        try:
            retry(partial(_send, send, order, may_be_off=power == "unknown"), login)
            return
        except BmcError as error:
            if error.cause != "unsure":
                raise
        power = read_power()
        if order in {"on", "off"} and power == wanted:
            return
        if order == "soft" and power != "unknown":  # it takes its time to shut down, and whoever gave the order waits for that
            return
        if order in {"cycle", "reset"} and power == "off":
            order = "on"  # it was carried out by half
        elif order not in {"on", "off"}:
            break
    done = "restarted" if order in {"cycle", "reset"} else "switched"
    lost = f"no answer to {order} in {login.answer_s:g} s, so whether the machine was {done} is not known"
    raise BmcError("unsure", f"{lost}: look at it before it is told again")


def _send(send: Callable[[Action], None], order: Action, *, may_be_off: bool) -> None:
    """Send an order; switch a machine on where its BMC hides power and refuses to restart it, as it does for one that is off."""
    try:
        send(order)
    except BmcError as error:
        if error.cause != "refusal" or not may_be_off or order not in {"cycle", "reset"}:
            raise
        try:
            send("on")
        except BmcError as another:
            raise error if another.cause == "refusal" else another from None


def wait_power(bmc: Bmc, wanted: Power, deadline_s: float, poll_s: float = 1.0) -> bool:
    """Return whether the machine's power came to be as wanted within `deadline_s`; it is read anew each time."""
    end = monotonic() + deadline_s
    while True:
        if bmc.read_power() == wanted:
            return True
        if monotonic() + poll_s > end:
            return False
        sleep(poll_s)
