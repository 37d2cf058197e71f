"""Plan volumes of pods: which pools and file systems of Ceph they are in, and who they are there."""

from __future__ import annotations

from cluster_model.intent.model.cluster import Cluster
from cluster_model.plan.model.kubernetes import SharedClass, VolumeClass

VOLUMES = "kubernetes-volumes"
"""Name of ceph-csi's user in Ceph, and of the RADOS namespace in each pool that has all it makes, apart from tenants'."""
FILES = "kubernetes-files"
"""Name of the user that makes shared volumes, of the group of subvolumes in each file system that these are in, and of the RADOS
namespace with what is in their files, and with ceph-csi's list of them."""
FILES_NODE = "kubernetes-files-node"
"""Name of the user that nodes mount them as."""


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


def plan_shared_volumes(cluster: Cluster) -> tuple[SharedClass, ...]:
    """Return a class for each file system that pods share volumes of, and one for each further pool of it."""
    if cluster.kubernetes is None or cluster.ceph is None:
        return ()
    known = cluster.ceph.filesystems
    return tuple(
        SharedClass(f"cephfs-{name}.{pool}" if place else f"cephfs-{name}", name, pool if place else "", known[name].driver)
        for name in dict.fromkeys(cluster.kubernetes.shared_volumes)
        if name in known
        for place, pool in enumerate(known[name].pools)
    )
