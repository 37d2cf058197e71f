"""A running API server and scheduler keep tenants apart as rendered: where pods run, and what they may not have.

The cluster is driving with four more servers, which are nobody's. Nodes have no kubelet: what a kubelet refuses is not seen here.
"""

from __future__ import annotations

import shutil

import pytest

from cluster_model.plan.services.tenant_nodes import label_tenant
from tests.kubernetes import joining
from tests.kubernetes.joining import CONTROL, SEEN_S, join_nodes, label_nodes, list_objects, wait_for_tenant
from tests.planned import INVENTORY, open_folder

HOST = "kubernetes.io/hostname"
PLACED_S = 60
USERS = {"perception": "anna", "planning": "paul", "services": "sara"}
OWN = {
    "perception": {f"train-{number:03}" for number in range(1, 9)},
    "planning": {f"train-{number:03}" for number in range(9, 17)},
    "services": set(),  # control servers, which are no workers
}
NOBODYS = {f"train-{number:03}" for number in range(17, 21)}
ANYWHERE = [{"operator": "Exists"}]


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    folder = tmp_path_factory.mktemp("grown") / "driving"
    shutil.copytree(INVENTORY / "driving", folder)
    text = (folder / "cluster.yml").read_text("utf-8")
    grown = text.replace("count: 16, planned: 32", "count: 20, planned: 32")
    assert grown != text
    (folder / "cluster.yml").write_text(grown, "utf-8")
    return open_folder(folder)


@pytest.fixture(scope="module")
def rendered(tmp_path_factory, opened):
    folder = tmp_path_factory.mktemp("rendered")
    joining.write_files(folder, opened)
    return folder


@pytest.fixture(scope="module")
def plane(tmp_path_factory, rendered, opened):
    """Start a control plane with tenants and nodes, which have no labels yet."""
    with joining.run_plane(tmp_path_factory.mktemp("plane"), rendered, opened.plan) as running:
        files = [rendered / "kubernetes/priorities.yaml", *sorted((rendered / "kubernetes/tenants").glob("*.yaml"))]
        running.must("apply", *(f"--filename={file}" for file in files))
        join_nodes(running, opened.plan)
        for name, user in USERS.items():
            running.add_user(user, f"gpuyard:{name}")
            wait_for_tenant(running, name)
        yield running


@pytest.fixture(scope="module")
def early(plane, rendered):
    """Have a pod come before the labels do, then apply those; return why it waited."""
    _create(plane, "perception", _pod("early"))
    why = _wait_for_refusal(plane, "perception", "early")
    label_nodes(plane, rendered)
    return why


def test_a_pod_waits_for_the_labels_of_nodes(plane, early):
    assert "didn't match" in early, early
    assert _wait_for_place(plane, "perception", "early") in OWN["perception"] | NOBODYS


@pytest.mark.parametrize("tenant", USERS)
def test_pods_run_on_the_tenants_own_servers_and_on_nobodys(plane, early, tenant):
    names = [f"any-{number}" for number in range(16)]
    _create(plane, tenant, *(_pod(name, gpus=1, tolerations=ANYWHERE) for name in names))
    assert {_wait_for_place(plane, tenant, name) for name in names} <= OWN[tenant] | NOBODYS


@pytest.mark.parametrize(
    ("tenant", "host", "may"),
    [
        ("perception", "train-001", True),
        ("perception", "train-017", True),
        ("perception", "train-009", False),
        ("perception", "infer-001", False),
        ("perception", "control-001", False),
        ("planning", "train-009", True),
        ("planning", "train-001", False),
        ("services", "train-020", True),
        ("services", "train-001", False),
        ("services", "control-001", False),  # its own, and no worker
    ],
)
def test_a_pod_that_tolerates_everything_gets_onto_its_tenants_nodes_alone(plane, early, tenant, host, may):
    name = f"on-{host}"
    _create(plane, tenant, _pod(name, tolerations=ANYWHERE, selector={HOST: host}))
    if may:
        assert _wait_for_place(plane, tenant, name) == host
    else:
        assert "didn't match" in _wait_for_refusal(plane, tenant, name)


def test_a_pod_that_asks_for_another_value_is_refused(plane):
    done = _try(plane, "perception", _pod("other", selector={label_tenant("perception"): "false"}))
    assert "conflicts with its namespace node label selector" in done


def test_another_tenants_label_opens_no_node_of_that_tenant(plane, early):
    _create(plane, "perception", _pod("guest", selector={label_tenant("planning"): "true"}))
    assert _wait_for_place(plane, "perception", "guest") in NOBODYS


