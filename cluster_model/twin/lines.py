"""Lines of `ip -b`: what gives switches their rendered interfaces, and hosts the plan's addresses, routes and tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from ipaddress import ip_interface

from cluster_model.plan.model import Plan, Server, ServerPort
from cluster_model.twin.dataplane import DataPlane, Interface
from cluster_model.twin.scope import SITE, Scope
from cluster_model.twin.tree import name_device


def list_switch_lines(plane: DataPlane, plugged: Collection[str]) -> list[str]:
    """Return the lines for a switch; ports without a cable here are left out, and bridges are made before all else.

    Args:
        plane: its interfaces.
        plugged: devices of the ports that have a cable here.
    """
    lines = ["link set lo up"]
    for interface in sorted(plane.interfaces.values(), key=lambda item: item.kind == "bridge"):
        if interface.kind == "bridge":
            lines.append(f"link add {interface.name} type bridge")
            lines += [f"link set {port} master {interface.name}" for port in interface.members if port in plugged]
        if interface.kind != "port" or interface.name in plugged:
            lines += set_up_interface(interface)
    return lines


def set_up_interface(interface: Interface) -> list[str]:
    """Return the lines that give an interface its MTU and addresses."""
    lines = [f"link set {interface.name} mtu {interface.mtu_bytes}"] if interface.mtu_bytes and interface.kind == "port" else []
    for address in interface.addresses:
        lines.append(f"addr add {address if '/' in address else f'{address}/32'} dev {interface.name}")
    return [*lines, f"link set {interface.name} up"]


def list_host_lines(server: Server, plugged: Collection[str]) -> list[str]:
    """Return the lines for a host; `plugged` are its ports that have a cable here."""
    lines = ["link set lo up"]
    for port in server.ports:
        if port.name in plugged:
            lines += set_up_port(port)
    return [*lines, *list_service_lines(server, plugged)]


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
    """Return the lines for a host's service addresses: each on lo, its range over all gateways."""
    lines = []
    for service in server.services:
        ways = [(gateway, port) for gateway, port in zip(service.gateways, service.ports, strict=True) if port in plugged]
        lines += [f"addr add {service.address} dev lo"] if is_new else []
        if ways:
            hops = " ".join(f"nexthop via {gateway} dev {name_device(port)}" for gateway, port in ways)
            lines.append(f"route replace {service.route} src {service.address.partition('/')[0]} {hops}")
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
