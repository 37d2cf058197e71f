"""inventory.json: what roles need to know of Kubernetes."""

import json
from dataclasses import replace

import pytest
import yaml

from cluster_model.plan.model.kubernetes import Kubernetes
from cluster_model.render.inventory.document import render_inventory
from cluster_model.render.kubernetes.images import render_images
from cluster_model.render.kubernetes.kubeadm import render_kubeadm
from cluster_model.render.kubernetes.releases import list_images
from tests.planned import open_example
from tests.unit.render.inventory.reading import get_vars


def render(opened, **changes):
    plan = replace(opened.plan, kubernetes=replace(opened.plan.kubernetes, **changes)) if changes else opened.plan
    return plan, json.loads(render_inventory(plan, opened.catalogue, {}))


@pytest.mark.parametrize("name", ["lab", "superpod-roce"])
def test_groups_variables_and_rendered_files_say_the_same(name):
    plan, body = render(open_example(name))
    files = {path: yaml.safe_load_all(text) for path, text in render_kubeadm(plan)}
    documents = {each["kind"]: each for each in files["kubernetes/kubeadm/init.yaml"]}
    shared = body["all"]["vars"]["gpuyard_kubernetes"]
    endpoint = shared["endpoint"]
    assert documents["ClusterConfiguration"]["controlPlaneEndpoint"] == f"{endpoint['name']}:{endpoint['port']}"
    assert documents["ClusterConfiguration"]["kubernetesVersion"] == f"v{shared['release']}"
    assert documents["InitConfiguration"]["nodeRegistration"]["name"] == body["kubernetes_control"]["hosts"][0]
    for node in plan.kubernetes.nodes:
        (join,) = files[f"kubernetes/kubeadm/join/{node.name}.yaml"]
        said = get_vars(body, node.name)["gpuyard_kubernetes_node"]
        assert ("controlPlane" in join) == said["control"] == (node.name in body["kubernetes_control"]["hosts"])
        assert said["worker"] == (node.name in body["kubernetes_worker"]["hosts"])
        assert said["address"] == node.address
        assert ("patches" in join) == bool(said["patches"])
        folder = f"kubernetes/kubeadm/patches/{said['patches']}/"
        assert not said["patches"] or [path for path in files if path.startswith(folder)]


def test_a_server_that_is_no_node_has_none_of_it():
    plan, body = render(open_example("lab"))
    nodes = {node.name for node in plan.kubernetes.nodes}
    others = [server.name for server in plan.servers if server.name not in nodes]
    assert others
    assert [name for name in others if get_vars(body, name)["gpuyard_kubernetes_node"]] == []


def test_a_patch_release_that_is_not_known_is_empty():
    _, body = render(open_example("lab"), version="1.99")
    assert (body["all"]["vars"]["gpuyard_kubernetes"]["release"], body["all"]["vars"]["gpuyard_kubernetes"]["pause"]) == ("", "")


@pytest.mark.parametrize("registry", ["", "registry.example.net:5000/k8s"])
def test_the_pause_image_is_one_that_the_registry_is_to_hold(registry):
    """Containerd pulls it, which nobody tells of the registry."""
    plan, body = render(open_example("lab"), registry=registry)
    image = body["all"]["vars"]["gpuyard_kubernetes"]["pause"]
    ((_, text),) = render_images(plan, list_images(plan.kubernetes))
    (line,) = [words.split() for words in text.decode().splitlines() if words.startswith("registry.k8s.io/pause:")]
    assert image == line[-1]
    assert image.startswith(registry)


def test_without_kubernetes_there_is_neither_group_nor_variable():
    opened = open_example("lab")
    body = json.loads(render_inventory(replace(opened.plan, kubernetes=Kubernetes()), opened.catalogue, {}))
    assert body["all"]["vars"]["gpuyard_kubernetes"] == {}
    assert [name for name in body if name.startswith("kubernetes")] == []
