"""kubernetes/network/nic-cluster-policy.yaml: what NVIDIA's network operator runs on workers in the compute network."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from cluster_model.plan.model import Plan
from cluster_model.plan.model.kubernetes import Kubernetes
from cluster_model.plan.services.rails import DOMAIN, list_ports
from cluster_model.render.kubernetes.charts import Image, mirror, read_charts
from cluster_model.render.kubernetes.network.rails import select_groups, write_resources
from cluster_model.render.kubernetes.objects import Json, make_object, write_objects

PATH = "kubernetes/network/nic-cluster-policy.yaml"
SHARED = "infiniband"
"""Name of the resource, in the plan's domain, with which a pod gets all ports of its node on InfiniBand."""


def render_policy(plan: Plan) -> Iterator[tuple[str, bytes]]:
    """Yield the policy where pods use the compute network: who announces its ports and, where pods take them, who moves them.

    Not the driver: it is on the host, and a pod that replaces it drains its node whenever it restarts. Source: NVIDIA Network
    Operator, CRD mellanox.com/v1alpha1 NicClusterPolicy; since 24.10 the chart makes none of its own.
    """
    kubernetes = plan.kubernetes
    images = read_charts()["network-operator"].images
    parts = {image.name.rpartition("/")[2]: _write_image(kubernetes, image) for image in images}
    groups: Iterable[str]
    if kubernetes.rdma == "host-device":
        groups = {group for rail in kubernetes.rails for group in rail.groups}
        spec = {
            "secondaryNetwork": {"multus": parts["multus-cni"], "cniPlugins": parts["plugins"]},
            "nvIpam": parts["nvidia-k8s-ipam"],
            "sriovDevicePlugin": {**parts["sriov-network-device-plugin"], "config": write_resources(plan)},
        }
    elif kubernetes.rdma == "shared":
        workers = {node.name for node in kubernetes.nodes if node.is_worker}
        groups = {server.group for server in plan.servers if server.name in workers and list_ports(server)}
        spec = {"rdmaSharedDevicePlugin": {**parts["k8s-rdma-shared-dev-plugin"], "config": write_shared(plan)}}
    else:
        return
    # Another model may have another device where these have a port.
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": select_groups(sorted(groups))}
    spec = {"nodeAffinity": affinity, **spec}
    policy = make_object("mellanox.com/v1alpha1", "NicClusterPolicy", "nic-cluster-policy", spec=spec)
    yield PATH, write_objects("What the network operator runs on workers in the compute network.", [policy])


def write_shared(plan: Plan) -> str:
    """Return the configuration of the RDMA shared device plugin, which gives a pod every InfiniBand port of its node, as JSON.

    Ports are told by what they speak: the compute network alone is InfiniBand, and parts of a divided port have no PCI address of
    their own. It announces as many of a resource as it is told, however many ports there are. Source: Mellanox/
    k8s-rdma-shared-dev-plugin, tag v1.5.3, README.md and pkg/resources/server.go; Mellanox/network-operator, tag v26.4.1,
    webhook-schemas/rdma_shared_device_plugin.json.
    """
    resource = {
        "resourcePrefix": DOMAIN,
        "resourceName": SHARED,
        "rdmaHcaMax": plan.kubernetes.pods_per_node,
        "selectors": {"linkTypes": ["infiniband"]},
    }
    return json.dumps({"configList": [resource]}, indent=2) + "\n"


def _write_image(kubernetes: Kubernetes, image: Image) -> Json:
    repository, _, name = image.name.rpartition("/")
    return {"image": name, "repository": mirror(kubernetes, repository), "version": image.tag}
