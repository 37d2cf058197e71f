"""kubernetes/network/bgp.yaml: what network plug-ins are told of the leafs that hear from nodes of their pods and API servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from cluster_model.plan.model import Plan
from cluster_model.plan.model.kubernetes import Kubernetes
from cluster_model.plan.services.kubernetes import PREFIX
from cluster_model.render.kubernetes.kueue import HOST
from cluster_model.render.kubernetes.objects import Json, make_object, write_objects

PATH = "kubernetes/network/bgp.yaml"
CILIUM = "cilium.io/v2"
CALICO = "crd.projectcalico.org/v1"
"""As its nodes read it. projectcalico.org/v3 is served by pods, which the API server reaches on other nodes only once these
objects are in place. Source: projectcalico/calico issue 6412; tigera/operator, tag v1.42.3, pkg/render/apiserver.go."""
NAME = "leafs"
"""Of the one object that says how all nodes speak with all leafs."""
TOLD = f"{PREFIX}advertisement"
"""The label by which it finds what is told."""
CONTROL = "control"
"""Of the objects for control servers, where they tell of the API server's address beside their pods."""
LOOPBACK = "lo"
"""The interface that control servers have that address on."""
TIMERS = {"connectRetryTimeSeconds": 5, "holdTimeSeconds": 9, "keepAliveTimeSeconds": 3}
"""Hold and keepalive are the leafs' own (templates/switch). Nodes alone connect, after up to twice as long as they are told.
Source: Cilium documentation, BGP Control Plane Resources, Timers."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A leaf, as the node at the other end of a link knows it: by the port and the address that the leaf has on that link."""

    leaf: str
    port: str
    address: str
    asn: int


def render_bgp(plan: Plan) -> Iterator[tuple[str, bytes]]:
    """Yield what makes nodes tell their leafs of their pods; nothing where nodes carry pods' packets in their own."""
    kubernetes = plan.kubernetes
    if kubernetes.pod_routing == "bgp":
        about = f"How nodes of {plan.name} tell their leafs which pods are theirs."
        peers = {node.name: list_peers(plan, node.name) for node in kubernetes.nodes}
        yield PATH, write_objects(about, WRITERS[kubernetes.cni](kubernetes, peers))


def list_peers(plan: Plan, node: str) -> list[Peer]:
    """Return the leafs at the other ends of a node's links in the nodes' network."""
    ports = (port for port in plan.server(node).ports if port.network == plan.kubernetes.network and port.gateway)
    return [Peer(port.peer, port.peer_port, port.gateway, plan.switch(port.peer).asn) for port in ports]


def _list_cilium(kubernetes: Kubernetes, peers: dict[str, list[Peer]]) -> Iterator[Json]:
    """Yield Cilium's objects: what is told, how, and to whom by each node.

    Peers have other addresses on each node, and no object says them for several nodes: an override has a local address alone, and
    discovery takes one default route, or interfaces by name and IPv6. Nodes speak from the address of the link, by the kernel's
    choice, and are the next hop, since a part of a node's own is told. A restarted agent takes nothing back: leafs wait for it.
    It tells no leaf of an instance anything before it has heard all of them, or for six minutes, so each leaf has an instance:
    else one leaf without power would keep the node silent. Control servers tell of all addresses of their loopback beside, as
    long as they have them; leafs take the API server's alone. Source: cilium/cilium, pkg/k8s/apis/cilium.io/v2,
    bgp_node_override_types.go and bgp_cluster_types.go, pkg/bgp/gobgp/conversions.go (LocalRestarting),
    pkg/bgp/manager/reconcile_diff.go (instances differ by name) and reconciler/interface.go (pull request 42469: from 1.19 on);
    Cilium documentation, BGP Control Plane Resources, Auto-Discovery and Graceful Restart; seen with GoBGP 3.10 in
    tests/system/test_pod_routes.py.
    """
    yield _advertise("pods", {"advertisementType": "PodCIDR"})
    yield _configure_peers(NAME, {"matchLabels": {TOLD: "pods"}})
    if kubernetes.announcers:
        yield _advertise(CONTROL, {"advertisementType": "Interface", "interface": {"name": LOOPBACK}})
        both = {"matchExpressions": [{"key": TOLD, "operator": "In", "values": ["pods", CONTROL]}]}
        yield _configure_peers(CONTROL, both)
    for node, found in peers.items():
        how = {"name": CONTROL if node in kubernetes.announcers else NAME}
        instances = []
        for peer in found:
            told = {"name": peer.leaf, "peerASN": peer.asn, "peerAddress": peer.address, "peerConfigRef": how}
            instances.append({"name": f"{peer.leaf}:{peer.port}", "localASN": kubernetes.node_asn, "peers": [told]})
        spec = {"nodeSelector": {"matchLabels": {HOST: node}}, "bgpInstances": instances}
        yield make_object(CILIUM, "CiliumBGPClusterConfig", node, spec=spec)


def _advertise(name: str, what: Json) -> Json:
    return make_object(CILIUM, "CiliumBGPAdvertisement", name, labels={TOLD: name}.items(), spec={"advertisements": [what]})


def _configure_peers(name: str, told: Json) -> Json:
    family = {"afi": "ipv4", "safi": "unicast", "advertisements": told}
    return make_object(
        CILIUM, "CiliumBGPPeerConfig", name, spec={"timers": TIMERS, "gracefulRestart": {"enabled": True}, "families": [family]}
    )


def _list_calico(kubernetes: Kubernetes, peers: dict[str, list[Peer]]) -> Iterator[Json]:
    """Yield Calico's objects: no node speaks with another one, each does with its leafs, and no pod is alone in another's block.

    A pod with an address out of another node's block would be told by itself, and leafs take whole blocks alone. BIRD holds
    sessions for as long as leafs ask, and tells of its blocks from, and with the next hop of, the address that the kernel chooses
    for the way to a leaf; by default it would speak from the node's address, which leafs do not know as a neighbor. It knows the
    addresses of the loopback, and a filter of control servers' peers lets the API server's through before its own refuse it.
    Source: projectcalico/calico, tag v3.32.1, confd/etc/calico/confd/templates and confd/pkg/backends/calico/bgp_processor.go;
    projectcalico/bird, proto/bgp/attrs.c (bgp_update_attrs), bgp.c (bgp_conn_enter_established_state) and packets.c.
    """
    speaks = {"asNumber": kubernetes.node_asn, "nodeToNodeMeshEnabled": False}
    yield make_object(CALICO, "BGPConfiguration", "default", spec=speaks)
    yield make_object(CALICO, "IPAMConfig", "default", spec={"autoAllocateBlocks": True, "strictAffinity": True})
    if kubernetes.announcers:
        passes = {"action": "Accept", "matchOperator": "Equal", "cidr": f"{kubernetes.endpoint.announced}/32"}
        yield make_object(CALICO, "BGPFilter", CONTROL, spec={"exportV4": [passes]})
    for node, found in peers.items():
        filters: Json = {"filters": [CONTROL]} if node in kubernetes.announcers else {}
        for peer in found:
            spec = {"node": node, "peerIP": peer.address, "asNumber": peer.asn, "sourceAddress": "None", **filters}
            yield make_object(CALICO, "BGPPeer", f"{node}.{peer.address}", spec=spec)


WRITERS: dict[str, Callable[[Kubernetes, dict[str, list[Peer]]], Iterator[Json]]] = {
    "cilium": _list_cilium,
    "calico": _list_calico,
}
