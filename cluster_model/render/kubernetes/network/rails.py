"""kubernetes/network/rails.yaml: rails of the compute network, as interfaces that pods take, with the hosts' own addresses."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from ipaddress import IPv4Network

from cluster_model.plan.model import Plan
from cluster_model.plan.model.rails import Rail
from cluster_model.plan.services.kubernetes import PREFIX
from cluster_model.plan.services.namespaces import NETWORK_OPERATOR
from cluster_model.render.kubernetes.objects import Json, make_object, write_objects

SHARED = "default"
"""Pods of all namespaces may name attachments of this one, even where Multus keeps namespaces apart. Source:
k8snetworkplumbingwg/multus-cni, docs/configuration.md, Namespace Isolation."""
CNI_VERSION = "0.3.1"
"""Of the CNI specification. Source: Mellanox/network-operator, manifests/state-hostdevice-network, which writes it too."""


def render_network(plan: Plan) -> Iterator[tuple[str, bytes]]:
    """Yield pools and attachments of the rails; nothing where pods take none."""
    if not plan.kubernetes.rails:
        return
    about = f"Rails of {plan.name}: the address of each node's port, and what pods name to get it."
    yield "kubernetes/network/rails.yaml", write_objects(about, list_objects(plan))


def list_objects(plan: Plan) -> Iterator[Json]:
    """Yield a pool and an attachment for each rail."""
    for rail in plan.kubernetes.rails:
        yield make_pool(rail)
        yield make_attachment(rail)


def make_pool(rail: Rail) -> Json:
    """Return a pool of which each node has its own link, whatever order nodes join in.

    A link has two addresses. The first is the leaf's and the gateway, which no pod is given, so that the host's is left. Nodes
    of other groups get no part: nv-ipam would give them links of servers that are still to come. Source:
    Mellanox/nvidia-k8s-ipam, commit 3ce4a34, api/v1alpha1 (GetGatewayForSubnet: index 0 in a /31), pkg/ipam-node/allocator (Next)
    and pkg/ipam-controller/controllers/cidrpool (getNewAllocationForNode).
    """
    length = IPv4Network(rail.seats[0].prefix).prefixlen
    spec = {
        "cidr": rail.prefix,
        "perNodeNetworkPrefix": length,
        "gatewayIndex": 0,
        "routes": [{"dst": route} for route in rail.routes],
        "nodeSelector": select_groups(rail.groups),
        "staticAllocations": [{"nodeName": s.server, "prefix": s.prefix, "gateway": s.gateway} for s in rail.seats],
    }
    return make_object("nv-ipam.nvidia.com/v1alpha1", "CIDRPool", rail.name, NETWORK_OPERATOR, spec=spec)


def select_groups(groups: Iterable[str]) -> Json:
    """Return a node selector that takes the nodes of server groups."""
    term = {"key": f"{PREFIX}group", "operator": "In", "values": list(groups)}
    return {"nodeSelectorTerms": [{"matchExpressions": [term]}]}


def make_attachment(rail: Rail) -> Json:
    """Return what a pod names to get its node's port on a rail: Multus tells the plug-in which port the node gave it."""
    ipam = {"type": "nv-ipam", "poolName": rail.name, "poolType": "cidrpool"}
    config = {"cniVersion": CNI_VERSION, "name": rail.name, "type": "host-device", "ipam": ipam}
    spec = {"config": json.dumps(config, indent=2) + "\n"}
    found = make_object("k8s.cni.cncf.io/v1", "NetworkAttachmentDefinition", rail.name, SHARED, spec=spec)
    found["metadata"]["annotations"] = {"k8s.v1.cni.cncf.io/resourceName": rail.resource}
    return found


def write_resources(plan: Plan) -> str:
    """Return the configuration of the SR-IOV network device plugin, which announces ports by their PCI address, as JSON.

    Its selectors `pfNames` and `rootDevices` choose virtual functions alone. Source:
    k8snetworkplumbingwg/sriov-network-device-plugin, pkg/resources/deviceSelectors.go.
    """
    resources = []
    for rail in plan.kubernetes.rails:
        prefix, _, name = rail.resource.partition("/")
        selector = {"pciAddresses": list(rail.pci), "isRdma": True}
        resources.append({"resourcePrefix": prefix, "resourceName": name, "selectors": [selector]})
    return json.dumps({"resourceList": resources}, indent=2) + "\n"
