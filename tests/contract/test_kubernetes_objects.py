"""Every object of kubernetes/ against Kubernetes' own schemas, strictly, and custom resources against what their CRDs take."""

from __future__ import annotations

import copy
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml

from cluster_model.render.services.kubernetes import render_kubernetes
from tests.planned import open_example

CRDS = {
    (crd["apiVersion"], crd["kind"]): crd
    for crd in map(yaml.safe_load, (p.read_text() for p in Path(__file__, "../crds").resolve().glob("*.yaml")))
}
LABEL_KEY = r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?"
LABEL_VALUE = r"([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?"
"""Source: Kubernetes documentation, labels and selectors: syntax and character set."""
OTHERS = ("kubernetes/kubeadm/", "kubernetes/endpoint/", "kubernetes/values/", "kubernetes/images.txt")
"""Files for programs other than the API server: test_kubernetes_kubeadm.py and test_kubernetes_charts.py have them."""
EXAMPLES = ("driving", "lab", "superpod-roce")
QUEUEING = ("volcano", "kueue")


def render(example: str, queueing: str) -> dict[str, list[dict[str, Any]]]:
    opened = open_example(example)
    plan = replace(opened.plan, kubernetes=replace(opened.plan.kubernetes, queueing=queueing))
    files = render_kubernetes(plan, opened.catalogue)
    return {path: list(yaml.safe_load_all(data)) for path, data in files if not path.startswith(OTHERS)}


def judge(found: dict[str, Any]) -> str:
    """Return what is wrong with an object; empty where nothing is."""
    crd = CRDS.get((found["apiVersion"], found["kind"]))
    if crd is None:
        try:
            kubernetes_validate.validate(found, "1.36", strict=True)
        except (kubernetes_validate.ValidationError, kubernetes_validate.SchemaNotFoundError) as error:
            return str(error)
        return ""
    if set(found) != {"apiVersion", "kind", "metadata", "spec"} or ("namespace" in found["metadata"]) != (
        crd["scope"] != "Cluster"
    ):
        return f"keys {sorted(found)}, metadata {found['metadata']}"
    return "; ".join(error.message for error in jsonschema.Draft202012Validator(crd["spec"]).iter_errors(found["spec"]))


def outline(value: Any) -> Any:
    """Return an object's keys and the kinds of its values: two with the same outline are valid or not alike."""
    if isinstance(value, dict):
        return tuple((key, outline(inner)) for key, inner in value.items())
    return tuple(sorted({repr(outline(inner)) for inner in value})) if isinstance(value, list) else type(value).__name__


@pytest.mark.parametrize("queueing", QUEUEING)
@pytest.mark.parametrize("example", EXAMPLES)
def test_every_object_is_valid(example, queueing):
    files = render(example, queueing)
    assert "kubernetes/nodes.yaml" in files
    objects = [(path, found) for path, documents in files.items() for found in documents]
    different = {repr(outline(found)): (path, found) for path, found in objects}
    assert [(path, found["kind"], fault) for path, found in different.values() if (fault := judge(found))] == []
    keys = [(found["kind"], found["metadata"].get("namespace", ""), found["metadata"]["name"]) for _, found in objects]
    assert len(keys) == len(set(keys))
    for _, found in objects:
        for key, value in found["metadata"].get("labels", {}).items():
            assert re.fullmatch(LABEL_KEY, key), key
            assert re.fullmatch(LABEL_VALUE, value), value


def test_a_key_that_is_misspelt_is_found_in_every_kind():
    objects = [found for queueing in QUEUEING for documents in render("driving", queueing).values() for found in documents]
    kinds = {found["kind"]: found for found in objects}
    assert set(kinds) == {
        "CIDRPool",
        "ClusterQueue",
        "HyperNode",
        "LimitRange",
        "LocalQueue",
        "Namespace",
        "NetworkAttachmentDefinition",
        "NetworkPolicy",
        "NicClusterPolicy",
        "Node",
        "PriorityClass",
        "Queue",
        "ResourceFlavor",
        "ResourceQuota",
        "Role",
        "RoleBinding",
        "Topology",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    }
    for kind, found in kinds.items():
        broken = copy.deepcopy(found)
        broken.get("spec", broken)["typo"] = 1
        assert judge(broken), kind
