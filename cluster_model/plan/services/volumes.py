"""Plan volumes of pods: which pools of Ceph they are in, and who they are there."""

from __future__ import annotations

from cluster_model.intent.model.cluster import Cluster
from cluster_model.plan.model.kubernetes import VolumeClass

VOLUMES = "kubernetes-volumes"
"""Name of ceph-csi's user in Ceph, and of the RADOS namespace in each pool that has all it makes, apart from tenants'."""


def plan_volumes(cluster: Cluster) -> tuple[VolumeClass, ...]:
    """Return a class for each pool that pods have volumes from; none where the intent has no Ceph or no Kubernetes.

    Images in an erasure code are named in a pool of replicas: the first that pods have volumes from, else the first of all.
    """
    if cluster.kubernetes is None or cluster.ceph is None:
        return ()
    asked, pools, find_application = cluster.kubernetes.volumes, cluster.ceph.pools, cluster.ceph.find_application
    naming = [name for name in (*asked, *pools) if name in pools and pools[name].replicas and find_application(name) == "rbd"]
    found = []
    for name in dict.fromkeys(asked):
        if name in pools and pools[name].erasure:
            found.append(VolumeClass(f"ceph-{name}", naming[0] if naming else "", name))
        elif name in pools:
            found.append(VolumeClass(f"ceph-{name}", name))
    return tuple(found)
