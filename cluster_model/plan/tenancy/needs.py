"""From tenants to what they need of every switch and server: VNIs, route targets, meetings of VRFs, bonds, sessions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cluster_model.kinds import BUSINESS
from cluster_model.plan.context import Context
from cluster_model.plan.draft import Bench, ServerDraft
from cluster_model.plan.fabric.addressing import text
from cluster_model.plan.fabric.shape import FabricShape
from cluster_model.plan.model.overlay import BorderPeer, Meeting, Partition, ServerBond, ServerVlan, Subnet, Tenant
from cluster_model.plan.tenancy.evpn import Overlays, find_untagged
from cluster_model.plan.tenancy.isolation import plan_compute_vrfs, plan_partitions
from cluster_model.plan.tenancy.meetings import plan_meetings
from cluster_model.plan.tenancy.membership import Membership, SubnetKey, resolve_membership
from cluster_model.plan.tenancy.places import find_address
from cluster_model.plan.tenancy.tenants import has_compute_vrfs, has_partitions, plan_peers, plan_tenants

BOND = "bond0"


@dataclass(frozen=True, slots=True)
class Tenancy:
    """What tenants add to the plan besides switches and servers; tuples are in the order of ids."""

    tenants: tuple[Tenant, ...] = ()
    border_peers: tuple[BorderPeer, ...] = ()
    meetings: tuple[Meeting, ...] = ()
    partitions: tuple[Partition, ...] = ()


def plan_tenancy(ctx: Context, bench: Bench, shapes: Sequence[FabricShape]) -> Tenancy:
    """Return the tenants as planned, and give the wired switches their overlays and the servers their bonds."""
    cluster = ctx.cluster
    membership = resolve_membership(cluster, bench)
    tenants, peers = plan_tenants(cluster, membership), plan_peers(cluster)
    encounters = plan_meetings(tenants, peers)
    if has_compute_vrfs(cluster):
        plan_compute_vrfs(bench, tenants, membership)
    shape = next((shape for shape in shapes if shape.kind is BUSINESS), None)
    if cluster.networks.business is not None and shape is not None and shape.cut is not None:
        switches = [switch for switch in bench.switches if switch.network == shape.name]
        homing = shape.wanted.homing or "single"
        Overlays(cluster.networks.business, shape.cut, homing, switches, tenants, peers, membership).plan(encounters)
        plan_bonds(ctx, bench, tenants, membership, shape.mtus(cluster.lossless)[1])
    partitions = plan_partitions(tenants, membership) if has_partitions(cluster) else ()
    return Tenancy(tenants, peers, tuple(met.meeting for met in encounters), partitions)


def plan_bonds(ctx: Context, bench: Bench, tenants: tuple[Tenant, ...], membership: Membership, mtu_bytes: int) -> None:
    """Give every server with business ports its bond, with an interface in each of its subnets."""
    subnets = {(tenant.name, subnet.name): subnet for tenant in tenants for subnet in tenant.subnets}
    owners = {server: tenant.name for tenant in tenants for server in tenant.servers}
    for drafts in bench.servers.values():
        for server in drafts:
            ports = [port for port in server.ports if port.network == "business"]
            if not ports:
                continue
            reached = [(key, subnets[key]) for key in membership.subnets.get(server.name, ())]
            vlans = _plan_server_vlans(ctx, server, reached, owners.get(server.name, ""))
            speed = sum(port.speed_gbps for port in ports)
            server.bonds.append(ServerBond(BOND, tuple(port.name for port in ports), mtu_bytes, speed, vlans))


def _plan_server_vlans(
    ctx: Context,
    server: ServerDraft,
    reached: list[tuple[SubnetKey, Subnet]],
    owner: str,
) -> tuple[ServerVlan, ...]:
    if not reached:
        return ()
    subnets = [subnet for _, subnet in reached]
    untagged = find_untagged(subnets)
    # The owner's first: a tenant that comes later, with whatever id, must not turn the server's way out to itself.
    default = min(subnets, key=lambda subnet: (subnet.tenant != owner, not subnet.visible))
    return tuple(
        ServerVlan(
            name=BOND if subnet is untagged else f"{BOND}.{subnet.vlan}",
            tenant=subnet.tenant,
            subnet=subnet.name,
            vlan=subnet.vlan,
            tagged=subnet is not untagged,
            address=_word_address(ctx, server, key) if subnet.addressing == "static" else "",
            gateway=subnet.gateway.partition("/")[0],
            dhcp=subnet.addressing == "dhcp",
            default=subnet is default,
        )
        for key, subnet in reached
    )


def _word_address(ctx: Context, server: ServerDraft, key: SubnetKey) -> str:
    """Return a server's static address in a subnet, with its length."""
    subnet = ctx.cluster.tenants[key[0]].subnets[key[1]]
    return f"{text(find_address(subnet, server.group, server.number))}/{subnet.cidr.prefixlen}"
