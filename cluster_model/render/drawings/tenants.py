"""Who may speak to whom: a row per tenant, a rail per shared tenant and external peer, and a dot where two of them meet.

Pure layout; the template writes SVG. Lines are drawn from the plan's meetings, so what is not drawn or counted does not meet.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cluster_model.plan.model import Plan
from cluster_model.plan.model.overlay import BorderPeer, Meeting, Subnet, Tenant
from cluster_model.plan.tenancy.prefixes import word_filters
from cluster_model.render.drawings.shapes import Box, Dot, Path, Sheet, Words, fit, sample, wrap
from cluster_model.render.drawings.style import format_count

MARGIN = 34.0
TOP = 96.0
MAX_ROWS = 30  # tenants drawn: the first ones and the last
MAX_SHARED, MAX_PEERS = 5, 4
MAX_SUBNETS = 6  # of one tenant
MAX_BRACKETS = 8  # peerings beside each other
ROW_W = 440.0
RAIL_W, LEAST_RAIL_W = 250.0, 190.0
USUAL_W, LEAST_W = 1560.0, 960.0
RAIL_X = 20.0  # of a rail in its lane
LINE_H = 16.0
BRACKET_W = 14.0
SHARED_COLOURS = (4, 5, 6, 3, 7)
PEER_COLOURS = (0, 1, 2, 8)


@dataclass(frozen=True, slots=True)
class _Lane:
    """A provider's rail: px from the left, width of its lane, colour."""

    x: float
    width: float
    colour: int


def lay_out_tenants(plan: Plan) -> Sheet:
    """Place tenants, shared tenants and external peers, and every meeting of those that are shown."""
    return _Map(plan).build()


