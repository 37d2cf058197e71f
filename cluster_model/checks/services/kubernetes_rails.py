# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about the compute network in pods. Part of the K8S family."""

from __future__ import annotations

from collections.abc import Iterator

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.wording import count_things
from cluster_model.diagnostic import Diagnostic
from cluster_model.plan.services.rails import find_misfit


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
