"""Which servers of Kubernetes a tenant's pods may run on, and the label that says so of a node."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cluster_model.plan.model.overlay import Tenant

DOMAIN = "tenants.gpuyard.io.node-restriction.kubernetes.io"
"""Of the labels. A kubelet may change labels of its own node, but none of a domain that ends like this one: who takes a server
over cannot have other tenants' pods come to it. Source: Kubernetes documentation, admission controllers: NodeRestriction."""
MAY = "true"


def map_owners(tenants: Sequence[Tenant]) -> dict[str, str]:
    """Return the tenant whose own each server is, by the server's name; servers that are nobody's are not in it.

    A server of two tenants, which a rule refuses, counts for the one of the lower id, as in Membership.
    """
    return {server: tenant.name for tenant in reversed(tenants) for server in tenant.servers}


def may_run(tenant: str, owner: str) -> bool:
    """Return whether a tenant's pods may run on a worker: on its own, and on those that are nobody's.

    Args:
        tenant: the tenant's name.
        owner: the tenant whose own the worker is; empty where it is nobody's.
    """
    return owner in ("", tenant)


def label_tenant(tenant: str) -> str:
    """Return the key of the label of nodes that a tenant's pods may run on.

    There is one for each tenant, since what a namespace selects its nodes by is equalities, all of which must hold.
    """
    return f"{DOMAIN}/{tenant}"


def label_tenants(tenants: Iterable[Tenant], owner: str) -> dict[str, str]:
    """Return the labels of a worker, whose `owner` is a tenant or empty, for all tenants whose pods may run on it."""
    return {label_tenant(tenant.name): MAY for tenant in tenants if may_run(tenant.name, owner)}
