# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about the power of racks: part of the PWR family."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import NamedTuple

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.wording import format_kw, list_names
from cluster_model.diagnostic import Diagnostic
from cluster_model.plan.model import Rack, RackPower


class Case(NamedTuple):
    """The worst of the racks of a group that break a rule alike, and the names of all of them."""

    rack: Rack
    power: RackPower
    names: list[str]

    @property
    def which(self) -> str:
        """Return the racks as a sentence begins."""
        return f"rack {self.names[0]}" if len(self.names) == 1 else f"{len(self.names)} racks of {self.rack.group}"


def _cases(design: Design, broken: Callable[[Rack, RackPower], bool], badness: Callable[[RackPower], float]) -> Iterator[Case]:
    """Yield a case per intent path of the racks that are broken."""
    found: dict[str, list[tuple[Rack, RackPower]]] = defaultdict(list)
    for power in design.plan.power:
        rack = design.racks.get(power.rack)
        if rack and broken(rack, power):
            found[rack.where].append((rack, power))
    for racks in found.values():
        worst = max(racks, key=lambda item: badness(item[1]))
        yield Case(*worst, [rack.name for rack, _ in racks])


def _reason(power: RackPower) -> str:
    over = power.feed_lost_load_w > power.feed_limit_w
    return "since the other feeds carry too much" if over else "since too few power supplies are left in the servers"


def _wanted(power: RackPower) -> str:
    if power.feed_lost_load_w > power.feed_limit_w:
        return f"<= {format_kw(power.feed_limit_w)} per remaining feed"
    return "power supplies for full load on the remaining feeds"


def _over_rack(power: RackPower) -> bool:
    return power.load_w > power.limit_w


class RackOverloaded(Rule):
    """Load no rack above what it may draw and be cooled for, nor a feed above what it carries.

    What it checks:
        Maximum draw of everything in a rack, optics included, against `power_kw`; the fullest feed with all feeds up against
        `feed_kw`; both after the lowest GPU power cap that the driver accepts.

    Why it matters:
        Breakers trip when a job starts on all GPUs at once, and the rack goes dark. Cooling that is short shows weeks later,
        as throttling.

    How to fix:
        Lower `per_rack`, or raise `power_kw` or `feed_kw` to what the hall really gives. Planning fewer servers per rack now
        is cheap; moving racks is not.

    Source:
        `power.maximum_w` of the catalogue, transceivers' `power_w`; DGX SuperPOD B300: 14 kW per system, three feeds.
    """

    id, title = "PWR001", "rack or feed overloaded"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for case in _cases(design, lambda _, power: not power.fits, lambda power: power.load_w):
            power = case.power
            if _over_rack(power):
                field, load_w, limit_w, what = "power_kw", power.load_w, power.limit_w, "power_kw"
            else:
                field, load_w, limit_w, what = "feed_kw", power.feed_load_w, power.feed_limit_w, "the fullest feed"
            yield self.finding(
                design.rack_path(case.rack, field),
                f"{case.which}: {format_kw(load_w)} where {format_kw(limit_w)} is allowed, and no GPU power cap makes it fit",
                f"<= {format_kw(limit_w)} ({what})",
                f"{format_kw(load_w)} in {list_names(case.names)}",
                f"lower per_rack, or raise {field} to {load_w / 1000:.1f}",
            )


class RackNeedsCap(Rule):
    """Know which racks run only with their GPUs capped.

    What it checks:
        Racks whose maximum draw is above `power_kw` or whose feeds are above `feed_kw`, and that fit with a GPU power cap.

    Why it matters:
        The GPUs never reach their rated power: training is slower on these racks, and the slowest rank sets the pace for all.

    How to fix:
        Lower `per_rack`, raise `power_kw` or `feed_kw`, or say `gpu.power.on_feed_loss: always-cap` to mean it.

    Source:
        Power limits of the GPU model in the catalogue.
    """

    id, severity, title = "PWR002", "warning", "rack that fits only with capped GPUs"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        if design.cluster.gpu.power.on_feed_loss == "always-cap":
            return
        for case in _cases(design, lambda _, power: power.fits and power.gpu_cap_w > 0, lambda power: -power.gpu_cap_w):
            power = case.power
            field = "power_kw" if _over_rack(power) else "feed_kw"
            load_w, limit_w = (power.load_w, power.limit_w) if _over_rack(power) else (power.feed_load_w, power.feed_limit_w)
            yield self.finding(
                design.rack_path(case.rack, field),
                f"{case.which}: GPUs are capped at {power.gpu_cap_w} W at all times",
                f"<= {format_kw(limit_w)} without a cap",
                f"{format_kw(load_w)} in {list_names(case.names)}",
                f"lower per_rack, raise {field} to {load_w / 1000:.1f}, or set gpu.power.on_feed_loss to always-cap",
            )


