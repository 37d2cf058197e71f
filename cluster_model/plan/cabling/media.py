"""What joins two cages: copper where it reaches, then active cables, then the shortest optics that do.

A cage has one transceiver and n ports. A cable with attached ends fills its cages whole, so it is used only where all ports
of a cage go the same way; it never ties two rails of a server together.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from math import ceil
from typing import Literal

from cluster_model.catalogue.ground import Technology
from cluster_model.catalogue.media_types import CableEnd, Media
from cluster_model.plan.context import Context
from cluster_model.plan.model import Rack
from cluster_model.plan.ports import End

RACK_UNIT_M = 0.04445  # EIA-310-D

Shape = Literal["single", "twin", "fan", "apart"]
"""How the ports of two cages meet: one port each; all ports of one to all of the other; one cage fanned out to several cages
of one port; or anyhow, so that only optics with a fibre per port fit."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A medium: `optic_*` are empty for attached cables; watts are of one end's whole cage."""

    medium: str
    length_m: float
    a_optic: str
    b_optic: str
    a_w: float
    b_w: float
    fec: str = ""


class Cabler:
    """Chooses media and lengths; remembers its choices, since a fabric has few kinds of them."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._media: Media = ctx.catalogue.media
        self._lengths = sorted(self._media.lengths_m)
        self._geometry = ctx.cluster.racks.geometry
        self._chosen: dict[tuple[object, ...], Choice | None] = {}
        self._refused: set[tuple[str, str]] = set()
        self._distances: dict[tuple[str, str], float] = {}

    def length(self, a: Rack, a_u: int, b: Rack, b_u: int) -> float:
        """Return the length a cable needs, m: up to the tray, along, across and down; inside a rack straight."""
        g = self._geometry
        if a.name == b.name:
            return abs(a_u - b_u) * RACK_UNIT_M + g.slack_m
        floor_m = self._distances.get((a.name, b.name))
        if floor_m is None:
            floor_m = abs(a.x_m - b.x_m) + abs(a.y_m - b.y_m) + 2 * g.tray_height_m + g.slack_m
            self._distances[a.name, b.name] = floor_m
        return floor_m + (a.height_u - a_u + b.height_u - b_u) * RACK_UNIT_M

    def order(self, need_m: float) -> float:
        """Return the shortest length that can be ordered and reaches, m."""
        index = bisect_left(self._lengths, need_m - 1e-9)
        return self._lengths[index] if index < len(self._lengths) else float(ceil(need_m))

    def choose(
        self, technology: Technology, shape: Shape, a: End, b: End, need_m: float, where: str, kin: frozenset[End] = frozenset()
    ) -> Choice | None:
        """Return the medium for a cable, or None with a finding (CAB001). Lengths are rounded up to what can be ordered.

        `kin` are near ends of other cables that meet far cages together with this one, so that all need one far transceiver.
        """
        length_m = self.order(need_m)
        key = (technology, shape, a, b, length_m, kin)
        if key not in self._chosen:
            attached = self._attached(technology, shape, a, b, length_m)
            self._chosen[key] = attached or self._optical(technology, a, b, length_m, kin | {a})
        choice = self._chosen[key]
        if choice is None:
            self._refuse(technology, a, b, length_m, where, kin)
        return choice

    def _refuse(self, technology: Technology, a: End, b: End, length_m: float, where: str, kin: frozenset[End]) -> None:
        """Report, once, the near end that nothing joins; or all of them where each alone could be joined."""
        ends = [a, *sorted(kin - {a}, key=str)]
        alone = [end for end in ends if self._optical(technology, end, b, length_m, frozenset({end})) is None]
        text = " and ".join(f"{end.form_factor} {end.mode}" for end in (alone[:1] or ends))
        if (where, f"{text}{b}") in self._refused:
            return
        self._refused.add((where, f"{text}{b}"))
        far = f"{b.form_factor} {b.mode}"
        key = "speed_gbps" if where.endswith(".leaf") else "fabric_speed_gbps"
        self._ctx.report(
            "CAB001",
            where,
            f"nothing joins {text} and {far} over {length_m:g} m" if alone else f"no transceiver of {far} meets both {text}",
            expected=f"a medium for {technology} that reaches {length_m:g} m",
            actual=self._nearest(technology, alone[0], b) if alone else "one transceiver per cage",
            fix=f"bring the racks nearer, set {key} to another speed, or add hardware to your own catalogue",
        )

    def _attached(self, technology: Technology, shape: Shape, a: End, b: End, length_m: float) -> Choice | None:
        if shape == "apart":
            return None
        found = []
        for name, cable in self._media.cables.items():
            if cable.reach_m < length_m or technology not in cable.technology:
                continue
            if (_fits(cable.a, a) and _fits(cable.b, b)) or (_fits(cable.a, b) and _fits(cable.b, a)):
                found.append((cable.kind == "aoc", cable.power_w, cable.reach_m, name))
        if not found:
            return None
        _, watts, _, name = min(found)
        return Choice(name, length_m, "", "", watts, watts, self._fec(technology, name))

    def _optical(self, technology: Technology, a: End, b: End, length_m: float, kin: frozenset[End]) -> Choice | None:
        """Return the optics for `a` and `b`: of the far transceivers that meet all `kin`, that of the least reach and power."""
        found = []
        for b_name in self._fitting(technology, b):
            pairs = {end: self._pair(technology, end, b_name, length_m) for end in kin}
            known = [pair for pair in pairs.values() if pair is not None]
            if len(known) == len(kin) and (own := pairs[a]) is not None:
                found.append((max(known), b_name, own[2]))
        if not found:
            return None
        _, b_name, a_name = min(found)
        left, right = self._media.transceivers[a_name], self._media.transceivers[b_name]
        fec = self._fec(technology, left.standard)
        return Choice(left.standard, length_m, a_name, b_name, left.power_w, right.power_w, fec)

    def _fec(self, technology: Technology, medium: str) -> str:
        return self._media.fec_of(medium) if technology == "ethernet" else ""

    def _fitting(self, technology: Technology, end: End) -> list[str]:
        return [
            name
            for name, optic in self._media.transceivers.items()
            if optic.form_factor == end.form_factor and end.mode in optic.modes and technology in optic.technology
        ]

    def _pair(self, technology: Technology, a: End, b_name: str, length_m: float) -> tuple[float, float, str] | None:
        """Return (reach m, watts of both, name) of the best near transceiver that meets a far one over a length."""
        right = self._media.transceivers[b_name]
        found = []
        for name in self._fitting(technology, a):
            left = self._media.transceivers[name]
            reach_m = min(left.reach_m, right.reach_m)
            if left.standard == right.standard and reach_m >= length_m:
                found.append((reach_m, left.power_w + right.power_w, name))
        return min(found, default=None)

    def _nearest(self, technology: Technology, a: End, b: End) -> str:
        reaches = [
            cable.reach_m
            for cable in self._media.cables.values()
            if technology in cable.technology
            and ((_fits(cable.a, a) and _fits(cable.b, b)) or (_fits(cable.a, b) and _fits(cable.b, a)))
        ]
        for left in self._media.transceivers.values():
            if left.form_factor != a.form_factor or a.mode not in left.modes or technology not in left.technology:
                continue
            reaches += [
                min(left.reach_m, right.reach_m)
                for right in self._media.transceivers.values()
                if right.standard == left.standard and right.form_factor == b.form_factor and b.mode in right.modes
            ]
        return f"the longest reaches {max(reaches):g} m" if reaches else "none fits both cages"


def _fits(end: CableEnd, cage: End) -> bool:
    return end.form_factor == cage.form_factor and end.mode == cage.mode
