"""The units of a fabric: which servers share leafs, and what a full leaf carries."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import ceil

from cluster_model.intent.model.business import BusinessNetwork
from cluster_model.intent.model.networks import StorageNetwork
from cluster_model.intent.phases import count_phases, order_servers
from cluster_model.plan.context import Context
from cluster_model.plan.fabric.addressing import pow2
from cluster_model.plan.fabric.clos import derive_uplinks
from cluster_model.plan.fabric.legs import Leg, legs_per_leaf, ports_for, role_of
from cluster_model.plan.fabric.wanted import Wanted
from cluster_model.plan.ports import count_ports, list_speeds, mode_for, seat_managers, speeds_of
from cluster_model.plan.refusal import Refused

Seat = tuple[str, int]
"""A server: group and number."""


@dataclass(frozen=True, slots=True)
class Units:
    """The servers of a fabric by unit, and what a full leaf has.

    Args:
        seats: planned servers of each unit, in seat order.
        managers: fabric managers with their links, all in unit 1.
        hosts_per_leaf: host ports of a full leaf.
        host_gbps: host bandwidth of a full leaf.
        mixed: cages that a full leaf leaves half empty where the speed of its hosts changes.
        phases: units that each phase of building brought.
    """

    seats: tuple[tuple[Seat, ...], ...]
    hosts_per_leaf: int
    host_gbps: int
    mixed: int = 0
    managers: tuple[tuple[Seat, Leg], ...] = ()
    phases: tuple[int, ...] = ()

    def number(self, plane: int, planes: int, position: int) -> int:
        """Return the number of a unit's leafs among those of all planes; later phases come behind all planes of earlier ones."""
        if planes == 1:
            return position
        first = base = 0
        for count in self.phases[:-1]:
            if position < first + count:
                return base + plane * pow2(count) + position - first
            first, base = first + count, base + planes * pow2(count)
        return base + plane * pow2(len(self.seats) - first) + position - first

    def count_numbers(self, planes: int) -> int:
        """Return one more than the highest number of a unit's leafs."""
        last = len(self.seats) - sum(self.phases[:-1])
        return planes * (sum(map(pow2, self.phases[:-1])) + pow2(last))


def count_planes(wanted: Wanted) -> int:
    """Return the planes that the servers' links go to."""
    return 1 + max(leg.plane for legs in wanted.legs.values() for leg in legs)


def count_lanes(wanted: Wanted) -> int:
    """Return the address lanes of a plane that the servers' links are in."""
    return 1 + max(leg.lane for legs in wanted.legs.values() for leg in legs)


def managers_per_leaf(managers: tuple[tuple[Seat, Leg], ...], leafs_per_unit: int) -> int:
    """Return the most links of fabric managers that a leaf of the first unit gets, beside those in ports of their own."""
    by_plane = Counter(leg.plane for _, leg in managers if leg.reserved < 0)
    return ceil(max(by_plane.values(), default=0) / leafs_per_unit)


def count_uplinks(wanted: Wanted, speed_gbps: int, host_gbps: int) -> int:
    """Return the uplinks of a leaf by the bandwidth of its hosts, or as the intent says."""
    return wanted.intent.uplinks or derive_uplinks(host_gbps, speed_gbps, wanted.intent.oversubscription)


