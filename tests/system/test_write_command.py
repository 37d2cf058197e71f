"""`gpuyard render` on a real disk: its exit codes, its words, and that a second run writes nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(*arguments, cwd):
    command = [sys.executable, "-m", "cluster_model.cli", *arguments]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def place(tmp_path):
    shutil.copytree(ROOT / "inventory/lab", tmp_path / "inventory/lab")
    return tmp_path


def edit(place, old, new):
    file = place / "inventory/lab/cluster.yml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def stat_tree(target):
    return {str(path): (path.stat().st_ino, path.stat().st_mtime_ns) for path in target.rglob("*")}


def test_render_then_nothing(place):
    code, out, said = run("render", "inventory/lab", cwd=place)
    assert code == 0, said
    assert out.splitlines()[0].endswith("files written, 0 unchanged.")
    assert out.splitlines()[1] == "Open build/lab/index.html"
    before = stat_tree(place / "build")
    code, out, _ = run("render", "inventory/lab", cwd=place)
    assert code == 0
    assert out.startswith("build/lab: 0 files written, ")
    assert stat_tree(place / "build") == before
    assert run("render", "inventory/lab", "--check", cwd=place)[0] == 0


def test_one_change_touches_few_files(place):
    run("render", "inventory/lab", cwd=place)
    before = stat_tree(place / "build")
    edit(place, "syslog: [10.255.0.14]", "syslog: [10.255.0.15]")
    code, out, _ = run("render", "inventory/lab", "--check", "--diff", cwd=place)
    assert code == 1
    assert "10.255.0.15" in out
    assert "would write build/lab/plan.json" in out
    assert stat_tree(place / "build") == before
    assert run("render", "inventory/lab", cwd=place)[0] == 0
    after = stat_tree(place / "build")
    assert after[str(place / "build/lab/cabling/cables.csv")] == before[str(place / "build/lab/cabling/cables.csv")]
    assert after[str(place / "build/lab/plan.json")] != before[str(place / "build/lab/plan.json")]


def test_only_and_json(place):
    code, out, _ = run("render", "inventory/lab", "--only", "cabling", "--format", "json", "-o", "out", cwd=place)
    assert code == 0
    body = json.loads(out)
    assert [path for path in body["written"] if not path.startswith("cabling/")] == ["manifest.json"]
    code, _, said = run("render", "inventory/lab", "--only", "cablin", cwd=place)
    assert code == 2
    assert "did you mean cabling?" in said


def test_a_foreign_folder_is_refused(place):
    (place / "out").mkdir()
    (place / "out/letter").write_text("dear")
    code, _, said = run("render", "inventory/lab", "-o", "out", cwd=place)
    assert code == 3
    assert "no manifest of gpuyard" in said
    assert os.listdir(place / "out") == ["letter"]  # noqa: PTH208


@pytest.mark.parametrize("more", [(), ("--check",), ("--diff",), ("--only", "cabling")])
def test_the_tree_of_another_cluster_is_refused_by_both_names(place, more):
    """Its files do not follow from this intent, so they were removed, all of them."""
    assert run("render", "inventory/lab", cwd=place)[0] == 0
    before = stat_tree(place / "build")
    edit(place, "name: lab", "name: pod-b")
    code, out, said = run("render", "inventory/lab", "-o", "build/lab", *more, cwd=place)
    assert (code, out) == (3, "")
    assert "build/lab holds what was rendered of the cluster lab, and this is pod-b; name another folder with -o" in said
    assert stat_tree(place / "build") == before
    assert run("render", "inventory/lab", cwd=place)[0] == 0
    assert sorted(os.listdir(place / "build")) == ["lab", "pod-b"]  # noqa: PTH208
    shutil.rmtree(place / "build/lab")
    assert run("render", "inventory/lab", "-o", "build/lab", cwd=place)[0] == 0


def test_a_read_only_target_is_one_clear_message(place):
    target = place / "disk"
    target.mkdir()
    if os.geteuid() == 0:
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", str(target)], check=False).returncode:
            pytest.skip("cannot mount here")
    else:
        target.chmod(0o500)
    try:
        code, out, said = run("render", "inventory/lab", "-o", "disk/lab", cwd=place)
    finally:
        if os.geteuid() == 0:
            subprocess.run(["umount", str(target)], check=True)
    assert code == 3
    assert out == ""
    last = said.splitlines()[-1]
    assert "cannot write" in last
    assert last.endswith(("Read-only file system; what stood there stands", "Permission denied; what stood there stands"))
    assert "Traceback" not in said


def test_errors_write_nothing(place):
    edit(place, "count: 8", "count: 9000")
    code, _, _ = run("render", "inventory/lab", cwd=place)
    assert code == 1
    assert not (place / "build").exists()
