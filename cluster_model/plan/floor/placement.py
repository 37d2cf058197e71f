"""Where everything stands: servers from the bottom of their racks, switches from the top.

All planned devices are placed, built or not, so that growth within the plan moves nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from cluster_model.intent.model.servers import Placement, ServerGroup
from cluster_model.intent.model.site import RackGroup
from cluster_model.names import format_rack
from cluster_model.plan.context import Context
from cluster_model.plan.model import Rack


@dataclass(slots=True)
class Space:
    """A rack being filled. `used` has a bit per rack unit; bit 1 is the lowest."""

    rack: Rack
    used: int = 0
    owner: str = ""

    def free(self, u: int, height: int) -> bool:
        """Return whether `height` units from `u` up are free and inside the rack."""
        return u >= 1 and u + height - 1 <= self.rack.height_u and not self.used & (((1 << height) - 1) << u)

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
    turn: dict[str, int] = field(default_factory=dict)
    servers: dict[str, list[tuple[str, int]]] = field(default_factory=dict)  # group → (rack, u) of server 1, 2, …
    full: set[str] = field(default_factory=set)  # tiers and rack groups already reported as not fitting


def plan_racks(ctx: Context) -> Floor:
    """Return the empty floor, rows in the order of their ids."""
    racks = ctx.cluster.racks
    member = {row: name for name, group in sorted(racks.groups.items()) for row in group.rows}
    floor = Floor(groups={name: [] for name in racks.groups})
    for row_name, row in sorted(racks.rows.items(), key=lambda item: item[1].id):
        group_name = member.get(row_name)
        if group_name is None:
            continue
        for position in range(1, row.racks + 1):
            rack = _rack(ctx, row_name, row.id, position, group_name, racks.groups[group_name])
            space = floor.racks[rack.name] = Space(rack)
            if not rack.blocked:
                floor.groups[group_name].append(space)
    return floor


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
    """Place every planned server: those put by hand first, then by rule. Errors: PLC001, PLC002, PLC003, PLC004."""
    groups = sorted(ctx.cluster.servers.items(), key=lambda item: item[1].id)
    by_hand = {name: _place_by_hand(ctx, floor, name, group) for name, group in groups}
    for name, group in groups:
        floor.servers[name] = _place_group(ctx, floor, name, group, by_hand[name])


def _place_by_hand(ctx: Context, floor: Floor, name: str, group: ServerGroup) -> dict[int, tuple[str, int]]:
    placed: dict[int, tuple[str, int]] = {}
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
            placed[item.number] = (item.rack, space.take(item.u, height))
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
    ctx: Context, floor: Floor, name: str, group: ServerGroup, by_hand: dict[int, tuple[str, int]]
) -> list[tuple[str, int]]:
    planned = group.final_count
    height = ctx.servers[name].height_u
    spaces = floor.groups.get(group.racks, [])
    seats = _fill(spaces, name, height, group.per_rack) if group.per_rack else _deal(spaces, height)
    placed: list[tuple[str, int]] = []
    for number in range(1, planned + 1):
        if number in by_hand:
            placed.append(by_hand[number])
            if group.per_rack:
                next(seats, None)  # its seat stays empty, so that its neighbours stand where they would
            continue
        seat = next(seats, None)
        if seat is None:
            have = len([s for s in spaces if not group.per_rack or s.owner in {"", name}])
            ctx.report(
                "PLC001",
                f"servers.{name}.{'planned' if group.planned else 'count'}",
                f"rack group {group.racks} has room for {number - 1} of {planned} servers of {name}",
                expected=f"<= {number - 1} servers of {height} U in {have} racks"
                + (f", {group.per_rack} per rack" if group.per_rack else ""),
                actual=str(planned),
                fix="add racks to the group's rows, raise per_rack, or plan fewer servers",
            )
            break
        placed.append(seat)
    return placed


def _fill(spaces: list[Space], owner: str, height: int, per_rack: int) -> Iterator[tuple[str, int]]:
    for space in spaces:
        if space.owner:
            continue
        for _ in range(per_rack):
            u = space.lowest(height)
            if u is None:
                break
            space.owner = owner
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
    ctx: Context, floor: Floor, group: str, height: int, where: str, racks: list[str] | None = None
) -> tuple[str, int]:
    """Place a switch at the top of the next rack of a group (or of `racks`), in turn. Errors: PLC001.

    Returns:
        (rack, lowest unit); ("", 0) where nothing is free.
    """
    spaces = [floor.racks[name] for name in racks] if racks else floor.groups.get(group, [])
    key = f"{group}/{racks[0]}" if racks else group
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
        expected=f"{height} free rack units in one of {len(spaces)} racks",
        actual="none free",
        fix="add racks to the group's rows, or give the network another rack group",
    )
    return "", 0
