"""`gpuyard plan`: the summary of a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cluster_model.cli.common import accept_inspection, cluster_argument, finding_options, inspect_cluster, open_cluster
from cluster_model.cli.findings import Format, count_findings
from cluster_model.cli.tables import format_parts, format_table
from cluster_model.diagnostic import has_errors

if TYPE_CHECKING:
    from cluster_model.plan.growth import BomChange
    from cluster_model.plan.model import Network, Plan, RackPower
    from cluster_model.plan.model.overlay import BorderPeer, Tenant

MAX_TENANTS = 60
"""Tenants that are listed before the rest is counted."""
MAX_USERS = 6
"""Tenants of a border peer that are named; `gpuyard show` names all."""
WRAP = 32
"""Width that lists in a cell are wrapped to."""


@click.command()
@cluster_argument
@click.option("--planned", "as_planned", is_flag=True, help="Show it with all that is planned built, and what to buy for that.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary for programs; same as --format json.")
@finding_options
def command(cluster: Path, as_planned: bool, as_json: bool, form: Format, strict: bool) -> None:
    """Show what an intent comes to: servers, switches, cables, addresses, bandwidth, tenants, power.

    Every figure is of what is built, not of what is planned for later, unless it says so. With --planned every figure and every
    finding is of the cluster grown to what is planned.
    """
    form = "json" if as_json else form
    if as_planned:
        _show_planned(cluster, form, strict)
        return
    opened = open_cluster(cluster, form, strict)
    if form == "json":
        import orjson

        from cluster_model.render.plan_json import summarize

        click.echo(orjson.dumps(summarize(opened.plan, opened.findings), option=orjson.OPT_INDENT_2))
        return
    for line in _describe(opened.plan):
        click.echo(line)
    click.echo(f"\n{count_findings(opened.findings)}")


def _show_planned(path: Path, form: Format, strict: bool) -> None:
    """Print the summary of the grown cluster, and what has to be bought for it."""
    from cluster_model.pipeline import inspect
    from cluster_model.plan.growth import compare_bills, grow

    inspection = inspect_cluster(path)
    opened = inspection.opened
    if opened is None or has_errors(inspection.findings):
        opened = accept_inspection(inspection, path, form, strict)
    cluster = grow(opened.cluster)
    if cluster is None:
        grown = accept_inspection(inspection, path, form, strict)
    else:
        found = inspect(replace(opened.loaded, cluster=cluster))
        grown = accept_inspection(found, f"{path} with count raised to planned", form, strict)
    changes = compare_bills(opened.plan, grown.plan)
    if form == "json":
        import orjson

        from cluster_model.render.plan_json import summarize

        lines = [{**asdict(change), "to_buy": change.to_buy, "freed": change.freed} for change in changes]
        body = {**summarize(grown.plan, grown.findings), "as_planned": True, "bom_planned": lines}
        click.echo(orjson.dumps(body, option=orjson.OPT_INDENT_2))
        return
    for line in _describe(grown.plan, " as planned"):
        click.echo(line)
    for line in _describe_purchase(changes):
        click.echo(line)
    click.echo(f"\n{count_findings(grown.findings)}")


def _describe_purchase(changes: Sequence[BomChange]) -> Iterator[str]:
    rows = [
        (
            change.kind,
            change.item,
            f"{change.length_m:g}" if change.length_m else "",
            f"{change.built:,}",
            f"{change.planned:,}",
            f"{change.to_buy:,}" if change.to_buy else "",
            f"{change.freed:,}" if change.freed else "",
        )
        for change in changes
    ]
    columns = ("material", "item", "length, m", "built", "planned", "to buy", "freed")
    yield from format_table(columns, rows, right={2, 3, 4, 5, 6})
    if not rows:
        yield "\nNothing is planned beyond what is built."


def _describe(plan: Plan, state: str = "") -> Iterator[str]:
    from cluster_model.render.drawings.style import format_count

    counted = {"GPU": plan.gpus, "server": len(plan.servers), "switch": len(plan.switches)}
    counted |= {"cable": len(plan.cables), "rack": len(plan.racks)}
    yield f"{plan.name}{state}: {', '.join(format_count(count, word) for word, count in counted.items())}"
    groups: dict[str, list[int]] = {}
    models = {}
    for server in plan.servers:
        groups.setdefault(server.group, []).append(server.gpus)
        models[server.group] = server.model
    yield from format_table(
        ("servers", "model", "count", "GPUs"),
        [(name, models[name], f"{len(gpus):,}", f"{sum(gpus):,}" if sum(gpus) else "") for name, gpus in groups.items()],
        right={2, 3},
    )
    columns: tuple[str, ...] = ("network", "kind", "leafs", "borders", "spines", "cores", "host cables", "fabric cables")
    columns = (*columns, "host", "fabric")
    yield from format_table(columns, [_row_of_network(network) for network in plan.networks], right=set(range(2, 10)))
    columns = ("bandwidth", "hosts", "leaf to spine", "spine to core", "bisection", "oversubscription")
    yield from format_table(columns, [_row_of_bandwidth(network) for network in plan.networks], right=set(range(1, 6)))
    pools = [
        (network.name, network.pool, format_count(len(network.slices), "slice")) for network in plan.networks if network.pool
    ]
    yield from format_table(("addresses", "pool", "cut into"), pools, right=set())
    yield from _describe_separation(plan)
    yield from _describe_tenants(plan)
    yield from _describe_border(plan)
    yield from _describe_services(plan)
    yield from _describe_power(plan)


def _row_of_network(network: Network) -> tuple[str, ...]:
    from cluster_model.render.drawings.style import format_count

    planes = f", {network.planes} planes" if network.planes > 1 else ""
    return (
        network.name,
        f"{network.technology} {network.design}{planes}, {format_count(network.tiers, 'tier')}",
        f"{network.leafs:,} {_short(network.leaf_model)}" if network.leafs else "",
        f"{network.borders:,} {_short(network.border_model)}" if network.borders else "",
        f"{network.spines:,} {_short(network.spine_model)}" if network.spines else "",
        f"{network.cores:,} {_short(network.core_model)}" if network.cores else "",
        f"{network.host_leaf_cables + network.fabric_manager_cables:,}",
        f"{network.leaf_spine_cables + network.spine_core_cables + network.peer_link_cables:,}",
        f"{network.host_speed_gbps}G" if network.host_speed_gbps else "",
        f"{network.fabric_speed_gbps}G" if network.fabric_speed_gbps else "",
    )


def _row_of_bandwidth(network: Network) -> tuple[str, ...]:
    from cluster_model.render.drawings.style import format_rate

    rates = (
        network.host_bandwidth_gbps,
        network.leaf_spine_bandwidth_gbps,
        network.spine_core_bandwidth_gbps,
        network.bisection_gbps,
    )
    ratio = f"{network.oversubscription:g}:1" if network.oversubscription else ""  # one tier has no uplinks to compare with
    return network.name, *(format_rate(rate) if rate else "" for rate in rates), ratio


def _describe_separation(plan: Plan) -> Iterator[str]:
    """Yield how servers hang on two leafs and why so, and what keeps tenants apart where GPUs talk and where data lies."""
    from cluster_model.plan.tenancy.isolation import list_meeting_on_storage
    from cluster_model.render.tenants import word_homing, word_isolation, word_storage

    lines = []
    for network in plan.networks:
        if network.homing:
            why = f": {network.homing_reason}" if network.homing_reason else ""
            lines.append(f"{network.name}: homing {word_homing(network.homing)}{why}")
        if network.isolation and plan.tenants:
            lines.append(f"{network.name}: isolation {word_isolation(network.isolation)}")
    if met := list_meeting_on_storage(plan):
        lines.append(f"storage: isolation {word_storage(met)}")
    if lines:
        yield ""
        yield from lines


def _describe_tenants(plan: Plan) -> Iterator[str]:
    """Yield a line per subnet; what is the tenant's stands in the first one, and whom it reaches runs on beside the others."""
    from cluster_model.render.drawings.style import format_count
    from cluster_model.render.tenants import count_servers

    members = count_servers(plan)
    shown = plan.tenants[:MAX_TENANTS]
    rows = [row for tenant in shown for row in _rows_of_tenant(tenant, members[tenant.name])]
    columns = ("tenant", "id", "VRF", "VNI", "servers", "GPU quota", "subnet", "VLAN", "prefix", "reaches")
    yield from format_table(columns, rows, right={1, 3, 4, 5, 7})
    if len(plan.tenants) > len(shown):
        yield f"  and {format_count(len(plan.tenants) - len(shown), 'more tenant')}"


