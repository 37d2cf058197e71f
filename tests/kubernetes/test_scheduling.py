"""A real control plane takes what is rendered: nodes and their units, priorities, tenants with quota and rights.

Kubernetes 1.20 is what can be built here. It keeps the labels of Pod Security and does not act on them; Volcano's objects are not
tried. Nodes are objects with the plan's GPUs and no kubelet, so a pod is placed and never runs.
"""

from __future__ import annotations

import base64
from collections import Counter

import pytest
import yaml

from tests.kubernetes.joining import SEEN_S, join_nodes, label_nodes, list_objects, run_plane, wait_for_tenant, write_files
from tests.planned import open_example

UNIT = "gpuyard.io/compute-unit"
PLACED_S = 60
SECRET = "a password that nobody may read"
OTHER_CLUSTER = {"gpuyard.io/group": "train"}
"""Nodes are those of superpod-roce and tenants those of driving: no node has what a tenant's pods are selected by here."""


@pytest.fixture(scope="module")
def rendered(tmp_path_factory):
    """Write kubernetes/ of two examples, and return the folder that has them by name."""
    place = tmp_path_factory.mktemp("rendered")
    for example in ("superpod-roce", "driving"):
        write_files(place / example, open_example(example))
    return place


@pytest.fixture(scope="module")
def plane(tmp_path_factory, rendered):
    with run_plane(tmp_path_factory.mktemp("plane"), rendered / "driving", open_example("driving").plan) as running:
        yield running


@pytest.fixture(scope="module")
def nodes(plane, rendered):
    """Let the nodes of superpod-roce join, and return the labels that each then has."""
    join_nodes(plane, open_example("superpod-roce").plan)
    label_nodes(plane, rendered / "superpod-roce")
    return {node["metadata"]["name"]: node["metadata"]["labels"] for node in plane.read("nodes")["items"]}


@pytest.fixture(scope="module")
def tenants(plane, rendered):
    """Apply priorities and tenants of driving, and log in one user of each of two tenants."""
    folder = rendered / "driving/kubernetes"
    files = [folder / "priorities.yaml", *sorted((folder / "tenants").glob("*.yaml"))]
    plane.must("apply", *(f"--filename={file}" for file in files))
    plane.add_user("anna", "gpuyard:perception")
    plane.add_user("paul", "gpuyard:planning")
    for name in ("perception", "planning"):
        wait_for_tenant(plane, name)
    return files


def test_every_node_has_its_labels_and_those_that_others_gave_it(nodes):
    assert Counter(labels.get(UNIT) for labels in nodes.values()) == {
        **dict.fromkeys(("compute-u01", "compute-u02", "compute-u03"), 32),
        "compute-u04": 31,
        None: 3,
    }
    assert all(labels["kubernetes.io/hostname"] == name for name, labels in nodes.items())
    assert {labels["gpuyard.io/rack"] for labels in nodes.values() if labels.get(UNIT) == "compute-u01"} == {
        f"A{number:02}" for number in range(1, 9)
    }
    rows = {labels["gpuyard.io/row"] for name, labels in nodes.items() if name.startswith("control")}
    assert rows == {"N"}, "which is no boolean"


def test_a_job_lands_in_one_unit_and_one_that_is_larger_does_not(plane, nodes):
    """The last unit has a server less, and the scheduler does not know what a job will need when it places the first pod."""
    plane.must("create", "-f", "-", said=list_objects([_job("last", 31, selector={UNIT: "compute-u04"})]))
    assert Counter(nodes[name][UNIT] for name in _wait_for_places(plane, "last", 31)) == {"compute-u04": 31}
    plane.must("create", "-f", "-", said=list_objects([_job("whole", 32, together=UNIT)]))
    (unit,) = {nodes[name][UNIT] for name in _wait_for_places(plane, "whole", 32)}
    plane.must("create", "-f", "-", said=list_objects([_job("larger", 33, together=UNIT)]))
    (other,) = {nodes[name][UNIT] for name in _wait_for_places(plane, "larger", 32)}
    assert len({unit, other, "compute-u04"}) == 3
    (waits,) = plane.wait_for(lambda: _list_waiting(plane, "larger"), PLACED_S, "no pod of the larger job waits")
    assert "0/130 nodes are available" in waits
    assert "node(s) didn't match pod affinity" in waits and "Insufficient nvidia.com/gpu" in waits, waits


