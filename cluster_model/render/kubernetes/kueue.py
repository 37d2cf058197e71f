"""kubernetes/topology/ for Kueue: how near nodes are, which GPUs there are, and a queue for each tenant.

Source of every field: Kueue v0.19.2, config/components/crd/bases, version v1beta2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cluster_model.plan.model import Plan
from cluster_model.plan.model.overlay import Tenant
from cluster_model.plan.services.kubernetes import PREFIX, label_unit
from cluster_model.plan.services.tenant_nodes import may_run
from cluster_model.render.kubernetes.objects import Json, make_object, write_objects
from cluster_model.render.kubernetes.topology import GPU

API = "kueue.x-k8s.io/v1beta2"
LEVELS = (f"{PREFIX}compute-pod", label_unit("compute"))
HOST = "kubernetes.io/hostname"
"""The last level: without it Kueue asks no node whether a pod fits it, by its taints and by the pod's selectors. Source: Kueue
v0.19.2, pkg/cache/scheduler/tas_flavor_snapshot.go: isLowestLevelNode."""
NO_LIMIT = {"cpu": "1P", "memory": "1E", GPU: "1P"}
"""More than any cluster has. Kueue refuses a pod that asks for what its queue does not cover, and a LimitRange lets every
container ask for CPU and memory. What is free of them Kueue sees at the nodes, so that a queue need not count it."""
OPEN_QUEUE, OPEN_NAMESPACE = "gpus", "default"
"""The queue of a cluster without tenants, and the namespace that has it. It is not called `default`: Kueue puts all pods of a
namespace into a queue of that name, those that need no GPU among them (Kueue documentation, default LocalQueue)."""


@dataclass(frozen=True, slots=True)
class Flavor:
    """GPUs that are alike for a job: of one model, and one tenant's own or nobody's.

    `levels` are the labels by which its nodes are near or far, the widest first; each of its nodes has them all, since Kueue
    leaves out a node that lacks one. `gpus` are built.
    """

    name: str
    tenant: str  # empty where the servers are nobody's own
    labels: tuple[tuple[str, str], ...]
    levels: tuple[str, ...]
    gpus: int

    @property
    def topology(self) -> str:
        """The name of its Topology: the compute network, or single hosts where its nodes are not in it."""
        return "compute" if self.levels else "hosts"


def render_kueue(plan: Plan) -> Iterator[tuple[str, bytes]]:
    """Yield what Kueue knows of nodes and of tenants; nothing where it does not queue the jobs."""
    if plan.kubernetes.queueing != "kueue":
        return
    flavors = list_flavors(plan)
    levels = {flavor.topology: flavor.levels for flavor in flavors}
    objects = [
        make_object(API, "Topology", name, spec={"levels": [{"nodeLabel": label} for label in (*levels[name], HOST)]})
        for name in sorted(levels)
    ]
    for flavor in flavors:
        spec = {"nodeLabels": dict(flavor.labels), "topologyName": flavor.topology}
        objects.append(make_object(API, "ResourceFlavor", flavor.name, spec=spec))
    if objects:
        yield "kubernetes/topology/flavors.yaml", write_objects(f"GPUs of {plan.name} as Kueue places jobs on them.", objects)
        yield (
            "kubernetes/topology/queues.yaml",
            write_objects(f"Queues for the GPUs of {plan.name}.", list_cluster_queues(plan, flavors)),
        )


def list_flavors(plan: Plan) -> list[Flavor]:
    """Return the flavors of the GPUs that run pods, by name."""
    servers = {server.name: server for server in plan.servers}
    alike: dict[tuple[str, str], tuple[list[dict[str, str]], list[int]]] = {}
    for node in plan.kubernetes.nodes:
        labels = dict(node.labels)
        if node.is_worker and f"{PREFIX}gpu" in labels:
            key = labels[f"{PREFIX}gpu"], labels.get(f"{PREFIX}tenant", "")
            nodes, gpus = alike.setdefault(key, ([], []))
            nodes.append(labels)
            gpus.append(servers[node.name].gpus)
    flavors = []
    for (model, tenant), (nodes, gpus) in alike.items():
        name = re.sub(r"[^a-z0-9.]+", "-", model.lower()) + (f".{tenant}" if tenant else "")
        wanted = tuple((key, nodes[0][key]) for key in (f"{PREFIX}gpu", f"{PREFIX}tenant") if key in nodes[0])
        levels = tuple(level for level in LEVELS if all(level in labels for labels in nodes))
        flavors.append(Flavor(name, tenant, wanted, levels, sum(gpus)))
    return sorted(flavors, key=lambda flavor: flavor.name)


def share_flavors(flavors: Sequence[Flavor], tenant: Tenant) -> dict[str, str]:
    """Return what a tenant may use of each flavor, by its name, as a quota: first its own servers, then those of nobody.

    What its own do not hold it may use of any other flavor: which model is the job's choice, and the quota of the namespace
    holds over all of them. None where all GPUs are other tenants' own.
    """
    usable = [each for each in flavors if may_run(tenant.name, each.tenant)]
    own, others = [each for each in usable if each.tenant], [each for each in usable if not each.tenant]
    if tenant.gpus < 0:
        return {flavor.name: NO_LIMIT[GPU] for flavor in (*own, *others)}
    shares, left = {}, tenant.gpus
    for flavor in own:
        shares[flavor.name] = str(min(left, flavor.gpus))
        left -= min(left, flavor.gpus)
    if left or not own:
        shares |= {flavor.name: str(left) for flavor in others}
    return shares


def list_cluster_queues(plan: Plan, flavors: Sequence[Flavor]) -> Iterator[Json]:
    """Yield a queue for each tenant that may use a GPU, or one for all where there are no tenants.

    They have no cohort: none lends GPUs to another, since a tenant's quota is the most that it may use at a time. Nothing that
    runs is stopped for what waits: preemption is `Never` by default.
    """
    if not plan.tenants:
        shares = {flavor.name: NO_LIMIT[GPU] for flavor in flavors}
        yield _make_cluster_queue(OPEN_QUEUE, {}, shares)
        yield make_local_queue(OPEN_QUEUE, OPEN_NAMESPACE)
    for tenant in plan.tenants:
        if shares := share_flavors(flavors, tenant):
            yield _make_cluster_queue(tenant.name, {"matchLabels": {"kubernetes.io/metadata.name": tenant.name}}, shares)


def make_local_queue(name: str, namespace: str) -> Json:
    """Return the queue that jobs of a namespace name, in front of the ClusterQueue that is called the same."""
    return make_object(API, "LocalQueue", name, namespace, spec={"clusterQueue": name})


def _make_cluster_queue(name: str, namespaces: Json, shares: dict[str, str]) -> Json:
    """Return a queue of some namespaces, with what it may use of each flavor."""
    flavors = []
    for flavor, gpus in shares.items():
        quotas = [{"name": resource, "nominalQuota": quota} for resource, quota in {**NO_LIMIT, GPU: gpus}.items()]
        flavors.append({"name": flavor, "resources": quotas})
    group = {"coveredResources": list(NO_LIMIT), "flavors": flavors}
    return make_object(API, "ClusterQueue", name, spec={"namespaceSelector": namespaces, "resourceGroups": [group]})