def fill_units(ctx: Context, wanted: Wanted, speed_gbps: int) -> Units:
    """Return the units of a fabric whose switches are joined at a speed.

    Raises:
        Refused: NET002, NET007.
    """
    if wanted.kind.scalable_units:
        return _fill_scalable_units(ctx, wanted, speed_gbps)
    # GPU servers last: they are what grows most, and what comes after a group moves when it grows past its plan
    groups = sorted(wanted.legs, key=lambda g: (role_of(g, ctx.cluster.servers[g]) == "gpu", ctx.cluster.servers[g].id))
    seats = order_servers(ctx.cluster, groups)
    mixed = _count_speeds(wanted) - 1
    if wanted.kind.bridged:  # servers of all purposes: speeds may come and go
        speeds = [leg.speed_gbps for g in groups for leg in wanted.legs[g]]
        mixed = sum(a != b for a, b in pairwise(speeds))
    assert isinstance(wanted.intent, StorageNetwork | BusinessNetwork)
    joined = min(ctx.cluster.servers[g].joined for g in groups)
    first = sum(sum(ctx.cluster.servers[g].phases[:joined]) for g in groups)  # it decides, so that no later phase moves it
    size = wanted.intent.unit or _largest_unit(wanted, first, speed_gbps, mixed)
    units = tuple(tuple(seats[start : start + size]) for start in range(0, len(seats), size))
    return Units(units, *_full_leaf(wanted, size), mixed, phases=_count_by_phase(ctx, units))


def _count_speeds(wanted: Wanted) -> int:
    return len({leg.speed_gbps for legs in wanted.legs.values() for leg in legs})


def _fill_scalable_units(ctx: Context, wanted: Wanted, speed_gbps: int) -> Units:
    size_of = {g: ctx.cluster.servers[g].unit or next(filter(None, ctx.cluster.servers[g].phases)) for g in wanted.legs}
    loads = [_full_leaf(wanted, size, (g,)) for g, size in size_of.items()]
    hosts_per_leaf, host_gbps = max(ports for ports, _ in loads), max(gbps for _, gbps in loads)
    managers = _manager_legs(ctx, wanted)
    extra = managers_per_leaf(managers, wanted.leafs_per_unit)
    planned_units = sum(ceil(_planned(ctx, g) / size) for g, size in size_of.items())
    joined = len(wanted.legs) > 1 or planned_units * wanted.leafs_per_unit > 1
    uplinks = count_uplinks(wanted, speed_gbps, host_gbps) if joined else 0
    room = count_ports(wanted.models.leaf.cages, wanted.host_speed_gbps)
    reserved = extra if extra and hosts_per_leaf + extra + uplinks > room else 0
    first = next(iter(size_of))
    for g, size in size_of.items():
        planned = _planned(ctx, g)
        kept = reserved if g == first else 0
        most = ceil(planned / size) * size - kept
        if kept and planned > most:
            raise Refused(
                "NET007",
                f"{planned} servers leave no leaf port for the {len(managers)} links of the fabric managers",
                expected=f"<= {most} servers, as the SuperPOD reference leaves out one for UFM"
                if most > 0
                else f"at most {(size - 1) * wanted.leafs_per_unit} links of fabric managers, which share a unit with servers",
                actual=str(planned),
                fix=f"set it to {most}, or plan another unit" if most > 0 else "plan fewer fabric managers",
                where=f"servers.{g}.{'planned' if ctx.cluster.servers[g].planned else 'count'}",
            )
    units = _cut_units(ctx, size_of, {first: reserved})
    return Units(units, hosts_per_leaf, host_gbps, _count_speeds(wanted) - 1, managers, _count_by_phase(ctx, units))


