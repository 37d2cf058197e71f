"""`gpuyard storage`: what Ceph can hold, and what each loss leaves to the others."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from cluster_model.cli.common import accept_inspection, cluster_argument, finding_options, open_plan, refuse
from cluster_model.cli.findings import Format, format_headlines, wants_colour
from cluster_model.cli.tables import format_parts

if TYPE_CHECKING:
    from cluster_model.pipeline import Opened
    from cluster_model.plan.model.ceph import CephCluster, Tier

UNITS_TB = {"": 1.0, "TB": 1.0, "TIB": 1.024**4, "PB": 1000.0, "PIB": 1.024**5 * 1000}
AMOUNT = re.compile(r"([0-9]+(?:\.[0-9]+)?) *(|TB|TiB|PB|PiB)", re.IGNORECASE)
UNPLACED = {"CEP001", "CEP004", "CEP008", "CEP036"}
"""Findings with which nothing can be computed: copies without a place, codes that Ceph refuses, hosts without drives, and pools
on drives that nobody has."""
MOST = 10_000


class Amount(NamedTuple):
    """An amount of data, and the class of drives that it is on; empty where none is said."""

    tb: float
    device_class: str


Asked = Mapping[str, tuple[float, float | None]]
"""What is stored on a class of drives, and what a month adds, TB."""


def read_amount(ctx: click.Context, param: click.Parameter, value: str | None) -> Amount | None:
    """Return an amount of data, such as 600, 600TB, 600TiB or hdd=1.2PiB, in TB (10^12 bytes); a number alone is in TB."""
    if value is None:
        return None
    device_class, sign, text = value.strip().rpartition("=")
    found = AMOUNT.fullmatch(text.strip())
    if found is None or bool(sign) != bool(device_class):
        raise click.BadParameter(f"{value} is no amount of data; write it as 600TB, or 600TiB as `ceph df` does", ctx, param)
    return Amount(float(found[1]) * UNITS_TB[found[2].upper()], device_class)


def read_more(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, int] | None:
    """Return how many hosts come, and to which group, such as 4 or archive=4; the group is empty where none is said."""
    if value is None:
        return None
    group, _, text = value.strip().rpartition("=")
    if not text.isdecimal() or not 1 <= int(text) <= MOST:
        raise click.BadParameter(f"{value} is no number of hosts from 1 to {MOST:,}; write it as 4, or GROUP=4", ctx, param)
    return group, int(text)


@click.command()
@cluster_argument
@click.option("--stored", callback=read_amount, metavar="[CLASS=]AMOUNT", help="What is stored, copies counted once.")
@click.option("--growth", callback=read_amount, metavar="AMOUNT", help="What a month adds to it.")
@click.option("--add", "more", callback=read_more, metavar="[GROUP=]N", help="Also with N more of Ceph's hosts.")
@finding_options
def command(
    cluster: Path, stored: Amount | None, growth: Amount | None, more: tuple[str, int] | None, form: Format, strict: bool
) -> None:
    """Show what Ceph can hold, and what it comes to when a host or a rack is lost.

    TB are 10^12 bytes; `ceph df` shows TiB, which are a tenth more. An AMOUNT is in TB, or has its unit, as 600TiB. A fill is a
    part of the raw capacity of a class of drives. With --stored and --growth it says when the fills that the intent names are
    reached; with --add how far more hosts bring it, and how much of the data has to move at the least. Where there are several
    classes of drives, or groups of hosts, say which, as --stored hdd=600TB and --add archive=4.
    """
    if growth is not None and not growth.tb:
        raise click.BadParameter("nothing is added in a month; leave it out", param_hint="--growth")
    if growth is not None and (stored is None or growth.device_class not in {"", stored.device_class}):
        raise click.UsageError("--growth says what is added to what is stored: give --stored too, of the same drives")
    opened = open_plan(cluster, form, strict)
    ceph = _take(opened, form)
    asked = {_choose(ceph, stored): (stored.tb, growth.tb if growth else None)} if stored else {}
    grown = _plan_more(opened, cluster, more, form, strict) if more else None
    if form == "json":
        import orjson

        click.echo(orjson.dumps(_measure(ceph, grown, asked), option=orjson.OPT_INDENT_2))
        return
    told = [finding for finding in opened.findings if finding.id.startswith("CEP")]
    if told:
        coloured = wants_colour(sys.stderr)
        click.echo(format_headlines(told, str(cluster), coloured), err=True, color=coloured)
    for line in _describe(ceph.tiers, asked):
        click.echo(line)
    if grown is not None:
        click.echo(f"\nWith {len(grown.hosts) - len(ceph.hosts)} more{f' of {more[0]}' if more and more[0] else ''}:\n")
        changed = [tier for tier in grown.tiers if tier not in ceph.tiers]
        for line in (*_describe(changed, asked), *_describe_move(ceph, changed, asked)):
            click.echo(line)


def _choose(ceph: CephCluster, stored: Amount) -> str:
    """Return the class of drives that is meant; the verb ends where that is not clear."""
    classes = [tier.device_class for tier in ceph.tiers]
    if stored.device_class and stored.device_class not in classes:
        raise click.BadParameter(
            f"there are no drives of class {stored.device_class}; there are {', '.join(classes)}", param_hint="--stored"
        )
    if len(classes) > 1 and not stored.device_class:
        raise click.BadParameter(
            f"say on which drives, as {classes[-1]}={stored.tb:g}TB; there are {', '.join(classes)}", param_hint="--stored"
        )
    found = next(tier for tier in ceph.tiers if tier.device_class == (stored.device_class or classes[0]))
    if len(classes) > 1 and not found.pools:
        raise click.BadParameter(f"no pool lies on drives of class {found.device_class}", param_hint="--stored")
    return found.device_class


def _take(opened: Opened, form: Format) -> CephCluster:
    """Return Ceph of a cluster; where there is none, or it cannot work, the verb ends."""
    if opened.cluster.ceph is None:
        raise click.UsageError(f"{opened.plan.name} has no Ceph: add ceph: with its hosts and pools")
    found = [finding for finding in opened.findings if finding.id in UNPLACED]
    if found or not opened.plan.ceph.tiers:
        refuse(found, form)
    return opened.plan.ceph


def _plan_more(opened: Opened, path: Path, more: tuple[str, int], form: Format, strict: bool) -> CephCluster:
    """Return Ceph with more hosts; where they find no place the findings are printed, and the verb ends."""
    from cluster_model.pipeline import inspect
    from cluster_model.plan.growth import add_servers

    assert opened.cluster.ceph is not None
    groups, (group, count) = opened.cluster.ceph.groups, more
    if group and group not in groups:
        raise click.BadParameter(f"{group} is no group of Ceph's hosts; there are {', '.join(groups)}", param_hint="--add")
    if len(groups) > 1 and not group:
        raise click.BadParameter(f"say of which group, as {groups[0]}={count}; there are {', '.join(groups)}", param_hint="--add")
    name = group or groups[0]
    inspection = inspect(replace(opened.loaded, cluster=add_servers(opened.cluster, name, count)))
    grown = inspection.opened or accept_inspection(inspection, f"{path} with {count} more of {name}", form, strict)
    return _take(grown, form)


def _measure(ceph: CephCluster, grown: CephCluster | None, asked: Asked) -> dict[str, Any]:
    """Return what there is of the one class of drives, or of each of several, by name."""
    from cluster_model.plan.services.waterline import measure_move
    from cluster_model.render.ceph.capacity import measure_capacity, measure_stored

    after = {tier.device_class: tier for tier in grown.tiers} if grown else {}

    def measure(tier: Tier) -> dict[str, Any]:
        with_it = {"stored": measure_stored(tier, *asked[tier.device_class])} if tier.device_class in asked and tier.pools else {}
        return measure_capacity(tier) | with_it

    found = {}
    for tier in ceph.tiers:
        found[tier.device_class] = measure(tier)
        if tier.device_class in after:
            more = after[tier.device_class]
            found[tier.device_class]["with_more"] = measure(more) | {"moved": round(measure_move(tier, more), 4)}
    return {"classes": found} if len(found) > 1 else next(iter(found.values()))


def _describe(tiers: Sequence[Tier], asked: Asked) -> Iterator[str]:
    from cluster_model.render.ceph.capacity import describe_capacity, describe_stored

    for number, tier in enumerate(tiers):
        if number:
            yield ""
        yield from format_parts(describe_capacity(tier))
        if tier.device_class in asked and tier.pools:
            yield from describe_stored(tier, *asked[tier.device_class])


def _describe_move(ceph: CephCluster, grown: Sequence[Tier], asked: Asked) -> Iterator[str]:
    from cluster_model.plan.services.waterline import measure_move

    before = {tier.device_class: tier for tier in ceph.tiers}
    for tier in grown:
        if tier.pools and tier.device_class in before:
            moved = measure_move(before[tier.device_class], tier)
            stored_tb, _ = asked.get(tier.device_class, (0.0, None))
            raw = f": {moved * stored_tb * tier.overhead:,.1f} TB raw" if stored_tb else ""
            where = f" on {tier.device_class}" if len(grown) > 1 else ""
            yield f"At least {moved:.1%} of the data moves{where}{raw}."
