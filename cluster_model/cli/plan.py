"""`gpuyard plan`: the summary of a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cluster_model.cli.common import cluster_argument, finding_options, open_cluster
from cluster_model.cli.findings import Format, count_findings

if TYPE_CHECKING:
    from cluster_model.plan.model import Network, Plan, RackPower


@click.command()
@cluster_argument
@click.option("--json", "as_json", is_flag=True, help="Print the summary for programs; same as --format json.")
@finding_options
def command(cluster: Path, as_json: bool, form: Format, strict: bool) -> None:
    """Show what an intent comes to: servers, switches, cables, addresses, bandwidth, power.

    Every figure is of what is built, not of what is planned for later, unless it says so.
    """
    form = "json" if as_json else form
    opened = open_cluster(cluster, form, strict)
    if form == "json":
        import orjson

        from cluster_model.render.plan_json import summarize

        click.echo(orjson.dumps(summarize(opened.plan, opened.findings), option=orjson.OPT_INDENT_2))
        return
    for line in _describe(opened.plan):
        click.echo(line)
    click.echo(f"\n{count_findings(opened.findings)}")


def _describe(plan: Plan) -> Iterator[str]:
    from cluster_model.render.diagram_style import format_count

    counted = {"GPU": plan.gpus, "server": len(plan.servers), "switch": len(plan.switches)}
    counted |= {"cable": len(plan.cables), "rack": len(plan.racks)}
    yield f"{plan.name}: {', '.join(format_count(count, word) for word, count in counted.items())}"
    groups: dict[str, list[int]] = {}
    models = {}
    for server in plan.servers:
        groups.setdefault(server.group, []).append(server.gpus)
        models[server.group] = server.model
    yield from _format_table(
        ("servers", "model", "count", "GPUs"),
        [(name, models[name], f"{len(gpus):,}", f"{sum(gpus):,}" if sum(gpus) else "") for name, gpus in groups.items()],
        right={2, 3},
    )
    columns: tuple[str, ...] = ("network", "kind", "leafs", "spines", "cores", "host cables", "fabric cables", "host", "fabric")
    yield from _format_table(columns, [_row_of_network(network) for network in plan.networks], right=set(range(2, 9)))
    columns = ("bandwidth", "hosts", "leaf to spine", "spine to core", "bisection", "oversubscription")
    yield from _format_table(columns, [_row_of_bandwidth(network) for network in plan.networks], right=set(range(1, 6)))
    pools = [(network.name, network.pool, f"{len(network.slices)} slices") for network in plan.networks if network.pool]
    yield from _format_table(("addresses", "pool", "cut into"), pools, right=set())
    yield from _describe_power(plan)


def _row_of_network(network: Network) -> tuple[str, ...]:
    from cluster_model.render.diagram_style import format_count

    planes = f", {network.planes} planes" if network.planes > 1 else ""
    return (
        network.name,
        f"{network.technology} {network.design}{planes}, {format_count(network.tiers, 'tier')}",
        f"{network.leafs:,} {_short(network.leaf_model)}" if network.leafs else "",
        f"{network.spines:,} {_short(network.spine_model)}" if network.spines else "",
        f"{network.cores:,} {_short(network.core_model)}" if network.cores else "",
        f"{network.host_leaf_cables + network.fabric_manager_cables:,}",
        f"{network.leaf_spine_cables + network.spine_core_cables:,}",
        f"{network.host_speed_gbps}G" if network.host_speed_gbps else "",
        f"{network.fabric_speed_gbps}G" if network.fabric_speed_gbps else "",
    )


def _row_of_bandwidth(network: Network) -> tuple[str, ...]:
    from cluster_model.render.diagram_style import format_rate

    rates = (
        network.host_bandwidth_gbps,
        network.leaf_spine_bandwidth_gbps,
        network.spine_core_bandwidth_gbps,
        network.bisection_gbps,
    )
    ratio = f"{network.oversubscription:g}:1" if network.oversubscription else ""  # one tier has no uplinks to compare with
    return network.name, *(format_rate(rate) if rate else "" for rate in rates), ratio


def _describe_power(plan: Plan) -> Iterator[str]:
    """Yield racks by what they draw; racks that draw the same share a line."""
    from cluster_model.render.diagram_style import format_count

    kinds: dict[tuple[str, ...], list[RackPower]] = {}
    for entry in plan.power:
        caps = (
            f"{entry.gpu_cap_w} W" if entry.gpu_cap_w else "",
            f"{entry.gpu_cap_feed_lost_w} W" if entry.gpu_cap_feed_lost_w else "",
        )
        figures = (entry.load_w, entry.limit_w, entry.feed_load_w, entry.feed_lost_load_w, entry.feed_limit_w)
        kinds.setdefault((*(f"{figure / 1000:.1f}" for figure in figures), *caps), []).append(entry)
    rows = [(_fold([entry.rack for entry in entries]), *key) for key, entries in kinds.items()]
    columns = ("racks", "kW at most", "limit", "fullest feed", "feed lost", "feed limit", "GPU cap", "cap, feed lost")
    shown = rows[:24]
    yield from _format_table(columns, shown, right=set(range(1, 8)))
    if len(rows) > len(shown):
        yield f"  and {len(rows) - len(shown)} more kinds of rack"
    where = f"{format_count(len(plan.racks), 'rack')} of {format_count(len({rack.row for rack in plan.racks}), 'row')}"
    yield f"\nPower: {plan.power_w / 1000:,.1f} kW at most, in {where}."


def _fold(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 3 else f"{names[0]} … {names[-1]} ({len(names)})"


def _short(model: str) -> str:
    return model.rpartition("/")[2]


def _format_table(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]], right: set[int]) -> Iterator[str]:
    """Yield an empty line, the head and the rows; columns without any value are left out."""
    if not rows:
        return
    kept = [index for index in range(len(columns)) if any(row[index] for row in rows)]
    widths = {index: max(len(row[index]) for row in (columns, *rows)) for index in kept}
    yield ""
    for number, row in enumerate((columns, *rows)):
        cells = [row[index].rjust(widths[index]) if index in right else row[index].ljust(widths[index]) for index in kept]
        line = "  ".join(cells).rstrip()
        yield click.style(line, dim=True) if number == 0 else line
