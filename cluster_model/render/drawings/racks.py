"""Rack elevations: what stands where, and what each rack draws. Pure layout; the template turns boxes into SVG."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cluster_model.plan.model import Plan, Rack, RackPower
from cluster_model.render.drawings.style import KINDS, Kind, format_count, format_kw, format_power, kind_of_server, kind_of_switch

U = 8.0  # height of one rack unit, px
RACK_W = 104.0
GAP = 10.0
MARGIN = 34.0
PDU_W = 5.0
PER_LINE = 16
MAX_RACKS = 200
MIN_LINE = 7  # racks that a line is at least wide, so that the title fits


@dataclass(frozen=True, slots=True)
class Box:
    """A device: place in px below its rack's corner, and its words."""

    x: float
    y: float
    width: float
    height: float
    css: str
    name: str
    model: str
    title: str
    size: float  # of the name's letters, px; 0: no room
    is_tall: bool


@dataclass(frozen=True, slots=True)
class Elevation:
    """One rack; `stands_for` counts the racks like it where not all are drawn."""

    x: float
    y: float
    height: float
    name: str
    note: str
    boxes: tuple[Box, ...]
    ticks: tuple[tuple[float, int], ...]
    load: str
    load_width: float
    feed_x: float
    state: str
    is_blocked: bool
    title: str


@dataclass(frozen=True, slots=True)
class Line:
    """A line of racks with its title."""

    x: float
    y: float
    title: str
    note: str
    racks: tuple[Elevation, ...]


@dataclass(frozen=True, slots=True)
class Racks:
    """The whole drawing."""

    width: float
    height: float
    title: str
    note: str
    lines: tuple[Line, ...]
    legend: tuple[tuple[float, Kind], ...]


@dataclass(frozen=True, slots=True)
class _Device:
    name: str
    model: str
    u: int
    height_u: int
    kind: Kind


def lay_out_racks(plan: Plan) -> Racks:
    """Place every rack, or above MAX_RACKS one of each kind.

    Racks are of a kind when they are as high and hold as many devices of every model.
    """
    devices = _list_devices(plan)
    power = {entry.rack: entry for entry in plan.power}
    feeds: defaultdict[str, int] = defaultdict(int)
    for pdu in plan.pdus:
        feeds[pdu.rack] += 1
    lines: list[tuple[str, str, list[tuple[Rack, str]]]] = []
    if len(plan.racks) <= MAX_RACKS:
        for row, members in _by_row(plan.racks).items():
            groups = ", ".join(dict.fromkeys(rack.group for rack in members))
            lines.append((f"Row {row}", f"{format_count(len(members), 'rack')} · {groups}", [(rack, "") for rack in members]))
    else:
        lines = _sample(plan, devices)
    sampled = sum(len(racks) for _, _, racks in lines)
    step = RACK_W + GAP
    x, y, depth, right, placed = MARGIN, 116.0, 0.0, MARGIN + MIN_LINE * step, []
    for title, note, racks in lines:
        for start in range(0, len(racks), PER_LINE):
            part = racks[start : start + PER_LINE]
            top = max(rack.height_u for rack, _ in part) * U
            # Short rows of one height share a line.
            if x > MARGIN and (x + len(part) * step > MARGIN + PER_LINE * step or top != depth):
                x, y = MARGIN, y + depth + 104
            depth = top
            elevations = tuple(
                _draw(rack, words, (x + index * step, y + 44 + top), devices[rack.name], power.get(rack.name), feeds)
                for index, (rack, words) in enumerate(part)
            )
            placed.append(Line(x, y, title if not start else f"{title}, continued", note if not start else "", elevations))
            x += len(part) * step
            right = max(right, x)
            x += 0.4 * step
    used = {box.css for line in placed for rack in line.racks for box in rack.boxes}
    note = "" if sampled == len(plan.racks) else f" · drawn: one rack of each of {sampled} kinds"
    total = f"{format_count(len(plan.racks), 'rack')} · {format_power(plan.power_w)} at most{note}"
    return Racks(
        width=right - GAP + MARGIN,
        height=y + depth + 108,
        title=f"{plan.name}: racks",
        note=total,
        lines=tuple(placed),
        legend=_lay_out_legend([kind for kind in KINDS.values() if kind.css in used]),
    )


def _lay_out_legend(kinds: Sequence[Kind]) -> tuple[tuple[float, Kind], ...]:
    x, entries = MARGIN, []
    for kind in kinds:
        entries.append((x, kind))
        x += 28 + len(kind.words) * 5.8
    return tuple(entries)


