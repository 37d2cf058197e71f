"""Tenants and border peers as planned: every number that follows from an id, unless the intent says another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from ipaddress import IPv4Network

from cluster_model.intent.model.business import BorderPeer as PeerIntent
from cluster_model.intent.model.business import BusinessNetwork
from cluster_model.intent.model.business import Filter as FilterIntent
from cluster_model.intent.model.cluster import Cluster
from cluster_model.intent.model.tenants import Subnet as SubnetIntent
from cluster_model.intent.model.tenants import Tenant as TenantIntent
from cluster_model.plan.fabric.addressing import text
from cluster_model.plan.model.overlay import BorderPeer, Filter, Nat, Subnet, Tenant, TenantFolder, TenantStorage
from cluster_model.plan.tenancy.membership import Membership, rank_tenants

VLANS_PER_TENANT = 16  # the first is the L3 VNI's own
L2_VNI_BASE = 10_000
TENANT_BASE = 50_000  # L3 VNIs on the business network, and the second part of their route distinguishers
COMPUTE_BASE = 60_000  # the same on the compute network
TENANT_TABLE_BASE = 10_000
PEER_TABLE_BASE = 20_000
FULL_MEMBER = 0x8000  # of a P_Key: a full member speaks to all of its partition (InfiniBand 1.4, section 10.9)
RT_ADMINISTRATOR: int = BusinessNetwork.model_fields["rt_administrator"].default


def plan_tenants(cluster: Cluster, membership: Membership) -> tuple[Tenant, ...]:
    """Return the tenants in the order of their ids."""
    return tuple(_plan_tenant(cluster, membership, name, tenant) for name, tenant in rank_tenants(cluster))


def plan_peers(cluster: Cluster) -> tuple[BorderPeer, ...]:
    """Return the border peers in the order of their ids."""
    users: dict[str, list[str]] = {}
    for name, tenant in rank_tenants(cluster):
        for peer in set(tenant.egress):
            users.setdefault(peer, []).append(name)
    ranked = sorted(peer_intents(cluster).items(), key=lambda item: (item[1].id, item[0]))
    return tuple(
        BorderPeer(
            name=name,
            id=peer.id,
            vrf=name,
            table=PEER_TABLE_BASE + peer.id,
            asn=peer.asn,
            description=peer.description,
            accept=_plan_filters(peer.accept),
            announce=_plan_filters(peer.announce),
            max_routes=peer.max_routes,
            secret=f"bgp-{name}" if peer.password else "",
            tenants=tuple(users.get(name, ())),
            where=f"networks.business.border.peers.{name}",
        )
        for name, peer in ranked
    )


def peer_intents(cluster: Cluster) -> Mapping[str, PeerIntent]:
    """Return the border peers of an intent by name; none without a border."""
    business = cluster.networks.business
    return business.border.peers if business is not None and business.border is not None else {}


def has_compute_vrfs(cluster: Cluster) -> bool:
    """Return whether tenants are kept apart on the compute network by VRFs."""
    compute = cluster.networks.compute
    return compute is not None and compute.technology == "roce" and compute.isolation == "vrf"


def has_partitions(cluster: Cluster) -> bool:
    """Return whether tenants are kept apart on the compute network by InfiniBand's partition keys."""
    compute = cluster.networks.compute
    return compute is not None and compute.technology == "infiniband" and compute.isolation == "pkeys"


