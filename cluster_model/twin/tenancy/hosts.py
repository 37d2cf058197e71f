"""Hosts of networks with tenants as the twin can boot them: some of each kind, with the addresses that DHCP would give."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from ipaddress import ip_interface

from cluster_model.plan.model import Plan
from cluster_model.twin.ethernet.scope import Scope
from cluster_model.twin.tenancy.tenants import has_overlay


def dress_hosts(plan: Plan, scope: Scope, each: int | None) -> dict[str, str]:
    """Make the hosts of networks with tenants such as the twin can boot, in place.

    Args:
        plan: the plan.
        scope: what is booted; its servers and links change.
        each: how many hosts of each tenant to keep in a unit; None for all.

    Returns:
        What was done, by what it was done to.
    """
    notes: dict[str, str] = {}
    if not any(has_overlay(scope, network) for network in scope.networks):
        return notes
    if each is not None:
        kept = _choose_hosts(scope, each)
        if len(kept) < len(scope.servers):
            notes["hosts"] = f"{len(kept)} of {len(scope.servers)}: {each} of each set of subnets in each unit; --full takes all"
            gone = set(scope.servers) - kept
            scope.servers = {name: server for name, server in scope.servers.items() if name in kept}
            scope.links = tuple(link for link in scope.links if link.a not in gone)
    pools = {
        (tenant.name, subnet.name): subnet
        for tenant in plan.tenants
        for subnet in tenant.subnets
        if subnet.addressing == "dhcp" and subnet.pool
    }
    given: dict[tuple[str, str], int] = defaultdict(int)
    for name, server in scope.servers.items():
        bonds = []
        for bond in server.bonds:
            vlans = []
            for vlan in bond.vlans:
                key = (vlan.tenant, vlan.subnet)
                if vlan.dhcp and key in pools:
                    first = ip_interface(pools[key].pool.partition("-")[0]).ip + given[key]
                    given[key] += 1
                    length = pools[key].prefix.partition("/")[2]
                    vlan = replace(vlan, address=f"{first}/{length}")
                vlans.append(vlan)
            bonds.append(replace(bond, vlans=tuple(vlans)))
        scope.servers[name] = replace(server, bonds=tuple(bonds))
    if given:
        names = ", ".join(f"{tenant}'s {subnet}" for tenant, subnet in given)
        notes["DHCP"] = f"no relay runs here: the twin gives {sum(given.values())} hosts of {names} addresses of the pool"
    return notes


def _choose_hosts(scope: Scope, each: int) -> set[str]:
    """Return some hosts per unit and set of subnets, all those without a bond in tenants' networks."""
    units = {switch.name: (switch.network, switch.unit) for switch in scope.switches.values()}
    leaf_of = {link.a: units[link.b] for link in reversed(scope.links) if link.a in scope.servers and link.b in units}
    taken: dict[object, int] = defaultdict(int)
    kept = set()
    for server in scope.servers.values():
        subnets = frozenset((vlan.tenant, vlan.subnet) for bond in server.bonds for vlan in bond.vlans)
        key = (leaf_of.get(server.name), subnets)
        if not server.bonds or taken[key] < each:
            taken[key] += 1
            kept.add(server.name)
    return kept
