"""Lines of `ip -b`: what gives switches their rendered interfaces, and hosts the plan's addresses, routes and tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from ipaddress import ip_interface

from cluster_model.plan.model import Plan, Server, ServerPort
from cluster_model.plan.model.overlay import ServerBond
from cluster_model.twin.dataplane import DataPlane, Interface, Kind
from cluster_model.twin.ethernet.scope import SITE, Scope
from cluster_model.twin.tree import name_device

VXLAN_PORT = 4789
"""RFC 7348, section 8."""
BOND = "type bond mode 802.3ad lacp_rate fast miimon 100 xmit_hash_policy layer3+4"
DERIVED = ("vlan", "vxlan", "bond", "bridge", "vrf")
"""Kinds of devices that a switch makes itself, in the order in which they can go."""


def list_switch_lines(plane: DataPlane, plugged: Collection[str]) -> list[str]:
    """Return the lines of `ip -b` for a switch; ports without a cable here are left out, and bonds of such ports.

    VRFs and bridges are made before all else, everything else in the file's order.

    Args:
        plane: its interfaces.
        plugged: devices of the ports that have a cable here.
    """
    lines = ["link set lo up"]
    present = find_present(plane, plugged)
    order: dict[Kind, int] = {"vrf": 0, "bridge": 1}
    for interface in sorted(plane.interfaces.values(), key=lambda item: order.get(item.kind, 2)):
        if interface.name in present:
            lines += add_interface(plane, interface, present)
    return lines


def find_present(plane: DataPlane, plugged: Collection[str]) -> set[str]:
    """Return the names of a switch's interfaces that are there when only some of its ports have a cable."""
    return {
        name
        for name, item in plane.interfaces.items()
        if (item.kind != "port" or name in plugged) and (item.kind != "bond" or set(item.members) & set(plugged))
    }


def add_interface(plane: DataPlane, interface: Interface, present: Collection[str]) -> list[str]:
    """Return the lines of `ip -b` that make an interface, put it where it belongs and bring it up."""
    name, lines = interface.name, list[str]()
    if interface.kind == "vrf":
        lines.append(f"link add {name} type vrf table {interface.table}")
    elif interface.kind == "bridge":
        aware = " vlan_filtering 1 vlan_default_pvid 0" if interface.is_vlan_aware else ""
        lines.append(f"link add {name} type bridge{aware}")
        if not interface.is_vlan_aware:
            lines += [f"link set {port} master {name}" for port in interface.members if port in present]
    elif interface.kind == "bond":
        actor = f" ad_actor_system {interface.system_mac}" if interface.system_mac else ""
        lines.append(f"link add {name} {BOND}{actor}")
        for port in interface.members:
            if port in present:
                lines += [f"link set {port} down", f"link set {port} master {name}"]
    elif interface.kind == "vxlan":
        quiet = " nolearning" if "quiet" in interface.flags else ""
        lines.append(f"link add {name} type vxlan id {interface.vni} local {interface.local} dstport {VXLAN_PORT}{quiet}")
    elif interface.kind == "vlan":
        lines.append(f"link add {name} link {interface.lower} type vlan id {interface.vlan}")
    bridge = plane.bridge_of(name)
    if bridge is not None and (bridge.is_vlan_aware or interface.kind != "port"):
        lines.append(f"link set {name} master {bridge.name}")
        words = {"quiet": " learning off neigh_suppress on", "no-learning": " learning off", "no-flood": " flood off"}
        flags = "".join(word for flag, word in words.items() if flag in interface.flags)
        lines += [f"link set {name} type bridge_slave{flags}"] if flags else []
    elif interface.vrf:
        lines.append(f"link set {name} master {interface.vrf}")
    if interface.mac:
        lines.append(f"link set {name} address {interface.mac}")
    return [*lines, *set_up_interface(interface), *_list_commands("ip", interface.ups)]


def list_bridge_lines(plane: DataPlane, present: Collection[str]) -> list[str]:
    """Return the lines of `bridge -b` for a switch's VLAN-aware bridges; none where it has none."""
    lines = []
    for interface in plane.interfaces.values():
        if interface.name in present:
            lines += list_vlan_lines(interface)
    for interface in plane.interfaces.values():
        lines += _list_commands("bridge", interface.ups)
    return lines


def list_vlan_lines(interface: Interface) -> list[str]:
    """Return the lines of `bridge -b` for the VLANs of a bridge or of its port."""
    if interface.kind == "vlan":
        return []
    itself = " self" if interface.kind == "bridge" else ""
    lines = [f"vlan add vid {vlan} dev {interface.name}{itself}" for vlan in interface.tagged]
    if interface.untagged:
        lines.append(f"vlan add vid {interface.untagged} dev {interface.name} pvid untagged{itself}")
    return lines