def _by_row(racks: Iterable[Rack]) -> dict[str, list[Rack]]:
    rows: defaultdict[str, list[Rack]] = defaultdict(list)
    for rack in racks:
        rows[rack.row].append(rack)
    return dict(rows)


def _list_devices(plan: Plan) -> defaultdict[str, list[_Device]]:
    devices: defaultdict[str, list[_Device]] = defaultdict(list)
    for server in plan.servers:
        devices[server.rack].append(_Device(server.name, server.model, server.u, server.height_u, kind_of_server(server)))
    for switch in plan.switches:
        devices[switch.rack].append(_Device(switch.name, switch.model, switch.u, switch.height_u, kind_of_switch(switch)))
    return devices


def _sample(plan: Plan, devices: dict[str, list[_Device]]) -> list[tuple[str, str, list[tuple[Rack, str]]]]:
    """Return one rack of each kind, the commonest first, with how many are like it."""
    kinds: defaultdict[object, list[Rack]] = defaultdict(list)
    for rack in plan.racks:
        held = tuple(sorted((device.model, device.kind.css) for device in devices.get(rack.name, ())))
        kinds[rack.group, rack.height_u, rack.blocked, held].append(rack)
    chosen = sorted(kinds.values(), key=lambda racks: -len(racks))
    kept = [(racks[0], f"{len(racks):,} such" if len(racks) > 1 else "") for racks in chosen[: PER_LINE * 3]]
    rest = sum(len(racks) for racks in chosen[PER_LINE * 3 :])
    left_out = f"; {rest:,} racks of rarer kinds are not drawn" if rest else ""
    note = f"each stands for the racks that hold as many of every model, the commonest first{left_out}"
    return [("Kinds of rack", note, kept)]


def _draw(
    rack: Rack,
    words: str,
    floor: tuple[float, float],
    devices: Iterable[_Device],
    power: RackPower | None,
    feeds: dict[str, int],
) -> Elevation:
    height = rack.height_u * U
    boxes = [_draw_device(device, rack, height) for device in devices]
    for feed in range(feeds.get(rack.name, 0)):
        side = 2.0 + feed // 2 * (PDU_W + 1) if feed % 2 == 0 else RACK_W - PDU_W - 2.0 - feed // 2 * (PDU_W + 1)
        title = f"{rack.pdu} · feed {feed + 1}"
        boxes.append(Box(side, 8, PDU_W, height - 16, KINDS["pdu"].css, "", "", title, 0, is_tall=False))
    load, limit = (power.load_w, power.limit_w) if power else (0.0, rack.power_w)
    share = load / limit if limit else 0.0
    state = "ok"
    if power is not None:
        is_tight = power.feed_lost_load_w > power.feed_limit_w or power.gpu_cap_feed_lost_w > 0
        state = "bad" if not power.fits else "warn" if is_tight else "ok"
    capped = f" · GPUs at {power.gpu_cap_feed_lost_w} W with a feed lost" if power and power.gpu_cap_feed_lost_w else ""
    return Elevation(
        x=floor[0],
        y=floor[1] - height,
        height=height,
        name=rack.name,
        note=words,
        boxes=tuple(boxes),
        ticks=tuple((height - unit * U + U / 2, unit) for unit in range(10, rack.height_u + 1, 10)),
        load=f"{format_kw(load)} / {limit / 1000:g} kW",
        load_width=round(min(share, 1.0) * RACK_W, 1),
        feed_x=round(min(rack.feed_w / limit, 1.0) * RACK_W, 1) if limit else 0.0,
        state=state,
        is_blocked=rack.blocked,
        title=rack.reason
        if rack.blocked
        else f"{rack.name}: {format_kw(load)} of {limit / 1000:g} kW, one feed {rack.feed_w / 1000:g} kW{capped}",
    )


def _draw_device(device: _Device, rack: Rack, height: float) -> Box:
    inset = 10.0 if rack.feeds < 3 else 15.0
    width = RACK_W - 2 * inset
    box = device.height_u * U - 1
    # A letter of the sans face is about 0.55 em wide on the average of such names.
    size = min(11.0 if device.height_u > 3 else 8.4, box - 0.6, (width - 4) / (0.55 * len(device.name)))
    last = device.u + device.height_u - 1
    units = f"U{device.u}" if last == device.u else f"U{device.u}-{last}"
    return Box(
        x=inset,
        y=height - last * U + 0.5,
        width=width,
        height=box,
        css=device.kind.css,
        name=device.name,
        model=device.model.rpartition("/")[2],
        title=f"{device.name} · {device.model} · {rack.name} {units}",
        size=round(size, 1),
        is_tall=device.height_u >= 4,
    )
