"""kubernetes/nodes.yaml and kubernetes/topology/: where nodes stand and hang, and how near they are to each other."""

from __future__ import annotations

from collections.abc import Iterator

from cluster_model.plan.model import Plan
from cluster_model.plan.services.kubernetes import label_unit
from cluster_model.render.kubernetes.objects import Json, make_object, write_objects
from cluster_model.render.kubernetes.queue_policy import list_policies

GPU = "nvidia.com/gpu"
"""What NVIDIA's device plugin calls a GPU."""


def render_topology(plan: Plan) -> Iterator[tuple[str, bytes]]:
    """Yield the labels of all nodes, and what Volcano knows of the compute network and of tenants."""
    # Labels alone: the list of taints belongs to whoever applied it last, and node controllers put theirs into it
    # (Kubernetes, core/v1 Node: spec.taints is an atomic list).
    nodes = [make_object("v1", "Node", node.name, labels=node.labels) for node in plan.kubernetes.nodes]
    yield "kubernetes/nodes.yaml", write_objects(f"Labels of the nodes of {plan.name}.", nodes)
    if plan.kubernetes.queueing != "volcano":
        return
    hypernodes = list(list_hypernodes(plan))
    if hypernodes:
        about = f"The compute network of {plan.name} as Volcano places jobs by it: the units are tier 1."
        yield "kubernetes/topology/hypernodes.yaml", write_objects(about, hypernodes)
    if plan.tenants:
        yield "kubernetes/topology/queues.yaml", write_objects(f"Queues of the tenants of {plan.name}.", list_queues(plan))
        policies = list(list_policies(plan))
        if policies:
            about = "What the API server refuses: a job, pod or PodGroup in a queue that is not its namespace's."
            yield "kubernetes/topology/queue-policy.yaml", write_objects(about, policies)


def list_hypernodes(plan: Plan) -> Iterator[Json]:
    """Yield a HyperNode for each domain of the compute network that has a node, the nearest first.

    A unit has its nodes by their label, so that a server more changes no object. Source: Volcano, CRD
    topology.volcano.sh/v1alpha1 HyperNode; labelMatch is for members of type Node.
    """
    used = {value for node in plan.kubernetes.nodes for _, value in node.labels}
    members: dict[str, list[Json]] = {}
    for domain in plan.topology:
        if domain.tier == 1 and domain.name in used:
            label = {label_unit(domain.network): domain.name}
            members[domain.name] = [{"type": "Node", "selector": {"labelMatch": {"matchLabels": label}}}]
        if domain.name in members:
            spec = {"tier": domain.tier, "members": members[domain.name]}
            yield make_object("topology.volcano.sh/v1alpha1", "HyperNode", domain.name, spec=spec)
            if domain.parent:
                inner = {"type": "HyperNode", "selector": {"exactMatch": {"name": domain.name}}}
                members.setdefault(domain.parent, []).append(inner)


def list_queues(plan: Plan) -> Iterator[Json]:
    """Yield a queue for each tenant, which takes no more GPUs than its quota.

    Source: Volcano, CRD scheduling.volcano.sh/v1beta1 Queue.
    """
    for tenant in plan.tenants:
        spec: Json = {"weight": 1, "reclaimable": True}
        if tenant.gpus >= 0:
            spec["capability"] = {GPU: str(tenant.gpus)}
        yield make_object("scheduling.volcano.sh/v1beta1", "Queue", tenant.name, spec=spec)
