"""Tenants kept apart on the compute network: a VRF per leaf port over VXLAN, or partitions of InfiniBand. Who shares storage."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from cluster_model.plan.draft import Bench, SwitchDraft
from cluster_model.plan.model import Plan
from cluster_model.plan.model.overlay import Filter, Overlay, Partition, SwitchVrf, Tenant
from cluster_model.plan.tenancy.membership import Membership
from cluster_model.plan.tenancy.tenants import COMPUTE_BASE, VLANS_PER_TENANT

HOST_ROUTE = 32  # prefix length


def plan_compute_vrfs(bench: Bench, tenants: tuple[Tenant, ...], membership: Membership) -> None:
    """Put the compute leafs' ports to tenants' own servers in the tenants' VRFs, and give the fabric its overlays.

    Ports to servers that nobody owns stay in the default VRF.
    """
    for switch in bench.switches:
        if switch.network != "compute" or not switch.built:
            continue
        if switch.role == "leaf":
            loopback = switch.loopback.partition("/")[0]
            switch.overlay = Overlay(loopback, False, "", "single", vrfs=_plan_leaf_vrfs(switch, loopback, tenants, membership))
        else:
            switch.overlay = Overlay("", False, "", "single")


def _plan_leaf_vrfs(
    leaf: SwitchDraft, loopback: str, tenants: tuple[Tenant, ...], membership: Membership
) -> tuple[SwitchVrf, ...]:
    by_name = {tenant.name: tenant for tenant in tenants}
    ports: defaultdict[str, list[str]] = defaultdict(list)
    leaf.ports.sort(key=lambda port: (port.cage, port.sub))
    for index, port in enumerate(leaf.ports):
        owner = membership.owner.get(port.peer, "") if port.use == "host" else ""
        if owner:
            leaf.ports[index] = replace(port, vrf=by_name[owner].vrf)
            ports[owner].append(port.name)
    links = tuple(Filter(aggregate, up_to=HOST_ROUTE) for aggregate in leaf.originates)
    return tuple(
        SwitchVrf(
            name=tenant.vrf,
            kind="compute",
            id=tenant.id,
            table=tenant.table,
            vlan=VLANS_PER_TENANT * tenant.id,
            vni=tenant.compute_vni,
            rd=f"{loopback}:{COMPUTE_BASE + tenant.id}",
            route_target=tenant.compute_route_target,
            imports=(),
            announced=links,
            ports=tuple(ports[tenant.name]),
            originates=(),
        )
        for tenant in tenants
        if tenant.name in ports
    )


def plan_partitions(tenants: tuple[Tenant, ...], membership: Membership) -> tuple[Partition, ...]:
    """Return the partition of every tenant that has servers of its own: their compute ports, by server and port."""
    found = []
    for tenant in tenants:
        ports = [
            (f"{server.name}:{port.name}", port.guid)
            for server in membership.owned[tenant.name]
            for port in server.ports
            if port.network == "compute"
        ]
        if ports:
            found.append(Partition(tenant.name, tenant.pkey, tuple(name for name, _ in ports), tuple(guid for _, guid in ports)))
    return tuple(found)


def list_meeting_on_storage(plan: Plan) -> list[Tenant]:
    """Return the tenants that meet on the storage network, by id; none where it is at most one.

    They have servers of their own there, or have none at all and run on whatever servers Kubernetes or Slurm give them.
    """
    clients = {s.name for s in plan.servers if s.role != "storage" and any(port.network == "storage" for port in s.ports)}
    found = [tenant for tenant in plan.tenants if clients and (not tenant.servers or clients.intersection(tenant.servers))]
    return found if len(found) > 1 else []
