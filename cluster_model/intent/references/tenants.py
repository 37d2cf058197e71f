"""What tenants name: each other, border peers, servers, Ceph pools, and the networks that they need."""

from __future__ import annotations

from collections.abc import Iterator

from cluster_model.diagnostic import Diagnostic
from cluster_model.intent.model.cluster import Cluster
from cluster_model.intent.model.tenants import Tenant
from cluster_model.intent.references.membership import Fault, expand
from cluster_model.intent.references.refusals import check_filesystem, check_group, check_ids, check_pools, list_known, refuse
from cluster_model.near import suggest

MOST_SUBNETS = 15


def check_tenants(cluster: Cluster) -> list[Diagnostic]:
    """Return every reference of tenants that leads nowhere, as INT011, INT013 and INT020 to INT029; not located."""
    return list(_check(cluster))


def _check(cluster: Cluster) -> Iterator[Diagnostic]:
    business = cluster.networks.business
    yield from _check_isolation(cluster)
    if business is not None and business.border is not None:
        yield from check_ids("networks.business.border.peers", business.border.peers)
    yield from check_ids("tenants", cluster.tenants)
    if cluster.tenants and business is None:
        fix = "add business: to networks, with leaf and pool, or take tenants away"
        summary = f"tenants have subnets, and there is no business network: {', '.join(list(cluster.tenants)[:4])}"
        yield refuse("INT028", "tenants", summary, "networks.business", fix)
    for name, tenant in cluster.tenants.items():
        where = f"tenants.{name}"
        yield from check_ids(f"{where}.subnets", tenant.subnets, MOST_SUBNETS)
        yield from _check_servers(cluster, f"{where}.servers", tenant.servers)
        for key, subnet in tenant.subnets.items():
            yield from _check_servers(cluster, f"{where}.subnets.{key}.servers", subnet.servers or [])
            for group in subnet.first:
                yield from check_group(f"{where}.subnets.{key}.first.{group}@key", group, cluster.servers)
        yield from _check_friends(cluster, name, tenant)
        yield from _check_exits(cluster, name, tenant)
        yield from _check_pools(cluster, name, tenant)


def _check_isolation(cluster: Cluster) -> Iterator[Diagnostic]:
    compute = cluster.networks.compute
    if compute is None:
        return
    if compute.isolation == "pkeys" and compute.technology == "roce":
        summary, fix = "partition keys are InfiniBand's, and compute is RoCE", "set isolation to vrf, or to none"
    elif compute.isolation == "vrf" and compute.technology == "infiniband":
        summary, fix = "VRFs are for Ethernet, and compute is InfiniBand", "set isolation to pkeys, or to none"
    else:
        return
    expected = "none or vrf with roce, none or pkeys with infiniband"
    yield refuse("INT029", "networks.compute.isolation", summary, expected, fix)


def _check_servers(cluster: Cluster, where: str, expressions: list[str]) -> Iterator[Diagnostic]:
    for index, expression in enumerate(expressions):
        found = expand(cluster, expression)
        if isinstance(found, Fault):
            yield refuse("INT026", f"{where}.{index}", found.text, found.expected, found.fix)


def _check_friends(cluster: Cluster, name: str, tenant: Tenant) -> Iterator[Diagnostic]:
    tenants = cluster.tenants
    others = [other for other in tenants if other != name]
    for index, used in enumerate(tenant.uses):
        where = f"tenants.{name}.uses.{index}"
        if used == name:
            yield refuse("INT023", where, f"{name} uses itself", "a shared tenant", "take it away: its own subnets it always has")
        elif used not in tenants:
            shared = [other for other in others if tenants[other].shared]
            fix = suggest(used, shared or others, "add it to tenants, with shared: true")
            yield refuse("INT020", where, f"there is no tenant {used}", list_known(shared, "a shared tenant"), fix)
        elif not tenants[used].shared:
            fix = f"set tenants.{used}.shared to true, or name it under peers of both"
            yield refuse("INT022", where, f"{used} is no shared tenant", "a tenant with shared: true", fix)
    for index, peer in enumerate(tenant.peers):
        where = f"tenants.{name}.peers.{index}"
        if peer == name:
            yield refuse("INT023", where, f"{name} peers with itself", "another tenant", "take it away")
        elif peer not in tenants:
            fix = suggest(peer, others, "add it to tenants, or take it away")
            yield refuse("INT020", where, f"there is no tenant {peer}", list_known(others, "another tenant"), fix)
        elif name not in tenants[peer].peers:
            summary = f"{name} lists {peer} as a peer, but {peer} does not list {name}"
            fix = f"add {name} to tenants.{peer}.peers, or take {peer} away here"
            yield refuse("INT024", where, summary, "both name the other, so that neither is opened from outside", fix)


def _check_exits(cluster: Cluster, name: str, tenant: Tenant) -> Iterator[Diagnostic]:
    business = cluster.networks.business
    peers = business.border.peers if business is not None and business.border is not None else None
    named = [(f"tenants.{name}.egress.{index}", peer) for index, peer in enumerate(tenant.egress)]
    named += [(f"tenants.{name}.nat.{peer}@key", peer) for peer in tenant.nat]
    for where, peer in named:
        if peers is not None and peer not in peers:  # without any border, BRD001 says so
            fix = suggest(peer, peers, "add it to networks.business.border.peers, or take it away")
            yield refuse("INT021", where, f"there is no border peer {peer}", list_known(peers, "a border peer"), fix)
        elif where.endswith("@key") and peer not in tenant.egress:
            fix = f"add {peer} to tenants.{name}.egress, or take it away here"
            summary = f"{name} has NAT towards {peer}, which is not in its egress"
            yield refuse("INT025", where, summary, list_known(tenant.egress, "a border peer of its egress"), fix)


def _check_pools(cluster: Cluster, name: str, tenant: Tenant) -> Iterator[Diagnostic]:
    if tenant.ceph is None:
        return
    if cluster.ceph is None:
        fix = "add ceph: with its hosts and pools, or take it away here"
        yield refuse(
            "INT027",
            f"tenants.{name}.ceph@key",
            f"{name} has a share of Ceph, and there is no Ceph",
            "ceph: at the top of the file",
            fix,
        )
        return
    yield from check_pools(f"tenants.{name}.ceph.pools", tenant.ceph.pools, cluster.ceph.pools)
    for files in tenant.ceph.filesystems:
        yield from check_filesystem(f"tenants.{name}.ceph.filesystems.{files}@key", files, cluster.ceph.filesystems)
    if tenant.ceph.object is not None and cluster.ceph.object is None:
        fix = "add object: to ceph with its pool, or take it away here"
        where = f"tenants.{name}.ceph.object@key"
        yield refuse("INT027", where, f"{name} has buckets, and there is no object store", "ceph.object", fix)
