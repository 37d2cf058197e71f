"""docs/first-job.md followed on a running control plane: what it applies is taken, placed, and refused beyond the quota.

Kubernetes is 1.20.2 without a kubelet, Volcano and Kueue: pods are placed and never run, and no queue holds a job back. `wait`
and `logs` of the page are not tried, nor is what 1.20 does not know of a Job.
"""

from __future__ import annotations

import json
import re
import shlex

import pytest

from tests.docs.first_job import PAGE, list_commands, open_cluster
from tests.docs.manifests import read_manifests
from tests.kubernetes.joining import join_nodes, label_nodes, list_objects, run_plane, wait_for_tenant, write_files

NAMESPACE = "research"
PLACED_S = 60
UNIT = "gpuyard.io/compute-unit"
RAILS = {f"gpuyard.io/rail{number}": "1" for number in range(8)}
WITH_RAILS = ("gpu-040", "gpu-050")
"""Two workers of one unit: all others wait for their network operator for as long as these tests run."""
LATER = ("completionMode", "successPolicy")
"""Keys of a Job's spec that came after Kubernetes 1.20."""


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    return open_cluster(tmp_path_factory.mktemp("inventory"))


@pytest.fixture(scope="module")
def files():
    found = read_manifests(PAGE)
    for thing in found["two-servers-kueue.yaml"]:
        thing["spec"] = {key: value for key, value in thing["spec"].items() if key not in LATER}
    return found


@pytest.fixture(scope="module")
def plane(tmp_path_factory, opened):
    """Start a control plane with the nodes and the tenant, before anything has rails."""
    rendered = tmp_path_factory.mktemp("rendered")
    write_files(rendered, opened)
    with run_plane(tmp_path_factory.mktemp("plane"), rendered, opened.plan) as running:
        for name in ("priorities", f"tenants/{NAMESPACE}"):
            running.must("apply", "-f", rendered / f"kubernetes/{name}.yaml")
        join_nodes(running, opened.plan)
        label_nodes(running, rendered)
        wait_for_tenant(running, NAMESPACE)
        yield running


@pytest.fixture(scope="module")
def user(plane):
    """Return the user of the page, with a certificate as the page has it made."""
    (command,) = [command for command in list_commands() if command.startswith("kubeadm ")]
    words = dict(word.removeprefix("--").partition("=")[::2] for word in shlex.split(command) if word.startswith("--"))
    plane.add_user(words["client-name"], words["org"])
    return words["client-name"]


@pytest.fixture(scope="module")
def placed(plane, files, user):
    """Return the node of the page's first pod, which has ended as its kubelet would say, and counts no longer."""
    plane.must("create", "-f", "-", user=user, said=list_objects(files["one-gpu.yaml"]))
    (node,) = _wait_for_nodes(plane, "one-gpu", 1)
    pod = plane.read("pod/one-gpu", "-n", NAMESPACE)
    _replace_status(plane, f"namespaces/{NAMESPACE}/pods/one-gpu", pod, phase="Succeeded")
    plane.wait_for(lambda: _read_used(plane) == "0", PLACED_S, "a pod that has ended counts in the quota")
    return node


@pytest.fixture(scope="module")
def waiting(plane, files, user, placed):
    """Start the job of two servers while no node has rails; return why its pods wait."""
    plane.must("create", "-f", "-", user=user, said=list_objects(files["two-servers-kueue.yaml"]))
    return plane.wait_for(lambda: _list_refusals(plane), PLACED_S, "no pod of the job waits")


@pytest.fixture(scope="module")
def nodes(plane, waiting):
    """Have rails come to two workers; return where the job is then."""
    for name in WITH_RAILS:
        node = plane.read(f"node/{name}")
        has = node["status"]["allocatable"] | RAILS
        _replace_status(plane, f"nodes/{name}", node, capacity=has, allocatable=has)
    return _wait_for_nodes(plane, "two-servers-", 2)


def test_the_first_pod_is_placed_on_a_worker(plane, placed):
    assert UNIT in plane.read(f"node/{placed}")["metadata"]["labels"]


def test_pods_of_volcanos_job_are_taken(plane, files, user, placed):
    """Of the Job only its templates can be tried, before others have the quota, and that its kind is the user's to make."""
    (job,) = files["two-servers.yaml"]
    for task in job["spec"]["tasks"]:
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": task["name"]}, "spec": task["template"]["spec"]}
        plane.must("create", "--dry-run=server", "-n", NAMESPACE, "-f", "-", user=user, said=pod)
    asked = {"namespace": NAMESPACE, "verb": "create", "group": "batch.volcano.sh", "resource": "jobs"}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": asked}}
    assert json.loads(plane.must("create", "-f", "-", "-o", "json", user=user, said=review))["status"]["allowed"]


