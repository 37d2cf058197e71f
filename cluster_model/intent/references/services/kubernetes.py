"""What `kubernetes` names: server groups, a network, pools and file systems of Ceph."""

from __future__ import annotations

from collections.abc import Iterator

from cluster_model.diagnostic import Diagnostic
from cluster_model.intent.model.cluster import Cluster
from cluster_model.intent.references.refusals import check_filesystem, check_group, check_pools, list_known, refuse
from cluster_model.intent.references.services import ServiceReferences
from cluster_model.near import suggest


def check_kubernetes(cluster: Cluster) -> Iterator[Diagnostic]:
    """Yield groups that do not exist, as INT013, pools and file systems, as INT027, and a network, as INT033; not located."""
    kubernetes = cluster.kubernetes
    if kubernetes is None:
        return
    yield from check_group("kubernetes.control", kubernetes.control, cluster.servers)
    for index, name in enumerate(kubernetes.workers):
        yield from check_group(f"kubernetes.workers.{index}", name, cluster.servers)
    if kubernetes.network is not None:
        known = _list_networks(cluster)
        if kubernetes.network not in known:
            fix = suggest(kubernetes.network, known, "name one of these, or leave network out")
            summary = f"there is no network {kubernetes.network} that nodes could have addresses in"
            yield refuse("INT033", "kubernetes.network", summary, list_known(known, "networks"), fix)
    yield from check_pools("kubernetes.volumes", kubernetes.volumes, cluster.ceph.pools if cluster.ceph else ())
    for index, name in enumerate(kubernetes.shared_volumes):
        filesystems = cluster.ceph.filesystems if cluster.ceph else ()
        yield from check_filesystem(f"kubernetes.shared_volumes.{index}", name, filesystems)


def _list_networks(cluster: Cluster) -> list[str]:
    """Return what `network` may name: storage and oob where there are such, then the subnets of tenants."""
    networks = [name for name in ("storage", "oob") if getattr(cluster.networks, name) is not None]
    return networks + [f"{name}/{subnet}" for name, tenant in cluster.tenants.items() for subnet in tenant.subnets]


SERVICE = ServiceReferences(check_kubernetes)
