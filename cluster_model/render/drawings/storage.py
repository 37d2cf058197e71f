"""How far Ceph can be filled: a scale for each loss, failure domains with their hosts at the waterline, and pools.

Pure layout; the template writes SVG. Fills are parts of the raw capacity, as in the plan.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from cluster_model.plan.model import Plan
from cluster_model.plan.model.ceph import NEARFULL, CephLoss, OsdHost, cut_fill, find_fill
from cluster_model.plan.services.waterline import fill_domains, share_raw
from cluster_model.render.drawings.shapes import Box, Path, Sheet, Words, fit, measure, sample, wrap
from cluster_model.render.drawings.style import BEGINS, format_count, word_osds

WIDTH, MARGIN, TOP = 1560.0, 34.0, 84.0
SCALE_X, SCALE_W = 236.0, 780.0  # where a fill of 0 is, and how far from it one of 1 is
SAID_X = SCALE_X + SCALE_W + 22  # of the words beside a scale
BAR_H, ROW_H, LABEL_H, TICK_H = 20.0, 42.0, 15.0, 16.0
COLUMN_H, MOST_COLUMN_W = 150.0, 120.0
MAX_DOMAINS, MAX_POOLS, MAX_HOSTS = 40, 12, 24  # drawn: the first ones and the last; hosts of a failure domain one by one
MAX_NAMED = 2  # of the pools that a loss comes to something for
ZONES = {
    "ok": "no OSD is nearfull",
    "warn": "OSDs are nearfull",
    "bad": "rebuilding stops, or all writes do",
    "blocked": "nothing is rebuilt",
}
"""What the colours of a scale stand for."""


def lay_out_storage(plan: Plan) -> Sheet:
    """Place scales, failure domains and pools of a plan with Ceph."""
    return _Store(plan).build()


class _Store:
    """Lays out the drawing from the top down."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.ceph, self.tier = plan, plan.ceph, plan.ceph.tiers[0]
        self.panels: list[Box] = []
        self.paths: list[Path] = []
        self.boxes: list[Box] = []
        self.words: list[Words] = []

    def build(self) -> Sheet:
        """Return the drawing."""
        y = TOP
        for tier in self.ceph.tiers:
            self.tier = tier
            if tier.pools:
                y = self._draw_scales(y) + 18
            y = self._draw_domains(y) + 18
            if tier.pools:
                y = self._draw_pools(y) + 18
        osds = ", ".join(map(word_osds, self.ceph.tiers))
        note = (
            f"{format_count(len(self.ceph.hosts), 'host')}, {osds}, {self.ceph.raw_tb:,.1f} TB raw · failure domain "
            f"{self.ceph.failure_domain}"
        )
        return Sheet(
            width=WIDTH,
            height=y + 6,
            title=f"{self.plan.name}: Ceph",
            note=note,
            panels=tuple(self.panels),
            paths=tuple(self.paths),
            boxes=tuple(self.boxes),
            dots=(),
            words=tuple(self.words),
        )

    def _head(self, y: float, height: float, title: str) -> None:
        """Draw a panel with its title, and the class of drives where there are several."""
        title += f" · {self.tier.device_class}" if len(self.ceph.tiers) > 1 else ""
        self.panels.append(Box(MARGIN, y, WIDTH - 2 * MARGIN, height, "panel", "", ""))
        self.words.append(Words(MARGIN + 16, y + 24, "ink h2", title))

    # --- scales -------------------------------------------------------------------------------------------------------

    def _draw_scales(self, y: float) -> float:
        """Draw how far it can be filled, with all hosts there and for each loss; return the bottom."""
        marks = self._place_marks()
        bars = y + 44 + LABEL_H * (1 + max(level for _, _, _, level in marks)) + 6
        bottom = bars + ROW_H * (1 + len(self.tier.losses))
        self._head(y, bottom + TICK_H + 14 - y, "How far it can be filled")
        self._draw_legend(y + 24)
        for tenth in range(11):
            x = SCALE_X + SCALE_W * tenth / 10
            self.words.append(Words(x, bottom + TICK_H, "muted t10 mid", f"{tenth / 10:g}"))
        whole = f"nearfull from {cut_fill(self._nearfull):g}, no more writes from {cut_fill(self.tier.full_at):g}"
        self._draw_scale(bars, "all hosts there", "", self._nearfull, self.tier.full_at, whole)
        for number, loss in enumerate(self.tier.losses):
            self._draw_loss(bars + ROW_H * (number + 1), loss)
        for name, fill, x, level in marks:  # above the bars
            label, is_main = bars - 10 - LABEL_H * level, name == "waterline"
            self.boxes.append(
                Box(x - is_main, label - 9, 1 + is_main, bottom - label + 9, "ink", "", self._word_mark(name, fill))
            )
            self.words.append(Words(x - 7, label, "ink t11 end" + " b" * is_main, self._word_mark(name, fill)))
        return bottom + TICK_H + 14

    @property
    def _nearfull(self) -> float:
        return find_fill(NEARFULL, self.tier.fullest)

    def _word_mark(self, name: str, fill: float) -> str:
        return f"{name} {cut_fill(fill):g} · {self.tier.stored_tb(fill):,.0f} TB stored"

    def _place_marks(self) -> list[tuple[str, float, float, int]]:
        """Return (name, fill, place, level) of each mark. Its words end at its line, above the lines that they would cross."""
        placed: list[tuple[str, float, float, int]] = []
        for name, fill in sorted(self.tier.marks.items(), key=lambda mark: mark[1]):
            x = SCALE_X + SCALE_W * fill
            begin = x - 14 - measure(self._word_mark(name, fill), 11, is_bold=True)
            placed.append((name, fill, x, 1 + max((level for _, _, at, level in placed if at >= begin), default=-1)))
        return placed

    def _draw_legend(self, y: float) -> None:
        x = SCALE_X + 60
        for css, text in ZONES.items():
            self.boxes.append(Box(x, y - 10, 12, 12, css, "", ""))
            self.words.append(Words(x + 17, y, "muted t11", text))
            x += 17 + measure(text, 11) + 22

    def _draw_loss(self, y: float, loss: CephLoss) -> None:
        name = f"{loss.kind} {loss.name} lost"
        kept = f"objects of {_name(loss.gone)} are lost" if loss.gone else ""
        if not loss.rebuilt:
            said = kept or "nothing is rebuilt: copies lack until it is back"
            self._draw_scale(y, name, f"{loss.raw_tb:,.1f} TB", 0, 0, said, "bad" if loss.gone else "blocked")
            return
        what = "" if len(loss.rebuilt) == len(self.tier.pools) else f"{_name(loss.rebuilt)}: "
        took = f"{loss.hours:.1f} hours" if loss.hours >= 1 else f"{loss.hours * 60:.1f} minutes"
        waits = f"{_name(loss.stopped)} wait for it" if loss.stopped else ""
        said = f"{what}rebuilt {BEGINS[loss.begins]}, in {took} at the least ({loss.limit})"
        said = "; ".join(part for part in (kept, said, waits) if part)
        self._draw_scale(y, name, f"{loss.raw_tb:,.1f} TB", loss.most_fill, loss.stops_at, said)

    def _draw_scale(self, y: float, name: str, note: str, good: float, end: float, said: str, rest: str = "bad") -> None:
        """Draw a bar: green to one fill, amber to the other, and the rest."""
        parts = ((0.0, good, "ok"), (good, end, "warn"), (end, 1.0, rest))
        title = f"{name}: {said}"
        self.boxes += [
            Box(SCALE_X + SCALE_W * start, y, SCALE_W * (stop - start), BAR_H, css, "", title)
            for start, stop, css in parts
            if stop > start
        ]
        middle = y + BAR_H / 2
        self.words.append(Words(MARGIN + 16, middle + (0 if note else 4), "ink t12 b", fit(name, 180, 12, is_bold=True)))
        self.words.append(Words(MARGIN + 16, middle + 14, "muted t10", note))
        lines = wrap(said.split(), WIDTH - MARGIN - 12 - SAID_X, 11, "")
        for number, line in enumerate(lines):
            self.words.append(Words(SAID_X, middle + 4 - 7 * (len(lines) - 1) + 14 * number, "ink t11", line))

    # --- failure domains ----------------------------------------------------------------------------------------------

    def _draw_domains(self, y: float) -> float:
        """Draw failure domains beside each other, as high as their capacity, filled as at the waterline; return the bottom."""
        hosts: defaultdict[str, list[OsdHost]] = defaultdict(list)
        for host in self.tier.hosts:
            hosts[host.domain].append(host)
        fills = fill_domains(self.tier)
        most = max(sum(host.raw_tb for host in members) for members in hosts.values())
        shown, left_out = sample(list(hosts), MAX_DOMAINS)
        filled = f", filled to the waterline of {cut_fill(self.tier.waterline):g}" if self.tier.pools else ""
        text = f"Where it lies: {format_count(len(hosts), self.tier.failure_domain)}{filled}"
        bottom = y + 44 + COLUMN_H
        self._head(y, COLUMN_H + 94, text)
        step = min(MOST_COLUMN_W, (WIDTH - 2 * MARGIN - 32) / (len(shown) + 2 * bool(left_out)))
        for number, domain in enumerate(shown):
            place = number + (2 if left_out and number == len(shown) - 1 else 0)
            x = MARGIN + 16 + step * place
            self._draw_domain(x, bottom, step, domain, hosts[domain], fills[domain], COLUMN_H / most)
        if left_out:
            x = MARGIN + 16 + step * len(shown)
            self.words.append(Words(x, bottom + 16, "muted t10 mid", f"… {left_out:,} more"))
        return y + COLUMN_H + 94

    def _draw_domain(
        self, x: float, bottom: float, step: float, domain: str, hosts: Sequence[OsdHost], fill: float, scale: float
    ) -> None:
        """Draw a failure domain: a box for each host, and how full it is at the waterline."""
        raw_tb, osds = sum(host.raw_tb for host in hosts), sum(host.osds for host in hosts)
        width, at = step - max(3.0, step / 8), fill * self.tier.waterline
        names = ", ".join(host.name for host in hosts[:MAX_HOSTS]) + (", …" if len(hosts) > MAX_HOSTS else "")
        filled = f", {at:.0%} full at the waterline" if self.tier.pools else ""
        title = f"{domain}: {names}; {format_count(osds, 'OSD')}, {raw_tb:,.1f} TB raw{filled}"
        y = bottom
        for host in hosts if len(hosts) <= MAX_HOSTS else ():
            y -= host.raw_tb * scale
            self.boxes.append(Box(x, y, width, host.raw_tb * scale, "server", "", title))
        if len(hosts) > MAX_HOSTS:
            self.boxes.append(Box(x, bottom - raw_tb * scale, width, raw_tb * scale, "server", "", title))
        level = raw_tb * scale * at
        self.boxes.append(Box(x + 3, bottom - level, max(width - 6, 1), level, "k-sto", "", title))
        middle = x + width / 2
        if step < 60:
            self.words.append(Words(middle, bottom + 16, "ink t10 mid", fit(domain, step - 2, 10)))
        else:
            self.words.append(Words(middle, bottom + 16, "ink t11 mid b", fit(domain, step - 2, 11, is_bold=True)))
            self.words.append(Words(middle, bottom + 30, "muted t10 mid", fit(f"{raw_tb:,.1f} TB", step, 10)))
            self.words.append(Words(middle, bottom + 43, "muted t10 mid", f"{at:.0%} full" if self.tier.pools else ""))

    # --- pools --------------------------------------------------------------------------------------------------------

    def _draw_pools(self, y: float) -> float:
        """Draw what part of the raw capacity each pool takes, and what that holds up to the waterline; return the bottom."""
        whole = self.tier.stored_tb(self.tier.waterline)
        shares = share_raw(self.tier.pools)
        shown, left_out = sample(list(enumerate(shares)), MAX_POOLS)
        height = 84 + 18 * (len(shown) + bool(left_out))
        self._head(y, height, f"Pools: {whole:,.1f} TB can be stored up to the waterline, copies counted once")
        x, row = MARGIN + 16.0, y + 84
        for number, (pool, share) in enumerate(shares):
            width = (WIDTH - 2 * MARGIN - 32) * share
            if pool.share and width > 0:
                self.boxes.append(Box(x, y + 40, width, BAR_H, f"r{number % 16}", "", f"{pool.name}: {share:.0%} of what is raw"))
            x += width
        for place, (number, (pool, share)) in enumerate(shown):
            if left_out and place == len(shown) - 1:
                self.words.append(Words(MARGIN + 33, row + 1, "muted t11", f"… {format_count(left_out, 'more pool')} …"))
                row += 18
            code = f"erasure code {pool.code}" if pool.k else f"{pool.size} copies"
            cells = (
                (17, "ink t11 b", fit(pool.name, 190, 11, is_bold=True)),
                (220, "ink t11", code),
                (360, "ink t11", f"{share:.0%} of what is raw"),
                (520, "ink t11", f"{pool.share * whole:,.1f} TB"),
                (660, "muted t11", f"{pool.pgs:,} placement groups"),
                (840, "muted t11", pool.application),
            )
            self.boxes.append(Box(MARGIN + 16, row - 9, 12, 12, f"r{number % 16}", "", ""))
            self.words += [Words(MARGIN + 16 + x, row + 1, css, text) for x, css, text in cells]
            row += 18
        return y + height


def _name(pools: Sequence[str]) -> str:
    """Return pools in words, few enough for three lines."""
    shown, left_out = pools[:MAX_NAMED], len(pools) - MAX_NAMED
    names = ", ".join(fit(name, 90, 11) for name in shown)
    return f"{names} and {left_out:,} more" if left_out > 0 else names
