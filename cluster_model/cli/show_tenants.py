"""What `gpuyard show` knows of tenants: by name, VRF, prefix, address, VNI, VLAN and border peer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from cluster_model.plan.model import Plan, Switch
from cluster_model.plan.model.overlay import BorderPeer, Overlay, ServerBond, Subnet, Tenant
from cluster_model.plan.tenancy.prefixes import word_filter, word_filters, word_import
from cluster_model.render.tenants import list_members, list_memberships, word_reach

Facts = dict[str, Any]


def find_tenancy(plan: Plan, name: str) -> list[Facts]:
    """Return the tenants, subnets, VRFs and border peers that a name, a prefix or a number stands for."""
    word, _, number = name.strip().partition(" ")
    if word.lower() in {"vni", "vlan"} and number.strip().isdigit():
        return _find_number(plan, int(number), {word.lower()})
    if name.isdigit():
        return _find_number(plan, int(name), {"vni", "vlan"})
    found = [_describe_tenant(plan, tenant) for tenant in plan.tenants if name in {tenant.name, tenant.vrf}]
    found += [_describe_peer(plan, peer) for peer in plan.border_peers if name in {peer.name, peer.vrf}]
    return found or [_describe_subnet(plan, subnet) for subnet in _subnets(plan) if subnet.prefix == name]


def find_tenant_address(plan: Plan, address: IPv4Address) -> list[Facts]:
    """Return who has an address in each tenant that has it in a subnet, and which tenant leaves by it."""
    found = []
    for subnet in _subnets(plan):
        network = IPv4Network(subnet.prefix)
        if address in network:
            place = {"tenant": subnet.tenant, "subnet": f"{subnet.name} {subnet.prefix}", "vlan": subnet.vlan, "vni": subnet.vni}
            for use in _use_address(plan, subnet, address):
                found.append({"kind": "address", "address": f"{address}/{network.prefixlen}", **use, **place})
    for tenant in plan.tenants:
        for nat in tenant.nat:
            if address in IPv4Network(nat.prefix):
                use = {"use": f"outside address at {nat.peer}", "tenant": tenant.name, "nat": nat.prefix}
                found.append({"kind": "address", "address": str(address), **use})
    return found


def flatten(facts: Facts) -> Facts:
    """Return the facts of a device for print: an overlay and bonds as tables of plain values, behind everything else."""
    kept = {key: value for key, value in facts.items() if key not in {"overlay", "bonds"}}
    overlay, bonds = facts.get("overlay"), facts.get("bonds")
    if isinstance(overlay, Overlay):
        kept |= _flatten_overlay(overlay)
    if bonds and isinstance(bonds[0], ServerBond):
        kept["bonds"] = [_facts_of(bond, "vlans") for bond in bonds]
        kept["subnets"] = [_facts_of(vlan) for bond in bonds for vlan in bond.vlans]
    return kept


def _find_number(plan: Plan, number: int, kinds: set[str]) -> list[Facts]:
    found = [_describe_subnet(plan, subnet) for subnet in _subnets(plan) if number in _numbers(subnet, kinds)]
    for tenant in plan.tenants:
        if number in _numbers(tenant, kinds):
            found.append(_describe_tenant(plan, tenant))
        elif "vni" in kinds and tenant.compute_vni and tenant.compute_vni == number:
            found.append({**_describe_tenant(plan, tenant), "network": "compute"})
    if "vlan" in kinds:
        found += _find_plain_vlans(plan, number)
    return found


def _numbers(thing: Subnet | Tenant, kinds: set[str]) -> set[int]:
    return {getattr(thing, kind) for kind in kinds}


def _find_plain_vlans(plan: Plan, number: int) -> Iterator[Facts]:
    """Yield VLANs that are no tenant's: of out-of-band leafs, and MLAG's own."""
    held: dict[tuple[str, str], list[str]] = {}
    for switch in plan.switches:
        for vlan in switch.vlans:
            if vlan.id == number:
                held.setdefault((switch.network, vlan.name), []).append(switch.name)
        if switch.overlay and switch.overlay.mlag and switch.overlay.mlag.vlan == number:
            held.setdefault((switch.network, "MLAG, between the leafs of a pair"), []).append(switch.name)
    for (network, name), switches in held.items():
        yield {"kind": "vlan", "vlan": number, "name": name, "network": network, "switches": switches}


def _describe_tenant(plan: Plan, tenant: Tenant) -> Facts:
    owned = list_memberships(plan)
    left_out = {"subnets", "servers", "nat", "uses", "peers", "egress", "storage", "where", "gpus"}
    left_out |= {name for name in ("compute_vni", "pkey") if not getattr(tenant, name)}
    facts = _facts_of(tenant, *left_out)
    meetings = [
        {
            "kind": meeting.kind,
            "with": meeting.consumer if meeting.provider == tenant.vrf else meeting.provider,
            "takes": _join(meeting.returned if meeting.provider == tenant.vrf else meeting.offered),
            "gives": _join(meeting.offered if meeting.provider == tenant.vrf else meeting.returned),
        }
        for meeting in plan.meetings
        if tenant.vrf in {meeting.provider, meeting.consumer}
    ]
    return {
        "kind": "tenant",
        **facts,
        "gpu_quota": tenant.gpus if tenant.gpus >= 0 else "none",
        "reaches": word_reach(tenant),
        "used_by": [other.name for other in plan.tenants if tenant.name in other.uses],
        "own_servers": tenant.servers,
        "other_servers": [name for name, names in owned.items() if tenant.name in names and name not in tenant.servers],
        "switches": [switch.name for switch in plan.switches if _holds(switch, tenant.vrf)],
        "storage": _facts_of(tenant.storage) if tenant.storage else {},
        "where": tenant.where,
        "subnets": [_facts_of(subnet, "id", "tenant", "where") for subnet in tenant.subnets],
        "meetings": meetings,
    }


def _holds(switch: Switch, vrf: str) -> bool:
    return switch.overlay is not None and any(held.name == vrf and held.kind != "compute" for held in switch.overlay.vrfs)


def _describe_subnet(plan: Plan, subnet: Subnet) -> Facts:
    members = [
        {"server": server.name, "interface": vlan.name, "address": vlan.address or "by DHCP", "default": vlan.default}
        for server, vlan in list_members(plan, subnet)
    ]
    leafs = [s.name for s in plan.switches if s.overlay and any(v.vlan == subnet.vlan for v in s.overlay.vlans)]
    return {"kind": "subnet", **_facts_of(subnet, "where"), "switches": leafs, "where": subnet.where, "members": members}


def _describe_peer(plan: Plan, peer: BorderPeer) -> Facts:
    sessions = [
        {"switch": switch.name, **_facts_of(way, "peer", "vrf", "asn", "accept", "announce", "max_routes", "secret")}
        for switch in plan.switches
        if switch.overlay
        for way in switch.overlay.externals
        if way.peer == peer.name
    ]
    nat = [
        {"tenant": tenant.name, "outside": entry.prefix}
        for tenant in plan.tenants
        for entry in tenant.nat
        if entry.peer == peer.name
    ]
    told = {"accept": word_filters(peer.accept), "announce": word_filters(peer.announce)}
    return {"kind": "border peer", **_facts_of(peer), **told, "sessions": sessions, "nat": nat}


def _use_address(plan: Plan, subnet: Subnet, address: IPv4Address) -> Iterator[Facts]:
    """Yield who has an address of a subnet: the gateway, its servers, whom DHCP gives it to, or nobody."""
    taken = False
    if subnet.gateway.partition("/")[0] == str(address):
        taken = True
        yield {"use": "anycast gateway"}
    for server, vlan in list_members(plan, subnet):
        if vlan.address.partition("/")[0] == str(address):
            taken = True
            yield {"device": server.name, "use": f"interface {vlan.name}", "gateway": vlan.gateway}
    if not taken:
        first, _, last = subnet.pool.partition("-")
        pooled = first and IPv4Address(first) <= address <= IPv4Address(last)
        yield {"use": f"DHCP hands it out (pool {first} to {last})" if pooled else "nobody has it"}


def _flatten_overlay(overlay: Overlay) -> Facts:
    facts = _facts_of(overlay, "vlans", "vrfs", "bonds", "mlag", "externals", "nat")
    if overlay.mlag:
        facts["mlag"] = _facts_of(overlay.mlag)
    vrfs = [
        {
            **_facts_of(vrf, "imports", "announced"),
            "imports": "; ".join(word_import(taken) for taken in vrf.imports),
            "announced": _join(vrf.announced),
        }
        for vrf in overlay.vrfs
    ]
    sessions = [
        {**_facts_of(way, "accept", "announce", "cage"), "accept": _join(way.accept), "announce": _join(way.announce)}
        for way in overlay.externals
    ]
    return facts | {
        "vrfs": vrfs,
        "tenant_vlans": list(overlay.vlans),
        "bonds": list(overlay.bonds),
        "sessions": sessions,
        "nat": list(overlay.nat),
    }


def _join(filters: Any) -> str:
    return ", ".join(word_filter(line) for line in filters)


def _subnets(plan: Plan) -> Iterator[Subnet]:
    return (subnet for tenant in plan.tenants for subnet in tenant.subnets)


def _facts_of(value: Any, *without: str) -> Facts:
    return {part.name: getattr(value, part.name) for part in fields(value) if part.name not in without}
