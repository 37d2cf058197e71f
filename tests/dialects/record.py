"""What a switch is told, whatever its dialect: a flat record of facts, and the record that the plan asks for.

A fact's key is (kind, name, field): ("port", "swp1", "mtu_bytes"). Names are the plan's. A reader leaves out what its dialect
does not say; LACKS in test_one_truth.py has the reason for each.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_network
from typing import Any

from cluster_model.plan.model import Network, Plan, Switch, SwitchPort
from cluster_model.plan.model.overlay import VXLAN_OVERHEAD_BYTES, Filter

Key = tuple[str, str, str]
Record = dict[Key, Any]
Route = tuple[str, str, int, int]
"""A route that a filter lets through: AS path, prefix, shortest and longest length."""
OWN = "^$"


def one(*said: Any) -> Any:
    """Return what several places say, or all of it where they do not agree; None says nothing."""
    heard = [value for value in said if value is not None]
    return heard[0] if all(value == heard[0] for value in heard) else ("they differ", *heard)


def bare(address: str) -> str:
    return address.partition("/")[0]


def route(prefix: str, path: str = "", low: int = 0, high: int = 0) -> Route:
    """Return a line of a prefix list as a set of routes: `ge` and `le` as FRR, EOS and NVUE mean them."""
    length = ip_network(prefix).prefixlen
    return path, prefix, low or length, high or (32 if low else length)


def routes(filters: Iterable[Filter]) -> frozenset[Route]:
    return frozenset(route(line.prefix, high=line.up_to) for line in filters)


def number_esi(number: int, mac: str) -> str:
    """Return the type 3 ESI of a system MAC and a number (RFC 7432, section 5)."""
    return ":".join(["03", *mac.lower().split(":"), *(f"{number >> shift & 255:02x}" for shift in (16, 8, 0))])


def is_copper(switch: Switch, cage: int) -> bool:
    return any(mode.cage == cage and mode.form_factor == "rj45" for mode in switch.modes)


def expect(plan: Plan, switch: Switch) -> Record:
    """Return the record that the plan asks for."""
    network = plan.network(switch.network)
    assert network is not None
    found: Record = {}
    _expect_switch(found, switch)
    _expect_ports(found, plan, network, switch)
    if any(port.peer_asn for port in switch.ports):
        _expect_routing(found, plan, network, switch)
    _expect_static(found, switch)
    for vlan in switch.vlans:
        found["svi", str(vlan.id), "address"] = vlan.address
        found["svi", str(vlan.id), "dhcp_servers"] = frozenset(vlan.dhcp_servers)
    _expect_overlay(found, plan, network, switch)
    if network.lossless:
        _expect_lossless(found, plan, switch)
    found["switch", "", "load_balancing"] = network.load_balancing
    return found


def _expect_switch(found: Record, switch: Switch) -> None:
    found["switch", "", "hostname"] = switch.name
    found["switch", "", "loopback"] = f"{bare(switch.loopback)}/32"
    if switch.management is not None:
        found["management", "", "address"] = switch.management.address
        found["management", "", "gateway"] = switch.management.gateway


def _expect_ports(found: Record, plan: Plan, network: Network, switch: Switch) -> None:
    lossless = plan.lossless if network.lossless else None
    marks = {row[0]: tuple(row[1:]) for row in plan.lossless.ecn}
    for port in switch.ports:
        told = {"description": f"{port.peer}:{port.peer_port}", "address": port.address, "vrf": port.vrf}
        told |= {"vlan": port.vlan, "bond": _bond_of(switch, port)}
        _add_port(found, switch, port.name, port.cage, port.speed_gbps, told)
        if not told["bond"]:
            found["port", port.name, "access_mtu_bytes" if port.vlan else "mtu_bytes"] = switch.mtu_bytes
        if lossless is not None:
            found["port", port.name, "trust"] = lossless.trust
            found["port", port.name, "pfc_priorities"] = frozenset(lossless.pfc_priorities)
            found["port", port.name, "watchdog"] = lossless.watchdog and bool(lossless.pfc_priorities)
            found["port", port.name, "ecn"] = marks.get(port.speed_gbps)
    for way in switch.upstreams:
        told = {"description": f"site:{way.gateway}", "address": way.address, "vrf": "", "vlan": 0, "bond": 0}
        _add_port(found, switch, way.port, way.cage, way.speed_gbps, told)
        found["port", way.port, "mtu_bytes"] = switch.mtu_bytes
    for external in switch.overlay.externals if switch.overlay else ():
        told = {
            "description": f"external:{external.peer}",
            "address": external.address,
            "vrf": external.vrf,
            "vlan": 0,
            "bond": 0,
        }
        _add_port(found, switch, external.port, external.cage, external.speed_gbps, told)
        found["port", external.port, "mtu_bytes"] = external.mtu_bytes


def _add_port(found: Record, switch: Switch, name: str, cage: int, speed_gbps: int, told: dict[str, Any]) -> None:
    for key, value in told.items():
        found["port", name, key] = value
    found["port", name, "copper_speed_gbps" if is_copper(switch, cage) else "speed_gbps"] = speed_gbps


def _bond_of(switch: Switch, port: SwitchPort) -> int:
    mlag = switch.overlay.mlag if switch.overlay else None
    return mlag.bond if mlag is not None and port.use == "peer_link" else port.bond


def _expect_routing(found: Record, plan: Plan, network: Network, switch: Switch) -> None:
    found["switch", "", "asn"] = switch.asn
    found["switch", "", "router_id"] = bare(switch.loopback)
    families = frozenset({"ipv4", "evpn"} if switch.overlay is not None else {"ipv4"})
    for port in switch.ports:
        if port.peer_asn and port.use == "fabric":
            name = port.peer_address or port.name
            found["session", name, "asn" if port.peer_address else "unnumbered_asn"] = port.peer_asn
            found["session", name, "description" if port.peer_address else "unnumbered_description"] = (
                f"{port.peer}:{port.peer_port}"
            )
            found["session", name, "external"] = True
            found["session", name, "families"] = families
            found["session", name, "vrf"] = ""
            found["session", name, "bfd"] = True
            found["session", name, "group"] = "FABRIC"
            found["session", name, "passive"] = False
    own = {f"{bare(switch.loopback)}/32", *switch.originates}
    found["originates", "", "prefixes"] = frozenset(own | ({"0.0.0.0/0"} if switch.upstreams else set()))
    inward = {route(network.pool, high=32)}
    outward = {route(prefix, OWN) for prefix in own} if switch.is_edge else {route(network.pool, high=32)}
    if network.has_upstream:
        inward.add(route("0.0.0.0/0"))
        if not switch.is_edge or switch.upstreams:
            outward.add(route("0.0.0.0/0", OWN if switch.is_edge else ""))
    if switch.service_routes:
        outward.add(route(network.pool, OWN, low=32))
        found["policy", "services", "routes"] = frozenset({route(network.pool, low=32)})
    _expect_nodes(found, plan, switch, inward, outward)
    found["policy", "fabric in", "routes"] = frozenset(inward)
    found["policy", "fabric out", "routes"] = frozenset(outward)
    if switch.overlay is not None and switch.is_edge:
        outside = {f"^{external.asn}_" for external in switch.overlay.externals}
        found["policy", "evpn out", "paths"] = frozenset({OWN, *outside})


def _expect_nodes(found: Record, plan: Plan, switch: Switch, inward: set[Route], outward: set[Route]) -> None:
    """Put in what nodes of Kubernetes tell of their pods: their sessions with a leaf, and the way of it through the fabric."""
    kubernetes = plan.kubernetes
    if kubernetes.pod_routing != "bgp" or kubernetes.network != switch.network:
        return
    length, path = kubernetes.node_prefix, f"^{kubernetes.node_asn}$"
    parts = route(kubernetes.pod_pool, path, low=length, high=length)
    through = ("", *parts[1:])
    inward.add(through)
    outward.add(parts if switch.is_edge else through)
    address = kubernetes.endpoint.announced
    api_server = route(f"{address}/32", path) if address else None
    hung_on = {(port.peer, port.peer_port): port for port in switch.ports if port.use == "host"}
    for node in kubernetes.nodes:
        server = plan.server(node.name)
        for host_port in server.ports:
            port = hung_on.get((server.name, host_port.name))
            if port is None:
                continue
            told = {
                "asn": kubernetes.node_asn,
                "description": f"{server.name}:{host_port.name}",
                "external": True,
                "families": frozenset({"ipv4"}),
                "vrf": "",
                "bfd": False,
                "group": "NODES",
                "passive": True,
                "max_routes": 8,
                "taken": frozenset({parts, api_server} if api_server and node.is_control else {parts}),
            }
            if api_server and node.is_control:
                outward.add(api_server)
            for what, value in told.items():
                found["session", bare(host_port.address), what] = value
            found["policy", "nodes in", "routes"] = frozenset({parts})
            found["policy", "nodes in", "next_hop"] = "neighbor"
            found["policy", "nodes in", "keeps_communities"] = False
            found["policy", "nodes out", "routes"] = frozenset()


def _expect_static(found: Record, switch: Switch) -> None:
    ways: dict[str, set[tuple[str, str]]] = {}
    for way in switch.upstreams:
        ways.setdefault("0.0.0.0/0", set()).add((way.gateway, ""))
    for service in switch.service_routes:
        ways.setdefault(service.prefix, set()).add((service.next_hop, service.port))
    for prefix, hops in ways.items():
        found["static", prefix, "next_hops"] = frozenset(hops)
    overlay = switch.overlay
    # The shared tunnel address of a pair stands on a loopback: whether something lies behind it is of no account.
    own = {f"{overlay.vtep}/32"} if overlay and overlay.shared_vtep else set()
    if any(port.peer_asn for port in switch.ports):
        found["blackhole", "", "prefixes"] = frozenset(set(switch.originates) - own)


def _expect_overlay(found: Record, plan: Plan, network: Network, switch: Switch) -> None:
    overlay = switch.overlay
    if overlay is None:
        return
    tunnel_mtu_bytes = switch.mtu_bytes - VXLAN_OVERHEAD_BYTES
    if overlay.vlans or any(vrf.vni for vrf in overlay.vrfs):
        found["switch", "", "vtep"] = overlay.vtep
    for vlan in overlay.vlans:
        name = str(vlan.vlan)
        found["vlan", name, "vni"] = vlan.vni
        found["vlan", name, "rd"] = vlan.rd
        found["vlan", name, "route_targets"] = (frozenset({vlan.route_target}), frozenset({vlan.route_target}))
        found["svi", name, "address"] = vlan.address
        found["svi", name, "mac"] = overlay.anycast_mac.lower()
        found["svi", name, "vrf"] = vlan.vrf
        found["svi", name, "mtu_bytes"] = network.host_mtu_bytes
        found["svi", name, "description"] = vlan.name
        found["svi", name, "dhcp_servers"] = frozenset(vlan.dhcp_servers)
    for vrf in overlay.vrfs:
        found["vrf", vrf.name, "is_there"] = True
        found["vrf", vrf.name, "table"] = vrf.table
        for source in vrf.imports:
            found["policy", f"{vrf.name} from {source.vrf}", "routes"] = routes(source.prefixes)
        if vrf.originates:
            found["originates", vrf.name, "prefixes"] = frozenset(vrf.originates)
            found["blackhole", vrf.name, "prefixes"] = frozenset(vrf.originates)
        if vrf.vni:
            found["vrf", vrf.name, "vni"] = vrf.vni
            found["vrf", vrf.name, "vlan"] = vrf.vlan
            found["vrf", vrf.name, "rd"] = vrf.rd
            found["vrf", vrf.name, "route_targets"] = (frozenset({vrf.route_target}), frozenset({vrf.route_target}))
            found["vrf", vrf.name, "transit_mtu_bytes"] = tunnel_mtu_bytes
            if vrf.announced:
                found["policy", f"{vrf.name} announced", "routes"] = routes(vrf.announced)
    for external in overlay.externals:
        name = external.peer_address
        found["session", name, "asn"] = external.asn
        found["session", name, "description"] = external.peer
        found["session", name, "external"] = True
        found["session", name, "families"] = frozenset({"ipv4"})
        found["session", name, "vrf"] = external.vrf
        found["session", name, "bfd"] = False
        found["session", name, "group"] = ""
        found["session", name, "passive"] = False
        found["session", name, "max_routes"] = external.max_routes
        found["session", name, "secret"] = external.secret
        found["policy", f"{external.vrf} in", "routes"] = routes(external.accept)
        found["policy", f"{external.vrf} out", "routes"] = routes(external.announce)
    _expect_bonds(found, plan, switch, tunnel_mtu_bytes)


def _expect_bonds(found: Record, plan: Plan, switch: Switch, mtu_bytes: int) -> None:
    overlay = switch.overlay
    assert overlay is not None
    for bond in overlay.bonds:
        name = str(bond.number)
        found["bond", name, "ports"] = frozenset(bond.ports)
        found["bond", name, "server"] = bond.server
        found["bond", name, "tagged"] = frozenset(bond.vlans)
        found["bond", name, "untagged"] = bond.untagged
        found["bond", name, "esi"] = bond.esi.lower()
        found["bond", name, "mlag"] = bond.number if overlay.mlag is not None else 0
        found["bond", name, "mtu_bytes"] = mtu_bytes
        if bond.esi:
            found["bond", name, "lacp_system"] = bond.system_mac.lower()
    if overlay.mlag is not None:
        mlag = overlay.mlag
        found["mlag", "", "ports"] = frozenset(mlag.ports)
        found["mlag", "", "address"] = mlag.address
        found["mlag", "", "peer_address"] = mlag.peer_address
        found["mlag", "", "vlan"] = mlag.vlan
        found["mlag", "", "system_mac"] = mlag.system_mac.lower()
        other = plan.switch(next(port.peer for port in switch.ports if port.use == "peer_link"))
        found["mlag", "", "backup_address"] = bare(other.management.address if other.management else other.loopback)


def _expect_lossless(found: Record, plan: Plan, switch: Switch) -> None:
    lossless = plan.lossless
    found["qos", "", "dscp_to_priority"] = tuple(lossless.dscp_to_tc)
    found |= share_queues(tuple(lossless.dscp_to_tc), {priority: priority for priority in range(8)}, {lossless.cnp_priority})
    if lossless.watchdog and lossless.pfc_priorities:
        found["qos", "", "watchdog_detect_ms"] = lossless.watchdog_detect_ms
        found["qos", "", "watchdog_restore_ms"] = lossless.watchdog_restore_ms
        found["qos", "", "watchdog_action"] = lossless.watchdog_action


def share_queues(dscp_to_priority: tuple[int, ...], queues: dict[int, int], strict: Iterable[int]) -> Record:
    """Return which DSCPs share a queue, and which go first: dialects number their queues in their own way.

    Args:
        dscp_to_priority: 64 priorities.
        queues: priority → queue.
        strict: queues that are served first.
    """
    by_queue: dict[int, set[int]] = {}
    for dscp, priority in enumerate(dscp_to_priority):
        by_queue.setdefault(queues[priority], set()).add(dscp)
    first = {dscp for queue in strict for dscp in by_queue.get(queue, ())}
    return {
        ("qos", "", "shared_queues"): frozenset(frozenset(dscps) for dscps in by_queue.values()),
        ("qos", "", "strict_dscps"): frozenset(first),
    }
