"""Which VRFs meet, who provides, and which prefixes cross."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Network

from cluster_model.plan.model.overlay import BorderPeer, Filter, Meeting, Subnet, Tenant


@dataclass(frozen=True, slots=True)
class Encounter:
    """A meeting with the two that meet: a VRF's name alone does not tell a tenant from a border peer."""

    provider: Tenant | BorderPeer
    consumer: Tenant
    meeting: Meeting


def plan_meetings(tenants: tuple[Tenant, ...], peers: tuple[BorderPeer, ...]) -> tuple[Encounter, ...]:
    """Return all meetings: shared tenants, then peerings, then egress, each by the ids of provider and consumer.

    What the intent gets wrong makes none: a provider that is not there or not shared, a peering that one side names.
    """
    by_name = {tenant.name: tenant for tenant in tenants}
    found = [*_share(tenants, by_name), *_peer(tenants, by_name), *_leave(tenants, {peer.name: peer for peer in peers})]
    order = ("shared", "peering", "egress")
    found.sort(key=lambda met: (order.index(met.meeting.kind), met.provider.id, met.consumer.id, met.consumer.name))
    return tuple(found)


def visible_prefixes(tenant: Tenant) -> tuple[Filter, ...]:
    """Return what others may know of a tenant, by subnet id."""
    return tuple(dict.fromkeys(Filter(subnet.prefix) for subnet in tenant.subnets if subnet.visible))


def list_partners(tenants: Iterable[Tenant], tenant: Tenant) -> list[Tenant]:
    """Return the tenants whose visible subnets a tenant reaches, and that reach its own."""
    return [other for other in tenants if other.name in (*tenant.uses, *tenant.peers) or tenant.name in other.uses]


def list_reached(tenants: Iterable[Tenant], tenant: Tenant) -> list[Subnet]:
    """Return the subnets that a tenant's VRF leads to: its own, and the visible ones of its partners."""
    partners = list_partners(tenants, tenant)
    return [*tenant.subnets, *(subnet for partner in partners for subnet in partner.subnets if subnet.visible)]


def passes(prefix: str, filters: tuple[Filter, ...]) -> bool:
    """Return whether a prefix list lets a prefix through."""
    network = IPv4Network(prefix)
    for line in filters:
        allowed = IPv4Network(line.prefix)
        if network == allowed or (network.prefixlen <= line.up_to and network.subnet_of(allowed)):
            return True
    return False


def _share(tenants: tuple[Tenant, ...], by_name: dict[str, Tenant]) -> Iterator[Encounter]:
    for consumer in tenants:
        for name in consumer.uses:
            provider = by_name.get(name)
            if provider is not None and provider.shared and provider is not consumer:
                yield _meet("shared", provider, consumer)


def _peer(tenants: tuple[Tenant, ...], by_name: dict[str, Tenant]) -> Iterator[Encounter]:
    for low in tenants:
        for name in low.peers:
            high = by_name.get(name)
            if high is not None and low.name in high.peers and (low.id, low.name) < (high.id, high.name):
                yield _meet("peering", low, high)


def _leave(tenants: tuple[Tenant, ...], peers: dict[str, BorderPeer]) -> Iterator[Encounter]:
    for tenant in tenants:
        translated = {nat.peer for nat in tenant.nat}
        for name in tenant.egress:
            peer = peers.get(name)
            if peer is None:
                continue
            own = () if name in translated else visible_prefixes(tenant)
            returned = tuple(line for line in own if passes(line.prefix, peer.announce or ()))
            yield Encounter(peer, tenant, Meeting("egress", peer.vrf, tenant.vrf, peer.accept or (), returned))


def _meet(kind: str, provider: Tenant, consumer: Tenant) -> Encounter:
    offered, returned = visible_prefixes(provider), visible_prefixes(consumer)
    record = Meeting("shared" if kind == "shared" else "peering", provider.vrf, consumer.vrf, offered, returned)
    return Encounter(provider, consumer, record)
