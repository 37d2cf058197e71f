"""kubernetes/topology/queue-policy.yaml: a tenant's jobs wait in its own queue. Volcano lets them name any."""

from __future__ import annotations

from collections.abc import Iterator

from cluster_model.plan.model import Plan
from cluster_model.render.kubernetes.objects import Json, make_object

ADMISSION = "admissionregistration.k8s.io/v1"
FIRST = 30
"""Minor version from which every API server has such policies. Source: Kubernetes documentation, Validating Admission Policy:
stable in 1.30; a beta in 1.28 and 1.29, which is off by default."""
QUEUE = "scheduling.volcano.sh/queue-name"
"""Annotation: of a pod, the queue that it names; of a namespace, the queue of those that name none.
Source: Volcano v1.15.0, pkg/controllers/podgroup/pg_controller_handler.go, pkg/webhooks/admission/podgroups/mutate."""
NONE = "default"
"""The queue of what names none. Source: Volcano v1.15.0, CRDs batch.volcano.sh_jobs and scheduling.volcano.sh_podgroups."""
_ANNOTATED = 'has({0}.metadata.annotations) && "{key}" in {0}.metadata.annotations ? {0}.metadata.annotations["{key}"] : "{none}"'
_SPECIFIED = 'has({0}.spec.queue) ? {0}.spec.queue : "{none}"'
QUEUED = {
    "jobs": ("batch.volcano.sh", "v1alpha1", _SPECIFIED, f'[variables.own, "{NONE}"]'),
    "pods": ("", "v1", _ANNOTATED, f'[variables.own, "{NONE}"]'),
    # One that named none has the namespace's by now, and loses it again where Volcano's controller writes it anew.
    "podgroups": ("scheduling.volcano.sh", "v1beta1", _SPECIFIED, "[variables.own]"),
}
"""What names a queue: API group, version, which it names, and which it may. The scheduler goes by PodGroups, which Volcano makes
of jobs and pods; these are judged too, so that whoever makes them is told."""


def name_queue(plan: Plan, tenant: str) -> list[tuple[str, str]]:
    """Return the annotations of a tenant's namespace: its queue, where Volcano has one for it."""
    return [(QUEUE, tenant)] if plan.kubernetes.queueing == "volcano" else []


def list_policies(plan: Plan) -> Iterator[Json]:
    """Yield a policy and its binding for each kind of object that names a queue; none where the version may not know them.

    They hold wherever a namespace names its queue. An object that keeps the queue that it had may change otherwise.
    """
    if plan.kubernetes.minor < FIRST:
        return
    own = _ANNOTATED.format("namespaceObject", key=QUEUE, none="")
    for resource, (group, version, which, allowed) in QUEUED.items():
        name = f"queue-of-{resource}.gpuyard.io"
        queue, before = (which.format(of, key=QUEUE, none=NONE) for of in ("object", "oldObject"))
        rule = {"apiGroups": [group], "apiVersions": [version], "operations": ["CREATE", "UPDATE"], "resources": [resource]}
        variables = {"own": own, "queue": queue, "kept": f'request.operation == "UPDATE" && variables.queue == ({before})'}
        refusal = '"queue " + variables.queue + " is not for namespace " + request.namespace + ": name " + variables.own'
        validation = {
            "expression": f'variables.own == "" || variables.queue in {allowed} || variables.kept',
            "messageExpression": refusal,
            "reason": "Forbidden",
        }
        spec = {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [rule]},
            "variables": [{"name": key, "expression": expression} for key, expression in variables.items()],
            "validations": [validation],
        }
        yield make_object(ADMISSION, "ValidatingAdmissionPolicy", name, spec=spec)
        binding = {"policyName": name, "validationActions": ["Deny"]}
        yield make_object(ADMISSION, "ValidatingAdmissionPolicyBinding", name, spec=binding)
