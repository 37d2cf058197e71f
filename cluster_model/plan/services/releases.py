"""What is known of Kubernetes' releases: their parts, and since which minor version Kubernetes does what is rendered."""

from __future__ import annotations

from functools import cache
from typing import Any

import yaml

from cluster_model.paths import TEMPLATES

NAMESPACE_LABEL = 21
"""Every namespace has the label kubernetes.io/metadata.name. Source: Kubernetes documentation, feature gates (removed):
NamespaceDefaultLabelName, beta and on from 1.21."""
POD_SECURITY = 23
"""Pod Security goes by the labels of a namespace. Source: Kubernetes documentation, feature gates (removed): PodSecurity, beta
and on from 1.23."""
KUBELET_PATCHES = 25
"""kubeadm patches what it tells kubelets. Source: kubernetes.io, kubeadm Configuration (v1beta3): the target
kubeletconfiguration came with 1.25."""

INTEGER_FORMATS = 36
"""A custom resource has no number above 2147483647 where its schema says int32. Source: kubernetes/kubernetes pull request
136582, merged after 1.35; apiextensions-apiserver 0.36.4, pkg/apiserver/validation/formats.go."""


@cache
def read_releases() -> dict[str, dict[str, Any]]:
    """Return templates/kubernetes/releases.yaml: the parts of a release by its minor version, such as 1.36."""
    found: dict[str, dict[str, Any]] = yaml.safe_load((TEMPLATES / "kubernetes/releases.yaml").read_text())
    return found