def _rows_of_tenant(tenant: Tenant, servers: int) -> Iterator[tuple[str, ...]]:
    from cluster_model.render.tenants import word_reach

    quota = f"{tenant.gpus:,}" if tenant.gpus >= 0 else ""
    head = (tenant.name, str(tenant.id), tenant.vrf, str(tenant.vni), f"{servers:,}", quota)
    subnets = [(subnet.name, str(subnet.vlan), subnet.prefix) for subnet in tenant.subnets]
    yield from _stack(head, subnets, _wrap([*(["(shared)"] if tenant.shared else []), *word_reach(tenant)]))


def _describe_border(plan: Plan) -> Iterator[str]:
    links: dict[str, int] = {}
    for switch in plan.switches:
        for way in switch.overlay.externals if switch.overlay else ():
            links[way.peer] = links.get(way.peer, 0) + 1
    rows = [row for peer in plan.border_peers for row in _rows_of_peer(peer, links.get(peer.name, 0))]
    columns = ("border peer", "AS", "links", "at most", "accepted", "announced", "for")
    yield from format_table(columns, rows, right={1, 2})


def _rows_of_peer(peer: BorderPeer, links: int) -> Iterator[tuple[str, ...]]:
    from cluster_model.plan.tenancy.prefixes import word_filters

    head = (peer.name, str(peer.asn), f"{links:,}", f"{peer.max_routes:,} routes")
    users = _wrap(peer.tenants, 24) if len(peer.tenants) <= MAX_USERS else [f"{len(peer.tenants):,} tenants"]
    yield from _stack(head, word_filters(peer.accept), word_filters(peer.announce), users)


