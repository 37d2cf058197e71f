"""Releases of Kubernetes that gpuyard knows, from templates/kubernetes/releases.yaml."""

from __future__ import annotations

from dataclasses import dataclass

from cluster_model.plan.model.kubernetes import Kubernetes
from cluster_model.plan.services.releases import read_releases
from cluster_model.render.kubernetes.charts import Image, mirror

REGISTRY = "registry.k8s.io"
"""Source: kubeadm, DefaultImageRepository."""
OWN_IMAGES = ("kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler")
"""Tagged with the release itself. Source: kubeadm, images.GetControlPlaneImages."""


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
    known = read_releases().get(kubernetes.version, {})
    version = kubernetes.patch or known.get("version", "")
    tags = {name: known.get(name, "") for name in ("coredns", "etcd", "pause")}
    return Release(f"v{version}" if version else f"stable-{kubernetes.version}", **tags)


def find_pause(kubernetes: Kubernetes) -> str:
    """Return the image that holds a pod's namespaces, where the cluster pulls it; empty where its tag is not known.

    containerd pulls it by a name of its own: kubeadm's imageRepository does not reach it (kubernetes/kubeadm#2851).
    """
    tag = find_release(kubernetes).pause
    return f"{mirror(kubernetes, f'{REGISTRY}/pause')}:{tag}" if tag else ""


def list_images(kubernetes: Kubernetes) -> list[Image]:
    """Return the images of the control plane and of every kubelet, as far as the release and its parts are known."""
    release = find_release(kubernetes)
    tags = dict.fromkeys(OWN_IMAGES, release.version) if release.version.startswith("v") else {}
    if release.coredns:
        tags |= {"coredns/coredns": release.coredns, "etcd": release.etcd, "pause": release.pause}
    return [Image(f"{REGISTRY}/{name}", tag) for name, tag in tags.items()]


def describe_missing(kubernetes: Kubernetes) -> str:
    """Return which of these images are not known, and who knows them, in a sentence; empty where all are."""
    release = find_release(kubernetes)
    if release.coredns:
        return ""
    what = f"CoreDNS, etcd and pause of {kubernetes.patch}" if kubernetes.patch else f"the control plane of {kubernetes.version}"
    return f"Not listed: {what}. kubeadm config images list --kubernetes-version {release.version} prints all of them."
