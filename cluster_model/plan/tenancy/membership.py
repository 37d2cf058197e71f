"""Who owns which servers, and which subnets reach which: looked up by server, since a cluster has many of both."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from cluster_model.intent.model.cluster import Cluster
from cluster_model.intent.model.tenants import Tenant
from cluster_model.intent.references.membership import Seat, expand_built
from cluster_model.plan.draft import Bench, ServerDraft

SubnetKey = tuple[str, str]
"""Tenant and subnet, by name."""


@dataclass(frozen=True, slots=True)
class Membership:
    """The built servers of each tenant, by group id and number; by server its owner and the subnets that it has a leg in.

    A server's subnets are in the order of tenant and subnet ids. A server of two tenants counts for the one of the lower id.
    """

    owned: dict[str, tuple[ServerDraft, ...]]
    owner: dict[str, str]
    subnets: dict[str, tuple[SubnetKey, ...]]


def rank_tenants(cluster: Cluster) -> list[tuple[str, Tenant]]:
    """Return the tenants in the order of their ids."""
    return sorted(cluster.tenants.items(), key=lambda item: (item[1].id, item[0]))


def resolve_membership(cluster: Cluster, bench: Bench) -> Membership:
    """Return whom the built servers belong to and what reaches them."""
    owned: dict[str, tuple[ServerDraft, ...]] = {}
    owner: dict[str, str] = {}
    subnets: defaultdict[str, list[SubnetKey]] = defaultdict(list)
    for name, tenant in rank_tenants(cluster):
        own = _draft(bench, expand_built(cluster, tenant.servers))
        owned[name] = own
        for server in own:
            owner.setdefault(server.name, name)
        for subnet_name, subnet in sorted(tenant.subnets.items(), key=lambda item: (item[1].id, item[0])):
            members = own if subnet.servers is None else _draft(bench, expand_built(cluster, subnet.servers))
            for server in members:
                subnets[server.name].append((name, subnet_name))
    return Membership(owned, owner, {name: tuple(keys) for name, keys in subnets.items()})


def _draft(bench: Bench, seats: list[Seat]) -> tuple[ServerDraft, ...]:
    return tuple(bench.servers[group][number - 1] for group, number in seats)
