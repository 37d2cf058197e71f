# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about volumes that pods have from Ceph. Part of the K8S family."""

from __future__ import annotations

from collections.abc import Iterator

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.wording import list_names
from cluster_model.diagnostic import Diagnostic
from cluster_model.plan.services.volumes import plan_volumes


class VolumesWithoutImages(Rule):
    """Give pods volumes from pools that block devices can be in.

    What it checks:
        Pools of `kubernetes.volumes` have the application rbd, and where one has an erasure code there is a pool of replicas with
        that application.

    Why it matters:
        ceph-csi makes an image of each volume. Where it cannot be made, or named, pods wait with their volumes pending.

    How to fix:
        Name another pool, leave its `application` out, or add a pool with replicas.

    Source:
        Ceph documentation, erasure code, with overwrites: images are named in a replicated pool; ceph-csi's parameter dataPool.
    """

    id, title = "K8S030", "volumes from pools without block devices"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        kubernetes, ceph = design.cluster.kubernetes, design.cluster.ceph
        if kubernetes is None or ceph is None:
            return
        unnamed = {volume.data_pool for volume in plan_volumes(design.cluster) if not volume.pool}
        for index, name in enumerate(kubernetes.volumes):
            pool = ceph.pools.get(name)
            if pool is not None and pool.application != "rbd":
                yield self.finding(
                    f"kubernetes.volumes.{index}",
                    f"pool {name} is for {pool.application}, and pods' volumes are block devices",
                    "a pool with application rbd",
                    pool.application,
                    f"name another pool, or leave application out of ceph.pools.{name}",
                )
            elif name in unnamed:
                yield self.finding(
                    f"kubernetes.volumes.{index}",
                    f"there is no pool of replicas for the names of the block devices in {name}",
                    "a pool with replicas and application rbd",
                    f"erasure {pool.erasure}" if pool else "",
                    "add a pool with replicas to ceph.pools",
                )


class VolumesOutOfReach(Rule):
    """Give pods volumes where their nodes reach Ceph.

    What it checks:
        With `kubernetes.volumes`, every group of nodes has addresses on the storage network.

    Why it matters:
        The kernel of the node has the block device: it talks to Ceph's monitors and OSDs at their storage addresses. Pods that
        want a volume start on such a node all the same, and wait there.

    How to fix:
        Give the group ports under `servers.GROUP.nics.storage`, or take `volumes` away.

    Source:
        ceph-csi, charts/ceph-csi-rbd: the node plug-in is in the host's network, and maps images by the kernel.
    """

    id, title = "K8S031", "volumes that nodes do not reach"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        kubernetes = design.cluster.kubernetes
        if kubernetes is None or not kubernetes.volumes:
            return
        nodes = {node.name for node in design.plan.kubernetes.nodes}
        away = {
            server.group
            for server in design.plan.servers
            if server.name in nodes and not any(service.purpose == "storage" for service in server.services)
        }
        if away:
            names = list_names(sorted(away))
            yield self.finding(
                "kubernetes.volumes",
                f"nodes of {names} have no address on the storage network, and Ceph answers there",
                "storage ports on all nodes",
                names,
                f"set servers.{min(away)}.nics.storage, or take volumes away",
            )
