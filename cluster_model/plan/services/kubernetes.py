"""Plan Kubernetes: its nodes, and the labels that say where each stands and hangs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from cluster_model.intent.model.cluster import Cluster
from cluster_model.plan.model import Network, Rack, Server
from cluster_model.plan.model.kubernetes import Kubernetes, Node
from cluster_model.plan.model.overlay import Tenant
from cluster_model.plan.model.topology import Position
from cluster_model.plan.services.topology import label_positions

PREFIX = "gpuyard.io/"
"""Of the labels that are ours. Kubernetes keeps names without a prefix for users, and kubernetes.io/ for itself."""
LABEL_LENGTH = 63
REGION, ZONE = "topology.kubernetes.io/region", "topology.kubernetes.io/zone"
"""Source: Kubernetes, well-known labels, annotations and taints."""


def plan_kubernetes(
    cluster: Cluster,
    servers: Sequence[Server],
    racks: Sequence[Rack],
    networks: Sequence[Network],
    tenants: Sequence[Tenant],
    positions: Mapping[str, Sequence[Position]],
) -> Kubernetes:
    """Return the cluster's nodes, in the order of the servers; nothing where the intent has no Kubernetes.

    Args:
        cluster: the intent.
        servers: the built servers.
        racks: racks, which know their rows.
        networks: networks, which know their tiers.
        tenants: tenants with the servers of their own.
        positions: where each server hangs, by its name.
    """
    asked = cluster.kubernetes
    if asked is None:
        return Kubernetes()
    rows = {rack.name: rack.row for rack in racks}
    pods = {network.name: network.tiers > 2 for network in networks}
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
            **{f"{PREFIX}{key}": value for key, value in label_positions(positions[server.name], pods).items()},
        }
        if server.gpus:
            labels[f"{PREFIX}gpu"] = write_label(server.gpu_model)
        if server.name in owners:
            labels[f"{PREFIX}tenant"] = owners[server.name]
        nodes.append(Node(server.name, server.group, is_control, is_worker, tuple(sorted(labels.items()))))
    return Kubernetes(asked.version, asked.queueing, str(asked.pod_pool), tuple(nodes))


def write_label(text: str) -> str:
    """Return a text as the value of a label takes it.

    Source: Kubernetes, labels and selectors: at most 63 letters, digits, `-`, `_` and `.`, of which the first and the last are
    letters or digits.

    >>> write_label("nvidia/dgx-h100")
    'nvidia_dgx-h100'
    """
    return re.sub(r"[^A-Za-z0-9_.-]", "_", text)[:LABEL_LENGTH].strip("-_.")
