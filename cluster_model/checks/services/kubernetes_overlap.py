# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about addresses that tenants of Kubernetes have in common. Part of the K8S family."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from ipaddress import IPv4Network

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.wording import count_things, list_names
from cluster_model.diagnostic import Diagnostic
from cluster_model.plan.model import Server
from cluster_model.plan.model.overlay import ServerVlan, Subnet
from cluster_model.plan.services.tenant_nodes import map_owners, may_run
from cluster_model.plan.tenancy.meetings import list_reached

Clash = tuple[ServerVlan, Subnet, Subnet]
"""The interface that leads there, what a tenant's pods ask for, and what they get, which is another tenant's."""


class PodsAtOthersAddresses(Rule):
    """Let no pod find another tenant at its own tenant's addresses.

    What it checks:
        Every node, for each tenant whose pods may run there, which is its owner or, where it has none, any. What the tenant
        reaches, which are its own subnets and the visible ones of those that it meets, against the other subnets that the node
        leads to: those that it has an interface in, and where its default route is in another tenant's subnet, all that this
        tenant reaches.

    Why it matters:
        Pods go out by their node. A network policy opens the tenant's prefix, and behind this node the same prefix is somebody
        else's: a pod reaches servers of a tenant that its own never meets.

    How to fix:
        Name the servers under `servers` of the tenant in whose subnet they stand, so that only its pods run there; or take them
        out of that subnet, or give one of the two subnets another prefix.

    Source:
        Kubernetes documentation, Network Policies: an ipBlock is told by its addresses alone. Hosts send by the longest prefix.
    """

    id, title = "K8S024", "pods that find another tenant at their own addresses"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        tenants = design.plan.tenants
        owners = map_owners(tenants)
        subnets = {tenant.name: list_reached(tenants, tenant) for tenant in tenants}
        met: dict[tuple[str, str, str, str], list[tuple[str, Clash]]] = defaultdict(list)
        for node in design.plan.kubernetes.nodes:
            owner = owners.get(node.name, "")
            for tenant in (name for name in subnets if may_run(name, owner)):
                clash = _find_clash(design.servers[node.name], tenant, subnets)
                if clash is not None:
                    met[owner, tenant, clash[0].tenant, clash[0].subnet].append((node.name, clash))
        for (owner, tenant, holder, key), found in met.items():
            names, (_, asked, other) = [name for name, _ in found], found[0][1]
            servers, them = count_things(len(names), "server"), "it" if len(names) == 1 else "them"
            away = f"take {list_names(names)} out of this subnet"
            yield self.finding(
                f"tenants.{holder}.subnets.{key}.servers",
                f"pods of {tenant} on {servers} ask for {asked.prefix} ({asked.tenant}'s {asked.name}) and reach"
                f" {other.tenant}'s {other.name}",
                f"nodes of {tenant}'s pods that do not lead to {other.prefix} of {other.tenant}",
                list_names(names),
                away if owner else f"name {them} under tenants.{holder}.servers, so that only its pods run there; or {away}",
            )


def _find_clash(server: Server, tenant: str, subnets: dict[str, list[Subnet]]) -> Clash | None:
    """Return where a tenant's pods on a server meet what they did not ask for; None where they do not.

    Args:
        server: the node.
        tenant: whose pods.
        subnets: what each tenant's VRF leads to.
    """
    asked = subnets[tenant]
    own = {(subnet.tenant, subnet.name) for subnet in asked}
    vlans = [vlan for bond in server.bonds for vlan in bond.vlans]
    attached = {(vlan.tenant, vlan.subnet) for vlan in vlans}
    for vlan in vlans:
        for other in subnets[vlan.tenant]:
            at = (other.tenant, other.name)
            direct = at == (vlan.tenant, vlan.subnet)
            if at in own or not (direct or vlan.default):
                continue
            for subnet in asked:
                # What a server has an interface in, it does not ask its default route for.
                if not direct and (subnet.tenant, subnet.name) in attached:
                    continue
                if IPv4Network(subnet.prefix).overlaps(IPv4Network(other.prefix)):
                    return vlan, subnet, other
    return None
