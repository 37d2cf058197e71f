"""What is wrong with files of a rendered tree, before a server gets one of them."""

import hashlib
import importlib
import json
import sys

import pytest

FILES = {
    "kubernetes/nodes.yaml": "kind: Node\n",
    "kubernetes/tenants/perception.yaml": "kind: RoleBinding\n",
    "kubernetes/kubeadm/audit-policy.yaml": "kind: Policy\n",
    "kubernetes/kubeadm/join/gpu-001.yaml": "kind: JoinConfiguration\n",
}
NAMES = ["kubernetes/nodes.yaml", "kubernetes/tenants/*.yaml", "kubernetes/kubeadm/*.yaml"]


@pytest.fixture
def judge(collection, monkeypatch):
    """Return the filter, as Ansible finds it."""
    monkeypatch.syspath_prepend(str(collection))
    name = "tree_wrong"
    module = importlib.import_module(f"ansible_collections.gpuyard.cluster.plugins.filter.{name}")
    yield module.FilterModule().filters()[name]
    for name in [name for name in sys.modules if name.startswith("ansible_collections")]:
        del sys.modules[name]


@pytest.fixture
def tree(tmp_path):
    """Return a tree as it was rendered."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    sums = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in FILES.items()}
    (tmp_path / "manifest.json").write_text(json.dumps({"older": {}, "files": sums}))
    return tmp_path


def test_a_tree_as_it_was_rendered_is_taken(judge, tree):
    assert judge(str(tree), "its_tree", NAMES) == []


def test_what_was_edited_removed_or_added_is_told(judge, tree):
    (tree / "kubernetes/kubeadm/audit-policy.yaml").write_text("kind: Policy # mine\n")
    (tree / "kubernetes/tenants/perception.yaml").unlink()
    (tree / "kubernetes/tenants/mine.yaml").write_text("kind: RoleBinding\n")
    edited = "changed since it was rendered; expected what was rendered; fix: gpuyard render the cluster"
    assert judge(str(tree), "its_tree", NAMES) == [
        f"{tree}/kubernetes/kubeadm/audit-policy.yaml: {edited}",
        f"{tree}/kubernetes/tenants/mine.yaml: was not rendered; expected nothing beside what was rendered; "
        f"fix: rm {tree}/kubernetes/tenants/mine.yaml",
        f"{tree}/kubernetes/tenants/perception.yaml: {edited}",
    ]


def test_what_is_not_delivered_is_nobodys_concern(judge, tree):
    (tree / "kubernetes/kubeadm/join/gpu-001.yaml").write_text("mine\n")
    (tree / "kubernetes/notes.txt").write_text("mine\n")
    assert judge(str(tree), "its_tree", NAMES) == []


@pytest.mark.parametrize("name", ["manifest.json", "nothing"])
def test_a_tree_that_is_not_there_is_told_with_how_to_find_it(judge, tmp_path, name):
    (tmp_path / name).write_text("{}")
    assert judge(str(tmp_path), "its_tree", NAMES) == [
        f"its_tree: {tmp_path}; expected a rendered tree with kubernetes/nodes.yaml; fix: gpuyard render the cluster, or run "
        "where its folder build lies, or set GPUYARD_BUILD to that folder"
    ]


def test_a_tree_of_two_intents_is_told(judge, tree):
    manifest = json.loads((tree / "manifest.json").read_text())
    (tree / "manifest.json").write_text(json.dumps(manifest | {"older": {"kubernetes": "f00d"}}))
    told = "kubernetes/ is of an older intent; expected all of one; fix: gpuyard render the cluster, without --only"
    assert judge(str(tree), "its_tree", NAMES) == [f"its_tree: {tree}: {told}"]
