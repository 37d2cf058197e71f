"""From tenants to what they need of every switch and server: VNIs, route targets, meetings of VRFs, bonds, sessions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cluster_model.plan.context import Context
from cluster_model.plan.draft import Bench
from cluster_model.plan.fabric import FabricShape
from cluster_model.plan.overlay import BorderPeer, Meeting, Partition, Tenant


@dataclass(frozen=True, slots=True)
class Tenancy:
    """What tenants add to the plan besides switches and servers; tuples are in the order of ids."""

    tenants: tuple[Tenant, ...] = ()
    border_peers: tuple[BorderPeer, ...] = ()
    meetings: tuple[Meeting, ...] = ()
    partitions: tuple[Partition, ...] = ()


def plan_tenancy(ctx: Context, bench: Bench, shapes: Sequence[FabricShape]) -> Tenancy:
    """Return the tenants as planned, and give the wired switches their overlays and the servers their bonds."""
    return Tenancy()
