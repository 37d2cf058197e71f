"""Where everything stands: servers from the bottom of their racks, switches from the top.

All planned devices are placed, built or not, so that growth within the plan moves nothing. What a phase brings is placed after
all that earlier phases brought: in its own racks first, then in what is left of the others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from math import ceil

from cluster_model.intent.base import MOST_RACKS
from cluster_model.intent.model.servers import Placement, ServerGroup
from cluster_model.intent.model.site import RackGroup
from cluster_model.intent.phases import count_phases, sort_groups
from cluster_model.names import format_rack, format_server
from cluster_model.plan.context import Context, Place
from cluster_model.plan.model import Rack


@dataclass(slots=True)
class Space:
    """A rack being filled. `used` and `by_hand` have a bit per rack unit; bit 1 is the lowest."""

    rack: Rack
    phase: int
    used: int = 0  # by the rule, the empty places of those put elsewhere among them
    by_hand: int = 0
    owner: str = ""  # the group with `per_rack` that fills it, and how many of its servers are there
    held: int = 0

    def free(self, u: int, height: int) -> bool:
        """Return whether `height` units from `u` up are free and inside the rack."""
        return u >= 1 and u + height - 1 <= self.rack.height_u and not (self.used | self.by_hand) & (((1 << height) - 1) << u)

    def take(self, u: int, height: int) -> int:
        """Mark units used; return `u`."""
        self.used |= ((1 << height) - 1) << u
        return u

    def lowest(self, height: int) -> int | None:
        """Return the lowest unit with `height` free units above it."""
        return next((u for u in range(1, self.rack.height_u - height + 2) if self.free(u, height)), None)

    def highest(self, height: int) -> int | None:
        """Return the highest unit with `height` free units above it."""
        return next((u for u in range(self.rack.height_u - height + 1, 0, -1) if self.free(u, height)), None)


@dataclass(slots=True)
class Floor:
    """All racks by name, and those of each group in floor order, blocked ones left out."""

    racks: dict[str, Space] = field(default_factory=dict)
    groups: dict[str, list[Space]] = field(default_factory=dict)
    phases: dict[str, list[list[Space]]] = field(default_factory=dict)  # of each group, the latest first
    turn: dict[tuple[str, int], int] = field(default_factory=dict)
    servers: dict[str, list[Place]] = field(default_factory=dict)  # by group: of server 1, 2, …
    full: set[str] = field(default_factory=set)  # tiers and rack groups already reported as not fitting

    def copy(self) -> Floor:
        """Return the same racks, to be filled another way."""
        racks = {name: replace(space) for name, space in self.racks.items()}
        groups = {name: [racks[space.rack.name] for space in spaces] for name, spaces in self.groups.items()}
        return Floor(racks, groups)

    def keep(self, standing: Iterable[Place]) -> None:
        """Take the places that earlier phases gave by rule, also those that servers left by hand."""
        for place in standing:
            if place.home:
                self.racks[place.home].take(place.home_u, place.height_u)


def plan_racks(ctx: Context) -> Floor:
    """Return the empty floor, rows in the order of their ids."""
    racks = ctx.cluster.racks
    member = {row: name for name, group in sorted(racks.groups.items()) for row in group.rows}
    floor = Floor(groups={name: [] for name in racks.groups})
    for row_name, row in sorted(racks.rows.items(), key=lambda item: item[1].id):
        group_name = member.get(row_name)
        if group_name is None:
            continue
        phases = [phase for phase, number in enumerate(row.phases, 1) for _ in range(number)]
        for position, phase in enumerate(phases, 1):
            rack = _rack(ctx, row_name, row.id, position, group_name, racks.groups[group_name])
            space = floor.racks[rack.name] = Space(rack, phase)
            if not rack.blocked:
                floor.groups[group_name].append(space)
    floor.phases = {name: _by_phase(spaces) for name, spaces in floor.groups.items()}
    return floor


def _by_phase(spaces: Sequence[Space]) -> list[list[Space]]:
    """Return racks by the phase that they came in, the latest first."""
    phases = sorted({space.phase for space in spaces}, reverse=True)
    return [[space for space in spaces if space.phase == phase] for phase in phases]


def _rack(ctx: Context, row: str, row_id: int, position: int, group_name: str, group: RackGroup) -> Rack:
    name = format_rack(row, position)
    own = ctx.cluster.racks.exceptions.get(name)
    geometry = ctx.cluster.racks.geometry
    return Rack(
        name=name,
        row=row,
        position=position,
        group=group_name,
        height_u=own.height_u if own and own.height_u else group.height_u,
        power_w=1000 * (own.power_kw if own and own.power_kw else group.power_kw),
        feeds=group.feeds,
        feed_w=1000 * (own.feed_kw if own and own.feed_kw else group.feed_kw),
        pdu=group.pdu or "",
        x_m=(position - 1) * geometry.rack_pitch_m,
        y_m=(row_id - 1) * geometry.row_pitch_m,
        blocked=bool(own and own.blocked),
        reason=own.reason if own else "",
        where=f"racks.exceptions.{name}" if own else f"racks.groups.{group_name}",
    )


def place_servers(ctx: Context, floor: Floor) -> None:
    """Place every planned server: those put by hand first, then by rule. Findings: PLC001 to PLC004, PLC007."""
    groups = [(name, ctx.cluster.servers[name]) for name in sort_groups(ctx.cluster)]
    floor.keep(ctx.standing.values())
    by_rule = floor.copy() if any(group.place for _, group in groups) else None
    by_hand = {name: _place_by_hand(ctx, floor, name, group) for name, group in groups}
    for name, group in groups:
        floor.servers[name] = _place_group(ctx, floor, name, group, by_hand[name])
    if by_rule is not None and not ctx.failed():
        _tell_of_driven_out(ctx, floor, by_rule, by_hand)


def _tell_of_driven_out(
    ctx: Context, floor: Floor, by_rule: Floor, by_hand: Mapping[str, Mapping[int, tuple[str, int, int]]]
) -> None:
    """Tell of servers put by hand into a place that another server would have, which then stands elsewhere. Findings: PLC007."""
    owners: dict[str, list[tuple[str, int, int]]] = defaultdict(list)
    moved = 0
    # With findings of its own: that not all fit by the rule alone may be why some were put by hand.
    trial = Context(ctx.cluster, ctx.catalogue, ctx.facts, servers=ctx.servers, standing=ctx.standing, phase=ctx.phase)
    for name in by_hand:
        seats = _place_group(trial, by_rule, name, ctx.cluster.servers[name], {})
        for number, (seat, place) in enumerate(zip(seats, floor.servers[name], strict=False), 1):
            owners[seat.rack].append((format_server(name, number), seat.u, seat.height_u))
            moved += number not in by_hand[name] and (seat.rack, seat.u) != (place.rack, place.u)
    put = {format_server(name, number) for name, placed in by_hand.items() for number in placed}
    for name, placed in by_hand.items():
        height = ctx.servers[name].height_u
        for number, (rack, u, turn) in placed.items():
            own = format_server(name, number)
            taken = [owner for owner, low, units in owners[rack] if low < u + height and u < low + units and owner not in put]
            if not taken:
                continue
            free = floor.racks[rack].lowest(height)
            ctx.report(
                "PLC007",
                f"servers.{name}.place.{turn - 1}",
                f"{own} is put where {' and '.join(taken)} would stand; servers that give way: {moved}",
                expected="a place that is free" + (f", such as U{free} of {rack}" if free else ""),
                actual=f"U{u} of {rack}",
                fix="choose a free place if these servers stand already, or leave it where nothing is built yet",
                severity="warning",
            )


def _place_by_hand(ctx: Context, floor: Floor, name: str, group: ServerGroup) -> dict[int, tuple[str, int, int]]:
    """Return (rack, u, turn) of the servers put by hand, by number; the turn is the place in the list, from 1."""
    placed: dict[int, tuple[str, int, int]] = {}
    height = ctx.servers[name].height_u
    for index, item in enumerate(group.place):
        where = f"servers.{name}.place.{index}"
        space = floor.racks.get(item.rack)
        if space is None:
            continue  # the intent's own checks name it (INT017)
        if space.rack.blocked or item.u + height - 1 > space.rack.height_u:
            _refuse(ctx, where, item, space, height)
        elif not space.free(item.u, height):
            ctx.report(
                "PLC002",
                where,
                f"U{item.u} to U{item.u + height - 1} of {item.rack} are already occupied",
                expected=f"{height} free rack units",
                actual=f"free from U{space.lowest(height)}" if space.lowest(height) else "none free",
                fix=f"set u to {space.lowest(height)}" if space.lowest(height) else "choose another rack",
            )
        else:
            space.by_hand |= ((1 << height) - 1) << item.u
            placed[item.number] = (item.rack, item.u, index + 1)
            if space.rack.group != group.racks:
                ctx.report(
                    "PLC004",
                    f"{where}.rack",
                    f"{item.rack} is not of the rack group of {name}",
                    expected=f"a rack of {group.racks}",
                    actual=f"{item.rack} of {space.rack.group}",
                    fix="check that it is meant; the reason given is printed with the server",
                    severity="warning",
                )
    return placed


def _refuse(ctx: Context, where: str, item: Placement, space: Space, height: int) -> None:
    blocked = space.rack.blocked
    ctx.report(
        "PLC003",
        where,
        f"{item.rack} is blocked: {space.rack.reason}" if blocked else f"{item.rack} ends at U{space.rack.height_u}",
        expected="a rack that is not blocked" if blocked else f"u <= {space.rack.height_u - height + 1} for {height} U",
        actual=item.rack if blocked else f"U{item.u} to U{item.u + height - 1}",
        fix="choose another rack" if blocked else f"set u to {space.rack.height_u - height + 1} or lower",
    )


def _place_group(
    ctx: Context, floor: Floor, name: str, group: ServerGroup, by_hand: dict[int, tuple[str, int, int]]
) -> list[Place]:
    planned = group.final_count
    height = ctx.servers[name].height_u
    spaces = floor.groups.get(group.racks, [])
    standing = [ctx.standing.get(format_server(name, number)) for number in range(1, planned + 1)]
    if group.per_rack:
        for place in standing:
            if place is not None and place.home:
                space = floor.racks[place.home]
                space.owner, space.held = name, space.held + 1
    ways = (_fill(part, name, height, group.per_rack) if group.per_rack else _deal(part, height) for part in _by_phase(spaces))
    seats = chain.from_iterable(ways)
    placed: list[Place] = []
    for number, stands in enumerate(standing, 1):
        rack, u, turn = by_hand.get(number, ("", 0, 0))
        if stands is not None:
            home, home_u = stands.home, stands.home_u
        else:
            home, home_u = _find_home(seats, spaces) if rack else next(seats, ("", 0))
        if not rack:
            rack, u = home, home_u
        if not rack:
            have = len([s for s in spaces if not group.per_rack or s.owner in {"", name}])
            ctx.report(
                "PLC001",
                f"servers.{name}.{'planned' if group.planned else 'count'}",
                f"rack group {group.racks} has room for {number - 1} of {planned} servers of {name}",
                expected=f"<= {number - 1} servers of {height} U in {have} racks"
                + (f", {group.per_rack} per rack" if group.per_rack else ""),
                actual=str(planned),
                fix=f"{_advise_racks(ctx, group.racks, _count_racks(ctx, group, height, planned - number + 1))}; or raise "
                "per_rack, or plan fewer servers",
            )
            break
        phase = stands.phase if stands else ctx.phase
        placed.append(Place(rack, u, height, phase, home, home_u, turn))
    return placed


def _count_racks(ctx: Context, group: ServerGroup, height: int, servers: int) -> int:
    """Return the empty racks that servers want, each with an out-of-band leaf at its top."""
    fitting = (ctx.cluster.racks.groups[group.racks].height_u - 1) // height
    return ceil(servers / max(1, min(group.per_rack or fitting, fitting)))


def _advise_racks(ctx: Context, group: str, more: int) -> str:
    """Return how racks are added to a group: as a further number of its last row, behind those of earlier phases."""
    row = ctx.cluster.racks.groups[group].rows[-1]
    phases = list(ctx.cluster.racks.rows[row].phases)
    racks = [*phases, *[0] * (count_phases(ctx.cluster) - 1 - len(phases)), min(more, MOST_RACKS)]
    way = f"add racks to the group's rows, as racks.rows.{row}.racks: {racks}"
    return f"{way}: what stands keeps its racks, where a plain {sum(racks)} deals all anew" if len(racks) == 2 else way


def _find_home(seats: Iterator[tuple[str, int]], spaces: list[Space]) -> tuple[str, int]:
    """Return the seat that a server would have, were none put by hand: it stays empty, so that its neighbors keep theirs."""
    by_hand = [space.by_hand for space in spaces]
    for space in spaces:
        space.by_hand = 0
    seat = next(seats, ("", 0))
    for space, units in zip(spaces, by_hand, strict=True):
        space.by_hand = units
    return seat


def _fill(spaces: list[Space], owner: str, height: int, per_rack: int) -> Iterator[tuple[str, int]]:
    for space in spaces:
        while space.owner in {"", owner} and space.held < per_rack and (u := space.lowest(height)) is not None:
            space.owner, space.held = owner, space.held + 1
            yield space.rack.name, space.take(u, height)


def _deal(spaces: list[Space], height: int) -> Iterator[tuple[str, int]]:
    while True:
        found = False
        for space in spaces:
            u = space.lowest(height)
            if u is not None:
                found = True
                yield space.rack.name, space.take(u, height)
        if not found:
            return


def reserve_tops(floor: Floor, names: Iterable[str], height: int) -> dict[str, int]:
    """Keep the top of racks for their own out-of-band leaf; return its lowest unit by rack."""
    tops: dict[str, int] = {}
    for name in names:
        space = floor.racks[name]
        u = space.highest(height)
        if u is not None:
            tops[name] = space.take(u, height)
    return tops


def place_switch(
    ctx: Context, floor: Floor, name: str, group: str, height: int, where: str, racks: list[str] | None = None
) -> tuple[str, int]:
    """Place a switch at the top of the next rack of a group (or of `racks`), in turn. Errors: PLC001.

    Returns:
        (rack, lowest unit); ("", 0) where nothing is free.
    """
    stands = ctx.standing.get(name)
    if stands is not None:
        return stands.rack, stands.u
    every = [floor.racks[rack] for rack in racks] if racks else floor.groups.get(group, [])
    for spaces in _by_phase(every) if racks else floor.phases.get(group, []):
        key = (f"{group}/{racks[0]}" if racks else group, spaces[0].phase)
        turn = floor.turn.get(key, 0)
        for step in range(len(spaces)):
            space = spaces[(turn + step) % len(spaces)]
            u = space.highest(height)
            if u is not None:
                floor.turn[key] = (turn + step + 1) % len(spaces)
                return space.rack.name, space.take(u, height)
    if f"racks of {group}" in floor.full:
        return "", 0
    floor.full.add(f"racks of {group}")
    ctx.report(
        "PLC001",
        where,
        f"rack group {group} has no room left for the switches of {where.removesuffix('.racks')}",
        expected=f"{height} free rack units in one of {len(every)} racks",
        actual="none free",
        fix=f"{_advise_racks(ctx, group, len(every))}; or give the network another rack group",
    )
    return "", 0
