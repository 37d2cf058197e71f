"""The page's part on tenants: what keeps them apart, who they are, and who may speak to whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from cluster_model.plan.model import Plan
from cluster_model.plan.model.overlay import BorderPeer, Meeting, Subnet, Tenant
from cluster_model.plan.tenancy.prefixes import word_filters
from cluster_model.render.page.table import Table, make_table
from cluster_model.render.tenants import count_servers, word_homing, word_isolation, word_reach

MAX_MATRIX = 40  # tenants and peers across: what a wide screen shows
TENANT_COLUMNS = ("tenant", "id", "VRF", "L3 VNI", "route target", "servers", "GPU quota", "Ceph", "reaches")
SUBNET_COLUMNS = ("tenant", "subnet", "prefix", "gateway", "VLAN", "VNI", "servers", "addresses", "seen outside")
PEER_COLUMNS = ("border peer", "AS", "what it is", "links", "at most, routes", "accepted", "announced", "tenants")
MEETING_COLUMNS = ("what", "provider", "consumer", "provider offers", "consumer shows", "where they cross")


def word_separation(plan: Plan) -> Iterator[str]:
    """Yield in words what keeps tenants apart on each network, and how their servers hang on two leafs."""
    for network in plan.networks:
        if network.homing:
            yield f"{network.name}: a VRF per tenant. Servers' bonds: {word_homing(network.homing)}. {network.homing_reason}."
        if network.isolation:
            yield f"{network.name}: isolation {word_isolation(network.isolation)}."


def list_tenant_tables(plan: Plan) -> Iterator[Table]:
    """Yield tables of tenants, subnets, border peers and meetings."""
    yield _make_matrix(plan)
    crossing = [_describe_meeting(plan, meeting) for meeting in plan.meetings]
    ends = {1: "tenant", 2: "tenant"}
    if {tenant.name for tenant in plan.tenants} & {peer.name for peer in plan.border_peers}:
        del ends[1]  # a provider may be either
    yield make_table("What crosses", MEETING_COLUMNS, crossing, where="plan.json", links=ends)
    owners = count_servers(plan)
    tenants = [_describe_tenant(tenant, owners[tenant.name]) for tenant in plan.tenants]
    yield make_table("Tenants", TENANT_COLUMNS, tenants, {1, 3, 5, 6}, "plan.json", anchor="tenant")
    members = Counter((v.tenant, v.subnet) for server in plan.servers for bond in server.bonds for v in bond.vlans)
    subnets = [_describe_subnet(s, members[s.tenant, s.name]) for tenant in plan.tenants for s in tenant.subnets]
    yield make_table("Subnets", SUBNET_COLUMNS, subnets, {4, 5, 6}, "plan.json", links={0: "tenant"})
    peers = [_describe_peer(plan, peer) for peer in plan.border_peers]
    yield make_table("Border peers", PEER_COLUMNS, peers, {1, 4}, "plan.json", links={3: "device", 7: "tenant"})


def _make_matrix(plan: Plan) -> Table:
    """Return who meets whom: a row per tenant, a column per tenant and border peer. An empty cell: no route between them."""
    nat = {(tenant.name, entry.peer) for tenant in plan.tenants for entry in tenant.nat}
    cells: dict[tuple[str, str], str] = {}
    for meeting in plan.meetings:
        provider, consumer = find_ends(plan, meeting)
        if isinstance(provider, BorderPeer):
            cells[consumer.name, f"peer {provider.name}"] = "NAT" if (consumer.name, provider.name) in nat else "routes"
        else:
            cells[consumer.name, provider.name] = "uses" if meeting.kind == "shared" else "peers"
            cells[provider.name, consumer.name] = "serves" if meeting.kind == "shared" else "peers"
    names = [tenant.name for tenant in plan.tenants]
    keys = [*names, *(f"peer {peer.name}" for peer in plan.border_peers)]
    across = keys[:MAX_MATRIX]
    columns = ("", *(key.removeprefix("peer ") + (" (border)" if key.startswith("peer ") else "") for key in across))
    rows = [(name, *("own" if key == name else cells.get((name, key), "") for key in across)) for name in names]
    title = "Who may speak to whom" + (f", the first {MAX_MATRIX} of {len(keys):,} columns" if len(keys) > MAX_MATRIX else "")
    return make_table(title, columns, rows, where="plan.json", links={0: "tenant"})


def find_ends(plan: Plan, meeting: Meeting) -> tuple[Tenant | BorderPeer, Tenant]:
    """Return provider and consumer of a meeting, which names them by VRF; a tenant's may be called like a border peer's."""
    tenants = {tenant.vrf: tenant for tenant in plan.tenants}
    if meeting.kind == "egress":
        return next(peer for peer in plan.border_peers if peer.vrf == meeting.provider), tenants[meeting.consumer]
    return tenants[meeting.provider], tenants[meeting.consumer]


def _describe_meeting(plan: Plan, meeting: Meeting) -> tuple[str, ...]:
    provider, consumer = find_ends(plan, meeting)
    where = "border leafs" if meeting.kind == "egress" else f"leafs of {provider.name}"
    shown = ", ".join(word_filters(meeting.returned))
    if isinstance(provider, BorderPeer):
        shown = next((f"{nat.prefix} by NAT" for nat in consumer.nat if nat.peer == provider.name), shown)
    offered = ", ".join(word_filters(meeting.offered))
    return {"shared": "shared service"}.get(meeting.kind, meeting.kind), provider.name, consumer.name, offered, shown, where


def _describe_tenant(tenant: Tenant, servers: int) -> tuple[str, ...]:
    quota = f"{tenant.gpus:,}" if tenant.gpus >= 0 else ""
    name = tenant.name + (" (shared)" if tenant.shared else "")
    ceph = ", ".join(tenant.storage.parts) if tenant.storage else ""
    reach = ", ".join(word_reach(tenant))
    return name, str(tenant.id), tenant.vrf, str(tenant.vni), tenant.route_target, f"{servers:,}", quota, ceph, reach


def _describe_subnet(subnet: Subnet, servers: int) -> tuple[str, ...]:
    addresses = subnet.addressing + (f", pool {subnet.pool}" if subnet.pool else "")
    seen = "yes" if subnet.visible else "no, internal"
    numbers = (str(subnet.vlan), str(subnet.vni), f"{servers:,}")
    return subnet.tenant, subnet.name, subnet.prefix, subnet.gateway.partition("/")[0], *numbers, addresses, seen


def _describe_peer(plan: Plan, peer: BorderPeer) -> tuple[str, ...]:
    filters = (", ".join(word_filters(lines)) for lines in (peer.accept, peer.announce))
    links = ", ".join(
        f"{switch.name} {external.port} {external.address}"
        for switch in plan.switches
        if switch.role == "border" and switch.overlay is not None
        for external in switch.overlay.externals
        if external.peer == peer.name
    )
    told = (peer.name, str(peer.asn), peer.description, links, f"{peer.max_routes:,}")
    return *told, *filters, ", ".join(peer.tenants)
