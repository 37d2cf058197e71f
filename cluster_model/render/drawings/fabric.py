"""The fabrics: switches by tier, leafs coloured by rail, links as they are cabled. Pure layout; the template writes SVG.

What is too many to draw is left out between the first and the last, and the drawing says so.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from cluster_model.names import natural_key
from cluster_model.plan.model import Network, Plan, Server, ServerPort, Switch
from cluster_model.render.drawings.border import lay_out_border, measure_border
from cluster_model.render.drawings.shapes import Box, Path, Words, sample, wrap
from cluster_model.render.drawings.style import format_count, format_rate, kind_of_server, kind_of_switch

WIDTH = 1560.0
MARGIN = 34.0
LEFT = 190.0  # where boxes begin; words about a tier stand left of it
RIGHT = WIDTH - MARGIN - 30
MAX_LEAFS = 40
MAX_UPPER = 24
MAX_UNITS = 7
UNIT_W = 150.0  # what a unit's words need, px
SERVERS = 3  # drawn per unit: the first ones and the last
BOX_H = 26.0
MESH_H = {"compute": 150.0}
SMALL_MESH_H = 84.0
DROP_H = 46.0
ROW_H = 24.0
BORDER_GAP = 48.0  # between the last unit and the border leafs
HOMING = {
    "esi": "bonds on two leafs by EVPN multihoming",
    "mlag": "bonds on two leafs by MLAG",
    "single": "bonds on one leaf",
}
ISOLATION = {"vrf": "tenants apart by VRF", "pkeys": "tenants apart by partition key"}


@dataclass(frozen=True, slots=True)
class Fabric:
    """One network's panel."""

    y: float
    height: float
    boxes: tuple[Box, ...]
    words: tuple[Words, ...]
    paths: tuple[Path, ...]
    panels: tuple[Box, ...]


@dataclass(frozen=True, slots=True)
class Fabrics:
    """The whole drawing."""

    width: float
    height: float
    title: str
    note: str
    fabrics: tuple[Fabric, ...]
    rails: int


def lay_out_fabrics(plan: Plan) -> Fabrics:
    """Place every network's switches, the compute network first."""
    pairs = Counter((cable.a, cable.b) for cable in plan.cables if cable.kind in {"leaf_spine", "spine_core"})
    fabrics = []
    y = 96.0
    for network in plan.networks:
        switches = [switch for switch in plan.switches if switch.network == network.name]
        if switches:
            fabric = _Panel(plan, network, switches, pairs, y).build()
            fabrics.append(fabric)
            y += fabric.height + 22
    rails = 1 + max((rail for switch in plan.switches for rail in switch.rails), default=-1)
    counts = ((plan.gpus, "GPU"), (len(plan.switches), "switch"), (len(plan.cables), "cable"))
    note = " · ".join(format_count(number, word) for number, word in counts)
    return Fabrics(WIDTH, y + 12, f"{plan.name}: fabrics", note, tuple(fabrics), rails)


