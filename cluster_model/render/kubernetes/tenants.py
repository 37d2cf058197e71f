"""kubernetes/tenants/: a namespace for each tenant, with its quota, its users' rights, and whom its pods may speak to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cluster_model.plan.model import Plan
from cluster_model.plan.model.overlay import Tenant
from cluster_model.plan.services.tenant_nodes import MAY, label_tenant
from cluster_model.render.kubernetes.kueue import Flavor, list_flavors, make_local_queue, share_flavors
from cluster_model.render.kubernetes.objects import Json, make_object, write_objects
from cluster_model.render.kubernetes.pod_policy import TENANT, list_pod_policies
from cluster_model.render.kubernetes.policy import write_policy
from cluster_model.render.kubernetes.queue_policy import name_queue
from cluster_model.render.kubernetes.quotas import list_quotas

RBAC = "rbac.authorization.k8s.io"
PRIORITIES = {
    "job-high": (100_000, "Jobs that go before others that wait."),
    "job-normal": (10_000, "Jobs like most others."),
    "job-low": (1_000, "Jobs that run where GPUs would stand idle."),
}
"""Priority classes, by name: value and what it is for. Our choice; the values leave room between them. None takes the place of
what runs, since every tenant may name any of them."""
NODE_SELECTOR = "scheduler.alpha.kubernetes.io/node-selector"
"""The annotation of a namespace that admission plug-in PodNodeSelector adds to the node selector of each pod in it; a pod that
asks for another value is refused. Source: Kubernetes documentation, admission controllers: PodNodeSelector."""
NETWORK_POLICY = "tenant.gpuyard.io"
"""Its dot keeps it: when a job with Volcano's plug-in svc ends, Volcano deletes the network policy with the job's name, whoever
made it. A job with a dot never gets so far: that plug-in makes a Service of its name first, and no Service has a dot. Source:
Volcano v1.15.0, pkg/controllers/job/plugins/distributed-framework/svc/svc.go, OnJobAdd and OnJobDelete."""
READ = ["get", "list", "watch"]
WRITE = [*READ, "create", "update", "patch", "delete", "deletecollection"]
RIGHTS: tuple[tuple[str, list[str], list[str]], ...] = (
    ("", ["configmaps", "persistentvolumeclaims", "pods", "secrets", "services"], WRITE),
    ("", ["pods/attach", "pods/exec", "pods/portforward"], ["get", "create"]),
    ("", ["endpoints", "events", "limitranges", "pods/log", "pods/status", "resourcequotas", "serviceaccounts"], READ),
    ("apps", ["deployments", "deployments/scale", "replicasets", "statefulsets", "statefulsets/scale"], WRITE),
    ("batch", ["cronjobs", "jobs"], WRITE),
    ("networking.k8s.io", ["networkpolicies"], READ),
)
"""What users of a tenant may do in its namespace: API group, resources, verbs. Less than Kubernetes' own role `edit`, which also
lets them take away the policies that keep tenants apart."""
QUEUE_RIGHTS: dict[str, tuple[tuple[str, list[str], list[str]], ...]] = {
    "volcano": (("batch.volcano.sh", ["jobs"], WRITE), ("scheduling.volcano.sh", ["podgroups"], READ)),
    "kueue": (
        ("kueue.x-k8s.io", ["localqueues", "localqueues/status", "workloads", "workloads/status"], READ),
        ("visibility.kueue.x-k8s.io", ["localqueues/pendingworkloads"], READ),
    ),
    "none": (),
}
"""What else they may do, by who queues their jobs. For Kueue the jobs are those of `batch`. Source: Kueue v0.19.2,
config/components/rbac: the viewer roles of workload, localqueue and pending_workloads_lq."""


def render_tenants(plan: Plan) -> Iterator[tuple[str, bytes]]:
    """Yield the priority classes, what pods of tenants may not ask, and a file for each tenant."""
    classes = (
        make_object("scheduling.k8s.io/v1", "PriorityClass", name, value=value, preemptionPolicy="Never", description=about)
        for name, (value, about) in PRIORITIES.items()
    )
    yield "kubernetes/priorities.yaml", write_objects("Priorities that jobs may have.", classes)
    policies = list(list_pod_policies(plan))
    if policies:
        yield "kubernetes/pod-policy.yaml", write_objects("What the API server refuses of tenants' pods.", policies)
    flavors = list_flavors(plan) if plan.kubernetes.queueing == "kueue" else []
    for tenant in plan.tenants:
        about = f"Namespace, quota, rights and network policy of tenant {tenant.name}."
        yield f"kubernetes/tenants/{tenant.name}.yaml", write_objects(about, list_objects(plan, tenant, flavors))


def list_objects(plan: Plan, tenant: Tenant, flavors: Sequence[Flavor]) -> Iterator[Json]:
    """Yield the objects of a tenant, the namespace first.

    Args:
        plan: the plan.
        tenant: the tenant.
        flavors: the GPUs that Kueue knows; none where it does not queue the jobs.
    """
    name = tenant.name
    level = {"enforce": "baseline", "enforce-version": f"v{plan.kubernetes.version}", "warn": "restricted"}
    labels = [(TENANT, name), *((f"pod-security.kubernetes.io/{key}", value) for key, value in level.items())]
    annotations = [(NODE_SELECTOR, f"{label_tenant(name)}={MAY}"), *name_queue(plan, name)]
    yield make_object("v1", "Namespace", name, labels=labels, annotations=annotations)
    yield from list_quotas(plan, tenant)
    if share_flavors(flavors, tenant):
        yield make_local_queue(name, name)
    # No default limits: a job that names GPUs alone would be killed for its memory.
    request = {"cpu": "100m", "memory": "256Mi"}
    limits = [{"type": "Container", "defaultRequest": request}]
    yield make_object("v1", "LimitRange", "requests", name, spec={"limits": limits})
    rights = RIGHTS + QUEUE_RIGHTS[plan.kubernetes.queueing]
    rules = [{"apiGroups": [group], "resources": resources, "verbs": verbs} for group, resources, verbs in rights]
    yield make_object(f"{RBAC}/v1", "Role", "user", name, rules=rules)
    users = {"kind": "Group", "apiGroup": RBAC, "name": f"gpuyard:{name}"}
    role = {"kind": "Role", "apiGroup": RBAC, "name": "user"}
    yield make_object(f"{RBAC}/v1", "RoleBinding", "users", name, subjects=[users], roleRef=role)
    yield make_object("networking.k8s.io/v1", "NetworkPolicy", NETWORK_POLICY, name, spec=write_policy(plan, tenant))
