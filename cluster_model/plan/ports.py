"""Which cage of a switch carries which link: hosts from the first cage up, uplinks in the last ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from cluster_model.catalogue.cages import Cage
from cluster_model.catalogue.types import Mode
from cluster_model.plan.model import CageMode


class End(NamedTuple):
    """A cage as a cable's end: form factor and mode, e.g. (`osfp`, 2, 400). A tuple, since media are looked up by ends."""

    form_factor: str
    ports: int
    speed_gbps: int

    @property
    def mode(self) -> str:
        """Return the mode as the catalogue writes it."""
        return f"{self.ports}x{self.speed_gbps}"


@dataclass(frozen=True, slots=True)
class Seat:
    """One port of a switch: cage number, position in the cage from 0, its name on the NOS, and the cage as an end."""

    cage: int
    sub: int
    name: str
    speed_gbps: int
    count: int  # ports that the cage is split into
    end: End


@dataclass(frozen=True, slots=True)
class Layout:
    """Seats of one kind of switch, shared by all switches that are wired alike.

    Args:
        down: seats of hosts (or of the tier below), in order.
        up: seats of uplinks, in order.
        modes: every cage with its mode, by panel number.
        missing: links that found no port.
        peer: seats of links to the switch beside it, in order, each in a cage of its own.
    """

    down: tuple[Seat, ...]
    up: tuple[Seat, ...]
    modes: tuple[CageMode, ...]
    missing: int
    peer: tuple[Seat, ...] = ()


def usable_modes(cage: Cage) -> tuple[Mode, ...]:
    """Return the modes in which a cage takes hosts and links of the fabric; none where seat_managers alone seats it."""
    if cage.for_managers:
        return ()
    return cage.modes if cage.splittable else cage.modes[:1]


def mode_for(cage: Cage, speed_gbps: int) -> Mode | None:
    """Return the densest mode of a cage at a speed, or None where it has none."""
    fitting = [mode for mode in usable_modes(cage) if mode.speed_gbps == speed_gbps]
    return max(fitting, key=lambda mode: mode.count, default=None)


def count_ports(cages: tuple[Cage, ...], speed_gbps: int) -> int:
    """Return how many ports of a speed a switch has when all its cages run at it: its radix."""
    return sum(mode.count for cage in cages if (mode := mode_for(cage, speed_gbps)))


def speeds_of(cages: tuple[Cage, ...]) -> set[int]:
    """Return every port speed a switch can run, Gb/s."""
    return {mode.speed_gbps for cage in cages for mode in usable_modes(cage)}


def list_speeds(cages: tuple[Cage, ...]) -> str:
    """Return every port speed a switch can run, fastest first, for a finding."""
    return ", ".join(str(speed) for speed in sorted(speeds_of(cages), reverse=True))


def name_port(patterns: tuple[str, str], cage: Cage, mode: Mode, sub: int) -> str:
    """Return a port's name as its NOS spells it; `patterns` are those of a native and of a split cage."""
    pattern = patterns[0] if mode == cage.modes[0] else patterns[1]
    offset = sub * max(1, cage.lanes // mode.count)
    slash_lane = f"/{offset + 1}" if cage.lanes > 1 else ""
    return pattern.format(cage=cage.number, lane=cage.first_lane + offset, slash_lane=slash_lane, sub0=sub, sub1=sub + 1)


def lay_out(
    cages: tuple[Cage, ...],
    patterns: tuple[str, str],
    down: tuple[tuple[int, int], ...],
    up: tuple[int, int],
    peer: tuple[int, int] = (0, 0),
) -> Layout:
    """Return the seats of a switch.

    Args:
        cages: the switch's cages in panel order.
        patterns: port names of a native and of a split cage, from the platform.
        down: runs of (speed_gbps, count) of downlinks in order; a run begins a new cage where the mode changes.
        up: (speed_gbps, count) of uplinks.
        peer: (speed_gbps, count) of links to the switch beside it; they take the cages before the uplinks'.
    """
    chosen: dict[int, Mode] = {}
    ups, missing = _seat_uplinks(cages, patterns, up, chosen)
    peers = _seat_peers(cages, patterns, peer, chosen)
    missing += peer[1] - len(peers)
    taken = set(chosen)
    seats: list[Seat] = []
    for speed_gbps, count in down:
        left = count
        for cage in cages:
            if not left:
                break
            if cage.number in taken or (mode := mode_for(cage, speed_gbps)) is None:
                continue
            taken.add(cage.number)
            chosen[cage.number] = mode
            for sub in range(min(left, mode.count)):
                seats.append(_seat(patterns, cage, mode, sub))
            left -= min(left, mode.count)
        missing += left
    modes = []
    for cage in cages:
        mode = chosen.get(cage.number, cage.modes[0])
        native = mode == cage.modes[0]
        modes.append(
            CageMode(
                cage.number, cage.form_factor, mode.count, mode.speed_gbps, cage.first_lane, cage.lanes, native, cage.lane_numbers
            )
        )
    return Layout(tuple(seats), tuple(ups), tuple(modes), missing, tuple(peers))


def seat_managers(cages: tuple[Cage, ...], patterns: tuple[str, str]) -> tuple[Seat, ...]:
    """Return the ports that a switch has for fabric managers alone, in panel order, at their native speed."""
    own = (cage for cage in cages if cage.for_managers)
    return tuple(_seat(patterns, cage, cage.modes[0], sub) for cage in own for sub in range(cage.modes[0].count))


def _seat(patterns: tuple[str, str], cage: Cage, mode: Mode, sub: int) -> Seat:
    end = End(cage.form_factor, mode.count, mode.speed_gbps)
    return Seat(cage.number, sub, name_port(patterns, cage, mode, sub), mode.speed_gbps, mode.count, end)


def _seat_uplinks(
    cages: tuple[Cage, ...], patterns: tuple[str, str], up: tuple[int, int], chosen: dict[int, Mode]
) -> tuple[list[Seat], int]:
    speed_gbps, count = up
    able = [(cage, mode) for cage in cages if (mode := mode_for(cage, speed_gbps))] if count else []
    picked: list[tuple[Cage, Mode]] = []
    left = count
    for cage, mode in reversed(able):
        if left <= 0:
            break
        picked.append((cage, mode))
        left -= mode.count
    seats: list[Seat] = []
    for cage, mode in reversed(picked):
        chosen[cage.number] = mode
        for sub in range(mode.count):
            if len(seats) < count:
                seats.append(_seat(patterns, cage, mode, sub))
    return seats, max(0, left)


def _seat_peers(cages: tuple[Cage, ...], patterns: tuple[str, str], peer: tuple[int, int], chosen: dict[int, Mode]) -> list[Seat]:
    """Return the first port of each of the last cages that no uplink takes, in panel order: no two links share a transceiver."""
    speed_gbps, count = peer
    seats: list[Seat] = []
    for cage in reversed(cages):
        if len(seats) == count:
            break
        if cage.number not in chosen and (mode := mode_for(cage, speed_gbps)):
            chosen[cage.number] = mode
            seats.append(_seat(patterns, cage, mode, 0))
    return seats[::-1]
