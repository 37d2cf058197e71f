"""The network policy of a tenant: whom its pods speak with, and what of the cluster and of the site none of them reaches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from ipaddress import IPv4Address, IPv4Network, collapse_addresses, summarize_address_range

from cluster_model.plan.model import Plan, Server
from cluster_model.plan.model.overlay import Tenant
from cluster_model.plan.tenancy.meetings import list_partners, list_reached
from cluster_model.render.kubernetes.objects import Json

LINK_LOCAL = IPv4Network("169.254.0.0/16")
"""Source: RFC 3927. Answered on the host itself: a BMC's USB interface, a cloud's metadata."""


def write_policy(plan: Plan, tenant: Tenant) -> Json:
    """Return a policy under which pods speak with whom servers of the tenant speak: all else is dropped, both ways."""
    names = [tenant.name, *(partner.name for partner in list_partners(plan.tenants, tenant))]
    pods = [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}} for name in names]
    closed = list_closed(plan)
    inside: list[Json] = [*pods, *_open([subnet.prefix for subnet in list_reached(plan.tenants, tenant)], closed)]
    outside = _open(_list_outside(plan, tenant), [*closed, *_list_inner(plan)], _list_foreign(plan, tenant))
    resolver = {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}},
        "podSelector": {"matchLabels": {"k8s-app": "kube-dns"}},
    }
    ports = [{"port": 53, "protocol": protocol} for protocol in ("UDP", "TCP")]
    egress: list[Json] = [{"to": inside}, {"to": [resolver], "ports": ports}]
    if outside:
        egress.append({"to": outside})
    return {"podSelector": {}, "policyTypes": ["Ingress", "Egress"], "ingress": [{"from": inside}], "egress": egress}


def list_closed(plan: Plan) -> list[IPv4Network]:
    """Return what pods of no tenant reach, not even where it lies in a tenant's own subnet.

    Control servers are closed whoever's own they are, and although they may be workers or offer a tenant's services: a policy
    opens addresses, and behind theirs are the API server, etcd and the kubelet that hold the Secrets of all tenants. What a
    tenant offers runs in pods, or on other servers of its own. Ceph's monitors are in the storage network, which hosts mount
    from; a storage server that stands in a tenant's subnet was put there to be reached, and stays open.
    """
    kubernetes, site = plan.kubernetes, plan.site
    # Pods are reached by their namespace, and services by the pods behind them.
    closed = [kubernetes.pod_pool, kubernetes.service_pool]
    # Servers' other addresses, BMCs, switches' management and loopbacks, and the segments that servers are installed in.
    closed += [network.pool for network in plan.networks if network.pool and network.name != "business"]
    # The site's own: kube-dns asks its resolvers for pods, and a pod has its node's clock.
    closed += [*site.dns, *site.ntp, *site.syslog, *site.snmp_managers]
    # Who answers DHCP and hands out installations; a boot server of the cluster has more addresses, below.
    closed += [boot.address for boot in plan.provisioning.servers]
    # The address that moves between the API servers; else it is each node's own. One that leafs are told of is in a pool.
    closed += [] if kubernetes.endpoint.is_proxied else [kubernetes.endpoint.address]
    # Leafs have the gateways: hosts send by them, and pods nothing to them.
    closed += [_cut(subnet.gateway) for tenant in plan.tenants for subnet in tenant.subnets]
    # Links to the site's routers and to border peers: switches and routers, and nobody else.
    closed += [upstream.address for switch in plan.switches for upstream in switch.upstreams]
    closed += [port.address for switch in plan.switches if switch.overlay for port in switch.overlay.externals]
    guarded = {node.name for node in kubernetes.nodes if node.is_control} | {boot.name for boot in plan.provisioning.servers}
    found = {IPv4Network(text, strict=False) for text in closed if text}
    found.update(part for name in sorted(guarded - {""}) for part in _list_addresses(plan, plan.server(name)))
    return [LINK_LOCAL, *sorted(found)]


def _list_addresses(plan: Plan, server: Server) -> Iterator[IPv4Network]:
    """Yield every address that a server has or may have: by DHCP any of the pool, and of the subnet where it has none."""
    for text in (*(port.address for port in server.ports), *(service.address for service in server.services)):
        if text:
            yield IPv4Network(_cut(text))
    subnets = {(subnet.tenant, subnet.name): subnet for tenant in plan.tenants for subnet in tenant.subnets}
    for vlan in (vlan for bond in server.bonds for vlan in bond.vlans):
        subnet = subnets[vlan.tenant, vlan.subnet]
        first, _, last = subnet.pool.partition("-")
        if vlan.address:
            yield IPv4Network(_cut(vlan.address))
        elif last:
            yield from summarize_address_range(IPv4Address(first), IPv4Address(last))
        else:
            yield IPv4Network(subnet.prefix)


def _list_inner(plan: Plan) -> Iterator[IPv4Network]:
    """Yield what is not beyond the border, although a peer may accept it."""
    for network in plan.networks:  # a tenant's subnet may equal the business pool, which is in no tenant's VRF; see SUB009
        if network.name == "business" and network.pool:
            yield IPv4Network(network.pool)
    for tenant in plan.tenants:
        yield from (IPv4Network(subnet.prefix) for subnet in tenant.subnets)  # those that a tenant reaches have their own blocks
        yield from (IPv4Network(nat.prefix) for nat in tenant.nat)  # answers come back to these, and nothing listens there


def _list_outside(plan: Plan, tenant: Tenant) -> list[str]:
    """Return the prefixes that a tenant reaches by its border peers: those that the border accepts of them."""
    return [line.prefix for peer in plan.border_peers if peer.name in tenant.egress for line in peer.accept or ()]


def _list_foreign(plan: Plan, tenant: Tenant) -> list[IPv4Network]:
    """Return the prefixes of border peers that a tenant does not leave by."""
    peers = [peer for peer in plan.border_peers if peer.name not in tenant.egress]
    return [IPv4Network(line.prefix) for peer in peers for line in peer.accept or ()]


def _open(prefixes: Sequence[str], closed: Sequence[IPv4Network], foreign: Sequence[IPv4Network] = ()) -> list[Json]:
    """Return blocks of addresses, each without what is closed in it, and none for a prefix that is closed as a whole.

    Args:
        prefixes: what to open.
        closed: what stays closed.
        foreign: what stays closed where it is a part of a prefix: the longer of two routes is the one that is taken.
    """
    blocks: list[Json] = []
    for prefix in dict.fromkeys(prefixes):
        block = IPv4Network(prefix)
        parts = [other for other in foreign if other != block and other.subnet_of(block)]
        # Collapsed, since Kubernetes takes as an exception only what is smaller than the block.
        barred = list(collapse_addresses([*(other for other in closed if other.overlaps(block)), *parts]))
        if not any(block.subnet_of(other) for other in barred):
            blocks.append({"ipBlock": {"cidr": prefix, **({"except": [str(other) for other in barred]} if barred else {})}})
    return blocks


def _cut(address: str) -> str:
    """Return an address without its length."""
    return address.partition("/")[0]
