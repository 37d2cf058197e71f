"""The role kubernetes_node played on this machine, with doubles of the programs: in check mode, and on nodes that have joined."""

import base64
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from roles import ROOT
from tests.slowness import stretch

CERTIFICATE = f"-----BEGIN CERTIFICATE-----\n{base64.b64encode(b'a certificate').decode()}\n-----END CERTIFICATE-----\n"
SYSTEMCTL = """while [ "$1" != -- ]; do shift; done
shift
for unit; do printf 'LoadState=not-found\\n\\n'; done"""
KUBECTL = """shift 2
echo "$*" >>{folder}/told
case "$1 $2" in
  "get nodes") cat {folder}/nodes ;;
  "get --raw") echo '{{"gitVersion": "v1.36.3"}}' ;;
  "get customresourcedefinition") cat {folder}/served ;;
  "get cidrpools.nv-ipam.nvidia.com") cat {folder}/pools ;;
  apply*) cat >>{folder}/told ;;
esac"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """Return the rendered tree of the lab."""
    build = tmp_path_factory.mktemp("build") / "lab"
    command = [sys.executable, "-m", "cluster_model.cli", "render", ROOT / "inventory/lab", "--output", build]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return build


@pytest.fixture
def play(tree, tmp_path, collection):
    """Return a function that plays tasks on servers of the lab, each with a root of its own that holds files."""

    def run(names, tasks, files, *options, **doubles):
        inventory = json.loads((tree / "inventory/inventory.json").read_text())
        for name in names:
            for path, text in {
                "etc/os-release": "ID=debian\n",
                "proc/sys/kernel/hostname": f"{name}\n",
                "proc/swaps": "Filename\n",
                "sys/fs/cgroup/cgroup.controllers": "",
                **files(name),
            }.items():
                (tmp_path / name / path).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / name / path).write_text(text)
        (tmp_path / "bin").mkdir()
        for program in ("cat", "sh"):  # and nothing else of this machine, which may have containerd
            (tmp_path / "bin" / program).symlink_to(shutil.which(program))
        for program, body in {"dpkg-query": ":", "systemctl": SYSTEMCTL, **doubles}.items():
            (tmp_path / "bin" / program).write_text(f"#!/bin/sh\n{body}\n")
            (tmp_path / "bin" / program).chmod(0o755)
        own = {
            name: {
                "gpuyard_name": name,
                "gpuyard_kubernetes_node": inventory["_meta"]["hostvars"][name]["gpuyard_kubernetes_node"],
            }
            for name in [*names, "control-001"]
        }
        common = {
            "ansible_connection": "local",
            "ansible_python_interpreter": sys.executable,
            "gpuyard_cluster": "lab",
            "gpuyard_kubernetes": inventory["all"]["vars"]["gpuyard_kubernetes"],
            "kubernetes_node_tree": str(tree),
            "kubernetes_node_package_sources": [],
        }
        groups = {
            "kubernetes_control": {"hosts": {"control-001": {}}},
            "kubernetes_worker": {"hosts": {name: {} for name in names}},
        }
        (tmp_path / "hosts.json").write_text(json.dumps({"all": {"vars": common, "hosts": own, "children": groups}}))
        paths = {"PATH": f"{tmp_path}/bin", "GPUYARD_ROOT": f"{tmp_path}/{{{{ inventory_hostname }}}}"}
        body = {"hosts": names, "gather_facts": False, "environment": paths | {"GPUYARD_WAIT_S": "0"}, "tasks": tasks}
        (tmp_path / "play.yml").write_text(json.dumps([body]))
        environment = {**os.environ, "ANSIBLE_CONFIG": str(tmp_path / "none.cfg"), "ANSIBLE_HOME": str(tmp_path / "home")}
        environment |= {"ANSIBLE_COLLECTIONS_PATH": str(collection), "ANSIBLE_CALLBACK_RESULT_FORMAT": "yaml"}
        command = [Path(sys.executable).parent / "ansible-playbook", *options, "-i", "hosts.json", "play.yml"]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=stretch(600)
        )
        failed = dict(re.findall(r"^(\S+)\s+: ok=.*failed=(\d+)", done.stdout, re.MULTILINE))
        return {name: failed[name] == "0" for name in names}, " ".join((done.stdout + done.stderr).split())

    return run


def role(tasks_from="main", name="kubernetes_node"):
    """Return a task that has the role's tasks done."""
    return {"ansible.builtin.include_role": {"name": f"gpuyard.cluster.{name}", "tasks_from": tasks_from}}


def test_check_mode_says_what_it_would_do_where_nothing_is_installed(play):
    went, said = play(["gpu-001"], [role()], lambda name: {}, "--check", kubectl="exit 1")
    assert went == {"gpu-001": True}, said[-3000:]
    assert "- containerd.io" in said


def test_site_yml_would_install_the_containerd_of_a_node(play):
    task = role(name="container_toolkit") | {"vars": {"container_toolkit_package_sources": []}}
    went, said = play(["gpu-001"], [task], lambda name: {}, "--check")
    assert went == {"gpu-001": True}, said[-3000:]
    assert '"msg": "containerd.io"' in said or "msg: containerd.io" in said


