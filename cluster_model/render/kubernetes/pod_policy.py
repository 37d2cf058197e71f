"""kubernetes/pod-policy.yaml: what no pod of a tenant asks of its node, although Pod Security's baseline lets it."""

from __future__ import annotations

from collections.abc import Iterator

from cluster_model.plan.model import Plan
from cluster_model.render.kubernetes.objects import Json, make_object
from cluster_model.render.kubernetes.queue_policy import ADMISSION, FIRST

TENANT = "gpuyard.io/tenant"
"""The label of a tenant's namespace."""
POLICY = "pods-of-tenants.gpuyard.io"
VOLUMES = ("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected", "secret")
"""Volumes that a pod may name. With others, such as nfs and iscsi, the node itself mounts whatever server a pod names, past every
network policy, and its kernel reads a file system that a tenant made. Source: kubernetes/pod-security-admission,
policy/check_restrictedVolumes.go: those of the level restricted."""


def list_pod_policies(plan: Plan) -> Iterator[Json]:
    """Yield the policy and its binding; nothing without tenants, or where the version may not know such policies.

    A pod that names a node on which its tenant may not run is refused by the kubelet, and whatever made it makes the next one at
    once (kubernetes/kubernetes issue 72593). So none names its node: schedulers bind pods in another way.
    """
    if not plan.tenants or plan.kubernetes.minor < FIRST:
        return
    known = " || ".join(f"has(volume.{kind})" for kind in VOLUMES)
    validations = [
        {
            "expression": f"!has(object.spec.volumes) || object.spec.volumes.all(volume, {known})",
            "message": f"volumes of tenants' pods are of {', '.join(VOLUMES)}",
            "reason": "Forbidden",
        },
        {
            "expression": '!has(object.spec.nodeName) || object.spec.nodeName == ""',
            "message": "tenants' pods name no node: a scheduler finds theirs",
            "reason": "Forbidden",
        },
    ]
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "namespaceSelector": {"matchExpressions": [{"key": TENANT, "operator": "Exists"}]},
            "resourceRules": [rule],
        },
        "validations": validations,
    }
    yield make_object(ADMISSION, "ValidatingAdmissionPolicy", POLICY, spec=spec)
    binding = {"policyName": POLICY, "validationActions": ["Deny"]}
    yield make_object(ADMISSION, "ValidatingAdmissionPolicyBinding", POLICY, spec=binding)
