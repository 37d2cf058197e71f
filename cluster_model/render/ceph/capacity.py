"""Ceph's capacity in words and numbers: what can be stored, and what each loss leaves to the others."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import Any

from cluster_model.plan.model.ceph import BACKFILLFULL, FULL, NEARFULL, CephCluster, CephLoss, CephNeeds, cut_fill
from cluster_model.render.drawings.style import BEGINS, format_count
from cluster_model.render.tables import Table

WORDS = {"expand_at": "expand_at", "fill_target": "fill_target", "waterline": "the waterline", "full": "the first full OSD"}
"""What the marks of a store are called in a sentence."""


def summarize_capacity(ceph: CephCluster) -> dict[str, Any]:
    """Return hosts, OSDs, TB raw, the waterline, and TB that can be stored below it; nothing where there is no Ceph."""
    if not ceph.hosts:
        return {}
    return {
        "hosts": len(ceph.hosts),
        "osds": ceph.osds,
        "raw_tb": round(ceph.raw_tb, 1),
        "waterline": cut_fill(ceph.waterline),
        "usable_tb": round(ceph.stored_tb(ceph.waterline), 1),
    }


def measure_capacity(ceph: CephCluster) -> dict[str, Any]:
    """Return all that `gpuyard storage --format json` says of a cluster's Ceph; fills are parts of the raw capacity."""
    return {
        **summarize_capacity(ceph),
        "failure_domain": ceph.failure_domain,
        "failure_domains": ceph.domains,
        "device_class": ceph.device_class,
        "full_at": cut_fill(ceph.full_at),
        "fill_target": ceph.fill_target or None,
        "expand_at": ceph.expand_at or None,
        "pgs_per_osd": round(ceph.pgs_per_osd),
        "pools": {
            pool.name: {
                "copies": pool.code,
                "share": round(pool.share, 4),
                "pgs": pool.pgs,
                "usable_tb": round(pool.share * ceph.stored_tb(ceph.waterline), 1),
                "full_tb": round(pool.share * ceph.stored_tb(ceph.full_at), 1),
            }
            for pool in ceph.pools
        },
        "losses": [_measure_loss(loss) for loss in ceph.losses],
        "needs": _measure_needs(ceph.needs) if ceph.needs else None,
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


def measure_stored(ceph: CephCluster, stored_tb: float, growth_tb: float | None) -> dict[str, Any]:
    """Return the fill with so much stored, and the months until each mark is reached with so much added in a month."""
    body: dict[str, Any] = {"tb": stored_tb, "fill": round(ceph.fill_with(stored_tb), 4)}
    if growth_tb is not None:
        body["months_to"] = {name: round(ceph.months_to(fill, stored_tb, growth_tb), 1) for name, fill in ceph.marks.items()}
    return body


def describe_stored(ceph: CephCluster, stored_tb: float, growth_tb: float | None) -> Iterator[str]:
    """Yield how full it is with so much stored, and when each mark is reached with so much added in a month."""
    fill = ceph.fill_with(stored_tb)
    passed = [f"{WORDS[name]} ({cut_fill(mark):g})" for name, mark in ceph.marks.items() if fill >= mark]
    yield f"{stored_tb:,.1f} TB stored are a fill of {fill:.3f}" + (f", above {' and '.join(passed)}." if passed else ".")
    ahead = [(name, mark) for name, mark in ceph.marks.items() if fill < mark]
    if growth_tb is not None and ahead:
        said = ", ".join(
            f"{WORDS[name]} ({cut_fill(mark):g}) in {ceph.months_to(mark, stored_tb, growth_tb):.1f}" for name, mark in ahead
        )
        yield f"With {growth_tb:,.1f} TB more a month the months are: {said}."


def describe_summary(ceph: CephCluster) -> str:
    """Return one line for the summary of a cluster."""
    said = summarize_capacity(ceph)
    head = f"Ceph: {format_count(said['hosts'], 'host')}, {format_count(said['osds'], 'OSD')}, {ceph.raw_tb:,.0f} TB raw"
    if not ceph.pools:
        return f"{head}."
    return f"{head}; {said['usable_tb']:,.0f} TB can be stored up to a fill of {said['waterline']:g}."


def describe_capacity(ceph: CephCluster) -> Iterator[str | Table]:
    """Yield what Ceph can store and what a loss comes to, for people."""
    where = "" if ceph.failure_domain == "host" else f" in {format_count(ceph.domains, ceph.failure_domain)}"
    yield (
        f"{format_count(len(ceph.hosts), 'host')}{where}, {format_count(ceph.osds, 'OSD')} of {ceph.hosts[0].osd_tb:g} TB "
        f"({ceph.device_class}): {ceph.raw_tb:,.1f} TB raw; failure domain {ceph.failure_domain}"
    )
    if ceph.needs:
        yield describe_needs(ceph.needs)
    if not ceph.pools:
        yield "There are no pools: what can be stored is not known."
        return
    most, full = ceph.stored_tb(ceph.waterline), ceph.stored_tb(ceph.full_at)
    rows = [(pool.name, pool.code, f"{pool.share:.0%}", pool.share, f"{pool.pgs:,}") for pool in ceph.pools]
    total = [("all", "", "", 1.0, f"{sum(pool.pgs for pool in ceph.pools):,}")] if len(rows) > 1 else []
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
        tuple(_row_of_loss(ceph, loss) for loss in ceph.losses),
        frozenset({2, 6, 7, 8}),
    )
    yield ""
    yield from _word_waterline(ceph)


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


def _row_of_loss(ceph: CephCluster, loss: CephLoss) -> tuple[str, ...]:
    objects = (
        f"lost: {_name(ceph, loss.gone)}" if loss.gone else f"stopped: {_name(ceph, loss.stopped)}" if loss.stopped else "kept"
    )
    head = (loss.kind, loss.name, f"{loss.raw_tb:,.1f}", objects)
    if not loss.rebuilt:
        return (*head, "nothing", "", "", "", "", "")
    fills = f"{cut_fill(loss.most_fill):g}", f"{cut_fill(loss.stops_at):g}"
    return (*head, _name(ceph, loss.rebuilt), BEGINS[loss.begins], *fills, f"{loss.hours:.1f}", loss.limit)


def _name(ceph: CephCluster, pools: tuple[str, ...]) -> str:
    return "all" if len(pools) == len(ceph.pools) else ", ".join(pools)


def _word_waterline(ceph: CephCluster) -> Iterator[str]:
    host = ceph.lost_host
    yield f"The waterline is a fill of {cut_fill(ceph.waterline):g}."
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
    for loss in ceph.losses:
        if loss is not host and loss.rebuilt and loss.most_fill < ceph.waterline:
            fills = f"{cut_fill(loss.most_fill):g} and {cut_fill(loss.stops_at):g}"
            yield f"With {loss.kind} {loss.name} lost the same is true of {fills}."
    yield f"At {cut_fill(ceph.full_at):g} the first OSD is full ({FULL:g}) with all hosts there, and Ceph takes no more writes."
    yield f"All of it goes by the PGs above, {ceph.pgs_per_osd:.0f} on an OSD: playbooks/ceph.yml makes pools with them."
