"""Rack elevations: what stands where, and what each rack draws. Pure layout; the template turns boxes into SVG."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cluster_model.plan.model import Plan, Rack, RackPower, Server, Switch
from cluster_model.render.drawings.style import KINDS, Kind, format_count, format_kw, format_power, kind_of_server, kind_of_switch

U = 8.0  # height of one rack unit, px
RACK_W = 104.0
GAP = 10.0
MARGIN = 34.0
PDU_W = 5.0
PER_LINE = 16
MAX_RACKS = 200
PLANNED = " · planned, not built yet"
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
    is_planned: bool = False  # not built yet


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
    is_planned: bool = False  # holds nothing that is built
    planned_width: float = 0.0  # of what it will draw more, behind the load; 0: nothing more is planned


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
    planned: str = ""  # what the dashed outlines mean; empty where there are none


@dataclass(frozen=True, slots=True)
class _Device:
    name: str
    model: str
    u: int
    height_u: int
    kind: Kind
    is_planned: bool = False


@dataclass(frozen=True, slots=True)
class _Stock:
    """What racks hold: that of the plan, and, where a grown plan has more, what is added to it."""

    racks: tuple[Rack, ...]
    built: frozenset[str]  # names of racks
    devices: dict[str, list[_Device]]
    feeds: Counter[str]
    planned_feeds: Counter[str]
    power: dict[str, RackPower]
    planned_power: dict[str, RackPower]


def lay_out_racks(plan: Plan, grown: Plan | None = None) -> Racks:
    """Place every rack, or above MAX_RACKS one of each kind.

    Racks are of a kind when they are as high and hold as many devices of every model, built and planned.

    Args:
        plan: the plan.
        grown: the plan once everything planned is built; racks and devices that only it has are marked as planned.
    """
    stock = _take_stock(plan, grown)
    lines: list[tuple[str, str, list[tuple[Rack, str]]]] = []
    if len(stock.racks) <= MAX_RACKS:
        for row, members in _by_row(stock.racks).items():
            groups = ", ".join(dict.fromkeys(rack.group for rack in members))
            lines.append((f"Row {row}", f"{_count_racks(members, stock.built)} · {groups}", [(rack, "") for rack in members]))
    else:
        lines = _sample(stock)
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
                _draw(rack, words, (x + index * step, y + 44 + top), stock) for index, (rack, words) in enumerate(part)
            )
            placed.append(Line(x, y, title if not start else f"{title}, continued", note if not start else "", elevations))
            x += len(part) * step
            right = max(right, x)
            x += 0.4 * step
    used = {box.css for line in placed for rack in line.racks for box in rack.boxes}
    note = "" if sampled == len(stock.racks) else f" · drawn: one rack of each of {sampled} kinds"
    total = f"{format_count(len(plan.racks), 'rack')} · {format_power(plan.power_w)} at most{note}"
    return Racks(
        width=right - GAP + MARGIN,
        height=y + depth + 108,
        title=f"{plan.name}: racks",
        note=total,
        lines=tuple(placed),
        legend=_lay_out_legend([kind for kind in KINDS.values() if kind.css in used]),
        planned=_word_planned(grown, stock) if grown is not None else "",
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


def _count_racks(racks: Sequence[Rack], built: frozenset[str]) -> str:
    standing = sum(rack.name in built for rack in racks)
    if standing == len(racks):
        return format_count(standing, "rack")
    return f"{format_count(standing, 'rack')}, {len(racks) - standing:,} planned" if standing else f"{len(racks):,} planned"


def _word_planned(grown: Plan, stock: _Stock) -> str:
    ghosts = sum(device.is_planned for devices in stock.devices.values() for device in devices)
    more = len(stock.racks) - len(stock.built)
    counts = format_count(ghosts, "device") + (f" and {format_count(more, 'more rack')}" if more else "")
    power = format_power(grown.power_w)
    return f"dashed: planned, not built yet: {counts}, {power} at most in all; →: draw now, and with what is planned"


def _take_stock(plan: Plan, grown: Plan | None) -> _Stock:
    devices: defaultdict[str, list[_Device]] = defaultdict(list)
    known: set[str] = set()
    for source in (plan, grown) if grown is not None else (plan,):
        found: list[tuple[Server | Switch, Kind]] = [(server, kind_of_server(server)) for server in source.servers]
        found += [(switch, kind_of_switch(switch)) for switch in source.switches]
        for item, kind in found:
            if item.name not in known:
                devices[item.rack].append(_Device(item.name, item.model, item.u, item.height_u, kind, source is grown))
        known.update(item.name for item, _ in found)
    last = grown if grown is not None else plan
    return _Stock(
        racks=last.racks,
        built=frozenset(rack.name for rack in plan.racks),
        devices=devices,
        feeds=Counter(pdu.rack for pdu in plan.pdus),
        planned_feeds=Counter(pdu.rack for pdu in last.pdus),
        power={entry.rack: entry for entry in plan.power},
        planned_power={entry.rack: entry for entry in last.power},
    )


def _sample(stock: _Stock) -> list[tuple[str, str, list[tuple[Rack, str]]]]:
    """Return one rack of each kind, the commonest first, with how many are like it."""
    kinds: defaultdict[object, list[Rack]] = defaultdict(list)
    for rack in stock.racks:
        held = tuple(sorted((d.model, d.kind.css, d.is_planned) for d in stock.devices.get(rack.name, ())))
        kinds[rack.group, rack.height_u, rack.blocked, held].append(rack)
    chosen = sorted(kinds.values(), key=lambda racks: -len(racks))
    kept = [(racks[0], f"{len(racks):,} such" if len(racks) > 1 else "") for racks in chosen[: PER_LINE * 3]]
    rest = sum(len(racks) for racks in chosen[PER_LINE * 3 :])
    left_out = f"; {rest:,} racks of rarer kinds are not drawn" if rest else ""
    note = f"each stands for the racks that hold as many of every model, the commonest first{left_out}"
    return [("Kinds of rack", note, kept)]


def _draw(rack: Rack, words: str, floor: tuple[float, float], stock: _Stock) -> Elevation:
    height = rack.height_u * U
    boxes = [_draw_device(device, rack, height) for device in stock.devices.get(rack.name, ())]
    for feed in range(stock.planned_feeds[rack.name]):
        side = 2.0 + feed // 2 * (PDU_W + 1) if feed % 2 == 0 else RACK_W - PDU_W - 2.0 - feed // 2 * (PDU_W + 1)
        is_planned = feed >= stock.feeds[rack.name]
        title = f"{rack.pdu} · feed {feed + 1}{PLANNED if is_planned else ''}"
        boxes.append(Box(side, 8, PDU_W, height - 16, KINDS["pdu"].css, "", "", title, 0, is_tall=False, is_planned=is_planned))
    power, later = stock.power.get(rack.name), stock.planned_power.get(rack.name)
    load, limit = (power.load_w, power.limit_w) if power else (0.0, rack.power_w)
    share = load / limit if limit else 0.0
    state = "ok"
    if power is not None:
        is_tight = power.feed_lost_load_w > power.feed_limit_w or power.gpu_cap_feed_lost_w > 0
        state = "bad" if not power.fits else "warn" if is_tight else "ok"
    capped = f" · GPUs at {power.gpu_cap_feed_lost_w} W with a feed lost" if power and power.gpu_cap_feed_lost_w else ""
    drawn, more = format_kw(load), ""
    planned_w = later.load_w if later is not None and later.load_w > load else 0.0
    if planned_w:
        drawn, more = f"{drawn} → {format_kw(planned_w)}", f" · {format_kw(planned_w)} kW with what is planned"
    is_standing = rack.name in stock.built
    return Elevation(
        x=floor[0],
        y=floor[1] - height,
        height=height,
        name=rack.name,
        note=words or ("" if is_standing else "planned"),
        boxes=tuple(boxes),
        ticks=tuple((height - unit * U + U / 2, unit) for unit in range(10, rack.height_u + 1, 10)),
        load=f"{drawn} / {limit / 1000:g} kW",
        load_width=round(min(share, 1.0) * RACK_W, 1),
        feed_x=round(min(rack.feed_w / limit, 1.0) * RACK_W, 1) if limit else 0.0,
        state=state,
        is_blocked=rack.blocked,
        title=rack.reason
        if rack.blocked
        else f"{rack.name}: {format_kw(load)} of {limit / 1000:g} kW, one feed {rack.feed_w / 1000:g} kW{capped}{more}",
        is_planned=not is_standing,
        planned_width=round(max(min(planned_w / limit, 1.0) - min(share, 1.0), 0.0) * RACK_W, 1) if limit else 0.0,
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
        title=f"{device.name} · {device.model} · {rack.name} {units}{PLANNED if device.is_planned else ''}",
        size=round(size, 1),
        is_tall=device.height_u >= 4,
        is_planned=device.is_planned,
    )
