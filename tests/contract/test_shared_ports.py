"""Ports that pods share on InfiniBand: what the network operator is told of them, and what it would take."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from cluster_model.plan.model import Plan
from cluster_model.render.kubernetes.images import render_images
from cluster_model.render.kubernetes.network.network_operator import PATH, render_policy
from cluster_model.render.kubernetes.network.rails import render_network
from cluster_model.render.kubernetes.values import render_values
from tests.contract.test_kubernetes_objects import judge
from tests.planned import INVENTORY, open_example, open_folder

LINE = "\nkubernetes: {control: control, workers: [gpu, control], pods_per_node: 64, rdma: shared}\n"


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    folder = tmp_path_factory.mktemp("superpod")
    (folder / "cluster.yml").write_text((INVENTORY / "superpod-h100/cluster.yml").read_text("utf-8") + LINE, "utf-8")
    found: Plan = open_folder(folder).plan
    return found


def read(plan: Plan) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(dict(render_policy(plan))[PATH])
    return found


def test_the_operator_takes_what_it_is_told(plan: Plan) -> None:
    assert judge(read(plan)) == ""


@pytest.mark.parametrize("wrong", ['{"configList": []}', '{"configList": [{"resourceName": "infiniband"}]}'])
def test_it_refuses_another_configuration(plan: Plan, wrong: str) -> None:
    policy = read(plan)
    policy["spec"]["rdmaSharedDevicePlugin"]["config"] = wrong
    assert judge(policy) != ""


def test_a_pod_gets_the_ports_of_infiniband_and_no_others(plan: Plan) -> None:
    (resource,) = json.loads(read(plan)["spec"]["rdmaSharedDevicePlugin"]["config"])["configList"]
    assert f"{resource['resourcePrefix']}/{resource['resourceName']}" == "gpuyard.io/infiniband"
    assert resource["rdmaHcaMax"] == 64, "the kubelet starts no more pods than that"
    assert resource["selectors"] == {"linkTypes": ["infiniband"]}
    assert [network.name for network in plan.networks if network.technology == "infiniband"] == ["compute"]


def test_it_runs_where_ports_are_and_moves_none(plan: Plan) -> None:
    (term,) = read(plan)["spec"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term["matchExpressions"][0]["values"] == ["gpu"], "control servers are workers too, and have no such port"
    assert set(read(plan)["spec"]) == {"nodeAffinity", "rdmaSharedDevicePlugin"}
    assert list(render_network(plan)) == []
    values = {path.rpartition("/")[2]: yaml.safe_load(data) for path, data in render_values(plan)}
    assert "network-operator.yaml" in values
    assert "cni" not in values["cilium.yaml"], "without Multus there is nothing that Cilium must leave alone"


@pytest.mark.parametrize("shared", [False, True])
def test_images_are_those_of_the_policy(plan: Plan, shared: bool) -> None:
    plan = plan if shared else open_example("superpod-roce").plan
    spec = read(plan)["spec"]
    parts = [part for part in (*spec.values(), *spec.get("secondaryNetwork", {}).values()) if "image" in part]
    listed = dict(render_images(plan))["kubernetes/images.txt"].decode().splitlines()
    assert len(parts) == (1 if shared else 4)
    assert sorted(f"{part['repository']}/{part['image']}:{part['version']}" for part in parts) == [
        line for line in listed if "/mellanox/" in line
    ]
