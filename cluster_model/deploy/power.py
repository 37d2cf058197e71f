"""Switch machines on and off and tell them what to boot: the only way to their power, and few of one rack at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from time import sleep

from cluster_model.transport.bmc.controller import Action, Bmc, BmcError, BootDevice, Power, wait_power
from cluster_model.transport.bmc.planned import Door, cut_waves, open_own, tell_other
from cluster_model.transport.fleet import visit

PER_RACK = 4
"""Machines of one rack that are switched at once: supplies draw a multiple of their current for the first moments."""
PAUSE_S = 2.0
"""Seconds between waves."""
SETTLE_S = 60.0
"""Seconds that a BMC has until the machine's power is as it was told."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of telling a BMC something; `error` is None where it did as told.

    `despite` says what told against the order and was overridden by a word.
    """

    name: str
    address: str
    before: Power
    after: Power
    error: BmcError | None = None
    despite: str = ""


def switch_machines(
    doors: Sequence[Door],
    action: Action,
    *,
    parallel: int,
    per_rack: int = PER_RACK,
    pause_s: float = PAUSE_S,
    settle_s: float = SETTLE_S,
    despite: Collection[str] = (),
    progress: Callable[[Outcome], None] | None = None,
) -> list[Outcome]:
    """Switch the power of machines, in waves of a few in each rack, and see that it came to be.

    Args:
        doors: the ways in.
        action: what to do.
        parallel: BMCs at once.
        per_rack: machines of one rack at once.
        pause_s: seconds between waves.
        settle_s: seconds that each has until its power is as it was told.
        despite: servers whose power is taken away, by `off` alone, whatever machine stands in their place.
        progress: told of each as it is done.

    Returns:
        Outcomes in the order of `doors`; a machine that failed holds nobody up.
    """
    wanted: Power = "off" if action in {"off", "soft"} else "on"

    def work(door: Door) -> Outcome:
        before: Power = "unknown"
        bmc: Bmc | None = None
        other = ""
        try:
            if action == "off" and door.target.name in despite:
                bmc = door.open()
                other = _tell_other(bmc, door)
            else:
                bmc = open_own(door)
            before = bmc.read_power()
            bmc.switch(action)
            if wait_power(bmc, wanted, settle_s):
                return Outcome(door.target.name, door.target.address, before, wanted, despite=other)
            raise BmcError("refusal", f"it took the order, and after {settle_s:g} s the machine is not {wanted}")
        except BmcError as error:
            return Outcome(door.target.name, door.target.address, before, "unknown", error, other)
        finally:
            if bmc is not None:
                bmc.close()

    return _in_order(doors, _in_waves(doors, work, parallel, per_rack, pause_s), progress)


def _tell_other(bmc: Bmc, door: Door) -> str:
    """Return what tells that it is another machine; in an emergency one that cannot be asked goes off all the same."""
    try:
        return tell_other(bmc, door.target)
    except BmcError as error:
        return f"its serial number was not read: {error}"


def set_boot(
    doors: Sequence[Door],
    device: BootDevice,
    *,
    parallel: int,
    persistent: bool = False,
    progress: Callable[[Outcome], None] | None = None,
) -> list[Outcome]:
    """Tell machines what to boot at their next start, or at every one; nothing is switched."""

    def work(door: Door) -> Outcome:
        bmc: Bmc | None = None
        try:
            bmc = open_own(door)
            bmc.boot_once(device, uefi=door.target.uefi, persistent=persistent)
            power = bmc.read_power()
            return Outcome(door.target.name, door.target.address, power, power)
        except BmcError as error:
            return Outcome(door.target.name, door.target.address, "unknown", "unknown", error)
        finally:
            if bmc is not None:
                bmc.close()

    return _in_order(doors, visit(doors, work, parallel), progress)


def _in_waves(
    doors: Sequence[Door], work: Callable[[Door], Outcome], parallel: int, per_rack: int, pause_s: float
) -> Iterator[Outcome]:
    for number, wave in enumerate(cut_waves(doors, per_rack)):
        if number:
            sleep(pause_s)
        yield from visit(wave, work, parallel)


def _in_order(doors: Sequence[Door], outcomes: Iterator[Outcome], progress: Callable[[Outcome], None] | None) -> list[Outcome]:
    found = {}
    for outcome in outcomes:
        found[outcome.name] = outcome
        if progress:
            progress(outcome)
    return [found[door.target.name] for door in doors]
