"""index.html: the page that a person opens first. One file, without a script and without anything from elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from cluster_model.diagnostic import Diagnostic
from cluster_model.plan.model import Network, Plan
from cluster_model.plan.overlay import BorderPeer, Tenant
from cluster_model.plan.wording import word_filters
from cluster_model.render.diagram import draw_fabrics, draw_racks
from cluster_model.render.diagram_style import environment, format_count, format_power, format_rate
from cluster_model.render.tenants import count_servers, word_homing, word_isolation, word_reach

MAX_ROWS = 600
"""Rows of a table; a browser lays out tens of thousands of them in seconds, and a person reads none."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of text. `numeric` columns are set to the right; `more` says where the rows left out are."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[int]
    more: str = ""


def render_page(plan: Plan, findings: Iterable[Diagnostic] = ()) -> bytes:
    """Return index.html: figures, findings, drawings and tables of a plan."""
    template = environment().get_template("page/index.html.j2")
    text = template.render(
        plan=plan,
        figures=tuple(_list_figures(plan)),
        findings=tuple(findings),
        racks=Markup(draw_racks(plan)),  # escaped where it was drawn
        fabrics=Markup(draw_fabrics(plan)),
        tables=tuple(_list_tables(plan)),
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
        quotas = sum(tenant.gpus for tenant in plan.tenants if tenant.gpus > 0)
        yield f"{len(plan.tenants):,}", "tenants" if len(plan.tenants) > 1 else "tenant", f"quotas of {quotas:,} GPUs"
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
    yield _table("Networks", columns, networks, {3, 4, 5, 6, 7, 8, 9})
    apart = [row for network in plan.networks for row in _list_separation(plan, network)]
    yield _table("What keeps tenants apart, and how servers hang on two leafs", ("network", "what", "how"), apart, set())
    members = count_servers(plan)
    tenants = [row for tenant in plan.tenants for row in _list_subnets(tenant, members[tenant.name])]
    yield _table("Tenants", TENANT_COLUMNS, tenants, {1, 3, 4, 5, 7, 8}, "plan.json")
    yield _table("Border peers", PEER_COLUMNS, [_describe_peer(peer) for peer in plan.border_peers], {1, 3}, "plan.json")
    slices = [(network.name, part.name, part.prefix) for network in plan.networks for part in network.slices]
    yield _table("Address plan", ("network", "slice", "prefix"), slices, set(), "plan.json")
    yield _table("Racks and power", RACK_COLUMNS, _list_racks(plan), {1, 2, 3, 4, 5, 6}, "plan.json")
    servers = [
        (s.name, s.group, s.model, f"{s.rack} U{s.u}", f"{s.unit or ''}", s.bmc.address if s.bmc else "", s.serial)
        for s in plan.servers
    ]
    yield _table(
        "Servers", ("name", "group", "model", "place", "unit", "BMC", "serial"), servers, {4}, "inventory/inventory.json"
    )
    switches = [
        (s.name, s.model, s.nos, f"{s.rack} U{s.u}", str(s.asn or ""), s.loopback, s.management.address if s.management else "")
        for s in plan.switches
    ]
    columns = ("name", "model", "NOS", "place", "ASN", "loopback", "management")
    yield _table("Switches", columns, switches, {4}, "inventory/inventory.json")
    bom = [(line.kind, line.item, f"{line.length_m:g}" if line.length_m else "", f"{line.count:,}") for line in plan.bom]
    yield _table("Bill of materials", ("kind", "item", "length, m", "count"), bom, {2, 3}, "cabling/bom.csv")


def _table(title: str, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]], numeric: set[int], where: str = "") -> Table:
    left_out = len(rows) - MAX_ROWS
    more = f"{left_out:,} more in {where}" if left_out > 0 else ""
    return Table(title, columns, tuple(rows[:MAX_ROWS]), frozenset(numeric), more)


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
        f"{network.oversubscription:g}" if network.oversubscription else "",
        format_rate(network.bisection_gbps) if network.bisection_gbps else "",
        network.pool,
    )


TENANT_COLUMNS = (
    "tenant",
    "id",
    "VRF",
    "L3 VNI",
    "servers",
    "GPU quota",
    "subnet",
    "VLAN",
    "VNI",
    "prefix",
    "gateway",
    "addresses",
    "reaches",
)
PEER_COLUMNS = ("border peer", "AS", "what it is", "at most, routes", "accepted", "announced", "tenants")


def _list_separation(plan: Plan, network: Network) -> Iterator[tuple[str, ...]]:
    if network.homing:
        yield network.name, f"homing {word_homing(network.homing)}", network.homing_reason
    if network.isolation and plan.tenants:
        yield network.name, "isolation", word_isolation(network.isolation)


def _list_subnets(tenant: Tenant, servers: int) -> Iterator[tuple[str, ...]]:
    quota = f"{tenant.gpus:,}" if tenant.gpus >= 0 else ""
    vrf = tenant.vrf + (" (shared)" if tenant.shared else "")
    reach = ", ".join(word_reach(tenant))
    for subnet in tenant.subnets:
        addresses = subnet.addressing + (f", pool {subnet.pool}" if subnet.pool else "")
        yield (
            *(tenant.name, str(tenant.id), vrf, str(tenant.vni), f"{servers:,}", quota, subnet.name, str(subnet.vlan)),
            *(str(subnet.vni), subnet.prefix, subnet.gateway, addresses, reach),
        )


def _describe_peer(peer: BorderPeer) -> tuple[str, ...]:
    filters = (", ".join(word_filters(lines)) for lines in (peer.accept, peer.announce))
    return peer.name, str(peer.asn), peer.description, f"{peer.max_routes:,}", *filters, ", ".join(peer.tenants)


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
