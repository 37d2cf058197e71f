"""Plan Kubernetes: its nodes, and the labels that say where each stands and hangs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import IPv4Network

from cluster_model.intent.model.cluster import Cluster
from cluster_model.intent.services.kubernetes import Endpoint as AskedEndpoint
from cluster_model.plan.model import Network, Rack, Server, Switch
from cluster_model.plan.model.kubernetes import Endpoint, Kubernetes, Node
from cluster_model.plan.model.overlay import Tenant
from cluster_model.plan.services.addresses import At, find_address
from cluster_model.plan.services.rails import plan_rails
from cluster_model.plan.services.tenant_nodes import label_tenants, map_owners
from cluster_model.plan.services.topology import locate_server, name_pod, name_unit
from cluster_model.plan.services.volumes import plan_shared_volumes, plan_volumes

API_PORT = 6443
"""Of the API server. Source: Kubernetes documentation, ports and protocols."""
LOOPBACK, PROXY_PORT = "127.0.0.1", 7443
"""Where each node's proxy to the API servers listens. The port is ours: a control server has its API server at API_PORT."""
NOWHERE: At = ("", "", "", 0)
DEFAULT_NETWORKS = ("storage", "oob")
CARRIER = "storage"
"""The network whose leafs have a session with each node: its hosts have links of their own to each leaf."""
PREFIX = "gpuyard.io/"
"""Of the labels that are ours. Kubernetes keeps names without a prefix for users, and kubernetes.io/ for itself."""
LABEL_LENGTH = 63
REGION, ZONE = "topology.kubernetes.io/region", "topology.kubernetes.io/zone"
"""Source: Kubernetes, well-known labels, annotations and taints."""


def plan_kubernetes(
    cluster: Cluster,
    servers: Sequence[Server],
    switches: Sequence[Switch],
    racks: Sequence[Rack],
    networks: Sequence[Network],
    tenants: Sequence[Tenant],
) -> Kubernetes:
    """Return the cluster's nodes, in the order of the servers; nothing where the intent has no Kubernetes.

    Args:
        cluster: the intent.
        servers: the built servers.
        switches: the built switches, which know their units and pods.
        racks: racks, which know their rows.
        networks: networks, which know their tiers.
        tenants: tenants with the servers of their own.
    """
    asked = cluster.kubernetes
    if asked is None:
        return Kubernetes()
    rows = {rack.name: rack.row for rack in racks}
    with_pods = {network.name for network in networks if network.tiers > 2}
    leafs = {switch.name: switch for switch in switches if switch.role == "leaf" and switch.network != "oob"}
    owners = map_owners(tenants)
    chosen = [server for server in servers if server.group in asked.groups]
    network = asked.network or next((name for name in DEFAULT_NETWORKS if all(find_address(s, name) for s in chosen)), "oob")
    nodes = []
    for server in chosen:
        labels = {
            REGION: asked.region or cluster.name,
            ZONE: asked.zone or cluster.name,
            f"{PREFIX}group": server.group,
            f"{PREFIX}model": write_label(server.model),
            f"{PREFIX}rack": server.rack,
            f"{PREFIX}row": rows[server.rack],
        }
        for fabric, (unit, pod) in locate_server(server, leafs).items():
            labels[label_unit(fabric)] = name_unit(fabric, unit)
            if fabric in with_pods:
                labels[f"{PREFIX}{fabric}-pod"] = name_pod(fabric, pod)
        if server.gpus:
            labels[f"{PREFIX}gpu"] = write_label(server.gpu_model)
        if tenants:  # empty where the server is nobody's own, so that a selector finds these as well
            labels[f"{PREFIX}tenant"] = owners.get(server.name, "")
        is_control, is_worker = server.group == asked.control, server.group in asked.workers
        if is_worker:
            labels |= label_tenants(tenants, owners.get(server.name, ""))
        at = find_address(server, network) or NOWHERE
        nodes.append(Node(server.name, server.group, is_control, is_worker, *at, tuple(sorted(labels.items()))))
    rdma, rails = plan_rails(asked.rdma, networks, [server for server in chosen if server.group in asked.workers])
    return Kubernetes(
        version=".".join(asked.version.split(".")[:2]),
        patch=asked.version if asked.version.count(".") > 1 else "",
        queueing=asked.queueing,
        network=network,
        pod_pool=str(asked.pod_pool),
        node_prefix=asked.node_prefix,
        pods_per_node=asked.pods_per_node,
        pod_routing=asked.pod_routing,
        node_asn=asked.node_asn if asked.pod_routing == "bgp" else 0,
        service_pool=str(asked.service_pool),
        numa_policy=asked.numa_policy,
        planned=count_nodes(cluster),
        endpoint=plan_endpoint(cluster, asked.endpoint, [server for server in servers if server.group == asked.control], network),
        nodes=tuple(nodes),
        rdma=rdma,
        rails=rails,
        cni=asked.cni,
        registry=asked.registry or "",
        volumes=plan_volumes(cluster),
        shared_volumes=plan_shared_volumes(cluster),
    )


def count_nodes(cluster: Cluster) -> int:
    """Return how many nodes Kubernetes has in the end; 0 where the intent has none."""
    asked = cluster.kubernetes
    names = asked.groups if asked is not None else frozenset()
    return sum(group.final_count for name, group in cluster.servers.items() if name in names)


def plan_endpoint(cluster: Cluster, asked: AskedEndpoint, control: Sequence[Server], network: str) -> Endpoint:
    """Return where the API server is reached.

    Args:
        cluster: the intent.
        asked: what it says of the endpoint.
        control: the control servers.
        network: the network of the nodes' addresses, taken where a control server has none out-of-band.
    """
    name = f"{asked.name}.{cluster.site.domain}"
    if asked.mode == "vrrp":
        return Endpoint(asked.mode, name, str(asked.address or ""), API_PORT)
    found = [find_address(server, "oob") or find_address(server, network) for server in control]
    others = tuple(at[0] for at in found if at)
    is_told = (
        asked.mode == "bgp" and network == CARRIER and cluster.kubernetes is not None and cluster.kubernetes.pod_routing == "bgp"
    )
    announced = _choose_announced(control) if is_told else ""
    announced_name = f"{asked.name}-{CARRIER}.{cluster.site.domain}" if announced else ""
    return Endpoint(asked.mode, name, LOOPBACK, PROXY_PORT, others, announced, announced_name)


def _choose_announced(control: Sequence[Server]) -> str:
    """Return the last service address of the storage network, which hosts have a route to all of; empty where it has none.

    The first is a host's, and more of them follow as the cluster grows.
    """
    services = (service for server in control for service in server.services)
    found = next((s.route for s in services if (s.network, s.purpose) == (CARRIER, "storage")), "")
    return str(IPv4Network(found)[-1]) if found else ""


def label_unit(network: str) -> str:
    """Return the key of the label that says in which unit of a network a node hangs."""
    return f"{PREFIX}{network}-unit"


def write_label(text: str) -> str:
    """Return a text as the value of a label takes it.

    Source: Kubernetes, labels and selectors: at most 63 letters, digits, `-`, `_` and `.`, of which the first and the last are
    letters or digits.

    >>> write_label("nvidia/dgx-h100")
    'nvidia_dgx-h100'
    """
    return re.sub(r"[^A-Za-z0-9_.-]", "_", text)[:LABEL_LENGTH].strip("-_.")
