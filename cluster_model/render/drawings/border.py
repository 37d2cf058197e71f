"""The border of the business network: its leafs beside the others, and below them the external peers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cluster_model.plan.model import Plan, Switch
from cluster_model.plan.model.overlay import BorderPeer
from cluster_model.render.drawings.shapes import Box, Words, fit, measure, sample
from cluster_model.render.drawings.style import format_count, kind_of_switch

PEERS = 5  # drawn: the first ones and the last
LEAF_W = 86.0
LEAST_W, MOST_W = 170.0, 250.0
ROW_H = 24.0
ROOM = 46.0  # between a border leaf and the first peer


@dataclass(frozen=True, slots=True)
class Border:
    """The border's shapes. `lines` are path data from border leafs to the first peer; `bottom` is px from the top."""

    leafs: tuple[Box, ...]  # in the order of the switches
    boxes: tuple[Box, ...]
    words: tuple[Words, ...]
    panels: tuple[Box, ...]
    lines: tuple[str, ...]
    bottom: float


def measure_border(plan: Plan, borders: Sequence[Switch]) -> float:
    """Return the width that a border needs, px; 0 where there is none."""
    if not borders:
        return 0.0
    widest = max((measure(_name_peer(peer), 11) for peer in plan.border_peers), default=0.0) + 34
    return max(LEAF_W * len(borders), min(max(widest, LEAST_W), MOST_W))


def lay_out_border(plan: Plan, borders: Sequence[Switch], x: float, y: float, height: float) -> Border:
    """Place border leafs from `x` on at `y`, each `height` px high, and their external peers in rows below."""
    width = measure_border(plan, borders)
    step = width / len(borders)
    leafs = tuple(
        Box(x + number * step + 4, y, step - 8, height, kind_of_switch(leaf).css, _label(leaf, step - 12), _describe(leaf))
        for number, leaf in enumerate(borders)
    )
    boxes: list[Box] = []
    words: list[Words] = []
    panels: list[Box] = []
    lines: list[str] = []
    top = row = y + height + ROOM
    shown, left_out = sample(plan.border_peers, PEERS)
    for number, peer in enumerate(shown):
        if left_out and number == len(shown) - 1:
            words.append(Words(x + width / 2, row + 11, "muted t10 mid", f"… {left_out:,} more …"))
            row += 16
        panels.append(Box(x + 1, row, width - 2, ROW_H - 4, "server", "", ""))
        boxes.append(Box(x + 1, row, 4, ROW_H - 4, "k-ext", "", _describe_peer(peer)))
        words.append(Words(x + width / 2, row + 14, "ink t11 mid", fit(_name_peer(peer), width - 30, 11)))
        for leaf, box in zip(borders, leafs, strict=True):
            ports = [external for external in (leaf.overlay.externals if leaf.overlay else ()) if external.peer == peer.name]
            if not ports:
                continue
            # At the outer edges of the border leafs, where no letters are.
            dot = box.x + 10 if box is leafs[0] else box.x + box.width - 10
            title = ", ".join(f"{leaf.name} {port.port} {port.address} to {peer.name} {port.peer_address}" for port in ports)
            boxes.append(Box(dot - 4.5, row + 5.5, 9, 9, box.css, "", title))
            if number == 0:
                lines.append(f"M{dot:g} {y + height:g}L{dot:g} {row + 5.5:g}")
        row += ROW_H
    caption = f"border · {format_count(len(plan.border_peers), 'external peer')}"
    models = ", ".join(dict.fromkeys(f"{leaf.model.rpartition('/')[2]}, {leaf.nos}" for leaf in borders))
    words.append(Words(x + width / 2, row + 12, "ink t11 b mid", fit(caption, width, 11, is_bold=True)))
    words.append(Words(x + width / 2, row + 26, "muted t10 mid", fit(models, width, 10)))
    panels.append(Box(x - 5, top - 6, width + 10, row - top + 40, "unit", "", ""))
    return Border(leafs, tuple(boxes), tuple(words), tuple(panels), tuple(lines), row + 36)


def _label(leaf: Switch, width: float) -> str:
    label = leaf.name.removeprefix(f"{leaf.network}-")
    return label if measure(label, 11, is_bold=True) <= width else label.rpartition("-")[2]


def _describe(leaf: Switch) -> str:
    return f"{leaf.name} · {leaf.model} · {leaf.rack} U{leaf.u} · AS {leaf.asn}"


def _name_peer(peer: BorderPeer) -> str:
    return f"{peer.name} · AS {peer.asn}"


def _describe_peer(peer: BorderPeer) -> str:
    return f"{peer.name} · AS {peer.asn}" + (f" · {peer.description}" if peer.description else "")
