"""The role kubernetes_control played on this machine, from trees that are not as they were rendered: no server is changed."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from roles import ROOT
from tests.slowness import stretch


@pytest.fixture(scope="module")
def rendered(tmp_path_factory):
    """Return the rendered tree of the lab."""
    build = tmp_path_factory.mktemp("build") / "lab"
    command = [sys.executable, "-m", "cluster_model.cli", "render", ROOT / "inventory/lab", "--output", build]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return build


@pytest.fixture
def play(tmp_path, collection):
    """Return a function that plays an entry of the role, with a tree in ./build/lab where it is copied there."""

    def run(entry, *options, **variables):
        role = {"name": "gpuyard.cluster.kubernetes_control", "tasks_from": entry}
        body = {"hosts": "all", "gather_facts": False, "tasks": [{"ansible.builtin.include_role": role}]}
        (tmp_path / "play.yml").write_text(json.dumps([body]))
        common = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable, "gpuyard_cluster": "lab"}
        hosts = {"kubernetes_control": {"hosts": {"control-001": {}}}}
        (tmp_path / "hosts.json").write_text(json.dumps({"all": {"vars": common | variables, "children": hosts}}))
        environment = {**os.environ, "ANSIBLE_CONFIG": str(tmp_path / "none.cfg"), "ANSIBLE_HOME": str(tmp_path / "home")}
        environment |= {"ANSIBLE_COLLECTIONS_PATH": str(collection), "PWD": str(tmp_path)}
        command = [Path(sys.executable).parent / "ansible-playbook", *options, "-i", "hosts.json", "play.yml"]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=stretch(300)
        )
        return done.returncode, " ".join((done.stdout + done.stderr).split())

    return run


@pytest.mark.parametrize("entry", ["main", "objects"])
def test_a_run_from_another_folder_is_no_green_one(play, tmp_path, entry):
    """The inventory plug-in finds a tree above the intent; the role looks below the working directory."""
    code, said = play(entry, "--check")
    assert code == 2, said[-3000:]
    assert f"kubernetes_control_tree: {tmp_path}/build/lab; expected a rendered tree with kubernetes/" in said
    assert "fix: gpuyard render the cluster, or run where its folder build lies, or set GPUYARD_BUILD to that folder" in said


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        ("main", "kubernetes/kubeadm/encryption.yaml"),
        ("main", "kubernetes/kubeadm/audit-policy.yaml"),
        ("main", "kubernetes/kubeadm/join/control-001.yaml"),
        ("objects", "kubernetes/nodes.yaml"),
        ("objects", "kubernetes/network/rails.yaml"),
    ],
)
def test_an_edited_file_goes_to_no_server(play, rendered, tmp_path, entry, name):
    tree = shutil.copytree(rendered, tmp_path / "build/lab")
    (tree / name).write_text((tree / name).read_text() + "# mine\n")
    code, said = play(entry, "--check")
    assert code == 2, said[-3000:]
    assert f"{tree}/{name}: changed since it was rendered; expected what was rendered; fix: gpuyard render" in said


def test_what_was_rendered_is_taken(play, rendered, tmp_path):
    shutil.copytree(rendered, tmp_path / "build/lab")
    code, said = play("objects", "--check")
    assert code == 0, said[-3000:]
    code, said = play("main", "--check", kubernetes_control_secrets={"kubernetes-encryption": "A" * 43 + "="})
    assert code == 2, said[-3000:]
    assert "control-001: addresses: " in said and "kubernetes_control_tree" not in said
