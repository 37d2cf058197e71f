# ruff: noqa: D102  (what `find` does stands in Rule)
"""The rule about rails of the compute network in pods. Part of the K8S family."""

from __future__ import annotations

from collections.abc import Iterator

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.diagnostic import Diagnostic
from cluster_model.plan.services.rails import find_misfit


class RailsNotForPods(Rule):
    """Give pods rails only where they can be given.

    What it checks:
        With `kubernetes.rdma: host-device`, workers have ports on a compute network that is RoCE and rail-optimized. Each of the
        ports has a PCI address and an RDMA device of its own, and a PCI address is on the same rail in all workers.

    Why it matters:
        A pod that takes a whole port needs its address and its name on the host. InfiniBand and networks without rails have no
        such address, and the parts of a divided port share one PCI address: pods would wait for a resource that no node has.
        The device plugin has one list for all nodes: a rail in one model that is a storage port in another would take the
        node's storage away.

    How to fix:
        Set `rdma` to none, or leave it out: without it, rails are given where they can be.

    Source:
        SR-IOV network device plugin, README, selectors: pciAddresses; NVIDIA IPAM, README, CIDRPool; RFC 3021 (/31 links).
    """

    id, title = "K8S015", "rails that pods cannot take"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        kubernetes = design.cluster.kubernetes
        if kubernetes is None or kubernetes.rdma != "host-device":
            return
        workers = [server for server in design.plan.servers if server.group in kubernetes.workers]
        misfit = find_misfit(design.plan.networks, workers)
        if misfit is not None:
            yield self.finding("kubernetes.rdma", misfit.summary, misfit.expected, misfit.actual, misfit.fix)
