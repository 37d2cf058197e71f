"""How much there is to try, counted from the plan's ports and cables alone and not by the twin's own code.

Example sizes change; a report is held to the plan of the cluster that was tried.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable

from cluster_model.plan.model import Cable, Plan, Switch
from cluster_model.plan.model.overlay import Overlay


def whole(text: str) -> int:
    """Return N of a finding that begins with `N of N`: all of what was tried is right."""
    found = re.match(r"([\d,]+) of ([\d,]+)\b", text)
    assert found and found[1] == found[2], text
    return int(found[1].replace(",", ""))


def switches(plan: Plan, network: str, *roles: str) -> list[Switch]:
    """Return the switches of a network, or those of some tiers."""
    return [switch for switch in plan.switches if switch.network == network and (not roles or switch.role in roles)]


def edges(plan: Plan, network: str) -> list[tuple[Switch, Overlay]]:
    """Return the switches of a network that end tunnels, with what they know of tenants."""
    return [(switch, switch.overlay) for switch in switches(plan, network, "leaf", "border") if switch.overlay]


def vnis(plan: Plan, network: str) -> int:
    """Return how many VNIs switches have: those of subnets, and those of VRFs."""
    return sum(len(overlay.vlans) + sum(vrf.vni > 0 for vrf in overlay.vrfs) for _, overlay in edges(plan, network))


def hosts(plan: Plan, network: str) -> set[str]:
    """Return the servers with a port in a network."""
    return {server.name for server in plan.servers if any(port.network == network for port in server.ports)}


def cables(plan: Plan, network: str) -> list[Cable]:
    """Return the cables of a network between its own machines."""
    mine = {switch.name for switch in switches(plan, network)} | hosts(plan, network)
    return [cable for cable in plan.cables if cable.network == network and {cable.a, cable.b} <= mine]


def neighbours(plan: Plan, network: str) -> int:
    """Return how many ends of cables are ports of switches."""
    names = {switch.name for switch in switches(plan, network)}
    return sum((cable.a in names) + (cable.b in names) for cable in cables(plan, network))


def sessions(chosen: Iterable[Switch]) -> int:
    """Return how many ends the BGP sessions between some switches have."""
    some = list(chosen)
    names = {switch.name for switch in some}
    return sum(port.peer_asn > 0 and port.peer in names for switch in some for port in switch.ports)


def node_sessions(chosen: Iterable[Switch]) -> int:
    """Return how many BGP sessions some switches have with hosts."""
    return sum(port.peer_asn > 0 and port.use == "host" for switch in chosen for port in switch.ports)


def routes(chosen: Iterable[Switch]) -> tuple[int, int]:
    """Return how many routes the switches of a leaf-spine fabric without ways out have from each other, and their next hops.

    A leaf has the prefixes of the other leafs over all its uplinks, and those of a spine over the ports to it; a spine has those
    of the leafs, and none of another spine, since they share an ASN and no leaf passes a spine's on.
    """
    some = list(chosen)
    leafs, spines = ([switch for switch in some if switch.role == role] for role in ("leaf", "spine"))
    assert len(leafs) + len(spines) == len(some) and len({spine.asn for spine in spines}) == 1
    assert not any(switch.upstreams or switch.service_routes for switch in some)
    names = {spine.name for spine in spines}
    count = hops = 0
    for leaf in leafs:
        own = len({leaf.loopback, *leaf.originates})
        up = sum(port.peer in names for port in leaf.ports)
        count += (len(leafs) - 1) * own + len(spines) * own
        hops += (len(leafs) - 1) * own * up + own * up
        for spine in spines:
            prefixes = len({spine.loopback, *spine.originates})
            count += prefixes
            hops += prefixes * sum(port.peer == spine.name for port in leaf.ports)
    return count, hops


def pairs(plan: Plan, network: str, without: Collection[str] = ()) -> int:
    """Return how many ordered pairs of hosts reach each other: of a rail, plane and VRF, with services of one purpose, with pods.

    Where leafs are told of the API server, every host with a service address that is no control server asks it too.

    Args:
        plan: the plan.
        network: one without bonds.
        without: switches that are dead; who hangs on no other reaches nobody.
    """
    groups: Counter[tuple[str, int, int, str]] = Counter()
    vrfs = {(switch.name, port.name): port.vrf for switch in switches(plan, network) for port in switch.ports}
    for server in plan.servers:
        ports = [port for port in server.ports if port.network == network and port.peer not in without]
        mine = [port for port in ports if port.address and port.route]
        groups.update(("", port.rail, port.plane, vrfs[port.peer, port.peer_port]) for port in mine)
        living = {port.name for port in ports}
        served = [service for service in server.services if service.network == network and living & set(service.ports)]
        groups.update((service.purpose, 0, 0, "") for service in served)
        groups.update(("pods", 0, 0, "") for service in served if plan.kubernetes.pod_pool in service.beyond)
    control = {node.name for node in plan.kubernetes.nodes if node.is_control}
    asking = 0
    if plan.kubernetes.endpoint.announced and network == plan.kubernetes.network:
        asking = sum(
            any(port.network == network and port.peer not in without for port in server.ports)
            for server in plan.servers
            if server.name not in control and any(service.purpose == "storage" for service in server.services)
        )
    return sum(count * (count - 1) for count in groups.values()) + asking


def gateways(plan: Plan, network: str) -> int:
    """Return how many gateways hosts ask: each port its own, and the site's routers where it has a default route."""
    ports = [
        port for server in plan.servers for port in server.ports if port.network == network and port.address and port.gateway
    ]
    ways = sum(len(switch.upstreams) for switch in switches(plan, network))
    return sum(1 + (ways if port.route == "0.0.0.0/0" else 0) for port in ports)


def faults(plan: Plan, network: str) -> int:
    """Return how many parts die: each spine and core, a cable of each kind, a leaf, and each plane where there are several."""
    mine = switches(plan, network)
    kinds = {cable.kind for cable in plan.cables if cable.network == network} | (
        {"upstream"} if any(switch.upstreams for switch in mine) else set()
    )
    planes = {switch.plane for switch in mine}
    return sum(switch.role != "leaf" for switch in mine) + len(kinds) + 1 + (len(planes) if len(planes) > 1 else 0)
