"""kubernetes/network/nic-cluster-policy.yaml: what NVIDIA's network operator runs on workers with rails."""

from __future__ import annotations

from collections.abc import Iterator

from cluster_model.plan.model import Plan
from cluster_model.plan.model.kubernetes import Kubernetes
from cluster_model.render.kubernetes.charts import Image, mirror, read_charts
from cluster_model.render.kubernetes.network import select_groups, write_resources
from cluster_model.render.kubernetes.objects import Json, make_object, write_objects

PATH = "kubernetes/network/nic-cluster-policy.yaml"


def render_policy(plan: Plan) -> Iterator[tuple[str, bytes]]:
    """Yield the policy where pods take rails: Multus, the plug-ins of the CNI project, NV-IPAM, and who announces ports.

    Not the driver: it is on the host, and a pod that replaces it drains its node whenever it restarts. Source: NVIDIA Network
    Operator, CRD mellanox.com/v1alpha1 NicClusterPolicy; since 24.10 the chart makes none of its own.
    """
    rails = plan.kubernetes.rails
    if not rails:
        return
    parts = {image.name.rpartition("/")[2]: image for image in read_charts()["network-operator"].images}
    plugin = _write_image(plan.kubernetes, parts["sriov-network-device-plugin"])
    groups = sorted({group for rail in rails for group in rail.groups})
    spec = {
        # Another model may have another device where these have a port.
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": select_groups(groups)},
        "secondaryNetwork": {
            "multus": _write_image(plan.kubernetes, parts["multus-cni"]),
            "cniPlugins": _write_image(plan.kubernetes, parts["plugins"]),
        },
        "nvIpam": _write_image(plan.kubernetes, parts["nvidia-k8s-ipam"]),
        "sriovDevicePlugin": {**plugin, "config": write_resources(plan)},
    }
    policy = make_object("mellanox.com/v1alpha1", "NicClusterPolicy", "nic-cluster-policy", spec=spec)
    yield PATH, write_objects("What the network operator runs on workers with rails.", [policy])


def _write_image(kubernetes: Kubernetes, image: Image) -> Json:
    repository, _, name = image.name.rpartition("/")
    return {"image": name, "repository": mirror(kubernetes, repository), "version": image.tag}
