"""Quotas of a tenant of Kubernetes: GPUs and rails; and neither ports of nodes nor priorities of the cluster's own."""

from __future__ import annotations

import math
from collections.abc import Iterator

from cluster_model.plan.model import Plan, Server
from cluster_model.plan.model.overlay import Tenant
from cluster_model.plan.services.rails import list_ports
from cluster_model.plan.services.tenant_nodes import map_owners, may_run
from cluster_model.render.kubernetes.objects import Json, make_object
from cluster_model.render.kubernetes.topology import GPU

SYSTEM_PRIORITIES = ("system-cluster-critical", "system-node-critical")
"""Kubernetes' own classes: their pods take the place of any that run. Pods of every namespace may name them. Source: Kubernetes
documentation, Guaranteed Scheduling For Critical Add-On Pods; Resource Quotas: Limit Priority Class consumption by default."""
NODE_PORTS = ("services.loadbalancers", "services.nodeports")
"""Services that open ports on every node. Source: Kubernetes documentation, Resource Quotas: Object count quota."""


def list_quotas(plan: Plan, tenant: Tenant) -> Iterator[Json]:
    """Yield the quotas of a tenant's namespace: of GPUs and rails where it has one, of services, and of priorities."""
    name = tenant.name
    if tenant.gpus >= 0:
        counts = {GPU: tenant.gpus, **count_rails(plan, tenant)}
        hard = {f"requests.{resource}": str(count) for resource, count in counts.items()}
        yield make_object("v1", "ResourceQuota", "gpus", name, spec={"hard": hard})
    yield make_object("v1", "ResourceQuota", "node-ports", name, spec={"hard": dict.fromkeys(NODE_PORTS, "0")})
    scope = {"scopeName": "PriorityClass", "operator": "In", "values": list(SYSTEM_PRIORITIES)}
    spec = {"hard": {"pods": "0"}, "scopeSelector": {"matchExpressions": [scope]}}
    yield make_object("v1", "ResourceQuota", "system-priorities", name, spec=spec)


def count_rails(plan: Plan, tenant: Tenant) -> dict[str, int]:
    """Return how many ports of each rail a tenant may have, by resource: those of the servers that its GPUs fill.

    Where its pods may run on several models, the one that spreads its GPUs over the most ports of a rail counts: which model it
    is, is the job's choice. The first server of a group that it may use speaks for all of it.
    """
    servers = {server.name: server for server in plan.servers}
    owners = map_owners(plan.tenants)
    models = {}
    for node in plan.kubernetes.nodes:
        if node.is_worker and node.group not in models and may_run(tenant.name, owners.get(node.name, "")):
            models[node.group] = servers[node.name]
    counts = {}
    for rail in plan.kubernetes.rails:
        filled = [models[group] for group in rail.groups if group in models and models[group].gpus]
        needs = [math.ceil(tenant.gpus / server.gpus) * _count_ports(server, rail.prefix) for server in filled]
        counts[rail.resource] = max(needs, default=0)
    return counts


def _count_ports(server: Server, route: str) -> int:
    """Return how many ports a server has on the rail with this prefix."""
    return sum(port.route == route for port in list_ports(server))
