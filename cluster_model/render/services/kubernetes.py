"""Kubernetes in the rendered tree: nodes, topology and tenants, and how many there are in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cluster_model.catalogue.load import Catalogue
from cluster_model.plan.model import Plan
from cluster_model.render.drawings.style import format_count
from cluster_model.render.kubernetes.control import render_control
from cluster_model.render.kubernetes.endpoint import render_endpoint
from cluster_model.render.kubernetes.images import render_images
from cluster_model.render.kubernetes.kubeadm import render_kubeadm
from cluster_model.render.kubernetes.kueue import render_kueue
from cluster_model.render.kubernetes.network.bgp import render_bgp
from cluster_model.render.kubernetes.network.network_operator import render_policy
from cluster_model.render.kubernetes.network.rails import render_network
from cluster_model.render.kubernetes.releases import describe_missing, list_images
from cluster_model.render.kubernetes.tenants import render_tenants
from cluster_model.render.kubernetes.topology import render_topology
from cluster_model.render.kubernetes.values import render_values
from cluster_model.render.kubernetes.volumes import render_volumes
from cluster_model.render.services import RenderedService


def render_kubernetes(plan: Plan, _catalogue: Catalogue) -> Iterator[tuple[str, bytes]]:
    """Yield its files; none where the plan has no Kubernetes."""
    if plan.kubernetes.nodes:
        yield from render_kubeadm(plan)
        yield from render_control(plan)
        yield from render_endpoint(plan)
        yield from render_topology(plan)
        yield from render_kueue(plan)
        yield from render_tenants(plan)
        yield from render_network(plan)
        yield from render_bgp(plan)
        yield from render_volumes(plan)
        yield from render_values(plan)
        yield from render_policy(plan)
        yield from render_images(plan, list_images(plan.kubernetes), describe_missing(plan.kubernetes))


def summarize(plan: Plan) -> dict[str, Any]:
    """Return its version, its nodes in numbers, and who queues; nothing where the plan has no Kubernetes."""
    kubernetes = plan.kubernetes
    if not kubernetes.nodes:
        return {}
    return {
        "version": kubernetes.version,
        "control": sum(node.is_control for node in kubernetes.nodes),
        "workers": sum(node.is_worker for node in kubernetes.nodes),
        "queueing": kubernetes.queueing,
    }


def describe(plan: Plan) -> Iterator[str]:
    """Yield one line, where there is one."""
    found = summarize(plan)
    if found:
        control, workers = format_count(found["control"], "control plane node"), format_count(found["workers"], "worker")
        yield f"\nKubernetes {found['version']}: {control}, {workers}; {QUEUEING[found['queueing']]}."


def list_groups(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield the servers of the control plane, of which the first begins the cluster, and the workers; one may be both."""
    yield from (("kubernetes_control", node.name) for node in plan.kubernetes.nodes if node.is_control)
    yield from (("kubernetes_worker", node.name) for node in plan.kubernetes.nodes if node.is_worker)


QUEUEING = {
    "volcano": "jobs wait in Volcano's queues",
    "kueue": "jobs wait in Kueue's queues",
    "none": "no queues for jobs",
}
SERVICE = RenderedService("kubernetes", "kubernetes", render_kubernetes, summarize, describe, list_groups)
