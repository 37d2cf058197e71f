"""Every object of kubernetes/ against Kubernetes' own schemas, strictly, and custom resources against their CRDs."""

from __future__ import annotations

import copy
import re
from dataclasses import replace
from typing import Any

import kubernetes_validate
import pytest
import yaml

from cluster_model.render.services.kubernetes import render_kubernetes
from tests.contract import custom_resources
from tests.contract.custom_resources import CRDS
from tests.planned import open_example

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


def is_custom(found: dict[str, Any]) -> bool:
    """Return whether an object is a custom resource, whose rules look at values too."""
    return (found["apiVersion"], found["kind"]) in CRDS


def judge(found: dict[str, Any]) -> str:
    """Return what is wrong with an object; empty where nothing is."""
    if is_custom(found):
        return custom_resources.judge(found)
    try:
        kubernetes_validate.validate(found, "1.36", strict=True)
    except (kubernetes_validate.ValidationError, kubernetes_validate.SchemaNotFoundError) as error:
        return str(error)
    return ""


def outline(value: Any) -> Any:
    """Return an object's keys and the kinds of its values: two of Kubernetes' own, with the same, are valid or not alike."""
    if isinstance(value, dict):
        return tuple((key, outline(inner)) for key, inner in value.items())
    return tuple(sorted({repr(outline(inner)) for inner in value})) if isinstance(value, list) else type(value).__name__


@pytest.mark.parametrize("queueing", QUEUEING)
@pytest.mark.parametrize("example", EXAMPLES)
def test_every_object_is_valid(example, queueing):
    files = render(example, queueing)
    assert "kubernetes/nodes.yaml" in files
    objects = [(path, found) for path, documents in files.items() for found in documents]
    different = {repr(found if is_custom(found) else outline(found)): (path, found) for path, found in objects}
    assert [(path, found["kind"], fault) for path, found in different.values() if (fault := judge(found))] == []
    keys = [(found["kind"], found["metadata"].get("namespace", ""), found["metadata"]["name"]) for _, found in objects]
    assert len(keys) == len(set(keys))
    for _, found in objects:
        for key, value in found["metadata"].get("labels", {}).items():
            assert re.fullmatch(LABEL_KEY, key), key
            assert re.fullmatch(LABEL_VALUE, value), value


def test_a_key_that_is_misspelt_is_found_in_every_kind():
    rendered = [render(example, queueing) for example in ("superpod-roce", "driving") for queueing in QUEUEING]
    objects = [found for files in rendered for documents in files.values() for found in documents]
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
        "StorageClass",
        "Topology",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    }
    for kind, found in kinds.items():
        broken = copy.deepcopy(found)
        broken.get("spec", broken)["typo"] = 1
        assert judge(broken), kind
