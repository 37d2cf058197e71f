"""What roles know of Kubernetes beyond the rendered files: where the API server is, and what a server is in the cluster."""

from __future__ import annotations

from typing import Any

from cluster_model.plan.model import Plan, Server
from cluster_model.plan.services.kubernetes import write_label
from cluster_model.render.kubernetes.kubeadm import has_patch
from cluster_model.render.kubernetes.releases import find_pause, find_release

Vars = dict[str, Any]


def describe_kubernetes(plan: Plan) -> Vars:
    """Return what all nodes share; nothing where the plan has no Kubernetes. What of a release is not known is empty."""
    kubernetes = plan.kubernetes
    if not kubernetes.nodes:
        return {}
    release, endpoint = find_release(kubernetes), kubernetes.endpoint
    return {
        "version": kubernetes.version,
        "release": release.version.removeprefix("v") if release.version.startswith("v") else "",
        "pause": find_pause(kubernetes),
        "endpoint": {"mode": endpoint.mode, "name": endpoint.name, "address": endpoint.address, "port": endpoint.port},
    }


def describe_nodes(plan: Plan) -> dict[str, Vars]:
    """Return what each node is, by its name."""
    kubernetes = plan.kubernetes
    servers: dict[str, Server] = {server.name: server for server in plan.servers}
    return {
        node.name: {
            "address": node.address,
            "control": node.is_control,
            "worker": node.is_worker,
            "patches": write_label(servers[node.name].model) if has_patch(kubernetes, node, servers[node.name]) else "",
        }
        for node in kubernetes.nodes
    }