def list_removal_lines(plane: DataPlane, plugged: Collection[str]) -> list[str]:
    """Return the lines of `ip -b` that take away what a switch with VRFs, bonds or VLANs has made; none for others."""
    if not any(item.kind in {"vrf", "vxlan", "bond"} for item in plane.interfaces.values()):
        return []
    present = find_present(plane, plugged)
    there = [item for item in plane.interfaces.values() if item.name in present]
    lines = [line for item in there for line in _list_commands("ip", item.downs)]
    return [*lines, *(f"link del {item.name}" for kind in DERIVED for item in there if item.kind == kind)]


def _list_commands(program: str, commands: Iterable[str]) -> list[str]:
    return [command.partition(" ")[2] for command in commands if command.startswith(f"{program} ")]


def set_up_interface(interface: Interface) -> list[str]:
    """Return the lines that give an interface its MTU and addresses."""
    has_mtu = interface.mtu_bytes and (interface.kind in {"port", "bond", "vxlan", "vlan"} or interface.is_vlan_aware)
    lines = [f"link set {interface.name} mtu {interface.mtu_bytes}"] if has_mtu else []
    for address in interface.addresses:
        lines.append(f"addr replace {address if '/' in address else f'{address}/32'} dev {interface.name}")
    return [*lines, f"link set {interface.name} up"]


def list_host_lines(server: Server, plugged: Collection[str]) -> list[str]:
    """Return the lines for a host; `plugged` are its ports that have a cable here."""
    lines = ["link set lo up"]
    bonded = {port for bond in server.bonds for port in bond.ports}
    for port in server.ports:
        if port.name in plugged and port.name not in bonded:
            lines += set_up_port(port)
    for bond in server.bonds:
        lines += _list_bond_lines(server, bond, plugged)
    return [*lines, *list_service_lines(server, plugged)]


def _list_bond_lines(server: Server, bond: ServerBond, plugged: Collection[str]) -> list[str]:
    """Return the lines for a host's bond with an interface per subnet; none where none of its ports has a cable."""
    ports = [port for port in server.ports if port.name in bond.ports and port.name in plugged]
    if not ports:
        return []
    lines = [f"link add {bond.name} {BOND}"]
    for port in ports:
        name = name_device(port.name)
        lines += [f"link set {name} address {port.mac}"] if port.mac else []
        lines += [f"link set {name} master {bond.name}"]
    lines.append(f"link set {bond.name} mtu {bond.mtu_bytes} up")
    for vlan in bond.vlans:
        if vlan.tagged:
            lines += [f"link add {vlan.name} link {bond.name} type vlan id {vlan.vlan}", f"link set {vlan.name} up"]
        if vlan.address:
            lines.append(f"addr add {vlan.address} dev {vlan.name}")
        if vlan.default and vlan.address:
            lines.append(f"route replace default via {vlan.gateway} dev {vlan.name}")
    return lines


def set_up_port(port: ServerPort, is_new: bool = True) -> list[str]:
    """Return the lines that give a host's port its MAC, address, table and route; its rule only where it is new."""
    name = name_device(port.name)
    lines = [f"link set {name} address {port.mac}"] if port.mac else []
    lines.append(f"link set {name} mtu {port.mtu_bytes} up")
    if not port.address:
        return lines
    lines.append(f"addr add {port.address} dev {name}")
    table = f" table {port.table}" if port.table else ""
    if port.table and is_new:
        lines.append(f"rule add from {port.address.partition('/')[0]} lookup {port.table}")
    if port.table:
        lines.append(f"route replace {ip_interface(port.address).network} dev {name} scope link{table}")
    if port.route:
        lines.append(f"route replace {port.route} via {port.gateway} dev {name}{table}")
    return lines


def list_service_lines(server: Server, plugged: Collection[str], is_new: bool = True) -> list[str]:
    """Return the lines for a host's service addresses: each on lo, its range and what lies beyond over all gateways."""
    lines = []
    for service in server.services:
        ways = [(gateway, port) for gateway, port in zip(service.gateways, service.ports, strict=True) if port in plugged]
        lines += [f"addr add {service.address} dev lo"] if is_new else []
        if ways:
            hops = " ".join(f"nexthop via {gateway} dev {name_device(port)}" for gateway, port in ways)
            source = service.address.partition("/")[0]
            lines += [f"route replace {route} src {source} {hops}" for route in (service.route, *service.beyond)]
    return lines


def list_site_lines(plan: Plan, scope: Scope) -> list[str]:
    """Return the lines for the site's router: the gateways of the upstreams, and the way back to the pools behind them."""
    lines = ["link set lo up"]
    pools: dict[str, list[str]] = defaultdict(list)
    for link in scope.links:
        if link.b == SITE:
            way = next(way for way in scope.switches[link.a].upstreams if way.port == link.a_port)
            length = ip_interface(way.address).network.prefixlen
            lines += [f"addr add {way.gateway}/{length} dev {link.b_port}", f"link set {link.b_port} up"]
            network = plan.network(link.network)
            assert network is not None
            pools[network.pool].append(f"nexthop via {way.address.partition('/')[0]} dev {link.b_port}")
    return [*lines, *(f"route add {pool} {' '.join(ways)}" for pool, ways in pools.items())]
