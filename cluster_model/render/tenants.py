"""Tenants as people and programs are told of them: what the inventory, the summary, the page and the command share."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from cluster_model.plan.model import Plan, Server
from cluster_model.plan.model.overlay import ServerVlan, Subnet, Tenant

Vars = dict[str, Any]


def list_memberships(plan: Plan) -> dict[str, list[str]]:
    """Return the tenants of each server, by server, in the order of ids: its owner and those in whose subnets it is."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for tenant in plan.tenants:
        for name in tenant.servers:
            found[name].add(tenant.name)
    for server in plan.servers:
        for bond in server.bonds:
            found[server.name].update(vlan.tenant for vlan in bond.vlans)
    order = {tenant.name: index for index, tenant in enumerate(plan.tenants)}
    return {server: sorted(names, key=lambda name: order.get(name, 0)) for server, names in found.items() if names}


def count_servers(plan: Plan) -> Counter[str]:
    """Return how many servers each tenant has an interface on, or owns."""
    return Counter(name for names in list_memberships(plan).values() for name in names)


def list_members(plan: Plan, subnet: Subnet) -> list[tuple[Server, ServerVlan]]:
    """Return the servers in a subnet with their interfaces, in the order of the plan."""
    return [
        (server, vlan)
        for server in plan.servers
        for bond in server.bonds
        for vlan in bond.vlans
        if (vlan.tenant, vlan.subnet) == (subnet.tenant, subnet.name)
    ]


def describe_tenants(plan: Plan) -> dict[str, Vars]:
    """Return every tenant as roles need it, by name."""
    return {tenant.name: _describe_tenant(tenant) for tenant in plan.tenants}


def _describe_tenant(tenant: Tenant) -> Vars:
    storage = tenant.storage
    return {
        "id": tenant.id,
        "vrf": tenant.vrf,
        "vni": tenant.vni,
        "shared": tenant.shared,
        "gpu_quota": tenant.gpus,
        "servers": tenant.servers,
        "subnets": [
            {
                "name": subnet.name,
                "prefix": subnet.prefix,
                "gateway": subnet.gateway.partition("/")[0],
                "vlan": subnet.vlan,
                "vni": subnet.vni,
                "visible": subnet.visible,
                "addressing": subnet.addressing,
                "pool": dict(zip(("first", "last"), subnet.pool.split("-"), strict=True)) if subnet.pool else {},
                "dhcp_servers": subnet.dhcp_servers,
            }
            for subnet in tenant.subnets
        ],
        "uses": tenant.uses,
        "peers": tenant.peers,
        "egress": tenant.egress,
        "nat": {nat.peer: nat.prefix for nat in tenant.nat},
        "pkey": tenant.pkey,
        "storage": {
            "pools": storage.pools,
            "namespace": storage.namespace,
            "user": storage.user,
            "clients": storage.clients,
        }
        if storage
        else {},
    }


def describe_border_peers(plan: Plan) -> dict[str, Vars]:
    """Return every external peer by name; filters as lists of prefix and longest length inside it."""
    return {
        peer.name: {
            "asn": peer.asn,
            "description": peer.description,
            "accept": peer.accept or (),
            "announce": peer.announce or (),
            "max_routes": peer.max_routes,
            "tenants": peer.tenants,
        }
        for peer in plan.border_peers
    }


def word_reach(tenant: Tenant) -> list[str]:
    """Return whom a tenant reaches outside itself, and through which addresses it leaves."""
    nat = {entry.peer: entry.prefix for entry in tenant.nat}
    peers = [f"{name} (peer)" for name in tenant.peers]
    ways = [f"{name} via {nat[name]}" if name in nat else name for name in tenant.egress]
    return [*tenant.uses, *peers, *ways]


def word_isolation(isolation: str) -> str:
    """Return what keeps tenants apart on the compute network."""
    return {
        "none": "none: tenants share the compute fabric",
        "vrf": "a VRF per tenant: every leaf port of its servers lies in it",
        "pkeys": "a partition key per tenant: its ports are full members of that alone",
    }.get(isolation, isolation)


def word_storage(tenants: list[Tenant]) -> str:
    """Return what keeps tenants apart that meet on the storage network."""
    apart = [tenant.name for tenant in tenants if tenant.storage is not None]
    if not apart:
        return "none: tenants share it"
    who = "each" if len(apart) == len(tenants) else f"for {', '.join(apart)}"
    return f"none: tenants share it, with a namespace and a user of Ceph {who}"


def word_homing(homing: str) -> str:
    """Return how a server's bond ends on its leafs."""
    return {"esi": "EVPN multihoming (ESI)", "mlag": "MLAG", "single": "one leaf"}.get(homing, homing)
