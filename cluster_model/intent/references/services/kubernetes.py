"""What `kubernetes` names: server groups."""

from __future__ import annotations

from collections.abc import Iterator

from cluster_model.diagnostic import Diagnostic
from cluster_model.intent.model.cluster import Cluster
from cluster_model.intent.references.refusals import check_group
from cluster_model.intent.references.services import ServiceReferences


def check_kubernetes(cluster: Cluster) -> Iterator[Diagnostic]:
    """Yield server groups that do not exist, as INT013; not located."""
    kubernetes = cluster.kubernetes
    if kubernetes is None:
        return
    yield from check_group("kubernetes.control", kubernetes.control, cluster.servers)
    for index, name in enumerate(kubernetes.workers):
        yield from check_group(f"kubernetes.workers.{index}", name, cluster.servers)


SERVICE = ServiceReferences(check_kubernetes)
