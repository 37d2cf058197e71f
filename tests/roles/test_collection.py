"""The repository builds as a collection, with nothing in it that is no part of one, and works where it is installed."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from roles import ROLES, ROOT

BIN = Path(sys.executable).parent
BELONGS = ("CHANGELOG.md", "FILES.json", "LICENSE", "MANIFEST.json", "README.md", "meta", "playbooks", "plugins", "roles")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Return the archive built from the tracked files of the checkout and those that git would take."""
    folder = tmp_path_factory.mktemp("collection")
    listed = subprocess.run(
        ["git", "ls-files", "-zco", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file() and not name.startswith(("tests/golden/", "tests/errors/")):
            (folder / "source" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / "source" / name)
    run(["ansible-galaxy", "collection", "build", "--output-path", folder, folder / "source"], folder)
    (archive,) = folder.glob("gpuyard-cluster-*.tar.gz")
    return archive


def run(command, folder, **more):
    environment = {**os.environ, "ANSIBLE_HOME": str(folder / "home"), "ANSIBLE_CONFIG": str(folder / "none.cfg"), **more}
    environment.pop("ANSIBLE_COLLECTIONS_PATH", None) if not more else None
    done = subprocess.run(
        [BIN / command[0], *command[1:]], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_archive_holds_what_belongs(built):
    with tarfile.open(built) as archive:
        names = archive.getnames()
    assert sorted({name.split("/")[0] for name in names} - set(BELONGS)) == []
    assert [role for role in ROLES if f"roles/{role}/meta/argument_specs.yml" not in names] == []
    assert [name for name in names if "__pycache__" in name or name.endswith((".pyc", "~"))] == []
    assert "plugins/inventory/gpuyard.py" in names


def test_installed_collection_runs(built, tmp_path):
    run(["ansible-galaxy", "collection", "install", "--offline", "-p", tmp_path / "collections", built], tmp_path)
    (tmp_path / "play.yml").write_text(
        "- hosts: localhost\n  connection: local\n  gather_facts: false\n  roles: [gpuyard.cluster.versions]\n"
    )
    where = {"ANSIBLE_COLLECTIONS_PATH": str(tmp_path / "collections")}
    said = run(["ansible-playbook", "-i", "localhost,", "play.yml"], tmp_path, **where)
    assert "ok=2" in said, "the role's arguments and the lock were checked"
    listed = run(["ansible-doc", "-t", "role", "-l", "gpuyard.cluster"], tmp_path, **where)
    assert [role for role in ROLES if f"gpuyard.cluster.{role}" not in listed] == []
    shown = run(["ansible-doc", "-t", "inventory", "gpuyard.cluster.gpuyard"], tmp_path, **where)
    assert "GPUYARD_BUILD" in shown


def test_every_plugin_is_documented(collection, tmp_path):
    """As `ansible-test sanity` has it: each says what it takes, shows how it is used, and says what it returns."""
    where = {"ANSIBLE_COLLECTIONS_PATH": str(collection)}
    wrong = []
    for kind, keys in (("filter", "doc examples return"), ("module", "doc examples return"), ("inventory", "doc examples")):
        folder = ROOT / "plugins" / ("modules" if kind == "module" else kind)
        names = sorted(f"gpuyard.cluster.{file.stem}" for file in folder.glob("*.py"))
        told = json.loads(run(["ansible-doc", "--json", "-t", kind, *names], tmp_path, **where))
        wrong += [f"{name}: no {key}" for name in names for key in keys.split() if not told.get(name, {}).get(key)]
        wrong += [
            f"{name}: no {key}" for name in names for key in ("short_description", "author") if not told[name]["doc"].get(key)
        ]
        wrong += [
            f"{name}: no license" for name in names if "GPL-3.0" not in (folder / f"{name.split('.')[2]}.py").read_text()[:400]
        ]
    assert wrong == []


def test_no_tracked_link_leaves_the_tree():
    """One to /dev/zero made `ansible-galaxy collection build`, and whoever counts lines, run for ever."""
    listed = subprocess.run(["git", "ls-files", "-sz"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    links = [entry.partition("\t")[2] for entry in listed.split("\0") if entry.startswith("120000 ")]
    away = [name for name in links if not (ROOT / name).resolve().is_relative_to(ROOT) or (ROOT / name).resolve() == ROOT]
    assert away == []


def test_the_checkout_itself_builds(tmp_path):
    """As a release would build it, with all that lies about: environments, caches, what was rendered."""
    run(["ansible-galaxy", "collection", "build", "--output-path", tmp_path, ROOT], tmp_path)
    (archive,) = tmp_path.glob("gpuyard-cluster-*.tar.gz")
    with tarfile.open(archive) as built:
        assert sorted({name.split("/")[0] for name in built.getnames()} - set(BELONGS)) == []
