"""Releases of Kubernetes that gpuyard knows, from templates/kubernetes/releases.yaml."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml

from cluster_model.paths import TEMPLATES
from cluster_model.plan.model.kubernetes import Kubernetes
from cluster_model.render.kubernetes.charts import Image

REGISTRY = "registry.k8s.io"
"""Source: kubeadm, DefaultImageRepository."""


@dataclass(frozen=True, slots=True)
class Release:
    """A release: `version` as kubeadm takes it, and the tags of images beside its own; empty where they are not known."""

    version: str
    coredns: str = ""
    etcd: str = ""
    pause: str = ""


def find_release(kubernetes: Kubernetes) -> Release:
    """Return the release that a cluster runs: the patch release that its intent names, else the one that is known.

    Of a minor version that is not known, kubeadm finds out the newest patch release.
    """
    known = _read().get(kubernetes.version, {})
    version = kubernetes.patch or known.get("version", "")
    tags = {name: known.get(name, "") for name in ("coredns", "etcd", "pause")}
    return Release(f"v{version}" if version else f"stable-{kubernetes.version}", **tags)


def list_images(kubernetes: Kubernetes) -> list[Image]:
    """Return the images of the control plane and of every kubelet; none where the release or its parts are not known."""
    release = find_release(kubernetes)
    if not release.coredns:
        return []
    own = ("kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler")
    others = {"coredns/coredns": release.coredns, "etcd": release.etcd, "pause": release.pause}
    tags = {**dict.fromkeys(own, release.version), **others}
    return [Image(f"{REGISTRY}/{name}", tag) for name, tag in tags.items()]


@cache
def _read() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = yaml.safe_load((TEMPLATES / "kubernetes/releases.yaml").read_text())
    return found