def _cut_units(ctx: Context, size_of: dict[str, int], kept: dict[str, int]) -> tuple[tuple[Seat, ...], ...]:
    """Return the units in the order of their coming.

    Args:
        ctx: the planner's bench.
        size_of: seats of a unit, by group.
        kept: seats of a group's first unit that stay empty.
    """
    found: dict[Seat, list[Seat]] = {}  # by group and number of the unit in it
    for g, number in order_servers(ctx.cluster, list(size_of)):
        found.setdefault((g, (number - 1 + kept.get(g, 0)) // size_of[g]), []).append((g, number))
    return tuple(map(tuple, found.values()))


def _count_by_phase(ctx: Context, units: tuple[tuple[Seat, ...], ...]) -> tuple[int, ...]:
    """Return the units that each phase brought: those whose first server came in it."""
    last = {g: list(accumulate(group.phases)) for g, group in ctx.cluster.servers.items()}
    came = Counter(bisect_left(last[g], number) for (g, number), *_ in units)
    return tuple(came[phase] for phase in range(count_phases(ctx.cluster)))


def _manager_legs(ctx: Context, wanted: Wanted) -> tuple[tuple[Seat, Leg], ...]:
    """Return the links of fabric managers. A plane is a subnet of its own, so the ports of a manager go to the planes in turn.

    Ports that leafs have for them alone come first, one after the other on each leaf of the first unit.
    """
    found: list[tuple[Seat, Leg]] = []
    planes, leaf = count_planes(wanted), wanted.models.leaf
    own = seat_managers(leaf.cages, (leaf.platform.port_native, leaf.platform.port_split))
    used, reserved = [0] * planes, [0] * planes
    for g in wanted.managers:
        group = ctx.cluster.servers[g]
        for number in range(1, _planned(ctx, g) + 1):
            for place, port in enumerate(ports_for(ctx, g, wanted.kind.name)):
                plane, able = place % planes, {port.speed_gbps, *port.speeds_gbps}
                turn, position = divmod(reserved[plane], wanted.leafs_per_unit)
                if turn < len(own) and own[turn].speed_gbps in able:
                    leg = Leg(plane, position, 0, -1, port, 0, 1, own[turn].speed_gbps, len(found), turn)
                    reserved[plane] += 1
                elif speeds := able & speeds_of(leaf.cages):
                    leg = Leg(plane, used[plane] % wanted.leafs_per_unit, 0, -1, port, 0, 1, max(speeds), len(found))
                    used[plane] += 1
                else:
                    known = list_speeds(leaf.cages)
                    raise Refused(
                        "NET002",
                        f"port {port.name} of {group.model} and leaf {leaf.ref} share no speed"
                        + (", and the leafs' ports for fabric managers are taken" if reserved[plane] else ""),
                        expected=f"{known} Gb/s (the leaf's)",
                        actual=f"{port.speed_gbps} Gb/s",
                        fix=f"choose a fabric manager with ports of {known} Gb/s, or plan fewer; or leave the group out, and "
                        "cable its servers by hand",
                        where=f"servers.{g}.model",
                    )
                found.append(((g, number), leg))
    return tuple(found)


def _planned(ctx: Context, group: str) -> int:
    return ctx.cluster.servers[group].final_count


def _full_leaf(wanted: Wanted, size: int, groups: tuple[str, ...] | None = None) -> tuple[int, int]:
    """Return (host ports, host Gb/s) of a leaf with a full unit of the group that loads it most."""
    ports = gbps = 0
    for g in groups or tuple(wanted.legs):
        legs = wanted.legs[g]
        ports = max(ports, size * max(legs_per_leaf(legs).values()))
        for key in legs_per_leaf(legs):
            gbps = max(gbps, size * sum(leg.speed_gbps for leg in legs if (leg.plane, leg.leaf) == key))
    return ports, gbps


def _largest_unit(wanted: Wanted, total: int, speed_gbps: int, mixed: int) -> int:
    """Return the most servers per unit for which a leaf has the ports; a multiple of 8 where it is 16 or more."""
    for size in range(total, 1, -1):
        if may_fit(wanted, size, speed_gbps, mixed):
            return size if size == total or size < 16 else size // 8 * 8
    return 1


def may_fit(wanted: Wanted, size: int, speed_gbps: int, mixed: int) -> bool:
    """Return whether a leaf has cages for a full unit of this size and its uplinks, fabric managers left out."""
    cages, host_speed = wanted.models.leaf.cages, wanted.host_speed_gbps
    dense = min((m.count for c in cages if (m := mode_for(c, host_speed))), default=1)
    up_mode = min((m.count for c in cages if (m := mode_for(c, speed_gbps))), default=1)
    usable = sum(1 for c in cages if mode_for(c, host_speed) or mode_for(c, speed_gbps))
    ports, gbps = _full_leaf(wanted, size)
    uplinks = count_uplinks(wanted, speed_gbps, gbps)
    return ceil(ports / dense) + mixed + ceil(uplinks / up_mode) + wanted.peer_links <= usable
