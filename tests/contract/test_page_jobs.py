"""What docs/first-job.md has its reader apply is valid, and asks for what the plan of its cluster gives."""

from __future__ import annotations

import re
from typing import Any

import cel
import kubernetes_validate
import pytest
import yaml

from cluster_model.render.inventory.gpu import describe_nccl
from cluster_model.render.kubernetes.pod_policy import POLICY
from cluster_model.render.services.kubernetes import render_kubernetes
from tests.contract.custom_resources import judge
from tests.docs.first_job import PAGE, ROOT, open_cluster
from tests.docs.manifests import read_manifests

PLAIN = "two-servers-kueue.yaml"


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    return open_cluster(tmp_path_factory.mktemp("inventory"))


@pytest.fixture(scope="module")
def rendered(opened) -> dict[str, list[dict[str, Any]]]:
    files = dict(render_kubernetes(opened.plan, opened.catalogue))
    return {path: list(yaml.safe_load_all(data)) for path, data in files.items() if path.endswith(".yaml")}


@pytest.fixture(scope="module")
def files() -> dict[str, list[dict[str, Any]]]:
    return read_manifests(PAGE)


def list_pods(files: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return all pods and templates of pods, as pods in the tenant's namespace."""
    found = []
    for thing in (thing for things in files.values() for thing in things):
        inner = [task["template"] for task in thing["spec"].get("tasks", ())]
        if "template" in thing["spec"]:
            inner = [thing["spec"]["template"]]
        for template in [thing] if thing["kind"] == "Pod" else inner:
            metadata = {"name": "a", "namespace": "research", **template.get("metadata", {})}
            found.append({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]})
    return found


def test_every_object_is_valid(files):
    kinds = {name: [(thing["apiVersion"], thing["kind"]) for thing in things] for name, things in files.items()}
    assert kinds == {
        "one-gpu.yaml": [("v1", "Pod")],
        "two-servers.yaml": [("batch.volcano.sh/v1alpha1", "Job")],
        PLAIN: [("v1", "Service"), ("batch/v1", "Job")],
    }
    (job,) = files["two-servers.yaml"]
    assert judge(job) == ""
    for plain in [*files["one-gpu.yaml"], *files[PLAIN], *list_pods(files)]:
        kubernetes_validate.validate(plain, "1.36", strict=True)


def test_they_are_the_tenants_and_wait_in_its_queue(files, rendered):
    (tenant,) = [found for found in rendered["kubernetes/tenants/research.yaml"] if found["kind"] == "Namespace"]
    name = tenant["metadata"]["name"]
    assert {thing["metadata"]["namespace"] for things in files.values() for thing in things} == {name}
    (queue,) = rendered["kubernetes/topology/queues.yaml"]
    (job,), (_, plain) = files["two-servers.yaml"], files[PLAIN]
    assert job["spec"]["queue"] == plain["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == queue["metadata"]["name"] == name
    priorities = {found["metadata"]["name"] for found in rendered["kubernetes/priorities.yaml"]}
    assert {job["spec"]["priorityClassName"], plain["spec"]["template"]["spec"]["priorityClassName"]} <= priorities


def test_both_jobs_stay_in_one_unit(files, rendered):
    (job,), (_, plain) = files["two-servers.yaml"], files[PLAIN]
    highest = job["spec"]["networkTopology"]["highestTierAllowed"]
    label = plain["spec"]["template"]["metadata"]["annotations"]["kueue.x-k8s.io/podset-required-topology"]
    nodes = {found["metadata"]["labels"].get(label) for found in rendered["kubernetes/nodes.yaml"]} - {None}
    tiers = {found["metadata"]["name"]: found["spec"]["tier"] for found in rendered["kubernetes/topology/hypernodes.yaml"]}
    assert {name for name, tier in tiers.items() if tier <= highest} == nodes


def test_a_worker_takes_a_whole_server(files, opened, rendered):
    (gpus,) = {server.gpus for server in opened.plan.servers if server.gpus}
    attachments = [found for found in rendered["kubernetes/network/rails.yaml"] if found["kind"] == "NetworkAttachmentDefinition"]
    resources = [found["metadata"]["annotations"]["k8s.v1.cni.cncf.io/resourceName"] for found in attachments]
    workers = [pod for pod in list_pods(files) if "annotations" in pod["metadata"]]
    assert len(workers) == 2
    for pod in workers:
        (container,) = pod["spec"]["containers"]
        assert container["resources"]["limits"] == {"nvidia.com/gpu": gpus} | dict.fromkeys(resources, 1)
        networks = pod["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"].split(", ")
        assert networks == [f"{found['metadata']['namespace']}/{found['metadata']['name']}" for found in attachments]


def test_pods_ask_for_nothing_that_tenants_may_not(files, rendered):
    """Pod Security `baseline` looks at these keys of a pod among others, none of which is here; it and CEL are what refuses."""
    policy = next(found["spec"] for found in rendered["kubernetes/pod-policy.yaml"] if found["metadata"]["name"] == POLICY)
    pods = list_pods(files)
    assert len(pods) == 4
    for pod in pods:
        assert set(pod["spec"]) <= {"containers", "priorityClassName", "restartPolicy", "subdomain", "volumes"}
        for container in pod["spec"]["containers"]:
            assert set(container) <= {"args", "command", "image", "name", "resources", "volumeMounts"}
        broken = [rule["message"] for rule in policy["validations"] if not cel.evaluate(rule["expression"], {"object": pod})]
        assert broken == []


def test_nccl_is_told_what_hosts_are_told(opened):
    text = PAGE.read_text("utf-8")
    server = next(server for server in opened.plan.servers if server.gpus)
    told = describe_nccl(server, opened.plan, opened.catalogue)
    assert re.findall(r"NCCL_IB_TC=(\d+)", text) == [str(told["traffic_class"])] * 2
    assert (told["adaptive_routing"], told["cross_nic"], told["gid_index"]) == (-1, -1, -1), "the page says nothing of these"


def test_the_image_has_what_the_fleet_has():
    text = PAGE.read_text("utf-8")
    lock = yaml.safe_load((ROOT / "roles/versions/defaults/main.yml").read_text("utf-8"))
    (version, digest) = re.search(r"ARG V=(\S+) SHA256=(\S+)\n", text).groups()
    assert (version, digest) == (lock["versions_nccl_tests"], lock["versions_nccl_tests_sha256"])
    assert set(re.findall(r"registry\.example\.net/nccl-tests:(\S+)", text)) == {version}
    cuda = set(re.findall(r"nvcr\.io/nvidia/cuda:(\d+\.\d+)\.", text))
    assert cuda == {lock["versions_cuda"]}
