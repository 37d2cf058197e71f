# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about what pods have of the cluster: its compute network, and volumes from Ceph. Part of the K8S family."""

from __future__ import annotations

from collections.abc import Iterator

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.wording import count_things, list_names
from cluster_model.diagnostic import Diagnostic
from cluster_model.plan.services.rails import find_misfit
from cluster_model.plan.services.volumes import plan_volumes


class RailsNotForPods(Rule):
    """Give pods rails only where they can be given.

    What it checks:
        With `kubernetes.rdma: host-device`, workers have ports on a compute network that is RoCE and rail-optimized. Each of the
        ports has a PCI address and an RDMA device of its own, and a PCI address is on the same rail in all workers. With `rdma:
        shared`, they have ports on a compute network that is InfiniBand.

    Why it matters:
        A pod that takes a whole port needs its address and its name on the host. InfiniBand and networks without rails have no
        such address, and the parts of a divided port share one PCI address: pods would wait for a resource that no node has.
        The device plugin has one list for all nodes: a rail in one model that is a storage port in another would take the
        node's storage away. On RoCE a pod reaches nothing over a port of which it has no address, and a link has one alone.

    How to fix:
        Set `rdma` to none, or leave it out: without it, rails are given where they can be.

    Source:
        SR-IOV network device plugin, README, selectors: pciAddresses; NVIDIA IPAM, README, CIDRPool; RFC 3021 (/31 links).
    """

    id, title = "K8S015", "rails that pods cannot take"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        kubernetes = design.cluster.kubernetes
        if kubernetes is None or kubernetes.rdma in (None, "none"):
            return
        workers = [server for server in design.plan.servers if server.group in kubernetes.workers]
        misfit = find_misfit(design.plan.networks, workers, shared=kubernetes.rdma == "shared")
        if misfit is not None:
            yield self.finding("kubernetes.rdma", misfit.summary, misfit.expected, misfit.actual, misfit.fix)


class TenantsOnManagement(Rule):
    """Keep tenants' pods from speaking for the subnet manager.

    What it checks:
        With `kubernetes.rdma: shared` there are no tenants.

    Why it matters:
        The device plugin hands a pod the devices `umad` of all ports, beside those that RDMA needs. Over these a pod sends what
        subnet managers send: it can change routes and partitions, or bring down links, for all hosts and tenants. Only keys of
        the subnet manager (M_Key), set by whoever runs it, stand in its way.

    How to fix:
        Set `rdma` to none, or leave it out; or set M_Keys, and let this warning stand.

    Source:
        Mellanox/k8s-rdma-shared-dev-plugin, tag v1.5.3, pkg/resources/resources_manager.go (requiredRdmaDevices); OpenSM's
        options m_key and m_key_protection_level.
    """

    id, severity, title = "K8S025", "warning", "tenants' pods that can speak for the subnet manager"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        kubernetes = design.cluster.kubernetes
        if kubernetes is not None and kubernetes.rdma == "shared" and design.cluster.tenants:
            yield self.finding(
                "kubernetes.rdma",
                "pods of all tenants can speak for the subnet manager of the compute network",
                "none, or no tenants",
                f"shared, and {count_things(len(design.cluster.tenants), 'tenant')}",
                "set rdma to none, or leave it out",
            )


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
            application = ceph.find_application(name) if pool else "rbd"
            if application != "rbd":
                yield self.finding(
                    f"kubernetes.volumes.{index}",
                    f"pool {name} is for {application}, and pods' volumes are block devices",
                    "a pool with application rbd",
                    application,
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


class SharedBesideFolders(Rule):
    """Keep pods' shared volumes out of file systems with tenants' folders.

    What it checks:
        No tenant has a folder in a file system of `kubernetes.shared_volumes`.

    Why it matters:
        Nodes mount all shared volumes as one user, who can put a link in the place of a volume. Managers of Ceph follow it with
        rights of their own: whoever is root on a node and has that volume copied by a claim reads the folder that it leads to.

    How to fix:
        Give `shared_volumes` a file system of its own, `ceph.filesystems.NAME`, with a pool of its own.

    Source:
        Ceph, src/pybind/mgr/volumes/fs/operations/versions/subvolume_base.py, which looks at what lies at a volume's path, and
        fs/async_cloner.py, which copies it.
    """

    id, severity, title = "K8S032", "warning", "shared volumes beside tenants' folders"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        kubernetes = design.cluster.kubernetes
        for index, name in enumerate(kubernetes.shared_volumes if kubernetes else ()):
            met = [tenant.name for tenant in design.plan.tenants if name in {folder.filesystem for folder in tenant.folders}]
            if met:
                yield self.finding(
                    f"kubernetes.shared_volumes.{index}",
                    f"pods share volumes of file system {name}, in which {list_names(met)} have folders",
                    "a file system without tenants' folders",
                    list_names(met),
                    "add a file system with a pool of its own to ceph.filesystems, and name it here",
                )


class VolumesOutOfReach(Rule):
    """Give pods volumes where their nodes reach Ceph.

    What it checks:
        With `kubernetes.volumes` or `shared_volumes`, every group of nodes has addresses on the storage network.

    Why it matters:
        The kernel of the node has the block device, or mounts the file system: it talks to Ceph's daemons at their storage
        addresses. Pods that want a volume start on such a node all the same, and wait there.

    How to fix:
        Give the group ports under `servers.GROUP.nics.storage`, or take the volumes away.

    Source:
        ceph-csi, charts/ceph-csi-rbd and ceph-csi-cephfs: the node plug-in is in the host's network, and maps and mounts there.
    """

    id, title = "K8S031", "volumes that nodes do not reach"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        kubernetes = design.cluster.kubernetes
        asked = [key for key in ("volumes", "shared_volumes") if kubernetes is not None and getattr(kubernetes, key)]
        if not asked:
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
                f"kubernetes.{asked[0]}",
                f"nodes of {names} have no address on the storage network, and Ceph answers there",
                "storage ports on all nodes",
                names,
                f"set servers.{min(away)}.nics.storage, or take {' and '.join(asked)} away",
            )