def test_every_priority_is_taken_and_none_pushes_others_out(plane, tenants):
    found = {item["metadata"]["name"]: item for item in plane.read("priorityclasses")["items"]}
    classes = [name for name in found if name.startswith("job-")]
    assert sorted(classes, key=lambda name: -found[name]["value"]) == ["job-high", "job-normal", "job-low"]
    plane.must("create", "-f", "-", user="anna", said=_pod("urgent", "perception", priority="job-high"))
    pod = plane.read("pod/urgent", "-n", "perception")["spec"]
    assert (pod["priority"], pod["preemptionPolicy"]) == (found["job-high"]["value"], "Never")


def test_what_is_applied_twice_changes_nothing(plane, tenants):
    said = plane.must("apply", *(f"--filename={file}" for file in tenants)).splitlines()
    objects = [found for file in tenants for found in yaml.safe_load_all(file.read_text())]
    assert len(said) == len(objects)
    assert [line for line in said if not line.endswith(" unchanged")] == []


def test_quota_refuses_the_pod_beyond_what_a_tenant_has(plane, tenants):
    limit = open_example("driving").plan.tenants
    gpus = next(tenant.gpus for tenant in limit if tenant.name == "perception")
    pods = [_pod(f"train-{number}", "perception", gpus=8) for number in range(gpus // 8 + 1)]
    done = plane.run("anna", "create", "-f", "-", said=list_objects(pods))
    assert done.returncode == 1
    assert done.stdout.count(" created") == gpus // 8
    (refused,) = done.stderr.strip().splitlines()
    assert f"exceeded quota: gpus, requested: requests.nvidia.com/gpu=8, used: requests.nvidia.com/gpu={gpus}" in refused
    asked = plane.read("pod/train-0", "-n", "perception", user="anna")["spec"]["containers"][0]["resources"]["requests"]
    assert asked == {"nvidia.com/gpu": "8", "cpu": "100m", "memory": "256Mi"}, "what the LimitRange adds"
    plane.must("create", "-f", "-", user="paul", said=_pod("train-0", "planning", gpus=8))


def test_a_user_works_in_the_tenants_own_namespace(plane, tenants):
    job = _job("sweep", 2, namespace="perception", selector=OTHER_CLUSTER, gpus=0)
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "board", "namespace": "perception"}}
    service["spec"] = {"selector": {"job": "sweep"}, "ports": [{"port": 80}]}
    plane.must("create", "-f", "-", user="anna", said=list_objects([job, service]))
    plane.wait_for(lambda: len(_list_pods(plane, "sweep", "perception")) == 2, PLACED_S, "the job has no pods")
    for kinds in ("pods,jobs,services", "quota,limits,networkpolicies,events"):
        plane.must("get", kinds, "-n", "perception", user="anna")
    plane.must("delete", "job/sweep", "service/board", "-n", "perception", user="anna")


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        ("get pods -n planning", 'cannot list resource "pods" in API group "" in the namespace "planning"'),
        ("get secrets -n planning", 'cannot list resource "secrets"'),
        ("create configmap x -n planning", 'cannot create resource "configmaps"'),
        ("delete pod train-0 -n planning", 'cannot delete resource "pods"'),
        ("get secrets -n kube-system", 'cannot list resource "secrets"'),
        ("get nodes", 'cannot list resource "nodes"'),
        ("get namespaces", 'cannot list resource "namespaces"'),
        (
            'patch quota gpus -n perception -p {"spec":{"hard":{"requests.nvidia.com/gpu":"999"}}}',
            'cannot patch resource "resourcequotas"',
        ),
        ("delete quota gpus -n perception", 'cannot delete resource "resourcequotas"'),
        ("delete networkpolicy tenant -n perception", 'cannot delete resource "networkpolicies"'),
        ("delete limits requests -n perception", 'cannot delete resource "limitranges"'),
        ("label namespace perception pod-security.kubernetes.io/enforce-", 'cannot get resource "namespaces"'),
        (
            "annotate namespace perception scheduler.alpha.kubernetes.io/node-selector-",
            'cannot get resource "namespaces"',
        ),
        ("create rolebinding x --clusterrole=admin --user=anna -n perception", 'cannot create resource "rolebindings"'),
        ("create serviceaccount x -n perception", 'cannot create resource "serviceaccounts"'),
        ("create priorityclass x --value=1", 'cannot create resource "priorityclasses"'),
        ("get pods -n planning --as=paul --as-group=gpuyard:planning", "cannot impersonate resource"),
    ],
)
def test_a_user_may_do_nothing_else(plane, tenants, words, refusal):
    done = plane.run("anna", *words.split())
    assert done.returncode == 1, done.stdout
    assert ' is forbidden: User "anna" ' in done.stderr and refusal in done.stderr