def _plan_tenant(cluster: Cluster, membership: Membership, name: str, tenant: TenantIntent) -> Tenant:
    business = cluster.networks.business
    administrator = business.rt_administrator if business is not None else RT_ADMINISTRATOR
    vni = tenant.vni or TENANT_BASE + tenant.id
    compute_vni = COMPUTE_BASE + tenant.id if has_compute_vrfs(cluster) else 0
    peer_ids = {peer: intent.id for peer, intent in peer_intents(cluster).items()}
    tenant_ids = {other: intent.id for other, intent in cluster.tenants.items()}
    ranked = sorted(tenant.subnets.items(), key=lambda item: (item[1].id, item[0]))
    return Tenant(
        name=name,
        id=tenant.id,
        vrf=tenant.vrf or name,
        shared=tenant.shared,
        vlan=tenant.vlan or VLANS_PER_TENANT * tenant.id,
        vni=vni,
        route_target=f"{administrator}:{vni}",
        table=TENANT_TABLE_BASE + tenant.id,
        subnets=tuple(_plan_subnet(administrator, name, tenant, key, subnet) for key, subnet in ranked),
        servers=tuple(server.name for server in membership.owned[name]),
        gpus=-1 if tenant.gpus is None else tenant.gpus,
        uses=_rank(tenant.uses, tenant_ids),
        peers=_rank(tenant.peers, tenant_ids),
        egress=_rank(tenant.egress, peer_ids),
        nat=tuple(Nat(peer, str(tenant.nat[peer])) for peer in _rank(tenant.nat, peer_ids)),
        compute_vni=compute_vni,
        compute_route_target=f"{administrator}:{compute_vni}" if compute_vni else "",
        pkey=FULL_MEMBER | tenant.id if has_partitions(cluster) else 0,
        storage=_plan_storage(cluster, membership, name, tenant),
        where=f"tenants.{name}",
    )


def _plan_subnet(administrator: int, tenant_name: str, tenant: TenantIntent, name: str, subnet: SubnetIntent) -> Subnet:
    vlan = subnet.vlan or VLANS_PER_TENANT * tenant.id + subnet.id
    vni = subnet.vni or L2_VNI_BASE + vlan
    gateway = str(subnet.gateway) if subnet.gateway is not None else text(int(subnet.cidr.network_address) + 1)
    return Subnet(
        name=name,
        id=subnet.id,
        tenant=tenant_name,
        prefix=str(subnet.cidr),
        gateway=f"{gateway}/{subnet.cidr.prefixlen}",
        vlan=vlan,
        vni=vni,
        route_target=f"{administrator}:{vni}",
        visible=subnet.visible,
        untagged=subnet.untagged,
        addressing=subnet.addressing,
        pool=f"{subnet.pool.first}-{subnet.pool.last}" if subnet.pool is not None else "",
        dhcp_servers=tuple(str(address) for address in sorted(set(subnet.dhcp_servers))),
        where=f"tenants.{tenant_name}.subnets.{name}",
    )


def _plan_storage(cluster: Cluster, membership: Membership, name: str, tenant: TenantIntent) -> TenantStorage | None:
    if tenant.ceph is None:
        return None
    clients = tuple(
        service.address for server in membership.owned[name] for service in server.services if service.purpose == "storage"
    )
    first = {files: each.pools[0] for files, each in (cluster.ceph.filesystems if cluster.ceph else {}).items()}
    folders = tuple(
        TenantFolder(files, folder.pool or first[files], _count_bytes(folder.quota_tb))
        for files, folder in sorted(tenant.ceph.filesystems.items())
    )
    object_bytes = _count_bytes(tenant.ceph.object.quota_tb) if tenant.ceph.object else None
    return TenantStorage(tuple(sorted(set(tenant.ceph.pools))), name, f"client.{name}", clients, folders, object_bytes)


def _count_bytes(quota_tb: float | None) -> int:
    """Return a quota in bytes; 0 without one."""
    return round((quota_tb or 0) * 10**12)


def _plan_filters(filters: list[FilterIntent] | None) -> tuple[Filter, ...] | None:
    """Return the lines of a prefix list by prefix; an `up_to` of the prefix's own length says no more than the prefix."""
    if filters is None:
        return None
    lines: set[tuple[IPv4Network, int]] = set()
    for line in filters:
        longer = line.up_to is not None and line.up_to > line.prefix.prefixlen
        lines.add((line.prefix, line.up_to or 0 if longer else 0))
    return tuple(Filter(str(prefix), up_to) for prefix, up_to in sorted(lines))


def _rank(names: Iterable[str], ids: Mapping[str, int]) -> tuple[str, ...]:
    """Return names, each once, in the order of ids; names that nothing has come last."""
    return tuple(sorted(set(names), key=lambda name: (name not in ids, ids.get(name, 0), name)))
