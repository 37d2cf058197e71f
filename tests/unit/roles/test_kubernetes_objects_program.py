"""What role kubernetes_control says to the cluster, with a double of kubectl: the plan's objects, and how a server joins."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from cluster_model.render.services.kubernetes import render_kubernetes
from tests.planned import open_example
from tests.programs import load_program

FILES = Path(__file__).parents[3] / "roles/kubernetes_control/files"
RBAC = "rbac.authorization.k8s.io/v1"
PATHS = {  # of each kind: where the API server has it
    "Node": ("v1", "nodes"),
    "Namespace": ("v1", "namespaces"),
    "ResourceQuota": ("v1", "resourcequotas"),
    "RoleBinding": (RBAC, "rolebindings"),
    "Role": (RBAC, "roles"),
    "CIDRPool": ("nv-ipam.nvidia.com/v1alpha1", "cidrpools"),
    "HyperNode": ("topology.volcano.sh/v1alpha1", "hypernodes"),
}
NOT_FOUND = (1, "", "Error from server (NotFound): the server could not find the requested resource")
SILENT = (1, "", "Error from server (ServiceUnavailable): the server is currently unable to handle the request")


def make(kind, name, namespace="", manager="", **metadata):
    """Return an object, as the API server lists it where somebody manages it."""
    about = {"name": name} | ({"namespace": namespace} if namespace else {}) | metadata
    managed = {"managedFields": [{"manager": manager, "operation": "Apply"}]} if manager else {}
    return {"apiVersion": PATHS[kind][0], "kind": kind, "metadata": about | managed}


class Cluster:
    """Answers as kubectl would: `served` are its kinds, `has` its objects, `refused` names of what it does not take."""

    def __init__(self):
        self.served, self.has, self.refused, self.down = set(PATHS), [], set(), {}
        self.did, self.limits = [], []

    def __call__(self, *words, given=None, limit_s=0):
        match words:
            case ["get", "--raw", path]:
                return self.answer(path)
            case ["diff", *_]:
                self.limits.append(limit_s)
                return 1, "", ""
            case ["apply", *options]:
                assert {"--server-side", "--field-manager=gpuyard", "--force-conflicts"} <= set(options)
                names = [each["metadata"]["name"] for each in json.loads(given)["items"]]
                self.did.append(("apply", *names))
                return (1, "", "refused") if set(names) & self.refused else (0, "", "")
            case ["delete", *rest]:
                self.did.append(("delete", *rest))
                return 0, "", ""
        raise AssertionError(words)

    def answer(self, path):
        if self.down.get(path, 0):
            self.down[path] -= 1
            return SILENT
        version, _, last = path.removeprefix("/apis/").removeprefix("/api/").rpartition("/")
        for kind in self.served:
            if PATHS[kind] == (version, last):
                items = [
                    {key: value for key, value in each.items() if key == "metadata"} for each in self.has if each["kind"] == kind
                ]
                return 0, json.dumps({"items": items}), ""
        whole = f"{version}/{last}" if version else last
        kinds = [{"kind": kind, "name": PATHS[kind][1]} for kind in sorted(self.served) if PATHS[kind][0] == whole]
        status = [{"kind": each["kind"], "name": f"{each['name']}/status"} for each in kinds]
        return (0, json.dumps({"resources": kinds + status}), "") if kinds else NOT_FOUND


def load(name):
    return load_program(FILES / f"{name}.py")


@pytest.fixture
def cluster():
    return Cluster()


@pytest.fixture
def say(cluster, monkeypatch, capsys):
    """Return the program, run with these lists of objects; it returns what it prints."""
    program = load("objects")
    monkeypatch.setattr(program, "run", cluster)
    monkeypatch.setattr(program.time, "sleep", lambda _: None)

    def run(verb, *groups):
        program.main(verb, list(groups))
        return json.loads(capsys.readouterr().out)

    return run


def test_only_nodes_that_joined_and_kinds_that_are_there_are_applied(cluster, say):
    cluster.served -= {"HyperNode"}
    cluster.has = [make("Node", "gpu-001")]
    said = say("apply", [], [make("Node", "gpu-001"), make("Node", "gpu-002"), make("HyperNode", "unit")])
    assert said == {"changed": True, "absent": ["HyperNode"], "away": ["gpu-002"], "gone": [], "stale": []}
    assert cluster.did == [("apply", "gpu-001")]


def test_labels_wait_for_pools_that_are_refused(cluster, say):
    cluster.has, cluster.refused = [make("Node", "gpu-001")], {"rail-1"}
    with pytest.raises(SystemExit, match="kubectl apply: refused"):
        say("apply", [make("CIDRPool", "rail-1", "net")], [make("Node", "gpu-001")])
    assert cluster.did == [("apply", "rail-1")]


def test_a_check_applies_and_deletes_nothing(cluster, say):
    cluster.has = [make("RoleBinding", "users", "old", manager="gpuyard"), make("Node", "gpu-001")]
    said = say("check", [make("Node", "gpu-001")])
    assert said["changed"] and said["gone"] == ["RoleBinding old/users"]
    assert cluster.did == []


@pytest.mark.parametrize("path", ["/apis/nv-ipam.nvidia.com/v1alpha1", f"/apis/{RBAC}/rolebindings", "/api/v1/nodes"])
def test_a_silent_api_server_is_not_one_that_lacks_a_kind(cluster, say, path):
    wanted = [make("CIDRPool", "rail-1", "net")], [make("Node", "gpu-001")]
    cluster.has, cluster.down = [make("Node", "gpu-001")], {path: 99}
    with pytest.raises(
        SystemExit, match=rf"{path}: .*ServiceUnavailable.*; expected an answer of the API server; fix: see kubectl"
    ):
        say("apply", *wanted)
    assert cluster.did == []
    cluster.down = {path: 2}  # as while it restarts
    assert say("apply", *wanted)["absent"] == []


def test_a_tenant_that_left_the_plan_loses_rights_and_nothing_else(cluster, say):
    stays = [make("Namespace", "perception"), make("Role", "user", "perception"), make("RoleBinding", "users", "perception")]
    cluster.has = [
        *(
            each | {"metadata": each["metadata"] | {"managedFields": [{"manager": "gpuyard", "operation": "Apply"}]}}
            for each in stays
        ),
        make("Namespace", "planning", manager="gpuyard"),
        make("ResourceQuota", "gpus", "planning", manager="gpuyard"),
        make("Role", "user", "planning", manager="gpuyard"),
        make("RoleBinding", "users", "planning", manager="gpuyard"),
        make("RoleBinding", "more", "planning", manager="kubectl-create"),
        make("RoleBinding", "admins", "kube-system"),
        make("ResourceQuota", "more", "perception", manager="gpuyard"),
        make("HyperNode", "unit-9", manager="gpuyard"),
        make("HyperNode", "theirs", manager="volcano"),
        make("Namespace", "ending", manager="gpuyard", deletionTimestamp="2026-01-01T00:00:00Z"),
        make("Node", "gpu-009", manager="gpuyard"),
    ]
    said = say("apply", stays)
    assert said["gone"] == ["RoleBinding planning/users"]
    assert said["stale"] == [
        "kubectl delete hypernodes.topology.volcano.sh unit-9",
        "kubectl delete namespaces planning",
        "kubectl delete --namespace=perception resourcequotas more",
    ]
    assert cluster.did[0][:4] == ("delete", "--namespace=planning", f"rolebindings.{RBAC.removesuffix('/v1')}", "users")
    assert [did[0] for did in cluster.did] == ["delete", "apply"]


def test_the_limit_grows_with_the_cluster(cluster, say):
    cluster.has = [make("Node", f"gpu-{number}") for number in range(2000)]
    say("apply", cluster.has)
    assert cluster.limits == [2120]


def test_all_kinds_that_are_rendered_are_looked_for():
    """Of what gpuyard can render a program on a server knows its own list alone."""
    found = {("v1", "Node")}
    for example, queueing, cni in (
        ("driving", "volcano", "cilium"),
        ("driving", "kueue", "cilium"),
        ("lab", "volcano", "cilium"),
        ("lab", "volcano", "calico"),
        ("superpod-roce", "volcano", "cilium"),
    ):
        opened = open_example(example)
        plan = replace(opened.plan, kubernetes=replace(opened.plan.kubernetes, queueing=queueing, cni=cni))
        for path, data in render_kubernetes(plan, opened.catalogue):
            if path.startswith(
                (
                    "kubernetes/network/",
                    "kubernetes/pod-policy",
                    "kubernetes/priorities",
                    "kubernetes/tenants/",
                    "kubernetes/topology/",
                    "kubernetes/volumes",
                )
            ):
                found |= {(each["apiVersion"], each["kind"]) for each in yaml.safe_load_all(data)}
    assert found == load("objects").KINDS | {("v1", "Node")}


# --- Joining


def test_who_joins_is_told_where_the_cluster_is(tmp_path, capsys, monkeypatch):
    program = load("discovery")
    (tmp_path / "admin.conf").write_text("server: https://kubernetes.lab:7443\ncertificate-authority-data: Q0E=\n")
    (tmp_path / "kubeadm").write_text('#!/bin/sh\ncase "$*" in *"token create --ttl 1h "*) echo abcdef.0123456789abcdef;; esac\n')
    (tmp_path / "kubeadm").chmod(0o755)
    monkeypatch.setattr(program, "ADMIN", tmp_path / "admin.conf")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    program.main("1h")
    told = yaml.safe_load(capsys.readouterr().out)
    assert told["clusters"][0]["cluster"] == {"server": "https://kubernetes.lab:7443", "certificate-authority-data": "Q0E="}
    assert told["users"][0]["user"] == {"token": "abcdef.0123456789abcdef"}
    assert told["contexts"][0]["name"] == told["current-context"]