class FeedLossCap(Rule):
    """Know the cap that keeps racks up when a feed is lost.

    What it checks:
        Racks whose remaining feeds carry the load with one feed lost only after the GPUs are capped.

    Why it matters:
        The cap has to be set within seconds of the loss, or the breakers of the other feed trip too. Until the feed is back,
        every job on these racks runs slower.

    How to fix:
        Nothing, where that is acceptable: the cap is part of the plan. Otherwise raise `feed_kw`, add a feed, lower `per_rack`,
        or set `gpu.power.on_feed_loss: always-cap` so that nothing has to happen in time.

    Source:
        Power limits of the GPU model in the catalogue; load per feed from the plan.
    """

    id, severity, title = "PWR003", "warning", "feed loss survived only with capped GPUs"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        if design.cluster.gpu.power.on_feed_loss != "cap":
            return
        cases = _cases(
            design,
            lambda rack, power: rack.feeds > 1 and power.fits_feed_lost and power.gpu_cap_feed_lost_w not in {0, power.gpu_cap_w},
            lambda power: -power.gpu_cap_feed_lost_w,
        )
        for case in cases:
            power = case.power
            feeds = power.feed_lost_load_w > power.feed_limit_w
            yield self.finding(
                design.rack_path(case.rack, "feed_kw" if feeds else "feeds"),
                f"{case.which}: with a feed lost the GPUs must go down to {power.gpu_cap_feed_lost_w} W, {_reason(power)}",
                _wanted(power),
                f"{format_kw(power.feed_lost_load_w)} uncapped on the fullest feed of {list_names(case.names)}"
                if feeds
                else f"{case.rack.feeds} feeds in {list_names(case.names)}",
                f"accept it, {'lower per_rack, ' if feeds else ''}add a feed, or set gpu.power.on_feed_loss to always-cap",
            )


class FeedLossFails(Rule):
    """Let every rack outlive the loss of a feed.

    What it checks:
        With one feed lost, the load of the fullest remaining feed against `feed_kw`, after the lowest GPU power cap that the
        driver accepts. Not asked where `gpu.power.on_feed_loss` is `shed`.

    Why it matters:
        The second feed's breakers trip right after the first feed: the rack loses both, though it was built with two.

    How to fix:
        Lower `per_rack`, raise `feed_kw`, add a feed, or accept it with `gpu.power.on_feed_loss: shed`.

    Source:
        Load per feed from the plan: power supplies are dealt over the feeds in turn and share evenly.
    """

    id, title = "PWR004", "feed loss takes the rack down"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        if design.cluster.gpu.power.on_feed_loss == "shed":
            return
        cases = _cases(
            design,
            lambda rack, power: rack.feeds > 1 and power.fits and not power.fits_feed_lost,
            lambda power: power.feed_lost_load_w,
        )
        for case in cases:
            power = case.power
            yield self.finding(
                design.rack_path(case.rack, "feed_kw"),
                f"{case.which}: lost with a feed, {_reason(power)}, and no GPU power cap makes it fit",
                _wanted(power),
                f"{format_kw(power.feed_lost_load_w)} on the fullest feed of {list_names(case.names)}",
                "put fewer devices into a rack, raise feed_kw, add a feed, or set gpu.power.on_feed_loss to shed",
            )


class FeedLossSheds(Rule):
    """Know which racks go dark with a feed where that was accepted.

    What it checks:
        With `gpu.power.on_feed_loss: shed`, racks whose remaining feeds carry more than `feed_kw` once one is lost.

    Why it matters:
        Nothing caps the GPUs: breakers of the remaining feeds trip under load, and the whole rack is lost.

    How to fix:
        Nothing, where that is meant. Otherwise set `gpu.power.on_feed_loss: cap`.

    Source:
        Load per feed from the plan.
    """

    id, severity, title = "PWR005", "warning", "feed loss accepted"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        if design.cluster.gpu.power.on_feed_loss != "shed":
            return
        cases = _cases(
            design,
            lambda rack, power: rack.feeds > 1 and power.fits and power.feed_lost_load_w > power.feed_limit_w,
            lambda power: power.feed_lost_load_w,
        )
        for case in cases:
            yield self.finding(
                "gpu.power.on_feed_loss",
                f"{case.which}: lost with a feed, since nothing caps the GPUs",
                f"<= {format_kw(case.power.feed_limit_w)} per remaining feed",
                f"{format_kw(case.power.feed_lost_load_w)} in {list_names(case.names)}",
                "accept it, or set gpu.power.on_feed_loss to cap",
            )