def test_a_pod_that_names_its_node_carries_what_the_kubelet_refuses_it_by(plane):
    _create(plane, "perception", _pod("named", node="control-001"))
    assert plane.read("pod/named", "-n", "perception")["spec"]["nodeSelector"] == {label_tenant("perception"): "true"}
    assert label_tenant("perception") not in plane.read("node/control-001")["metadata"]["labels"]


def test_pods_of_namespaces_that_are_nobodys_run_anywhere(plane, early):
    plane.wait_for(lambda: plane.read("serviceaccount/default", "-n", "kube-system").get("secrets"), SEEN_S, "no service account")
    tolerations = [{"key": CONTROL, "operator": "Exists"}]
    for host in ("control-001", "train-009"):
        pod = _pod(f"system-{host}", tolerations=tolerations, selector={HOST: host}, priority="system-node-critical")
        plane.must("create", "-n", "kube-system", "-f", "-", said=pod)
        assert _wait_for_place(plane, "kube-system", f"system-{host}") == host


def test_a_node_gives_itself_no_tenants_label(plane, early):
    node = "system:node:train-009"
    plane.add_user(node, "system:nodes")
    plane.must("label", "node/train-009", "example.net/own=true", user=node)
    done = plane.run(node, "label", "node/train-009", f"{label_tenant('perception')}=true")
    assert done.returncode == 1 and "is not allowed to modify labels" in done.stderr, done.stderr


@pytest.mark.parametrize("priority", ["system-cluster-critical", "system-node-critical"])
def test_a_tenant_does_not_have_kubernetes_own_priorities(plane, priority):
    done = _try(plane, "services", _pod("urgent", priority=priority))
    assert "exceeded quota: system-priorities, requested: pods=1, used: pods=0, limited: pods=0" in done


def test_a_service_opens_no_port_of_nodes(plane):
    _create(plane, "perception", _service("board", "ClusterIP"))
    for kind in ("NodePort", "LoadBalancer"):
        assert "exceeded quota: node-ports" in _try(plane, "perception", _service("open", kind))
    done = plane.run("anna", "patch", "service/board", "-n", "perception", "-p", '{"spec": {"type": "NodePort"}}')
    assert done.returncode == 1 and "exceeded quota: node-ports" in done.stderr, done.stderr


def test_a_tenant_has_the_ports_of_the_servers_that_its_gpus_fill(plane):
    done = _try(plane, "planning", _pod("wide", resources={"gpuyard.io/rail0": 9}))
    assert "requested: requests.gpuyard.io/rail0=9, " in done and "limited: requests.gpuyard.io/rail0=8" in done
    _create(plane, "planning", *(_pod(f"wide-{number}", resources={"gpuyard.io/rail0": 1}) for number in range(8)))
    assert "limited: requests.gpuyard.io/rail0=8" in _try(plane, "planning", _pod("wide", resources={"gpuyard.io/rail0": 1}))


def _pod(name, *, gpus=0, resources=None, tolerations=(), selector=None, priority="", node=""):
    limits = {**({"nvidia.com/gpu": gpus} if gpus else {}), **(resources or {})}
    spec = {"containers": [{"name": "main", "image": "none", "resources": {"limits": limits}}], "tolerations": list(tolerations)}
    spec |= {"nodeSelector": selector} if selector else {}
    spec |= {"priorityClassName": priority} if priority else {}
    spec |= {"nodeName": node} if node else {}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def _service(name, kind):
    spec = {"type": kind, "selector": {"job": "none"}, "ports": [{"port": 80}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


def _create(plane, tenant, *objects):
    plane.must("create", "-n", tenant, "-f", "-", user=USERS[tenant], said=list_objects(list(objects)))


def _try(plane, tenant, made):
    """Return how a tenant's user is refused an object."""
    done = plane.run(USERS[tenant], "create", "-n", tenant, "-f", "-", said=made)
    assert done.returncode == 1 and "forbidden" in done.stderr, done.stdout + done.stderr
    return done.stderr


def _wait_for_place(plane, namespace, name):
    """Return the node that a pod is placed on."""

    def find():
        return plane.read(f"pod/{name}", "-n", namespace)["spec"].get("nodeName")

    return plane.wait_for(find, PLACED_S, f"{namespace}/{name} is not placed")


def _wait_for_refusal(plane, namespace, name):
    """Return why the scheduler found no node for a pod."""

    def find():
        pod = plane.read(f"pod/{name}", "-n", namespace)
        assert "nodeName" not in pod["spec"], f"{name} is on {pod['spec']['nodeName']}"
        found = [each for each in pod["status"].get("conditions", []) if each["type"] == "PodScheduled"]
        return found[0]["message"] if found else ""

    return plane.wait_for(find, PLACED_S, f"{namespace}/{name} does not wait")
