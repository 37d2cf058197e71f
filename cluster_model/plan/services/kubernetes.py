"""Plan Kubernetes: its nodes, and the labels that say where each stands and hangs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from cluster_model.intent.model.cluster import Cluster
from cluster_model.plan.model import Network, Rack, Server, Switch
from cluster_model.plan.model.kubernetes import Kubernetes, Node
from cluster_model.plan.model.overlay import Tenant
from cluster_model.plan.services.topology import locate_server, name_pod, name_unit

PREFIX = "gpuyard.io/"
"""Of the labels that are ours. Kubernetes keeps names without a prefix for users, and kubernetes.io/ for itself."""
LABEL_LENGTH = 63
REGION, ZONE = "topology.kubernetes.io/region", "topology.kubernetes.io/zone"
"""Source: Kubernetes, well-known labels, annotations and taints."""


def plan_kubernetes(
    cluster: Cluster,
    servers: Sequence[Server],
    switches: Sequence[Switch],
    racks: Sequence[Rack],
    networks: Sequence[Network],
    tenants: Sequence[Tenant],
) -> Kubernetes:
    """Return the cluster's nodes, in the order of the servers; nothing where the intent has no Kubernetes.

    Args:
        cluster: the intent.
        servers: the built servers.
        switches: the built switches, which know their units and pods.
        racks: racks, which know their rows.
        networks: networks, which know their tiers.
        tenants: tenants with the servers of their own.
    """
    asked = cluster.kubernetes
    if asked is None:
        return Kubernetes()
    rows = {rack.name: rack.row for rack in racks}
    with_pods = {network.name for network in networks if network.tiers > 2}
    leafs = {switch.name: switch for switch in switches if switch.role == "leaf" and switch.network != "oob"}
    owners = {server: tenant.name for tenant in tenants for server in tenant.servers}
    nodes = []
    for server in servers:
        is_control, is_worker = server.group == asked.control, server.group in asked.workers
        if not is_control and not is_worker:
            continue
        labels = {
            REGION: asked.region or cluster.name,
            ZONE: asked.zone or cluster.name,
            f"{PREFIX}group": server.group,
            f"{PREFIX}model": write_label(server.model),
            f"{PREFIX}rack": server.rack,
            f"{PREFIX}row": rows[server.rack],
        }
        for network, (unit, pod) in locate_server(server, leafs).items():
            labels[label_unit(network)] = name_unit(network, unit)
            if network in with_pods:
                labels[f"{PREFIX}{network}-pod"] = name_pod(network, pod)
        if server.gpus:
            labels[f"{PREFIX}gpu"] = write_label(server.gpu_model)
        if server.name in owners:
            labels[f"{PREFIX}tenant"] = owners[server.name]
        nodes.append(Node(server.name, server.group, is_control, is_worker, tuple(sorted(labels.items()))))
    return Kubernetes(asked.version, asked.queueing, str(asked.pod_pool), tuple(nodes))


def label_unit(network: str) -> str:
    """Return the key of the label that says in which unit of a network a node hangs."""
    return f"{PREFIX}{network}-unit"


def write_label(text: str) -> str:
    """Return a text as the value of a label takes it.

    Source: Kubernetes, labels and selectors: at most 63 letters, digits, `-`, `_` and `.`, of which the first and the last are
    letters or digits.

    >>> write_label("nvidia/dgx-h100")
    'nvidia_dgx-h100'
    """
    return re.sub(r"[^A-Za-z0-9_.-]", "_", text)[:LABEL_LENGTH].strip("-_.")