def _stack(head: tuple[str, ...], *lists: Sequence[str | tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """Yield rows that hold lists side by side, with `head` before the first."""
    widths = [len(cells[0]) if cells and isinstance(cells[0], tuple) else 1 for cells in lists]
    for index in range(max(1, *map(len, lists))):
        row = head if index == 0 else ("",) * len(head)
        for cells, width in zip(lists, widths, strict=True):
            cell = cells[index] if index < len(cells) else ("",) * width
            row = (*row, *((cell,) if isinstance(cell, str) else cell))
        yield row


def _wrap(words: Sequence[str], width: int = WRAP) -> list[str]:
    """Return words joined by commas, in lines of at most `width` characters where a word is not longer."""
    lines: list[str] = []
    for number, word in enumerate(words, 1):
        word += "," if number < len(words) else ""
        if lines and len(lines[-1]) + len(word) < width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def _describe_services(plan: Plan) -> Iterator[str]:
    from cluster_model.render.services import list_services

    for service in list_services():
        yield from format_parts(service.describe(plan))


def _describe_power(plan: Plan) -> Iterator[str]:
    """Yield racks by what they draw; racks that draw the same share a line."""
    from cluster_model.render.drawings.style import format_count

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
    yield from format_table(columns, shown, right=set(range(1, 8)))
    if len(rows) > len(shown):
        yield f"  and {format_count(len(rows) - len(shown), 'more kind')} of rack"
    where = f"{format_count(len(plan.racks), 'rack')} of {format_count(len({rack.row for rack in plan.racks}), 'row')}"
    yield f"\nPower: {plan.power_w / 1000:,.1f} kW at most, in {where}."


def _fold(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 3 else f"{names[0]} … {names[-1]} ({len(names)})"


def _short(model: str) -> str:
    return model.rpartition("/")[2]
