"""Power of a rack and of its feeds, with all of them and with one lost, and the GPU cap that makes it fit.

A server's PSUs are dealt over the rack's feeds in turn, and share its draw equally while they live. Loads are maxima with
optics, never typical.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor

from cluster_model.plan.model import Rack, RackPower


@dataclass(frozen=True, slots=True)
class Load:
    """One device: draw with optics W, PSUs, watts of one PSU (0: one carries it all), GPUs with their power range W."""

    draw_w: float
    optics_w: float
    psus: int
    psu_w: float
    gpus: int = 0
    gpu_max_w: float = 0.0
    gpu_min_w: float = 0.0


def plan_power(rack: Rack, loads: list[Load], *, always_cap: bool) -> RackPower:
    """Return the power of one rack.

    Args:
        rack: the rack with its limits.
        loads: everything that stands in it.
        always_cap: run at the cap for a lost feed at all times.
    """
    total_w = sum(load.draw_w for load in loads)
    feeds = rack.feeds
    shares = [_shares(load.psus, feeds) for load in loads]
    normal = [sum(load.draw_w * share[f] for load, share in zip(loads, shares, strict=True)) for f in range(feeds)]
    gpus = sum(load.gpus for load in loads)
    delta = max(_over(total_w, rack.power_w, gpus), 0.0)
    for f in range(feeds):
        weight = sum(load.gpus * share[f] for load, share in zip(loads, shares, strict=True))
        delta = max(delta, _over(normal[f], rack.feed_w, weight))
    lost_w, lost_delta = 0.0, delta
    for lost in range(feeds if feeds > 1 else 0):
        left = [_shares_without(load.psus, feeds, lost) for load in loads]
        for f in range(feeds):
            if f != lost:
                load_w = sum(load.draw_w * share[f] for load, share in zip(loads, left, strict=True))
                weight = sum(load.gpus * share[f] for load, share in zip(loads, left, strict=True))
                lost_w = max(lost_w, load_w)
                lost_delta = max(lost_delta, _over(load_w, rack.feed_w, weight))
        for load in loads:
            alive = load.psus - _psus_on(load.psus, feeds, lost)
            if load.psu_w and load.gpus and alive:
                lost_delta = max(lost_delta, _over(load.draw_w, alive * load.psu_w, load.gpus))
    cap, fits = _cap(loads, delta)
    cap_lost, fits_lost = _cap(loads, lost_delta)
    if always_cap and cap_lost:
        cap = cap_lost
    return RackPower(
        rack=rack.name,
        load_w=round(total_w, 1),
        optics_w=round(sum(load.optics_w for load in loads), 1),
        limit_w=rack.power_w,
        feeds=feeds,
        feed_limit_w=rack.feed_w,
        feed_load_w=round(max(normal, default=0.0), 1),
        feed_lost_load_w=round(lost_w, 1),
        gpu_cap_w=cap,
        gpu_cap_feed_lost_w=cap_lost,
        fits=fits,
        fits_feed_lost=fits_lost,
    )


def _psus_on(psus: int, feeds: int, feed: int) -> int:
    return len(range(feed, psus, feeds))


def _shares(psus: int, feeds: int) -> list[float]:
    return [_psus_on(psus, feeds, f) / psus for f in range(feeds)]


def _shares_without(psus: int, feeds: int, lost: int) -> list[float]:
    alive = psus - _psus_on(psus, feeds, lost)
    return [0.0 if f == lost or not alive else _psus_on(psus, feeds, f) / alive for f in range(feeds)]


def _over(load_w: float, limit_w: float, gpus: float) -> float:
    """Return the watts per GPU to shed, or infinity where there is nothing to shed."""
    excess = load_w - limit_w
    if excess <= 1e-6:
        return 0.0
    return excess / gpus if gpus else float("inf")


def _cap(loads: list[Load], delta: float) -> tuple[int, bool]:
    """Return (cap per GPU W or 0 where none is needed, whether it fits)."""
    if delta == 0.0:
        return 0, True
    with_gpus = [load for load in loads if load.gpus]
    if not with_gpus or delta == float("inf"):
        return 0, False
    cap = floor(min(load.gpu_max_w for load in with_gpus) - delta)
    return (cap, True) if cap >= max(load.gpu_min_w for load in with_gpus) else (0, False)
