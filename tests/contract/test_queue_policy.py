"""The policy of queues as the API server has it: its CEL, evaluated over what tenants and Volcano's controllers ask."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import cel
import pytest
import yaml

from cluster_model.render.kubernetes.queue_policy import QUEUE
from cluster_model.render.kubernetes.tenants import list_objects
from cluster_model.render.kubernetes.topology import render_topology
from tests.planned import open_example

PATH = "kubernetes/topology/queue-policy.yaml"
PLANNING = {"metadata": {"name": "planning", "annotations": {QUEUE: "planning"}}}
API = {"Job": ("batch.volcano.sh", "v1alpha1", "jobs"), "PodGroup": ("scheduling.volcano.sh", "v1beta1", "podgroups")}
OTHER = "queue perception is not for namespace planning: name planning"


def render(**keys: Any) -> list[dict[str, Any]]:
    """Return the objects of the file; none where it is not rendered."""
    plan = open_example("driving").plan
    files = dict(render_topology(replace(plan, kubernetes=replace(plan.kubernetes, **keys))))
    return list(yaml.safe_load_all(files.get(PATH, b"")))


def ask(asked: dict[str, Any], before: dict[str, Any] | None = None, namespace: dict[str, Any] = PLANNING) -> str:
    """Return why the API server refuses to make an object, or to change it from what it was before; empty where it takes it.

    Source: Kubernetes documentation, Validating Admission Policy: what expressions see, and that a variable sees those above it.
    """
    group, version, resource = API.get(asked["kind"], ("", "v1", "pods"))
    operation = "UPDATE" if before else "CREATE"
    objects = render()
    bound = {found["spec"]["policyName"] for found in objects if found["kind"].endswith("Binding")}
    seen = {
        "object": asked,
        "oldObject": before,
        "request": {"operation": operation, "namespace": namespace["metadata"]["name"]},
        "namespaceObject": namespace,
    }
    refusals = []
    for policy in objects:
        if policy["metadata"]["name"] not in bound or policy["kind"].endswith("Binding"):
            continue
        (rule,) = policy["spec"]["matchConstraints"]["resourceRules"]
        wanted = {"apiGroups": group, "apiVersions": version, "resources": resource, "operations": operation}
        if all(value in rule[key] for key, value in wanted.items()):
            seen["variables"] = variables = {}
            for variable in policy["spec"]["variables"]:
                variables[variable["name"]] = cel.evaluate(variable["expression"], seen)
            (validation,) = policy["spec"]["validations"]
            if cel.evaluate(validation["expression"], seen) is not True:
                refusals.append(cel.evaluate(validation["messageExpression"], seen))
    return "; ".join(refusals)


def job(queue: str | None, kind: str = "Job") -> dict[str, Any]:
    return {"kind": kind, "metadata": {"name": "train"}, "spec": {} if queue is None else {"queue": queue}}


def pod(queue: str = "", group: str = "") -> dict[str, Any]:
    """Return a pod, with annotations where there is something to say."""
    found = {key: text for key, text in ((QUEUE, queue), ("scheduling.k8s.io/group-name", group)) if text}
    metadata = {"name": "train-0", **({"annotations": found} if found else {})}
    return {"kind": "Pod", "metadata": metadata, "spec": {"schedulerName": "volcano"}}


def group(queue: str | None) -> dict[str, Any]:
    return job(queue, "PodGroup")


CASES: dict[str, tuple[dict[str, Any], dict[str, Any] | None, str]] = {
    "a job in its own queue": (job("planning"), None, ""),
    "a job in another tenant's": (job("perception"), None, OTHER),
    "a job in Volcano's root of all queues": (job("root"), None, OTHER.replace("perception", "root")),
    "a job that names none, after Volcano's webhook": (job("default"), None, ""),
    "a job that names none, before it": (job(None), None, ""),
    "a job that moves to another tenant's": (job("perception"), job("planning"), OTHER),
    "a job that was in another's before the policy": (job("perception"), job("perception"), ""),
    "a job that moves from another's to its own": (job("planning"), job("perception"), ""),
    "a pod without annotations": (pod(), None, ""),
    "a pod with others": (pod(group="podgroup-1"), None, ""),
    "a pod in its own queue": (pod(queue="planning"), None, ""),
    "a pod in another tenant's": (pod(queue="perception"), None, OTHER),
    "a pod that moves to another tenant's": (pod(queue="perception"), pod(), OTHER),
    "a pod that Volcano puts into a group": (pod(group="podgroup-1"), pod(), ""),
    "a pod of before the policy that Volcano puts into a group": (
        pod(queue="perception", group="podgroup-1"),
        pod(queue="perception"),
        "",
    ),
    "a group in its own queue": (group("planning"), None, ""),
    "a group in another tenant's": (group("perception"), None, OTHER),
    "a group outside all quotas": (group("default"), None, OTHER.replace("perception", "default")),
    "a group that loses its queue": (group(None), group("planning"), OTHER.replace("perception", "default")),
    "a group of before the policy that the scheduler changes": (group("default"), group("default"), ""),
}


@pytest.mark.parametrize("case", CASES)
def test_a_tenant_has_its_own_queue_and_no_other(case):
    asked, before, refusal = CASES[case]
    assert ask(asked, before) == refusal


@pytest.mark.parametrize("annotations", [{}, {"annotations": {}}, {"annotations": {"other.example.net/queue": "planning"}}])
def test_other_namespaces_are_left_alone(annotations):
    namespace = {"metadata": {"name": "planning", **annotations}}
    assert [ask(asked, before, namespace) for asked, before, _ in CASES.values()] == [""] * len(CASES)


def test_every_namespace_of_a_tenant_names_its_queue():
    plan = open_example("driving").plan
    plain = replace(plan, kubernetes=replace(plan.kubernetes, queueing="kueue"))
    for tenant in plan.tenants:
        namespace, *_ = list_objects(plan, tenant, ())
        assert namespace["metadata"]["annotations"][QUEUE] == tenant.name
        assert ask(job("perception"), None, namespace) == (
            "" if tenant.name == "perception" else f"queue perception is not for namespace {tenant.name}: name {tenant.name}"
        )
        assert QUEUE not in next(list_objects(plain, tenant, ()))["metadata"]["annotations"]


def test_every_policy_is_in_force_and_refuses_where_it_cannot_tell():
    objects = render()
    policies = {found["metadata"]["name"]: found["spec"] for found in objects if found["kind"] == "ValidatingAdmissionPolicy"}
    bindings = [found["spec"] for found in objects if found["kind"] == "ValidatingAdmissionPolicyBinding"]
    assert bindings == [{"policyName": name, "validationActions": ["Deny"]} for name in policies]
    assert {spec["failurePolicy"] for spec in policies.values()} == {"Fail"}


@pytest.mark.parametrize(
    ("keys", "count"),
    [({"version": "1.36"}, 6), ({"version": "1.30"}, 6), ({"version": "1.29"}, 0), ({"queueing": "kueue"}, 0)],
)
def test_it_is_written_for_volcano_and_versions_that_have_such_policies(keys, count):
    assert len(render(**keys)) == count
