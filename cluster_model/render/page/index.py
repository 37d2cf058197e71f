"""index.html: the page that a person opens first. One file, without a script and without anything from elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from markupsafe import Markup

from cluster_model.diagnostic import Diagnostic
from cluster_model.plan.growth import compare_bills
from cluster_model.plan.model import Network, Plan
from cluster_model.plan.model.ceph import cut_fill
from cluster_model.render.drawings.diagrams import draw_fabrics, draw_racks, draw_storage, draw_tenants
from cluster_model.render.drawings.style import environment, format_count, format_power, format_rate
from cluster_model.render.page.table import Table, make_linker, make_table, name_anchor
from cluster_model.render.page.tenants import list_tenant_tables, word_separation


def render_page(plan: Plan, findings: Iterable[Diagnostic] = (), grown: Plan | None = None) -> bytes:
    """Return index.html: figures, findings, drawings and tables of a plan, and what the grown one has more."""
    template = environment().get_template("page/index.html.j2")
    tenant_tables = tuple(list_tenant_tables(plan)) if plan.tenants else ()
    tables = (*_list_tables(plan), *_list_growth(plan, grown))
    text = template.render(
        plan=plan,
        figures=tuple(_list_figures(plan)),
        findings=tuple(findings),
        racks=Markup(draw_racks(plan, grown)),  # escaped where it was drawn
        fabrics=Markup(draw_fabrics(plan)),
        storage=Markup(draw_storage(plan)) if plan.ceph.hosts else "",
        tenants=Markup(draw_tenants(plan)) if plan.tenants else "",
        separation=tuple(word_separation(plan)) if plan.tenants else (),
        tenant_tables=tenant_tables,
        tables=tables,
        link=make_linker((*tenant_tables, *tables)),
        name_anchor=name_anchor,
    )
    return text.encode()


def _list_figures(plan: Plan) -> Iterator[tuple[str, str, str]]:
    """Yield (number, noun, remark)."""
    groups = Counter(server.group for server in plan.servers)
    if plan.gpus:
        models = ", ".join(sorted({server.gpu_model.rpartition("/")[2] for server in plan.servers if server.gpus}))
        yield f"{plan.gpus:,}", "GPUs", models
    yield f"{len(plan.servers):,}", "servers", ", ".join(f"{count:,} {group}" for group, count in groups.items())
    tiers = Counter(switch.network for switch in plan.switches)
    yield f"{len(plan.switches):,}", "switches", ", ".join(f"{count:,} {network}" for network, count in tiers.items())
    yield f"{len(plan.cables):,}", "cables", f"{sum(cable.length_m for cable in plan.cables) / 1000:,.1f} km in all"
    yield f"{len(plan.racks):,}", "racks", format_count(len({rack.row for rack in plan.racks}), "row")
    yield format_power(plan.power_w), "at most", "optics included"
    if plan.tenants:
        quotas = [tenant.gpus for tenant in plan.tenants if tenant.gpus >= 0]
        remark = f"quotas of {sum(quotas):,} GPUs" if quotas else "no GPU quota is set"
        yield f"{len(plan.tenants):,}", "tenants" if len(plan.tenants) > 1 else "tenant", remark
    for tier in plan.ceph.tiers:
        if tier.pools:
            remark = f"up to a fill of {cut_fill(tier.waterline):g}, of {tier.raw_tb:,.0f} TB raw"
            where = "in Ceph" if len(plan.ceph.tiers) == 1 else f"in Ceph on {tier.device_class}"
            yield f"{tier.usable_tb:,.0f} TB", where, remark
    compute = plan.network("compute")
    if compute is not None and compute.bisection_gbps:
        ratio = f"{compute.oversubscription:g}:1" if compute.oversubscription else "one tier"
        yield format_rate(compute.bisection_gbps), "bisection", f"compute, {ratio}"


def _list_tables(plan: Plan) -> Iterator[Table]:
    networks = [_describe_network(network) for network in plan.networks]
    columns: tuple[str, ...] = (
        "network",
        "technology",
        "design",
        "leafs",
        "borders",
        "spines",
        "cores",
        "host speed",
        "oversubscription",
        "bisection",
        "pool",
    )
    yield make_table("Networks", columns, networks, {3, 4, 5, 6, 7, 8, 9}, anchor="network")
    slices = [(network.name, part.name, part.prefix) for network in plan.networks for part in network.slices]
    yield make_table("Address plan", ("network", "slice", "prefix"), slices, where="plan.json", links={0: "network"})
    yield make_table("Racks and power", RACK_COLUMNS, _list_racks(plan), {1, 2, 3, 4, 5, 6}, "plan.json", anchor="rack")
    servers = [
        (s.name, s.group, s.model, f"{s.rack} U{s.u}", f"{s.unit or ''}", s.bmc.address if s.bmc else "", s.serial)
        for s in plan.servers
    ]
    columns, placed = ("name", "group", "model", "place", "unit", "BMC", "serial"), {3: "rack"}
    yield make_table("Servers", columns, servers, {4}, "inventory/inventory.json", anchor="device", links=placed)
    switches = [
        (s.name, s.model, s.nos, f"{s.rack} U{s.u}", str(s.asn or ""), s.loopback, s.management.address if s.management else "")
        for s in plan.switches
    ]
    columns = ("name", "model", "NOS", "place", "ASN", "loopback", "management")
    yield make_table("Switches", columns, switches, {4}, "inventory/inventory.json", anchor="device", links=placed)
    bom = [(line.kind, line.item, f"{line.length_m:g}" if line.length_m else "", f"{line.count:,}") for line in plan.bom]
    yield make_table("Bill of materials", ("kind", "item", "length, m", "count"), bom, {2, 3}, "cabling/bom.csv")


def _list_growth(plan: Plan, grown: Plan | None) -> Iterator[Table]:
    """Yield what has to be bought for what is planned; nothing where that is built."""
    if grown is None:
        return
    lines = [
        (line.kind, line.item, f"{line.length_m:g}" if line.length_m else "", f"{line.to_buy or ''}", f"{line.freed or ''}")
        for line in compare_bills(plan, grown)
    ]
    columns = ("kind", "item", "length, m", "to buy", "freed")
    yield make_table("To buy for what is planned", columns, lines, {2, 3, 4}, "cabling/bom-planned.csv")


def _describe_network(network: Network) -> tuple[str, ...]:
    return (
        network.name,
        network.technology,
        network.design,
        str(network.leafs),
        str(network.borders or ""),
        str(network.spines or ""),
        str(network.cores or ""),
        f"{network.host_speed_gbps}G" if network.host_speed_gbps else "",
        f"{network.oversubscription:g}:1" if network.oversubscription else "",
        format_rate(network.bisection_gbps) if network.bisection_gbps else "",
        network.pool,
    )


RACK_COLUMNS = (
    "rack",
    "draw, kW",
    "limit, kW",
    "fullest feed, kW",
    "with a feed lost, kW",
    "feed limit, kW",
    "GPU cap with a feed lost, W",
)


def _list_racks(plan: Plan) -> list[tuple[str, ...]]:
    return [
        (
            entry.rack,
            f"{entry.load_w / 1000:.1f}",
            f"{entry.limit_w / 1000:g}",
            f"{entry.feed_load_w / 1000:.1f}",
            f"{entry.feed_lost_load_w / 1000:.1f}",
            f"{entry.feed_limit_w / 1000:g}",
            str(entry.gpu_cap_feed_lost_w or ""),
        )
        for entry in plan.power
    ]
