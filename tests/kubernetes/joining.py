"""What tests of a running control plane have in common: rendered files where it finds them, and nodes without a kubelet."""

import base64
import json
from dataclasses import replace

from cluster_model.references import settle
from cluster_model.render.kubernetes.control import list_plugins
from cluster_model.render.services.kubernetes import render_kubernetes
from tests.kubernetes.control_plane import control_plane

SEEN_S = 30
CONTROL = "node-role.kubernetes.io/control-plane"
"""The taint of control servers."""
ADMISSION = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration", "plugins": []}
"""Like the rendered one it says nothing of PodNodeSelector; Pod Security, of which that one is, came later than 1.20."""


def write_files(folder, opened):
    """Write kubernetes/ of a cluster below a folder."""
    for path, data in render_kubernetes(opened.plan, opened.catalogue):
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(settle(data)[0])


def run_plane(folder, rendered, plan):
    """Return a control plane with the rendered encryption, audit policy and admission plug-ins: those of version 1.20."""
    key = base64.b64encode(bytes(range(32))).decode()
    files = {}
    for name in ("encryption", "audit-policy"):
        files[name.replace("-", "_")] = folder / f"{name}.yaml"
        text = (rendered / f"kubernetes/kubeadm/{name}.yaml").read_text("utf-8")
        (folder / f"{name}.yaml").write_text(text.replace("{{gpuyard-secret:kubernetes-encryption}}", key), "utf-8")
    (folder / "admission.json").write_text(json.dumps(ADMISSION), "utf-8")  # JSON is YAML
    given = list_plugins(replace(plan.kubernetes, version="1.20"))
    plugins = [name for name in given if name != "NodeRestriction"]
    return control_plane(folder, **files, admission=folder / "admission.json", plugins=plugins)


def join_nodes(plane, plan):
    """Let a plan's nodes join as kubelets report them, without the labels of nodes.yaml, and wait until they may take pods."""
    gpus = {server.name: server.gpus for server in plan.servers}
    control = {node.name for node in plan.kubernetes.nodes if node.is_control}
    nodes = [_join(node.name, gpus[node.name], node.name in control) for node in plan.kubernetes.nodes]
    plane.must("create", "-f", "-", said=list_objects(nodes))
    plane.wait_for(lambda: not _list_untouched(plane), SEEN_S, "nodes are not ready for pods")


def label_nodes(plane, rendered):
    """Give nodes their labels as the page says."""
    file = rendered / "kubernetes/nodes.yaml"
    plane.must("apply", "--server-side", "--field-manager=gpuyard", "-f", file)


def list_objects(objects):
    """Return objects as one, for kubectl's standard input."""
    return {"apiVersion": "v1", "kind": "List", "items": objects}


def wait_for_tenant(plane, name):
    """Wait until pods may come into a tenant's namespace: its quotas count, and it has a service account."""
    ready = f"no quota, or no service account, in {name}"
    plane.wait_for(lambda: all(_list_limits(plane, name)), SEEN_S, ready)
    plane.wait_for(lambda: plane.read("serviceaccount/default", "-n", name).get("secrets"), SEEN_S, ready)


def _list_limits(plane, namespace):
    quotas = plane.read("quota", "-n", namespace)["items"]
    assert quotas
    return [quota["status"].get("hard") for quota in quotas]


def _join(name, gpus, is_control):
    """Return a node as its kubelet reports it, once the GPU's device plug-in runs on it."""
    has = {"cpu": "112", "memory": "2Ti", "pods": "110"} | ({"nvidia.com/gpu": str(gpus)} if gpus else {})
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}}
    node["spec"] = {"taints": [{"key": CONTROL, "effect": "NoSchedule"}] if is_control else []}
    node["status"] = {"capacity": has, "allocatable": has, "conditions": [{"type": "Ready", "status": "True"}]}
    return node


def _list_untouched(plane):
    """Return the nodes that the node controller has not found ready yet: until then none takes a pod."""
    nodes = plane.read("nodes")["items"]
    assert nodes
    return [node for node in nodes if {taint["key"] for taint in node["spec"].get("taints", [])} - {CONTROL}]
