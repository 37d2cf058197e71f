"""The domains of the compute network, and where a server hangs in each network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cluster_model.plan.model import Network, Server, Switch
from cluster_model.plan.model.topology import Domain


def locate_server(server: Server, leafs: Mapping[str, Switch]) -> dict[str, tuple[int, int]]:
    """Return the unit and the pod that a server hangs in, both from 1, by network, in the order of its ports.

    Args:
        server: a planned server.
        leafs: leafs by name, those of out-of-band left out: that network has no units.
    """
    places: dict[str, tuple[int, int]] = {}
    for port in server.ports:
        if port.network not in places and (leaf := leafs.get(port.peer)) is not None:
            places[port.network] = leaf.unit, leaf.pod
    return places


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
        Domain(name_unit(name, unit), 1, name_pod(name, pod) if has_pods else name, name) for unit, pod in sorted(pods.items())
    ]
    if has_pods:
        domains += [Domain(name_pod(name, pod), 2, name, name) for pod in sorted(set(pods.values()))]
    return (*domains, Domain(name, 3 if has_pods else 2, "", name))


def name_unit(network: str, unit: int) -> str:
    """Return the name of a unit's domain, as its leafs are called: compute-u01."""
    return f"{network}-u{unit:02d}"


def name_pod(network: str, pod: int) -> str:
    """Return the name of a pod's domain, as its spines are called: compute-g01."""
    return f"{network}-g{pod:02d}"
