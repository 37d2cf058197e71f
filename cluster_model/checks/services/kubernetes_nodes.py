# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about the addresses of Kubernetes' nodes and of the pods on them. Part of the K8S family."""

from __future__ import annotations

from collections.abc import Iterator

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.wording import count_things, list_names
from cluster_model.diagnostic import Diagnostic

NOT_PODS = 3
"""Addresses of a node's part that no pod gets: the first, the last, and the node's own end. Source: CNI, host-local plug-in."""
SLOW_GBPS = 1


class PodsWithoutAddresses(Rule):
    """Give a node addresses for all pods that it may run.

    What it checks:
        A part of `pod_pool` of length `node_prefix` has `pods_per_node` addresses beside the three that no pod gets.

    Why it matters:
        The pods beyond them wait with ContainerCreating, on nodes that look free to the scheduler.

    How to fix:
        Take a shorter `node_prefix`, and a `pod_pool` that holds it for all nodes; or lower `pods_per_node`.

    Source:
        Kubernetes, kubelet configuration: maxPods 110; CNI host-local plug-in: network, broadcast and gateway are kept.
    """

    id, title = "K8S012", "more pods than a node has addresses for"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        kubernetes = design.cluster.kubernetes
        if kubernetes is None:
            return
        part, pods = kubernetes.node_prefix, kubernetes.pods_per_node
        room = 2 ** (32 - part) - NOT_PODS
        if pods > room:
            length = 32 - (pods + NOT_PODS - 1).bit_length()
            yield self.finding(
                "kubernetes.pods_per_node",
                f"a node may run {pods} pods and has addresses for {room}",
                f"<= {room} pods on a /{part}",
                str(pods),
                f"set node_prefix to {length}, or pods_per_node to {room}",
            )


class NodesWithoutAddress(Rule):
    """Let all nodes have an address in one network.

    What it checks:
        Every built server of `control` and `workers` has an address in `kubernetes.network`.

    Why it matters:
        A kubelet without it takes any address that it finds, such as that of a port to one GPU, and nobody reaches its pods.

    How to fix:
        Name a network that all of them are in, or leave `network` out.

    Source:
        Kubernetes, kubelet, --node-ip.
    """

    id, title = "K8S013", "nodes without an address in their network"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        kubernetes = design.plan.kubernetes
        without = [node.name for node in kubernetes.nodes if not node.address]
        if without:
            yield self.finding(
                "kubernetes.network",
                f"{count_things(len(without), 'node has', 'nodes have')} no address in {kubernetes.network}",
                "a network with an address on every node of control and workers",
                list_names(without),
                "name another network, or leave network out",
            )


class NodeNetworkSlow(Rule):
    """Bring pods' traffic over a network that is made for it.

    What it checks:
        The ports that nodes have on `kubernetes.network` are faster than 1 Gb/s.

    Why it matters:
        Images of tens of gigabytes, checkpoints through a pod's first interface and the traffic between pods go there. At 1 Gb/s
        an image of 20 GB takes three minutes for one node, and the servers' management shares the wire.

    How to fix:
        Name `storage` or a subnet of a tenant; servers that have no port there get one by `servers.GROUP.nics`.

    Source:
        Derived: 20 GB at 1 Gb/s are 160 s.
    """

    id, severity, title = "K8S014", "warning", "nodes on a network of 1 Gb/s"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        kubernetes, asked = design.plan.kubernetes, design.cluster.kubernetes
        slow = [node.name for node in kubernetes.nodes if node.address and node.speed_gbps <= SLOW_GBPS]
        if slow:
            yield self.finding(
                "kubernetes.network" if asked is not None and asked.network else "kubernetes",
                f"{count_things(len(slow), 'node')} with addresses in {kubernetes.network}, at {SLOW_GBPS} Gb/s",
                f"ports faster than {SLOW_GBPS} Gb/s",
                list_names(slow),
                "name storage or a tenant's subnet as network, where every node has an address",
            )


class NumaPolicyTooStrict(Rule):
    """Let pods take all GPUs of a server.

    What it checks:
        With `numa_policy: single-numa-node` the ports beside a server's GPUs, and so the GPUs, are all on one NUMA node.

    Why it matters:
        The kubelet then admits no pod whose GPUs are on two NUMA nodes. A pod with all GPUs of a server, which is what training
        takes, is refused on every server with TopologyAffinityError.

    How to fix:
        Take `best-effort`, which places smaller pods on one NUMA node and lets larger ones have both.

    Source:
        Kubernetes documentation, Control Topology Management Policies on a node: single-numa-node.
    """

    id, title = "K8S023", "pods with all GPUs of a server refused"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        kubernetes = design.cluster.kubernetes
        if kubernetes is None or kubernetes.numa_policy != "single-numa-node":
            return
        split = []
        for name in kubernetes.workers:
            server = next(iter(design.group(name)), None)
            if server is not None and len({port.numa for port in server.ports if port.gpu >= 0 and port.numa >= 0}) > 1:
                split.append(name)
        if split:
            yield self.finding(
                "kubernetes.numa_policy",
                f"servers of {list_names(split)} have GPUs on several NUMA nodes, and no pod could have all of them",
                "none, best-effort or restricted",
                kubernetes.numa_policy,
                "set numa_policy to best-effort, or leave it out",
            )
