"""Ceph's capacity in words and numbers: what can be stored, and what each loss leaves to the others."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import Any

from cluster_model.checks.wording import list_names
from cluster_model.plan.model.ceph import BACKFILLFULL, FULL, NEARFULL, CephCluster, CephLoss, CephNeeds, Tier, cut_fill
from cluster_model.render.drawings.style import BEGINS, format_count, word_osds
from cluster_model.render.tables import Table

WORDS = {"expand_at": "expand_at", "fill_target": "fill_target", "waterline": "the waterline", "full": "the first full OSD"}
"""What the marks of a store are called in a sentence."""


def summarize_capacity(ceph: CephCluster) -> dict[str, Any]:
    """Return hosts, OSDs, TB raw, the waterline, and TB that can be stored below it; nothing where there is no Ceph.

    With drives of several classes the last two are told of each, by its name under `classes`.
    """
    if len(ceph.tiers) > 1:
        return {**_count(ceph), "classes": {tier.device_class: _summarize(tier) for tier in ceph.tiers}}
    return _summarize(ceph.tiers[0]) if ceph.tiers else {}


def _count(store: CephCluster | Tier) -> dict[str, Any]:
    return {"hosts": len(store.hosts), "osds": store.osds, "raw_tb": round(store.raw_tb, 1)}


def _summarize(tier: Tier) -> dict[str, Any]:
    return {**_count(tier), "waterline": cut_fill(tier.waterline), "usable_tb": round(tier.usable_tb, 1)}


def measure_capacity(tier: Tier) -> dict[str, Any]:
    """Return all that `gpuyard storage --format json` says of a class of drives; fills are parts of its raw capacity."""
    return {
        **_summarize(tier),
        "failure_domain": tier.failure_domain,
        "failure_domains": tier.domains,
        "device_class": tier.device_class,
        "full_at": cut_fill(tier.full_at),
        "fill_target": tier.fill_target or None,
        "expand_at": tier.expand_at or None,
        "pgs_per_osd": round(tier.pgs_per_osd),
        "pools": {
            pool.name: {
                "copies": pool.code,
                "share": round(pool.share, 4),
                "pgs": pool.pgs,
                "usable_tb": round(pool.share * tier.usable_tb, 1),
                "full_tb": round(pool.share * tier.stored_tb(tier.full_at), 1),
            }
            for pool in tier.pools
        },
        "losses": [_measure_loss(loss) for loss in tier.losses],
        "needs": [_measure_needs(needs) for needs in tier.needs],
    }


def _measure_needs(needs: CephNeeds) -> dict[str, Any]:
    return {
        "host": needs.host,
        "memory_gib": round(needs.memory_gib, 1),
        "has_memory_gib": needs.has_memory_gib or None,
        "cores": needs.cores,
        "has_cores": needs.has_cores or None,
        "drive_mb_per_s": round(needs.drive_mb_per_s),
        "network_mb_per_s": round(needs.has_mb_per_s) or None,
    }


def _measure_loss(loss: CephLoss) -> dict[str, Any]:
    return {
        "kind": loss.kind,
        "name": loss.name,
        "raw_tb": round(loss.raw_tb, 1),
        "lost": list(loss.gone),
        "stopped": list(loss.stopped),
        "rebuilt": list(loss.rebuilt),
        "begins": loss.begins or None,
        "most_fill": cut_fill(loss.most_fill),
        "stops_at": cut_fill(loss.stops_at),
        "hours": round(loss.hours, 2),
        "limit": loss.limit or None,
    }


def measure_stored(tier: Tier, stored_tb: float, growth_tb: float | None) -> dict[str, Any]:
    """Return the fill with so much stored, and the months until each mark is reached with so much added in a month."""
    body: dict[str, Any] = {"tb": stored_tb, "fill": round(tier.fill_with(stored_tb), 4)}
    if growth_tb is not None:
        body["months_to"] = {name: round(tier.months_to(fill, stored_tb, growth_tb), 1) for name, fill in tier.marks.items()}
    return body


def describe_stored(tier: Tier, stored_tb: float, growth_tb: float | None) -> Iterator[str]:
    """Yield how full it is with so much stored, and when each mark is reached with so much added in a month."""
    fill = tier.fill_with(stored_tb)
    passed = [f"{WORDS[name]} ({cut_fill(mark):g})" for name, mark in tier.marks.items() if fill >= mark]
    yield f"{stored_tb:,.1f} TB stored are a fill of {fill:.3f}" + (f", above {' and '.join(passed)}." if passed else ".")
    ahead = [(name, mark) for name, mark in tier.marks.items() if fill < mark]
    if growth_tb is not None and ahead:
        said = ", ".join(
            f"{WORDS[name]} ({cut_fill(mark):g}) in {tier.months_to(mark, stored_tb, growth_tb):.1f}" for name, mark in ahead
        )
        yield f"With {growth_tb:,.1f} TB more a month the months are: {said}."


def describe_summary(ceph: CephCluster) -> str:
    """Return one line for the summary of a cluster."""
    head = f"Ceph: {format_count(len(ceph.hosts), 'host')}, {format_count(ceph.osds, 'OSD')}, {ceph.raw_tb:,.0f} TB raw"
    held = [tier for tier in ceph.tiers if tier.pools]
    if not held:
        return f"{head}."
    if len(ceph.tiers) == 1:
        return f"{head}; {held[0].usable_tb:,.0f} TB can be stored up to a fill of {cut_fill(held[0].waterline):g}."
    said = list_names(
        f"{tier.usable_tb:,.0f} TB on {tier.device_class} up to a fill of {cut_fill(tier.waterline):g}" for tier in held
    )
    return f"{head}; {said} can be stored."


def describe_capacity(tier: Tier) -> Iterator[str | Table]:
    """Yield what a class of drives can store and what a loss comes to, for people."""
    where = "" if tier.failure_domain == "host" else f" in {format_count(tier.domains, tier.failure_domain)}"
    yield (
        f"{format_count(len(tier.hosts), 'host')}{where}, {word_osds(tier)}: {tier.raw_tb:,.1f} TB raw; failure domain "
        f"{tier.failure_domain}"
    )
    yield from map(describe_needs, tier.needs)
    if not tier.pools and tier.small:
        yield f"What is small lies there alone: {list_names(pool.name for pool in tier.small)}."
        return
    if not tier.pools:
        yield "There are no pools: what can be stored is not known."
        return
    most, full = tier.usable_tb, tier.stored_tb(tier.full_at)
    rows = [(pool.name, pool.code, f"{pool.share:.0%}", pool.share, f"{pool.pgs:,}") for pool in tier.pools]
    total = [("all", "", "", 1.0, f"{sum(pool.pgs for pool in tier.pools):,}")] if len(rows) > 1 else []
    yield Table(
        ("pool", "copies", "share", "TB to the waterline", "TB until full", "PGs"),
        tuple((*head, f"{part * most:,.1f}", f"{part * full:,.1f}", pgs) for *head, part, pgs in [*rows, *total]),
        frozenset(range(1, 6)),
    )
    yield Table(
        (
            "lost",
            "the worst",
            "TB raw",
            "objects",
            "rebuilt",
            "begins",
            "up to a fill of",
            "stops at",
            "hours at least",
            "held up by",
        ),
        tuple(_row_of_loss(tier, loss) for loss in tier.losses),
        frozenset({2, 6, 7, 8}),
    )
    yield ""
    yield from _word_waterline(tier)


def describe_needs(needs: CephNeeds) -> str:
    """Return what daemons take of the host that has the most of them, beside what it has."""
    beside = "".join(f" and a {each}" for each in needs.daemons)
    memory = f"{ceil(needs.memory_gib):,}" + (f" of {needs.has_memory_gib:,}" if needs.has_memory_gib else "")
    cores = f"{needs.cores}" + (f" of {needs.has_cores}" if needs.has_cores else "")
    ports = f", its ports {needs.has_mb_per_s / 1000:.1f}" if needs.has_mb_per_s else ""
    return (
        f"{needs.host}: {format_count(needs.osds, 'OSD')}{beside} want {memory} GiB and {cores} cores; its drives give "
        f"{needs.drive_mb_per_s / 1000:.1f} GB/s{ports}"
    )


def _row_of_loss(tier: Tier, loss: CephLoss) -> tuple[str, ...]:
    objects = (
        f"lost: {_name(tier, loss.gone)}" if loss.gone else f"stopped: {_name(tier, loss.stopped)}" if loss.stopped else "kept"
    )
    head = (loss.kind, loss.name, f"{loss.raw_tb:,.1f}", objects)
    if not loss.rebuilt:
        return (*head, "nothing", "", "", "", "", "")
    fills = f"{cut_fill(loss.most_fill):g}", f"{cut_fill(loss.stops_at):g}"
    return (*head, _name(tier, loss.rebuilt), BEGINS[loss.begins], *fills, f"{loss.hours:.1f}", loss.limit)


def _name(tier: Tier, pools: tuple[str, ...]) -> str:
    return "all" if len(pools) == len(tier.pools) else ", ".join(pools)


def _word_waterline(tier: Tier) -> Iterator[str]:
    host = tier.lost_host
    yield f"The waterline is a fill of {cut_fill(tier.waterline):g}."
    if host is not None and host.gone:
        yield f"{host.name} alone may hold objects of {', '.join(host.gone)}: they are lost with it."
    if host is not None and host.rebuilt:
        yield f"Above it OSDs are nearfull ({NEARFULL:g}), at the latest when {host.name} was lost and is rebuilt."
        yield f"From {cut_fill(host.stops_at):g} on they are backfillfull ({BACKFILLFULL:g}) before that, and rebuilding stops."
    else:
        yield f"Above it OSDs are nearfull ({NEARFULL:g})."
    if host is None:
        yield "There is one host: all is lost with it."
    elif not host.rebuilt and not host.gone:
        yield "What a lost host held has no other place to go: it lacks a copy until the host is back."
    for loss in tier.losses:
        if loss is not host and loss.rebuilt and loss.most_fill < tier.waterline:
            fills = f"{cut_fill(loss.most_fill):g} and {cut_fill(loss.stops_at):g}"
            yield f"With {loss.kind} {loss.name} lost the same is true of {fills}."
    yield f"At {cut_fill(tier.full_at):g} the first OSD is full ({FULL:g}) with all hosts there, and Ceph takes no more writes."
    yield f"All of it goes by the PGs above, {tier.pgs_per_osd:.0f} on an OSD: playbooks/ceph.yml makes pools with them."