class _Map:
    """Lays out the drawing: brackets of peerings, rows of tenants, rails of shared tenants, rails of external peers."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.panels: list[Box] = []
        self.boxes: list[Box] = []
        self.dots: list[Dot] = []
        self.words: list[Words] = []
        self.lines: list[Path] = []
        by_vrf = {tenant.vrf: tenant.name for tenant in plan.tenants}
        by_peer_vrf = {peer.vrf: f"peer {peer.name}" for peer in plan.border_peers}
        self.meetings: list[tuple[str, str, Meeting]] = [
            ((by_peer_vrf if met.kind == "egress" else by_vrf)[met.provider], by_vrf[met.consumer], met) for met in plan.meetings
        ]
        peering = {name for one, other, met in self.meetings if met.kind == "peering" for name in (one, other)}
        asks = peering | {consumer for _, consumer, _ in self.meetings}
        tenants = [tenant for tenant in plan.tenants if not tenant.shared]
        # A shared tenant has a row of its own too where it asks something of others.
        tenants += [tenant for tenant in plan.tenants if tenant.shared and tenant.name in asks]
        self.rows, self.rows_out = sample(tenants, MAX_ROWS)
        self.shared, self.shared_out = sample([tenant for tenant in plan.tenants if tenant.shared], MAX_SHARED)
        self.peers, self.peers_out = sample(plan.border_peers, MAX_PEERS)
        self.place: dict[str, Box] = {}
        self.lanes: dict[str, _Lane] = {}

    def build(self) -> Sheet:
        """Return the drawing."""
        brackets, brackets_out = self._order_brackets()
        depth = 1 + max((lane for _, _, lane in brackets), default=-1)
        left = MARGIN + 16 + (depth * BRACKET_W + 10 if depth else 0)
        width, split = self._place_lanes(left + ROW_W + 44)
        foot = self._draw_heads() + 34
        bottom = self._draw_rows(left, foot)
        for name, lane in self.lanes.items():
            taps = [dot.y for dot in self.dots if dot.x == lane.x]
            top = self.place[f"head {name}"].y + self.place[f"head {name}"].height
            self.lines.insert(0, Path(f"l{lane.colour} rail", f"M{lane.x:g} {top:g}V{max(taps, default=top + 14):g}"))
        self._draw_brackets(brackets, left)
        height = bottom + 26
        inside = split - 8 if self.peers else width - MARGIN
        self.panels.insert(0, Box(MARGIN, TOP, inside - MARGIN, height - TOP, "panel", "", ""))
        self.words.append(Words(left, TOP + 26, "ink h2", "Tenants"))
        if self.shared:
            self.words.append(Words(left + ROW_W + 44, TOP + 26, "ink h2", "Shared" + _and_more(self.shared_out)))
        if self.peers:
            self.panels.insert(1, Box(split + 8, TOP, width - MARGIN - split - 8, height - TOP, "panel", "", ""))
            self.words.append(Words(split + 18, TOP + 26, "ink h2", "Beyond the border" + _and_more(self.peers_out)))
        if brackets_out:
            text = f"{format_count(brackets_out, 'peering')} more not drawn"
            self.words.append(Words(left, bottom + 12, "muted t10", text))
        counts = [format_count(len(self.plan.tenants), "tenant"), format_count(len(self.plan.meetings), "meeting")]
        note = " · ".join(counts) + " · a dot: the two reach each other, and what the tenant shows there; a bracket: peering"
        return Sheet(
            width=width,
            height=height + 24,
            title=f"{self.plan.name}: tenants",
            note=note,
            panels=tuple(self.panels),
            paths=tuple(self.lines),
            boxes=tuple(self.boxes),
            dots=tuple(self.dots),
            words=tuple(self.words),
        )

    def _place_lanes(self, x: float) -> tuple[float, float]:
        """Give every provider its lane from `x` on; return the drawing's width and where the border is, px."""
        count = len(self.shared) + len(self.peers)
        gap = 36.0 if self.peers else 0.0
        room = USUAL_W - MARGIN - x - gap - 12
        lane_w = min(RAIL_W, max(LEAST_RAIL_W, room / count)) if count else RAIL_W
        for number, tenant in enumerate(self.shared):
            self.lanes[tenant.name] = _Lane(x + RAIL_X, lane_w, SHARED_COLOURS[number])
            x += lane_w
        split = x + gap / 2
        x += gap
        for number, peer in enumerate(self.peers):
            self.lanes[f"peer {peer.name}"] = _Lane(x + RAIL_X, lane_w, PEER_COLOURS[number])
            x += lane_w
        return max(x + MARGIN + 12, LEAST_W), split

    # --- heads of rails -----------------------------------------------------------------------------------------------

    def _draw_heads(self) -> float:
        """Draw what each rail stands for; return the bottom of the highest box."""
        bottom = TOP + 44
        for tenant in self.shared:
            bottom = max(bottom, self._draw_head(tenant.name, tenant.name, self._describe_shared(tenant), tenant.where))
        for peer in self.peers:
            title = f"{peer.name} · {peer.description}" if peer.description else peer.name
            bottom = max(bottom, self._draw_head(f"peer {peer.name}", peer.name, self._describe_peer(peer), title))
        return bottom

    def _draw_head(self, key: str, name: str, lines: Sequence[tuple[str, str]], title: str) -> float:
        lane = self.lanes[key]
        x, y, width = lane.x - RAIL_X, TOP + 44, lane.width - 14
        height = 30 + 14 * len(lines) + 4
        box = Box(x, y, width, height, "server", "", title)
        self.boxes += [box, Box(x, y, width, 4, f"r{lane.colour}", "", title)]
        self.place[f"head {key}"] = box
        self.words.append(Words(x + 12, y + 22, "ink t12 b", fit(name, width - 24, 12, is_bold=True)))
        for number, (css, text) in enumerate(lines):
            self.words.append(Words(x + 12, y + 38 + 14 * number, f"{css} t10", fit(text, width - 18, 10)))
        return y + height

    def _describe_shared(self, tenant: Tenant) -> list[tuple[str, str]]:
        lines = [("muted", f"VRF {tenant.vrf} · VNI {tenant.vni}"), ("muted", _describe_means(tenant))]
        shown, left_out = sample(tenant.subnets, MAX_SUBNETS)
        for number, subnet in enumerate(shown):
            if left_out and number == len(shown) - 1:
                lines.append(("muted", f"… {left_out:,} more …"))
            inner = "" if subnet.visible else " · internal"
            lines.append(("ink" if subnet.visible else "muted", f"{subnet.name} {subnet.prefix} · VLAN {subnet.vlan}{inner}"))
        return lines

    def _describe_peer(self, peer: BorderPeer) -> list[tuple[str, str]]:
        width = self.lanes[f"peer {peer.name}"].width - 32
        lines = [("muted", f"AS {peer.asn} · VRF {peer.vrf}")]
        lines += [("muted", line) for line in wrap(peer.description.split(), width, 10, "") if line][:2]
        for word, filters in (("takes", peer.accept), ("tells", peer.announce)):
            wrapped = wrap(word_filters(filters), width - 26, 10)
            wrapped[0] = f"{word} {wrapped[0]}"
            lines += [("ink", line) for line in (wrapped if len(wrapped) < 4 else [*wrapped[:2], "…"])]
        lines.append(("muted", f"{peer.max_routes:,} routes at most" + (" · MD5" if peer.secret else "")))
        return lines

    # --- rows of tenants ----------------------------------------------------------------------------------------------

    def _draw_rows(self, x: float, y: float) -> float:
        """Draw tenants and their taps; return the bottom."""
        taps: defaultdict[str, list[tuple[str, Meeting]]] = defaultdict(list)
        for provider, consumer, met in self.meetings:
            if met.kind != "peering" and provider in self.lanes:
                taps[consumer].append((provider, met))
        for number, tenant in enumerate(self.rows):
            if self.rows_out and number == len(self.rows) - 1:
                self.words.append(Words(x + ROW_W / 2, y + 12, "muted t11 mid", f"… {self.rows_out:,} more tenants …"))
                y += 28
            bottom = self._draw_row(tenant, x, y)
            self._draw_taps(tenant, taps[tenant.name], x + ROW_W, y + 18)
            y = bottom + 14
        return y - 14

    def _draw_row(self, tenant: Tenant, x: float, y: float) -> float:
        shown, left_out = sample(() if tenant.shared else tenant.subnets, MAX_SUBNETS)
        height = 46 + LINE_H * (len(shown) + bool(left_out)) + (4 if shown else 0)
        box = Box(x, y, ROW_W, height, "server", "", f"{tenant.name} · route target {tenant.route_target}")
        self.boxes += [box, Box(x, y, 4, height, "k-gpu" if tenant.gpus > 0 else "k-srv", "", box.title)]
        self.place[tenant.name] = box
        end = x + ROW_W - 12
        self.words += [
            Words(x + 16, y + 20, "ink t12 b", fit(tenant.name, 180, 12, is_bold=True)),
            Words(end, y + 20, "muted t10 end", fit(f"tenant {tenant.id} · VRF {tenant.vrf} · VNI {tenant.vni}", 240, 10)),
            Words(x + 16, y + 36, "muted t10", fit(_describe_means(tenant), ROW_W - 30, 10)),
        ]
        y += 54
        for number, subnet in enumerate(shown):
            if left_out and number == len(shown) - 1:
                self.words.append(Words(x + 16, y, "muted t10", f"… {format_count(left_out, 'more subnet')} …"))
                y += LINE_H
            self._write_subnet(subnet, x, y, end)
            y += LINE_H
        return box.y + box.height

    def _write_subnet(self, subnet: Subnet, x: float, y: float, end: float) -> None:
        css = "ink" if subnet.visible else "muted"
        marks = [mark for mark in ("DHCP" if subnet.addressing == "dhcp" else "", "" if subnet.visible else "internal") if mark]
        self.words += [
            Words(x + 16, y, f"{css} t11", fit(subnet.name, 88, 11)),
            Words(x + 108, y, f"{css} t11 b" if subnet.visible else f"{css} t11", subnet.prefix),
            Words(x + 232, y, "muted t10", f"VLAN {subnet.vlan}"),
            Words(x + 300, y, "muted t10", f"VNI {subnet.vni}"),
            Words(end, y, "muted t10 end", " · ".join(marks)),
        ]

    def _draw_taps(self, tenant: Tenant, taps: Iterable[tuple[str, Meeting]], x: float, y: float) -> None:
        """Lead from a tenant to the rails that it meets, and say beside each what it shows there."""
        nat = {entry.peer: entry.prefix for entry in tenant.nat}
        last = x
        for provider, met in taps:
            lane = self.lanes[provider]
            outside = nat.get(provider.removeprefix("peer ")) if met.kind == "egress" else None
            prefixes = [line.prefix for line in met.returned]
            if outside:
                words = f"NAT {outside}"
            elif prefixes:
                words = f"shows {prefixes[0]}" + (f" and {len(prefixes) - 1} more" if len(prefixes) > 1 else "")
            else:
                words = "shows nothing"
            title = f"{tenant.name} and {provider}: takes {', '.join(word_filters(met.offered))}, {words}"
            self.dots.append(Dot(lane.x, y, f"r{lane.colour}", title))
            self.words.append(Words(lane.x + 11, y - 5, "ink t10", fit(words, lane.width - 26, 10)))
            last = max(last, lane.x)
        if last > x:
            self.lines.append(Path("ln drop", f"M{x:g} {y:g}H{last:g}"))

    # --- peerings -----------------------------------------------------------------------------------------------------

    def _order_brackets(self) -> tuple[list[tuple[int, int, int]], int]:
        """Return (upper row, lower row, place from the right) of each peering to be drawn, and how many are not."""
        rows = {tenant.name: number for number, tenant in enumerate(self.rows)}
        pairs = [(one, other) for one, other, met in self.meetings if met.kind == "peering"]
        spans = sorted(
            (tuple(sorted((rows[one], rows[other]))) for one, other in pairs if one in rows and other in rows),
            key=lambda span: (span[1] - span[0], span),
        )
        taken: list[list[tuple[int, int]]] = []
        drawn: list[tuple[int, int, int]] = []
        for upper, lower in spans:
            lane = next((n for n, held in enumerate(taken) if all(lower < a or upper > b for a, b in held)), len(taken))
            if lane >= MAX_BRACKETS:
                continue
            if lane == len(taken):
                taken.append([])
            taken[lane].append((upper, lower))
            drawn.append((upper, lower, lane))
        return drawn, len(pairs) - len(drawn)

    def _draw_brackets(self, brackets: Sequence[tuple[int, int, int]], x: float) -> None:
        """Join peers at their left, each end a little lower than the one before, so that no two lines touch."""
        ends: defaultdict[int, int] = defaultdict(int)
        for upper, lower, lane in brackets:
            places = []
            for row in (upper, lower):
                box = self.place[self.rows[row].name]
                places.append(box.y + 12 + min(6.0 * ends[row], box.height - 18))
                ends[row] += 1
            out = x - 10 - lane * BRACKET_W
            self.lines.append(Path(f"l{7 - lane % 2} bracket", f"M{x:g} {places[0]:g}H{out:g}V{places[1]:g}H{x:g}"))


def _describe_means(tenant: Tenant) -> str:
    parts = [format_count(len(tenant.servers), "server") if tenant.servers else "no servers of its own"]
    parts += [f"{format_count(tenant.gpus, 'GPU')}"] if tenant.gpus >= 0 else []
    parts += [f"Ceph {', '.join(tenant.storage.parts)}"] if tenant.storage else []
    return " · ".join(parts)


def _and_more(left_out: int) -> str:
    return f", and {left_out:,} more" if left_out else ""
