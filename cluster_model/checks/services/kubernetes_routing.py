# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about pods whose packets the storage network carries as they are. Part of the K8S family."""

from __future__ import annotations

from collections.abc import Iterator

from cluster_model.checks.design import Design
from cluster_model.checks.fabric.asn import PRIVATE
from cluster_model.checks.registry import Rule
from cluster_model.diagnostic import Diagnostic
from cluster_model.plan.fabric.numbers import list_reserved
from cluster_model.plan.services.kubernetes import CARRIER
from cluster_model.plan.services.releases import INTEGER_FORMATS

CALICO_HIGHEST = 2_147_483_647
"""The highest AS number that Calico's objects say, by their schemas. Source: projectcalico/calico, tag v3.32.1,
libcalico-go/config/crd/crd.projectcalico.org_bgppeers.yaml (int32); issue 13494."""


class PodsNotRouted(Rule):
    """Route pods over the network whose leafs speak with hosts.

    What it checks:
        With `pod_routing: bgp` the nodes have their addresses in the storage network.

    Why it matters:
        Nodes tell their leafs which pods are theirs over the links that they have with them. Other networks' switches have no
        such links, or keep tenants apart, so no pod would reach one of another node.

    How to fix:
        Give all nodes ports of the storage network, or take `vxlan`.

    Source:
        RFC 7938, section 5.2.4 (prefixes of servers are announced by their top-of-rack switch).
    """

    id, title = "K8S026", "pods on a network that does not route them"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        kubernetes = design.plan.kubernetes
        if kubernetes.pod_routing == "bgp" and kubernetes.network != CARRIER:
            yield self.finding(
                "kubernetes.pod_routing",
                f"nodes have their addresses in {kubernetes.network}, whose switches take no routes from hosts",
                f"nodes in {CARRIER}",
                kubernetes.network,
                f"set pod_routing to vxlan, or leave network out, with ports of {CARRIER} for all nodes",
            )


class NodesAsOfSwitch(Rule):
    """Give nodes a private AS number that no switch has.

    What it checks:
        With `pod_routing: bgp`, `node_asn` is private and lies beside all numbers that switches have, or may have once there are
        more of them. With `vxlan` it is left out.

    Why it matters:
        A leaf with the nodes' number takes them for its own kind (iBGP), and a switch with it drops what they announce as a
        loop: the pods behind it are cut off, although every session is up.

    How to fix:
        Leave `node_asn` out, which gives 64512, or take the number that the finding names.

    Source:
        RFC 4271, section 9.1.2 (AS loop); RFC 6996, section 5.
    """

    id, title = "K8S027", "AS number that nodes cannot have"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        asked = design.cluster.kubernetes
        if asked is None:
            return
        asn = asked.node_asn
        if asked.pod_routing != "bgp":
            if "node_asn" in asked.model_fields_set:
                summary = f"AS {asn} is used by nothing: with {asked.pod_routing} nodes speak no BGP"
                yield self.finding(
                    "kubernetes.node_asn", summary, "no number", str(asn), "leave it out, or set pod_routing to bgp"
                )
            return
        where = "kubernetes.node_asn" if "node_asn" in asked.model_fields_set else "kubernetes.pod_routing"
        first, last = list_reserved(design.cluster.asn_base)
        if first <= asn <= last:
            owner = next((switch.name for switch in design.plan.switches if switch.asn == asn), "")
            summary = f"{owner} has AS {asn}" if owner else f"AS {asn} is kept for switches to come"
            free = next(end for ends in PRIVATE for end in ends if not first <= end <= last)
            yield self.finding(where, summary, f"no number from {first} to {last}", str(asn), f"set node_asn to {free}")
        elif not any(first <= asn <= last for first, last in PRIVATE):
            expected = "64512 to 65534, or 4200000000 to 4294967294 (RFC 6996)"
            yield self.finding(where, f"AS {asn} is not a private number", expected, str(asn), "leave node_asn out")


class LeafsBeyondCalico(Rule):
    """Let the network plug-in name the AS numbers of the leafs.

    What it checks:
        With `pod_routing: bgp` and `cni: calico`, from Kubernetes 1.36 on, neither nodes nor their leafs have an AS number above
        2147483647.

    Why it matters:
        Calico's objects have no such number, and from 1.36 on the API server refuses what they cannot have. No node would tell a
        leaf of its pods, and pods of different nodes would not reach each other.

    How to fix:
        Take Cilium, or `vxlan`, or Kubernetes 1.35.

    Source:
        projectcalico/calico issue 13494; kubernetes/kubernetes pull request 136582.
    """

    id, title = "K8S028", "AS numbers that Calico cannot name"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        asked, kubernetes = design.cluster.kubernetes, design.plan.kubernetes
        if asked is None or asked.pod_routing != "bgp" or asked.cni != "calico" or asked.minor < INTEGER_FORMATS:
            return
        leafs = {s.name: s.asn for s in design.plan.switches if s.network == kubernetes.network and s.role == "leaf"}
        beyond = {name: asn for name, asn in {**leafs, "nodes": asked.node_asn}.items() if asn > CALICO_HIGHEST}
        if beyond:
            name, asn = next(iter(beyond.items()))
            yield self.finding(
                "kubernetes.cni",
                f"in Kubernetes {asked.version} Calico's objects have no AS number as high as that of {name}",
                f"<= {CALICO_HIGHEST}",
                str(asn),
                "set cni to cilium, or pod_routing to vxlan",
            )
