"""Plan the domains of the compute network, and where each server hangs in every network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cluster_model.plan.model import Network, Server, Switch
from cluster_model.plan.model.topology import Domain, Position


def find_positions(servers: Sequence[Server], switches: Sequence[Switch]) -> dict[str, tuple[Position, ...]]:
    """Return where each server hangs, by its name: a position for each network with units, in the order of its ports."""
    leafs = {switch.name: switch for switch in switches if switch.role == "leaf" and switch.network != "oob"}
    found = {}
    for server in servers:
        positions: dict[str, Position] = {}
        for port in server.ports:
            if port.network not in positions and (leaf := leafs.get(port.peer)) is not None:
                positions[port.network] = Position(port.network, leaf.unit, leaf.pod)
        found[server.name] = tuple(positions.values())
    return found


def plan_topology(networks: Sequence[Network], switches: Sequence[Switch]) -> tuple[Domain, ...]:
    """Return the domains of the compute network that are built, the nearest first; none where there is no such network.

    Units have tier 1. Pods have tier 2 in a network of three tiers. The whole network comes last; a single leaf's network, which
    has nothing above its leafs, is one domain as well.
    """
    network = next((each for each in networks if each.name == "compute"), None)
    if network is None:
        return ()
    pods = {switch.unit: switch.pod for switch in switches if switch.network == network.name and switch.role == "leaf"}
    name, has_pods = network.name, network.tiers > 2
    domains = [
        Domain(name_unit(name, unit), 1, name_pod(name, pod) if has_pods else name, name, unit)
        for unit, pod in sorted(pods.items())
    ]
    if has_pods:
        domains += [Domain(name_pod(name, pod), 2, name, name, pod) for pod in sorted(set(pods.values()))]
    return (*domains, Domain(name, 3 if has_pods else 2, "", name, 0))


def name_unit(network: str, unit: int) -> str:
    """Return the name of a unit's domain, as its leafs are called: compute-u01."""
    return f"{network}-u{unit:02d}"


def name_pod(network: str, pod: int) -> str:
    """Return the name of a pod's domain, as its spines are called: compute-g01."""
    return f"{network}-g{pod:02d}"


def label_positions(positions: Sequence[Position], pods: Mapping[str, bool]) -> dict[str, str]:
    """Return labels of a server's positions, by what follows their prefix.

    Args:
        positions: where it hangs.
        pods: whether a network has pods, by its name.
    """
    labels = {}
    for position in positions:
        labels[f"{position.network}-unit"] = name_unit(position.network, position.unit)
        if pods.get(position.network):
            labels[f"{position.network}-pod"] = name_pod(position.network, position.pod)
    return labels
