"""The policy of tenants' pods as the API server has it: its CEL, evaluated over pods that users of a tenant may ask for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import cel
import pytest
import yaml

from cluster_model.render.kubernetes.pod_policy import POLICY, TENANT
from cluster_model.render.kubernetes.tenants import NETWORK_POLICY, list_objects, render_tenants
from tests.planned import open_example

FORBIDDEN = "volumes of tenants' pods are of "
NAMED = "tenants' pods name no node"


@pytest.fixture(scope="module")
def plan():
    return open_example("driving").plan


def read(plan) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(dict(render_tenants(plan)).get("kubernetes/pod-policy.yaml", b"")))


def ask(plan, spec: dict[str, Any]) -> str:
    """Return why the API server refuses a pod; empty where it takes it."""
    policy = next(found["spec"] for found in read(plan) if found["kind"] == "ValidatingAdmissionPolicy")
    seen = {"object": {"metadata": {"name": "train-0"}, "spec": {"containers": [{"name": "train"}], **spec}}}
    return "; ".join(line["message"] for line in policy["validations"] if cel.evaluate(line["expression"], seen) is not True)


CASES: dict[str, tuple[dict[str, Any], str]] = {
    "plain": ({}, ""),
    "no volumes": ({"volumes": []}, ""),
    "its own": (
        {
            "volumes": [
                {"name": "a", "persistentVolumeClaim": {"claimName": "data"}},
                {"name": "b", "emptyDir": {"medium": "Memory"}},
                {"name": "c", "projected": {"sources": []}},
                {"name": "d", "configMap": {"name": "told"}},
            ]
        },
        "",
    ),
    "a share of any server": ({"volumes": [{"name": "v", "nfs": {"server": "10.128.0.9", "path": "/"}}]}, FORBIDDEN),
    "a disk of its making": (
        {"volumes": [{"name": "a", "emptyDir": {}}, {"name": "v", "iscsi": {"targetPortal": "10.244.1.7"}}]},
        FORBIDDEN,
    ),
    "the node's own": ({"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}, FORBIDDEN),
    "a node": ({"nodeName": "train-001"}, NAMED),
    "no node": ({"nodeName": ""}, ""),
}


@pytest.mark.parametrize("case", CASES)
def test_pods_ask_nothing_of_their_node(plan, case):
    spec, refusal = CASES[case]
    said = ask(plan, spec)
    assert said.startswith(refusal) if refusal else said == ""


def test_the_policy_is_in_force_for_tenants_and_nobody_else(plan):
    policy, binding = read(plan)
    assert binding["spec"] == {"policyName": policy["metadata"]["name"], "validationActions": ["Deny"]}
    assert policy["metadata"]["name"] == POLICY
    assert policy["spec"]["failurePolicy"] == "Fail"
    (selected,) = policy["spec"]["matchConstraints"]["namespaceSelector"]["matchExpressions"]
    assert selected == {"key": TENANT, "operator": "Exists"}
    for tenant in plan.tenants:
        namespace = next(list_objects(plan, tenant, ()))
        assert namespace["metadata"]["labels"][TENANT] == tenant.name


def test_versions_that_may_not_know_it_and_clusters_without_tenants_have_none(plan):
    assert read(replace(plan, kubernetes=replace(plan.kubernetes, version="1.29"))) == []
    assert read(replace(plan, tenants=())) == []


def test_no_job_of_volcano_can_be_called_as_the_network_policy(plan):
    """Volcano deletes a policy called as a job that has ended, and first makes a Service called so, which has no dot."""
    for tenant in plan.tenants:
        names = [found["metadata"]["name"] for found in list_objects(plan, tenant, ()) if found["kind"] == "NetworkPolicy"]
        assert names == [NETWORK_POLICY]
    assert "." in NETWORK_POLICY