class _Panel:
    """Lays out one network, from the top tier down to the hosts."""

    def __init__(
        self, plan: Plan, network: Network, switches: Sequence[Switch], pairs: Counter[tuple[str, str]], y: float
    ) -> None:
        self.plan, self.network, self.pairs, self.top = plan, network, pairs, y
        self.mesh_h = MESH_H.get(network.name, SMALL_MESH_H)
        self.tiers = {role: [s for s in switches if s.role == role] for role in ("core", "spine", "leaf", "border")}
        self.boxes: list[Box] = []
        self.words: list[Words] = []
        self.panels: list[Box] = []
        self.paths: defaultdict[str, list[str]] = defaultdict(list)
        self.place: dict[str, Box] = {}

    def build(self) -> Fabric:
        """Return the panel."""
        y = self._write_head() + 8
        previous: Sequence[Switch] = ()
        for role in ("core", "spine"):
            if self.tiers[role]:
                self._draw_upper(role, y)
                self._write_tier(role, y)
                if previous:
                    self._draw_links(self.tiers[role], previous)
                previous = self.tiers[role]
                y += BOX_H + self.mesh_h
        units = self._group_leafs()
        bottom = self._draw_units(units, y)
        self._write_tier("leaf", y)
        if previous:
            self._draw_links([*self.tiers["leaf"], *self.tiers["border"]], previous)
        paths = tuple(Path(css, "".join(data)) for css, data in sorted(self.paths.items()))
        height = bottom - self.top + 14
        return Fabric(self.top, height, tuple(self.boxes), tuple(self.words), paths, tuple(self.panels))

    def _write_head(self) -> float:
        network = self.network
        facts = [network.technology if network.technology != "ethernet" else "", network.design]
        facts += [f"{network.host_speed_gbps}G to hosts"] if network.host_speed_gbps else []
        facts += [f"{format_count(network.planes, 'plane')}"] if network.planes > 1 else []
        facts += [f"{network.oversubscription:g}:1 at a full leaf"] if self.tiers["spine"] else ["leafs not connected"]
        facts += [f"bisection {format_rate(network.bisection_gbps)}"] if network.bisection_gbps else []
        facts += ["lossless"] if network.lossless else []
        facts += [HOMING[network.homing]] if network.homing else []
        facts += [ISOLATION[network.isolation]] if network.isolation in ISOLATION else []
        self.words.append(Words(MARGIN + 14, self.top + 27, "ink h2", network.name))
        text = " · ".join(fact for fact in facts if fact)
        self.words.append(Words(MARGIN + 24 + len(network.name) * 8.6, self.top + 27, "muted t12", text))
        return self.top + 48

    def _write_tier(self, role: str, y: float) -> None:
        """Say at the left what a tier is, and below it what leads down from the tier above."""
        switches = self.tiers[role]
        models = ", ".join(dict.fromkeys(switch.model.rpartition("/")[2] for switch in switches))
        self.words.append(Words(MARGIN + 14, y + 12, "ink t12 b", format_count(len(switches), role)))
        self.words.append(Words(MARGIN + 14, y + 26, "muted t10", models))
        above = {"leaf": "leaf_spine", "spine": "spine_core"}.get(role, "")
        cables = self.network.cables.get(above, 0)
        if cables and (self.tiers["spine"] if role == "leaf" else self.tiers["core"]):
            self.words.append(Words(MARGIN + 14, y - self.mesh_h / 2 - 4, "muted t11", format_count(cables, "cable")))
            names = {switch.name for switch in (*switches, *(self.tiers["border"] if role == "leaf" else ()))}
            each = sorted({count for (lower, _), count in self.pairs.items() if lower in names})
            per_pair = f"{each[0]}" if len(each) == 1 else f"{each[0]} to {each[-1]}" if each else ""
            speed = f"{self.network.fabric_speed_gbps}G, {per_pair} to a pair" if per_pair else ""
            self.words.append(Words(MARGIN + 14, y - self.mesh_h / 2 + 10, "muted t10", speed))
        if role == "leaf" and self.network.name != "oob":
            hosts = self.network.cables["host_leaf"]
            self.words.append(Words(MARGIN + 14, y + BOX_H + DROP_H - 8, "muted t11", f"{format_count(hosts, 'host cable')}"))
            if peer_links := self.network.peer_link_cables:
                self.words.append(Words(MARGIN + 14, y + BOX_H + DROP_H + 6, "muted t10", format_count(peer_links, "peer link")))

    def _draw_upper(self, role: str, y: float) -> None:
        """Draw spines or cores, plane by plane and group by group, with room between groups."""
        switches = self.tiers[role]
        shown, left_out = sample(switches, MAX_UPPER)
        groups: defaultdict[tuple[int, int], list[Switch]] = defaultdict(list)
        for switch in shown:
            groups[switch.plane, switch.pod].append(switch)
        slots = len(shown) + 0.6 * (len(groups) - 1) + (2 if left_out else 0)
        step = min((RIGHT - LEFT) / slots, 110.0)
        x = LEFT + ((RIGHT - LEFT) - step * slots) / 2
        drawn = 0
        for members in groups.values():
            for switch in members:
                if left_out and drawn == len(shown) - 1:
                    self.words.append(Words(x + step, y + 17, "muted t11 mid", f"… {left_out:,} more …"))
                    x += 2 * step
                self._add(
                    switch, Box(x + 3, y, step - 6, BOX_H, kind_of_switch(switch).css, short_label(switch), describe(switch))
                )
                x += step
                drawn += 1
            x += 0.6 * step

    def _group_leafs(self) -> list[list[Switch]]:
        """Return leafs by unit; where there are none (out-of-band), all in one."""
        units: defaultdict[int, list[Switch]] = defaultdict(list)
        for leaf in self.tiers["leaf"]:
            units[leaf.unit if self.network.name != "oob" else 0].append(leaf)
        return [sorted(unit, key=lambda leaf: (leaf.plane, leaf.index, natural_key(leaf.name))) for unit in units.values()]

    def _draw_units(self, units: list[list[Switch]], y: float) -> float:
        """Draw the leafs of the first units and the last, with their servers; return the bottom."""
        widest = max(len(unit) for unit in units)
        shown, left_out = (
            sample(units, max(1, min(MAX_UNITS, MAX_LEAFS // widest))) if widest <= MAX_LEAFS else (units[:1], len(units) - 1)
        )
        slots = sum(min(len(unit), MAX_LEAFS) + 0.7 for unit in shown) - 0.7 + (3.2 if left_out else 0)
        borders = self.tiers["border"]
        border_w = measure_border(self.plan, borders)
        room = RIGHT - LEFT - (border_w + BORDER_GAP if borders else 0)
        step = min(room / slots, 74.0)
        x = LEFT + (room - step * slots) / 2
        hosts = self._hosts_by_leaf()
        bottom = y + BOX_H
        for number, unit in enumerate(shown):
            if left_out and number == len(shown) - 1:
                self.words.append(Words(x + 1.25 * step, y + BOX_H + DROP_H + 30, "muted t11 mid", f"… {left_out:,} more …"))
                x += 3.2 * step
            bottom = max(bottom, self._draw_unit(unit, hosts, x, y, step))
            x += (min(len(unit), MAX_LEAFS) + 0.7) * step
        return max(bottom, self._draw_border(borders, x - 0.7 * step + BORDER_GAP, y)) if borders else bottom

    def _draw_border(self, borders: Sequence[Switch], x: float, y: float) -> float:
        border = lay_out_border(self.plan, borders, x, y, BOX_H)
        for switch, box in zip(borders, border.leafs, strict=True):
            self._add(switch, box)
        self.boxes += border.boxes
        self.words += border.words
        self.panels += border.panels
        self.paths["ln drop"] += border.lines
        return border.bottom

    def _draw_unit(self, unit: Sequence[Switch], hosts: dict[str, list[str]], x: float, y: float, step: float) -> float:
        leafs, left_out = sample(unit, MAX_LEAFS - 2 if len(unit) > MAX_LEAFS else MAX_LEAFS)
        start = x
        for number, leaf in enumerate(leafs):
            if left_out and number == len(leafs) - 1:
                self.words.append(Words(x + step, y + 17, "muted t11 mid", f"… {left_out:,} …"))
                x += 2 * step
            css = (
                f"r{leaf.rails[0] % 16}" if self.network.name == "compute" and len(leaf.rails) == 1 else kind_of_switch(leaf).css
            )
            gap = 2 if step < 40 else 3
            self._add(leaf, Box(x + gap, y, step - 2 * gap, BOX_H, css, leaf_label(leaf, step), describe(leaf)))
            x += step
        self._draw_peer_links(leafs)
        names = list(dict.fromkeys(name for leaf in unit for name in hosts.get(leaf.name, ())))
        if self.network.name == "oob" or not names:
            oob = "BMCs, PDUs, management ports of switches, provisioning ports of servers; a leaf is named by its (first) rack"
            caption = oob if self.network.name == "oob" else ""
            self.words.append(Words((start + x) / 2, y + BOX_H + 20, "muted t11 mid", caption))
            return y + BOX_H + 26
        servers = [self.plan.server(name) for name in names]
        servers.sort(key=lambda server: (-server.gpus, server.group, server.number))
        return self._draw_servers(servers, unit, (start, x), y + BOX_H + DROP_H)

    def _draw_peer_links(self, leafs: Sequence[Switch]) -> None:
        """Part the two leafs of an MLAG pair, and join them by a line per cable."""
        for near, far in pairwise(leafs):
            links = sum(port.use == "peer_link" and port.peer == far.name for port in near.ports)
            if not links:
                continue
            part = min(6.0, self.place[near.name].width * 0.12)
            left = replace(self.place[near.name], width=self.place[near.name].width - part)
            right = replace(self.place[far.name], x=self.place[far.name].x + part, width=self.place[far.name].width - part)
            for switch, box in ((near, left), (far, right)):
                self.boxes[self.boxes.index(self.place[switch.name])] = box
                self.place[switch.name] = box
            for link in range(links):
                y = left.y + BOX_H * (link + 1) / (links + 1)
                self.paths["ln drop"].append(f"M{left.x + left.width:g} {y:g}H{right.x:g}")

    def _draw_servers(self, servers: Sequence[Server], unit: Sequence[Switch], span: tuple[float, float], y: float) -> float:
        """Draw the first servers of a unit and the last. Every port has a dot under its leaf, and a line to it."""
        shown, left_out = sample(servers, SERVERS)
        left, right = span
        pitch = (right - left) * (1 + 0.7 / len(unit))
        width = max(right - left, min(UNIT_W, pitch - 14))
        left = (left + right - width) / 2
        top = y
        for number, server in enumerate(shown):
            if left_out and number == len(shown) - 1:
                self.words.append(Words(left + width / 2, y + 11, "muted t10 mid", f"… {left_out:,} more …"))
                y += 16
            ports = [port for port in server.ports if port.network == self.network.name]
            self.panels.append(Box(left + 1, y, width - 2, ROW_H - 4, "server", "", ""))
            self._draw_ports(server, ports, y, with_lines=number == 0)
            words = f"{server.name} · {server.model} · {server.rack} U{server.u}"
            self.boxes.append(Box(left + 1, y, 4, ROW_H - 4, kind_of_server(server).css, "", words))
            y += ROW_H
        groups = Counter(server.group for server in servers)
        counts = [f"{count} {group}" for group, count in groups.items()]
        head, below = [f"unit {unit[0].unit:02d}"] if unit[0].unit else [], wrap(counts, width + 6, 10)
        if len(groups) == 1:
            head += counts
            below = [f"{servers[0].name} … {servers[-1].name}" if len(servers) > 1 else servers[0].name]
        self.words.append(Words(left + width / 2, y + 12, "ink t11 b mid", " · ".join(head)))
        self.words += [Words(left + width / 2, y + 26 + 12 * line, "muted t10 mid", text) for line, text in enumerate(below)]
        y += 12 * (len(below) - 1)
        self.panels.append(Box(left - 5, top - 6, width + 10, y - top + 40, "unit", "", ""))
        return y + 36

    def _draw_ports(self, server: Server, ports: Sequence[ServerPort], y: float, with_lines: bool) -> None:
        seen: Counter[str] = Counter()
        total = Counter(port.peer for port in ports)
        self._draw_bonds(server, ports, y)
        for port in ports:
            leaf = self.place.get(port.peer)
            if leaf is None:
                continue
            x = leaf.middle + (seen[port.peer] - (total[port.peer] - 1) / 2) * 11
            seen[port.peer] += 1
            css = f"r{port.rail % 16}" if self.network.name == "compute" and port.rail >= 0 else leaf.css
            title = f"{server.name} {port.name} to {port.peer} {port.peer_port}"
            self.boxes.append(Box(x - 4.5, y + 5.5, 9, 9, css, "", title))
            if with_lines:
                self.paths[f"{line_css(css)} drop"].append(f"M{leaf.middle:g} {leaf.y + BOX_H:g}L{x:g} {y + 5.5:g}")

    def _draw_bonds(self, server: Server, ports: Sequence[ServerPort], y: float) -> None:
        """Join the ports of an LACP bond."""
        for bond in server.bonds:
            ends = [self.place[port.peer] for port in ports if port.name in bond.ports and port.peer in self.place]
            if len(ends) > 1:
                first, last = min(end.middle for end in ends), max(end.middle for end in ends)
                title = f"{server.name} {bond.name}: LACP over {', '.join(bond.ports)}"
                self.boxes.append(Box(first, y + 8.5, last - first, 3, ends[0].css, "", title))

    def _hosts_by_leaf(self) -> dict[str, list[str]]:
        hosts: defaultdict[str, list[str]] = defaultdict(list)
        for server in self.plan.servers:
            for port in server.ports:
                if port.network == self.network.name:
                    hosts[port.peer].append(server.name)
        return hosts

    def _draw_links(self, lower: Iterable[Switch], upper: Iterable[Switch]) -> None:
        above = [switch.name for switch in upper if switch.name in self.place]
        for switch in lower:
            if switch.name not in self.place:
                continue
            box = self.place[switch.name]
            css = line_css(box.css)
            for name in above:
                if self.pairs.get((switch.name, name)):
                    top = self.place[name]
                    self.paths[f"{css} mesh"].append(f"M{box.middle:g} {box.y:g}L{top.middle:g} {top.y + BOX_H:g}")

    def _add(self, switch: Switch, box: Box) -> None:
        self.boxes.append(box)
        self.place[switch.name] = box


def line_css(css: str) -> str:
    """Return the class of a line that leads to a box: the rail's colour, or grey."""
    return f"l{css[1:]}" if css[1:].isdigit() else "ln"


def short_label(switch: Switch) -> str:
    """Return the end of a switch's name, which tells it from its neighbours."""
    return switch.name.removeprefix(f"{switch.network}-{switch.role}-")


def leaf_label(leaf: Switch, width: float) -> str:
    """Return what fits on a leaf: its rail, or the end of its name."""
    if leaf.network == "compute" and len(leaf.rails) == 1:
        return f"rail {leaf.rails[0]}" if width >= 44 else f"r{leaf.rails[0]}"
    label = short_label(leaf)
    return label if width >= 6.2 * len(label) + 6 else label.rpartition("-")[2]


def describe(switch: Switch) -> str:
    """Return a switch in words."""
    return f"{switch.name} · {switch.model} · {switch.rack} U{switch.u}" + (f" · AS {switch.asn}" if switch.asn else "")
