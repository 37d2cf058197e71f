"""The Helm charts that a cluster installs: their versions, and the images that they run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import yaml

from cluster_model.paths import TEMPLATES
from cluster_model.plan.model import Plan, Server
from cluster_model.plan.model.kubernetes import Kubernetes

CHARTS = TEMPLATES / "kubernetes" / "charts.yaml"
CNI = {"cilium": "cilium", "calico": "tigera-operator"}
"""The chart of each network plug-in."""


@dataclass(frozen=True, slots=True)
class Image:
    """A container image. `digest` is of its index over all processors; empty where no source has it.

    `rdma` is the way to the compute network that alone needs it.
    """

    name: str
    tag: str
    digest: str = ""
    rdma: str = ""

    @property
    def reference(self) -> str:
        """Return it as a container runtime takes it, pinned where its digest is known."""
        return f"{self.name}:{self.tag}" + (f"@{self.digest}" if self.digest else "")


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart. `mirror` is each key of its values that names a registry or a repository, with what the chart says there."""

    name: str
    version: str
    app: str
    repository: str
    source: str
    confirmed: bool
    mirror: tuple[tuple[str, str], ...]
    images: tuple[Image, ...]


@cache
def read_charts() -> dict[str, Chart]:
    """Return the lock of charts by name."""
    return {
        name: Chart(
            name=name,
            **{key: found[key] for key in ("version", "app", "repository", "source", "confirmed")},
            mirror=tuple(found["mirror"].items()),
            images=tuple(Image(**image) for image in found["images"]),
        )
        for name, found in yaml.safe_load(CHARTS.read_text("utf-8")).items()
    }


def list_charts(plan: Plan) -> list[Chart]:
    """Return the charts that a cluster installs, in the order to install them: the network of pods first."""
    names = [CNI[plan.kubernetes.cni]]
    if any(server.gpus for server in _list_workers(plan)):
        names.append("gpu-operator")
    if plan.kubernetes.rdma != "none":
        names.append("network-operator")
    names.append(plan.kubernetes.queueing)
    if any(volume.pool for volume in plan.kubernetes.volumes):
        names.append("ceph-csi-rbd")
    if plan.kubernetes.shared_volumes:
        names.append("ceph-csi-cephfs")
    charts = read_charts()
    return [charts[name] for name in names if name in charts]


def mirror(kubernetes: Kubernetes, repository: str) -> str:
    """Return where a repository, or a registry, is pulled from: below the cluster's own registry, where it has one.

    >>> mirror(Kubernetes(registry="registry.example.net/k8s"), "quay.io/cilium/cilium")
    'registry.example.net/k8s/quay.io/cilium/cilium'
    """
    return f"{kubernetes.registry}/{repository}" if kubernetes.registry else repository


def _list_workers(plan: Plan) -> Iterator[Server]:
    workers = {node.name for node in plan.kubernetes.nodes if node.is_worker}
    return (server for server in plan.servers if server.name in workers)