def test_a_job_waits_as_the_page_says_until_nodes_have_rails(waiting, nodes):
    (said,) = re.findall(r"`(Insufficient gpuyard\.io/rail0)`", PAGE.read_text("utf-8"))
    assert all(said in why for why in waiting), waiting
    assert nodes == set(WITH_RAILS)


def test_what_is_beyond_the_quota_is_refused_as_the_page_says(plane, files, user, nodes):
    (said,) = re.findall(r"`(exceeded quota: gpus)`", PAGE.read_text("utf-8"))
    done = plane.run(user, "create", "-f", "-", said=list_objects(files["one-gpu.yaml"]))
    assert done.returncode == 1, done.stdout
    assert f"{said}, requested: requests.nvidia.com/gpu=1, used: requests.nvidia.com/gpu=16" in done.stderr


def test_a_user_without_the_tenants_group_may_nothing(plane, files, waiting):
    plane.add_user("otto", "gpuyard:other")
    done = plane.run("otto", "create", "-f", "-", said=list_objects(files["one-gpu.yaml"]))
    assert done.returncode == 1 and 'forbidden: User "otto" cannot create resource "pods"' in done.stderr, done.stderr


def test_the_page_shows_what_nodes_have(plane, nodes):
    (table,) = [command for command in list_commands() if "custom-columns" in command]
    lines = [line.split() for line in plane.must(*shlex.split(table)[1:]).splitlines()]
    assert lines[0] == ["NODE", "GPUS", "RAIL0"]
    assert {name: (gpus, rail) for name, gpus, rail in lines[1:] if rail != "<none>"} == dict.fromkeys(WITH_RAILS, ("8", "1"))
    assert [line for line in lines[1:] if line[1] == "<none>"] == [[f"control-00{n}", "<none>", "<none>"] for n in (1, 2, 3)]


def test_the_page_shows_that_a_job_is_in_one_unit(plane, nodes):
    (where,) = [command for command in list_commands() if "$(" in command]
    outer, inner = re.fullmatch(r"kubectl (.*) \$\(kubectl (.*)\)", where).groups()
    found = plane.must(*shlex.split(inner)).split()
    table = [line.split() for line in plane.must(*shlex.split(outer), *found).splitlines()]
    assert table[0][-1] == "COMPUTE-UNIT" and {line[0] for line in table[1:]} == nodes
    assert {line[-1] for line in table[1:]} == {"compute-u02"}


def test_other_commands_of_the_page_are_answered(plane, user, nodes):
    (quota,) = [command for command in list_commands() if command.startswith("kubectl describe quota")]
    assert re.search(r"requests\.nvidia\.com/gpu +16 +16\n", plane.must(*shlex.split(quota)[1:]))
    (units,) = [command for command in list_commands() if command == f"kubectl get nodes -L {UNIT}"]
    assert plane.must(*shlex.split(units)[1:]).count(" compute-u") == 127


def _list_pods(plane, name):
    """Return the tenant's pods whose names begin so."""
    return [pod for pod in plane.read("pods", "-n", NAMESPACE)["items"] if pod["metadata"]["name"].startswith(name)]


def _read_used(plane):
    return plane.read("quota/gpus", "-n", NAMESPACE)["status"]["used"]["requests.nvidia.com/gpu"]


def _replace_status(plane, path, found, **said):
    """Say of an object what a kubelet would."""
    changed = {**found, "status": found["status"] | said}
    plane.must("replace", "--raw", f"/api/v1/{path}/status", "-f", "-", said=changed)


def _wait_for_nodes(plane, name, count):
    """Return the nodes of pods whose names begin so, once all are placed."""

    def find():
        found = [pod["spec"].get("nodeName") for pod in _list_pods(plane, name)]
        return set(found) if len(found) == count and all(found) else set()

    return plane.wait_for(find, PLACED_S, f"of {name} not {count} pods are placed")


def _list_refusals(plane):
    """Return why the scheduler found no node, once it said so of both pods."""
    pods = _list_pods(plane, "two-servers-")
    said = [each["message"] for pod in pods for each in pod["status"].get("conditions", []) if each["type"] == "PodScheduled"]
    return said if len(said) == 2 else []
