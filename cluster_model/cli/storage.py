"""`gpuyard storage`: what Ceph can hold, and what each loss leaves to the others."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cluster_model.cli.common import accept_inspection, cluster_argument, finding_options, open_plan, refuse
from cluster_model.cli.findings import Format, format_headlines, wants_colour
from cluster_model.cli.tables import format_parts

if TYPE_CHECKING:
    from cluster_model.pipeline import Opened
    from cluster_model.plan.model.ceph import CephCluster

UNITS_TB = {"": 1.0, "TB": 1.0, "TIB": 1.024**4, "PB": 1000.0, "PIB": 1.024**5 * 1000}
AMOUNT = re.compile(r"([0-9]+(?:\.[0-9]+)?) *(|TB|TiB|PB|PiB)", re.IGNORECASE)
UNPLACED = {"CEP001", "CEP004", "CEP008"}
"""Findings with which nothing can be computed: copies without a place, codes that Ceph refuses, hosts without drives."""


def read_amount(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """Return an amount of data, such as 600, 600TB, 600TiB or 1.2PiB, in TB (10^12 bytes); a number alone is in TB."""
    if value is None:
        return None
    found = AMOUNT.fullmatch(value.strip())
    if found is None:
        raise click.BadParameter(f"{value} is no amount of data; write it as 600TB, or 600TiB as `ceph df` does", ctx, param)
    return float(found[1]) * UNITS_TB[found[2].upper()]


@click.command()
@cluster_argument
@click.option("--stored", "stored_tb", callback=read_amount, metavar="AMOUNT", help="What is stored, copies counted once.")
@click.option("--growth", "growth_tb", callback=read_amount, metavar="AMOUNT", help="What a month adds to it.")
@click.option("--add", "more", type=click.IntRange(min=1, max=10_000), metavar="N", help="Also with N more of Ceph's hosts.")
@finding_options
def command(
    cluster: Path, stored_tb: float | None, growth_tb: float | None, more: int | None, form: Format, strict: bool
) -> None:
    """Show what Ceph can hold, and what it comes to when a host or a rack is lost.

    TB are 10^12 bytes; `ceph df` shows TiB, which are a tenth more. An AMOUNT is in TB, or has its unit, as 600TiB. A fill is a
    part of the raw capacity. With --stored and --growth it says when the fills that the intent names are reached; with --add how
    far more hosts bring it, and how much of the data has to move at the least.
    """
    if growth_tb is not None and not growth_tb:
        raise click.BadParameter("nothing is added in a month; leave it out", param_hint="--growth")
    if growth_tb is not None and stored_tb is None:
        raise click.UsageError("--growth says what is added to what is stored: give --stored too")
    opened = open_plan(cluster, form, strict)
    ceph = _take(opened, form)
    grown = _plan_more(opened, cluster, more, form, strict) if more else None
    if form == "json":
        import orjson

        click.echo(orjson.dumps(_measure(ceph, grown, stored_tb, growth_tb), option=orjson.OPT_INDENT_2))
        return
    told = [finding for finding in opened.findings if finding.id.startswith("CEP")]
    if told:
        coloured = wants_colour(sys.stderr)
        click.echo(format_headlines(told, str(cluster), coloured), err=True, color=coloured)
    for line in _describe(ceph, stored_tb, growth_tb):
        click.echo(line)
    if grown is not None:
        click.echo(f"\nWith {len(grown.hosts) - len(ceph.hosts)} more:\n")
        for line in (*_describe(grown, stored_tb, growth_tb), *_describe_move(ceph, grown, stored_tb)):
            click.echo(line)


def _take(opened: Opened, form: Format) -> CephCluster:
    """Return Ceph of a cluster; where there is none, or it cannot work, the verb ends."""
    if opened.cluster.ceph is None:
        raise click.UsageError(f"{opened.plan.name} has no Ceph: add ceph: with its hosts and pools")
    found = [finding for finding in opened.findings if finding.id in UNPLACED]
    if found or not opened.plan.ceph.hosts:
        refuse(found, form)
    return opened.plan.ceph


def _plan_more(opened: Opened, path: Path, more: int, form: Format, strict: bool) -> CephCluster:
    """Return Ceph with more hosts; where they find no place the findings are printed, and the verb ends."""
    from cluster_model.pipeline import inspect
    from cluster_model.plan.growth import add_servers

    assert opened.cluster.ceph is not None
    group = opened.cluster.ceph.hosts
    inspection = inspect(replace(opened.loaded, cluster=add_servers(opened.cluster, group, more)))
    grown = inspection.opened or accept_inspection(inspection, f"{path} with {more} more of {group}", form, strict)
    return _take(grown, form)


def _measure(ceph: CephCluster, grown: CephCluster | None, stored_tb: float | None, growth_tb: float | None) -> dict[str, Any]:
    from cluster_model.plan.services.waterline import measure_move
    from cluster_model.render.ceph.capacity import measure_capacity, measure_stored

    def measure(each: CephCluster) -> dict[str, Any]:
        stored = {"stored": measure_stored(each, stored_tb, growth_tb)} if stored_tb is not None and each.pools else {}
        return measure_capacity(each) | stored

    if grown is None:
        return measure(ceph)
    return measure(ceph) | {"with_more": measure(grown) | {"moved": round(measure_move(ceph, grown), 4)}}


def _describe(ceph: CephCluster, stored_tb: float | None, growth_tb: float | None) -> Iterator[str]:
    from cluster_model.render.ceph.capacity import describe_capacity, describe_stored

    yield from format_parts(describe_capacity(ceph))
    if stored_tb is not None and ceph.pools:
        yield from describe_stored(ceph, stored_tb, growth_tb)


def _describe_move(ceph: CephCluster, grown: CephCluster, stored_tb: float | None) -> Iterator[str]:
    from cluster_model.plan.services.waterline import measure_move

    moved = measure_move(ceph, grown)
    raw = f": {moved * stored_tb * ceph.overhead:,.1f} TB raw" if stored_tb else ""
    if ceph.pools:
        yield f"At least {moved:.1%} of the data moves{raw}."
