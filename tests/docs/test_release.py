"""scripts/release in a small repository with this one's version files and fragments."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import cluster_model

ROOT = Path(__file__).resolve().parents[2]
FILES = ("pyproject.toml", "galaxy.yml", "CHANGELOG.md", "cluster_model/__init__.py", "scripts/release")


def test_collection_has_the_version_of_the_package():
    assert yaml.safe_load((ROOT / "galaxy.yml").read_text())["version"] == cluster_model.__version__


@pytest.fixture
def checkout(tmp_path):
    for name in FILES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "changelog.d").mkdir()
    (tmp_path / "changelog.d/+verify.fixed.md").write_text("`gpuyard verify` counts cables once.\n")
    (tmp_path / ".venv").symlink_to(sys.prefix)
    (tmp_path / ".gitignore").write_text("/.venv\n")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "--message=all")
    return tmp_path


def git(folder, *words):
    command = ["git", "-c", "user.name=Double", "-c", "user.email=double@example.net", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def release(folder, *words):
    return subprocess.run([folder / "scripts/release", *words], cwd=folder, capture_output=True, text=True, check=False)


def test_release_sets_versions_and_tells_changes(checkout):
    done = release(checkout, "97.1.0")
    assert done.returncode == 0, done.stderr
    assert '__version__ = "97.1.0"' in (checkout / "cluster_model/__init__.py").read_text()
    assert yaml.safe_load((checkout / "galaxy.yml").read_text())["version"] == "97.1.0"
    log = (checkout / "CHANGELOG.md").read_text()
    assert re.search(
        r"release notes start -->\n+## 97\.1\.0 \([0-9-]+\)\n+### Fixed\n+- `gpuyard verify` counts cables once\.", log
    ), log
    assert list((checkout / "changelog.d").glob("+*")) == []
    git(checkout, "commit", "--quiet", "--all", "--message=Release 97.1.0")
    assert "has 97.1.0 already" in release(checkout, "97.1.0").stderr


@pytest.mark.parametrize(("version", "said"), [("97", "no version"), ("v97.0.0", "no version"), ("0.0.9", "is below")])
def test_wrong_version_is_refused(checkout, version, said):
    done = release(checkout, version)
    assert done.returncode == 2 and said in done.stderr
    assert git(checkout, "status", "--porcelain") == ""


def test_unfinished_work_is_refused(checkout):
    (checkout / "galaxy.yml").write_text("version: 0.1.0\n")
    assert "git status" in release(checkout, "97.1.0").stderr