def describe(tree, folder, known, pools=None):
    """Have the double of kubectl know these nodes, by their labels, and these pools of rails; return it."""
    items = [{"metadata": {"name": name, "labels": labels}} for name, labels in known.items()]
    (folder / "nodes").write_text(json.dumps({"items": items}))
    (folder / "served").write_text("" if pools is None else "found")
    (folder / "pools").write_text(json.dumps({"items": pools or []}))
    (folder / "told").touch()
    return KUBECTL.format(folder=folder)


def be_joined(tree):
    """Return a function that gives the files of a server that has joined."""
    return lambda name: {
        "etc/kubernetes/kubelet.conf": "    server: https://kubernetes.lab.example.net:7443\n",
        "etc/kubernetes/pki/ca.crt": CERTIFICATE,
        "etc/kubernetes/gpuyard/join.yaml": (tree / f"kubernetes/kubeadm/join/{name}.yaml").read_text(),
    }


def test_a_node_that_its_rails_do_not_know_gets_no_labels_and_others_do(play, tree, tmp_path):
    pools = [each for each in yaml.safe_load_all((tree / "kubernetes/network/rails.yaml").read_text()) if each]
    (pool, *_) = [each for each in pools if each["kind"] == "CIDRPool"]
    pool["spec"]["staticAllocations"] = [each for each in pool["spec"]["staticAllocations"] if each["nodeName"] != "gpu-002"]
    kubectl = describe(tree, tmp_path, {"gpu-001": {}, "gpu-002": {}}, [pool])
    went, said = play(["gpu-001", "gpu-002"], [role("join")], be_joined(tree), kubectl=kubectl)
    assert went == {"gpu-001": True, "gpu-002": False}, said[-3000:]
    assert "gpu-002: the cluster's pools of rails do not have its links, rail0 10.64.0.2/31; expected" in said
    told = (tmp_path / "told").read_text()
    assert '"name": "gpu-001"' in told and '"gpuyard.io/rack": "A01"' in told
    assert '"name": "gpu-002"' not in told


def test_a_node_that_does_not_register_fails_alone(play, tree, tmp_path):
    kubectl = describe(tree, tmp_path, {"gpu-001": {}})
    answer = {"ca": "", "version": "v1.36.3", "away": ["gpu-001", "gpu-002"], "other": [], "unseated": {}}
    asked = {"results": [{"item": "control-001", "rc": 0, "stdout": json.dumps(answer)}]}
    tasks = [{"ansible.builtin.set_fact": {"__kubernetes_node_asked": asked}}, role("labels")]
    went, said = play(["gpu-001", "gpu-002"], tasks, be_joined(tree), kubectl=kubectl)
    assert went == {"gpu-001": True, "gpu-002": False}, said[-3000:]
    assert "gpu-002: joined, and the cluster does not know it, so it has no labels; expected" in said
    assert '"name": "gpu-001"' in (tmp_path / "told").read_text()


RESTARTED = """case "$*" in
  *" -- "*) while [ "$1" != -- ]; do shift; done; shift; for unit; do printf 'ActiveState=inactive\\n\\n'; done ;;
  *show*) printf 'LoadState=loaded\\nActiveState=active\\n' ;;
esac"""
CONTAINERD = "[ $1 = --version ] && echo containerd v2.1.4 || printf '[x.runtimes.runc.options]\\nSystemdCgroup = true\\n'"


@pytest.mark.parametrize(
    ("plugin", "reason"),
    [
        ("Type: io.containerd.grpc.v1\\nID: cri\\nCapabilities: x\\n", ""),
        ("ID: cri\\nError:\\n Code: Unknown\\n Message: `mirrors` cannot be set\\n", "`mirrors` cannot be set"),
        ("", "not there"),
    ],
)
def test_containerd_is_asked_whether_it_answers_the_kubelet(plugin, reason, play):
    """Its dump looks right where the plug-in does not take it."""
    files = {"etc/containerd/config.toml": 'imports = ["/etc/containerd/conf.d/*.toml"]\n'}
    went, said = play(
        ["gpu-001"],
        [role("look"), role("containerd")],
        lambda _: files,
        **{"systemctl": RESTARTED, "containerd": CONTAINERD, "ctr": f"printf '{plugin}'"},
    )
    assert went == {"gpu-001": not reason}, said[-3000:]
    told = f"gpu-001: containerd's plug-in cri: {reason}; expected it to answer the kubelet; fix: correct that"
    assert (told in said) == bool(reason)


@pytest.mark.parametrize("tasks_from", ["main", "join"])
def test_a_node_that_runs_without_its_file_is_not_touched(tasks_from, play, tree, tmp_path):
    """The disk was full when the file was written; the kubelet goes on with what it has in memory, and so do its pods."""
    kubectl = describe(tree, tmp_path, {"gpu-001": {}})
    files = {
        "etc/kubernetes/kubelet.conf": "",
        "etc/kubernetes/pki/ca.crt": CERTIFICATE,
        "etc/kubernetes/gpuyard/join.yaml": (tree / "kubernetes/kubeadm/join/gpu-001.yaml").read_text(),
    }
    systemctl = "shift 3; for unit; do [ $unit = kubelet.service ] && echo ActiveState=active || echo ActiveState=inactive; done"
    went, said = play(["gpu-001"], [role(tasks_from)], lambda _: files, kubectl=kubectl, systemctl=systemctl, kubeadm="exit 1")
    assert went == {"gpu-001": False}
    assert "gpu-001: /etc/kubernetes/kubelet.conf names no API server, and its kubelet runs; expected a node" in said
    assert "changed=0" in said
