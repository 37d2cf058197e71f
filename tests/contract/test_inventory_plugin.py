"""The inventory plugin and the package agree without sharing a line of code, and a stale render is never served."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cluster_model import __version__
from cluster_model.intent.load import INPUT_BYTES, compute_digest, list_inputs, load_cluster, sum_inputs
from tests.programs import load_program

pytest.importorskip("ansible")
ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "plugins/inventory/gpuyard.py"


def copy_lab(folder):
    shutil.copytree(ROOT / "inventory/lab", folder / "inventory/lab", ignore=shutil.ignore_patterns("build"))
    return folder


@pytest.fixture
def place(tmp_path):
    """Return a folder like a checkout, with the lab in it, where files may be changed."""
    return copy_lab(tmp_path)


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """Return what `gpuyard render` writes for the lab."""
    folder = copy_lab(tmp_path_factory.mktemp("rendered"))
    code, _, said = run([sys.executable, "-m", "cluster_model.cli", "render", "inventory/lab"], folder)
    assert code == 0, said
    return folder / "build"


@pytest.fixture
def rendered(place, build):
    """Return such a folder in which the lab was rendered."""
    shutil.copytree(build, place / "build", symlinks=True)
    return place


def run(command, cwd, **env):
    settings = {"ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=cwd, env={**os.environ, **settings, **env}, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, " ".join(done.stderr.split())


def list_inventory(place, **env):
    return run(["ansible-inventory", "-i", "inventory/lab/cluster.yml", "--list"], place, **env)


def load_plugin():
    return load_program(PLUGIN)


def test_it_imports_nothing_of_ours():
    names = set()
    for node in ast.walk(ast.parse(PLUGIN.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or "").split(".")[0])
    assert names - sys.stdlib_module_names == {"ansible"}


def test_it_serves_what_was_rendered(rendered):
    code, out, said = list_inventory(rendered)
    assert (code, said) == (0, "")
    served = json.loads(out)
    wanted = json.loads((rendered / "build/lab/inventory/inventory.json").read_bytes())
    assert set(served["_meta"]["hostvars"]) == set(wanted["_meta"]["hostvars"])
    for group in ("role_gpu", "rack_a01", "unit_01", "plane_1", "rail_0", "nos_sonic", "compute_leaf", "pdus"):
        assert served[group]["hosts"] == wanted[group]["hosts"]
    code, out, _ = run(["ansible-inventory", "-i", "inventory/lab/cluster.yml", "--host", "gpu-001"], rendered)
    gpu = json.loads(out)
    assert gpu["gpuyard_nccl"]["traffic_class"] == 106
    assert gpu["gpuyard_nccl"]["ib_hca"][0] == "mlx5_0"


def test_it_works_from_any_folder_and_from_a_named_build(rendered):
    intent = str(rendered / "inventory/lab/cluster.yml")
    code, out, _ = run(["ansible-inventory", "-i", intent, "--list"], "/")
    assert code == 0
    assert "gpu-001" in out
    (rendered / "build").rename(rendered / "elsewhere")
    assert list_inventory(rendered)[0] != 0
    for build in ("elsewhere", "elsewhere/lab"):
        code, out, said = list_inventory(rendered, GPUYARD_BUILD=str(rendered / build))
        assert code == 0, said
        assert "gpu-001" in out


def touch_intent(place):
    file = place / "inventory/lab/cluster.yml"
    file.write_text(file.read_text() + "\n")


def add_catalogue(place):
    file = place / "inventory/lab/catalogue/gpus/acme/x1.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("name: X1\n")


def age_version(place):
    file = place / "build/lab/inventory/inventory.json"
    body = json.loads(file.read_bytes())
    old = hashlib.sha256(b"gpuyard 0.0.1\t\n")
    old.update(f"cluster.yml\t{body['_meta']['gpuyard']['inputs']['cluster.yml']}\n".encode())
    body["_meta"]["gpuyard"] |= {"version": "0.0.1", "digest": old.hexdigest()}
    file.write_text(json.dumps(body))


def remove_render(place):
    shutil.rmtree(place / "build")


def break_render(place):
    body = {"_meta": {"gpuyard": {"format": "gpuyard-inventory-1", "inputs": [1], "version": 5}}}
    (place / "build/lab/inventory/inventory.json").write_text(json.dumps(body))


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (touch_intent, "cluster.yml changed"),
        (add_catalogue, "catalogue/gpus/acme/x1.yaml changed"),
        (age_version, "gpuyard itself (0.0.1 to"),
        (remove_render, "nothing is rendered"),
        (break_render, "cannot be read"),
    ],
)
@pytest.mark.parametrize("enabled", ["gpuyard,host_list", "gpuyard,yaml,auto,ini"])
def test_what_is_stale_is_refused(rendered, change, word, enabled):
    change(rendered)
    code, out, said = list_inventory(rendered, ANSIBLE_INVENTORY_ENABLED=enabled)
    assert code != 0
    assert word in said
    assert "gpuyard render inventory/lab" in said
    assert out == ""


def test_facts_are_part_of_the_digest(rendered):
    assert list_inventory(rendered)[0] == 0
    table = rendered / "inventory/lab/servers.csv"
    table.write_text(table.read_text().replace("LAB00001", "LAB99999"))
    code, _, said = list_inventory(rendered)
    assert code != 0
    assert "servers.csv changed" in said


@pytest.mark.parametrize("make", [os.mkfifo, lambda file: file.symlink_to("/dev/zero"), lambda file: file.mkdir()])
def test_what_is_no_file_of_facts_counts_as_missing_to_both(place, make):
    plugin, intent = load_plugin(), place / "inventory/lab/cluster.yml"
    table = intent.with_name("servers.csv")
    table.unlink()
    make(table)
    about = {"inputs": ["servers.csv", "switches.csv", "pdus.csv", "ops.pub"], "version": __version__}
    assert plugin.hash_file(table, table.parent) == "-"
    assert plugin.compute_digest(intent, about) == compute_digest(sum_inputs(intent, about["inputs"]))


def test_what_is_too_large_counts_as_missing_to_both(tmp_path):
    plugin, file = load_plugin(), tmp_path / "large.csv"
    with file.open("wb") as out:
        out.truncate(INPUT_BYTES)
    assert len(plugin.hash_file(file, tmp_path)) == 64
    with file.open("ab") as out:
        out.write(b"x")
    assert (plugin.hash_file(file, tmp_path), plugin.INPUT_BYTES) == ("-", INPUT_BYTES)


def test_an_intent_that_would_never_end_is_refused(tmp_path):
    plugin, intent = load_plugin(), tmp_path / "cluster.yml"
    os.mkfifo(intent)
    with pytest.raises(plugin.AnsibleParserError, match=r"cannot be read: cluster\.yml is no regular file"):
        plugin.read_name(intent)


def test_what_leads_out_of_the_folder_counts_as_missing_to_both(place):
    """A fact file that became a link to elsewhere after the render: what it holds is neither read nor delivered."""
    plugin, intent = load_plugin(), place / "inventory/lab/cluster.yml"
    table = intent.with_name("servers.csv")
    table.rename(place / "servers.csv")
    table.symlink_to("../../servers.csv")
    assert (plugin.hash_file(table, table.parent), sum_inputs(intent, ["servers.csv"])["servers.csv"]) == ("-", "-")


def test_both_list_the_same_files_of_the_catalogue(place):
    folder = place / "inventory/lab/catalogue"
    names = {"media.yaml", "gpus/acme/x1.yaml", "nics/acme/n1.yml", "device-types/acme/a b.yaml"}
    others = {
        "README.md",
        "gpus/acme/.#x1.yaml",
        "gpus/.git/x.yaml",
        "gpus/acme/x1.json",
        "gpus/x.yaml",
        "gpus/a/b/c.yaml",
        "x/a/b.yaml",
    }
    for name in names | others:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("name: X1\n")
    loaded = load_cluster(place / "inventory/lab")
    found = [name for name in list_inputs(loaded.cluster, loaded.folder) if name.startswith("catalogue/")]
    assert found == sorted(f"catalogue/{name}" for name in names)
    assert sorted(load_plugin().list_catalogue(place / "inventory/lab/cluster.yml")) == found


@pytest.mark.parametrize("own_catalogue", [False, True])
def test_both_compute_the_same_digest(place, own_catalogue):
    if own_catalogue:
        add_catalogue(place)
    plugin = load_plugin()
    intent = place / "inventory/lab/cluster.yml"
    loaded = load_cluster(intent)
    names = {"cluster.yml", *list_inputs(loaded.cluster, loaded.folder)}
    assert {"servers.csv", "ops.pub"} <= names
    about = {"version": __version__, "inputs": dict.fromkeys(names, "-")}
    assert plugin.compute_digest(intent, about) == loaded.digest


def test_values_are_data_and_never_templates(rendered):
    file = rendered / "build/lab/inventory/inventory.json"
    file.write_text(file.read_text().replace('"gpuyard_serial":""', '"gpuyard_serial":"{{ 6 * 7 }}"'))
    command = ["ansible", "-i", "inventory/lab/cluster.yml", "gpu-001", "-m", "ansible.builtin.debug", "-a", "var=gpuyard_serial"]
    code, out, said = run(command, rendered)
    assert code == 0, said
    assert "42" not in out


def test_the_collection_builds_and_its_plugin_works(tmp_path, rendered):
    source = tmp_path / "source"
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False).stdout.decode().split("\0")
    if not any(tracked):
        pytest.skip("no git checkout: there is no telling what is ours here")
    for name in filter(None, tracked):
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, source / name)
    code, out, said = run(["ansible-galaxy", "collection", "build", str(source), "--output-path", str(tmp_path)], tmp_path)
    assert code == 0, out + said
    archive = next(tmp_path.glob("gpuyard-cluster-*.tar.gz"))
    assert archive.name == f"gpuyard-cluster-{__version__}.tar.gz"
    import tarfile

    with tarfile.open(archive) as tar:
        names = set(tar.getnames())
    assert {"plugins/inventory/gpuyard.py", "meta/runtime.yml", "README.md", "LICENSE"} <= names
    wanted = {"MANIFEST.json", "FILES.json", "README.md", "LICENSE", "CHANGELOG.md", "plugins", "roles", "playbooks", "meta"}
    assert {name.split("/")[0] for name in names} <= wanted, "galaxy.yml must ignore what is no part of a collection"
    # Not with the checkout's settings: those may know the checkout itself as this collection, and nothing would be installed.
    install = ["ansible-galaxy", "collection", "install", "--offline", str(archive), "-p", str(tmp_path / "collections")]
    code, out, said = run(install, tmp_path, ANSIBLE_CONFIG=str(tmp_path / "none.cfg"))
    assert code == 0, out + said
    settings = {"ANSIBLE_COLLECTIONS_PATH": str(tmp_path / "collections"), "ANSIBLE_CONFIG": str(tmp_path / "none.cfg")}
    code, out, said = list_inventory(rendered, ANSIBLE_INVENTORY_ENABLED="gpuyard.cluster.gpuyard", **settings)
    assert code == 0, said
    assert "gpu-001" in out