def test_a_user_places_no_pod_by_hand(plane, tenants):
    """A binding is refused; a pod that names its node is not, and test_tenant_places.py has what becomes of it."""
    plane.must("create", "-f", "-", user="anna", said=_pod("waits", "perception"))
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "waits"},
        "target": {"kind": "Node", "name": "control-001"},
    }
    path = "/api/v1/namespaces/perception/pods/waits/binding"
    done = plane.run("anna", "create", "--raw", path, "-f", "-", said=binding)
    assert done.returncode == 1 and 'cannot create resource "pods/binding"' in done.stderr, done.stderr
    pod = _pod("named", "perception")
    pod["spec"]["nodeName"] = "control-001"
    plane.must("create", "-f", "-", user="anna", said=pod)


def test_a_secret_cannot_be_read_where_it_is_stored(plane, tenants):
    for kind, flag in (("configmap", ()), ("secret", ("generic",))):
        plane.must("create", kind, *flag, "kept", f"--from-literal=text={SECRET}", "-n", "perception", user="anna")
    stored = plane.read_stored("secrets/perception/kept")
    assert stored.startswith(b"k8s:enc:secretbox:v1:key1:") and SECRET.encode() not in stored
    assert SECRET.encode() in plane.read_stored("configmaps/perception/kept"), "what is not encrypted is found there"
    text = plane.read("secret/kept", "-n", "perception", user="anna")["data"]["text"]
    assert base64.b64decode(text).decode() == SECRET


def test_the_audit_log_says_who_asked_for_what(plane, tenants):
    plane.must("create", "secret", "generic", "asked", f"--from-literal=text={SECRET}", "-n", "perception", user="anna")
    assert plane.run("paul", "get", "secret", "asked", "-n", "perception").returncode == 1
    audit = plane.wait_for(lambda: _list_asked(plane, "secrets", "asked"), SEEN_S, "nothing in the audit log")
    said = [(event["user"]["username"], event["verb"], event["responseStatus"]["code"]) for event in audit]
    assert ("anna", "create", 201) in said and ("paul", "get", 403) in said
    assert {"gpuyard:perception"} <= {group for event in audit for group in event["user"]["groups"]}
    log = (plane.folder / "audit.log").read_text("utf-8")
    assert SECRET not in log and base64.b64encode(SECRET.encode()).decode() not in log


def _pod(name, namespace, *, gpus=0, selector=None, priority=""):
    wants = {"limits": {"nvidia.com/gpu": gpus}} if gpus else {}
    spec = {"containers": [{"name": "main", "image": "none", "resources": wants}]}
    spec["nodeSelector"] = OTHER_CLUSTER if selector is None else selector
    if priority:
        spec["priorityClassName"] = priority
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def _job(name, pods, *, namespace="default", gpus=8, selector=None, together=""):
    """Return a job; `together` is the label of which all its pods must have one value."""
    labels = {"job": name}
    pod = _pod("", namespace, gpus=gpus, selector=selector or {})["spec"] | {"restartPolicy": "Never"}
    if together:
        term = {"labelSelector": {"matchLabels": labels}, "topologyKey": together}
        pod["affinity"] = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    spec = {"parallelism": pods, "completions": pods, "template": {"metadata": {"labels": labels}, "spec": pod}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def _list_pods(plane, job, namespace="default"):
    return plane.read("pods", "-n", namespace, "-l", f"job={job}")["items"]


def _wait_for_places(plane, job, count):
    """Return the nodes of a job's pods, once so many have one."""

    def find():
        placed = [pod["spec"]["nodeName"] for pod in _list_pods(plane, job) if "nodeName" in pod["spec"]]
        return placed if len(placed) == count else []

    return plane.wait_for(find, PLACED_S, f"of job {job} not {count} pods are placed")


def _list_waiting(plane, job):
    """Return why pods of a job are on no node."""
    pods = [pod for pod in _list_pods(plane, job) if "nodeName" not in pod["spec"]]
    conditions = [condition for pod in pods for condition in pod["status"].get("conditions", [])]
    return [condition["message"] for condition in conditions if condition["type"] == "PodScheduled"]


def _list_asked(plane, resource, name):
    """Return the events about an object, once somebody else was refused one."""
    found = [event for event in plane.read_audit() if (event.get("objectRef") or {}).get("name") == name]
    found = [event for event in found if event["objectRef"]["resource"] == resource]
    return found if any(event["responseStatus"]["code"] == 403 for event in found) else []
