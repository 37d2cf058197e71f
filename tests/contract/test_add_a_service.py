"""docs/add-a-service.md, followed to the letter: files are written, lines are added, and the command knows the service."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/add-a-service.md").read_text("utf-8")
BLOCKS = re.findall(r'^```(\w+) title="([^"]+)"\n(.*?)^```$', PAGE, re.M | re.S)
FILES = {name: text for kind, name, text in BLOCKS if kind != "diff" and not name.startswith(("build/", "cluster.yml"))}
CHANGES = {name: text for kind, name, text in BLOCKS if kind == "diff"}
SHOWN = {name: text for _, name, text in BLOCKS}


def change(text: str, hunks: str) -> str:
    """Return a text with the lines that begin with + added; each hunk stands where its other lines do, once."""
    for hunk in re.split(r"^@@\n", hunks, flags=re.M):
        lines = hunk.splitlines()
        before = "\n".join(line[1:] for line in lines if line[0] == " ")
        if text.count(before) != 1:
            raise AssertionError(f"the page's context is not in the module once:\n{before}")
        text = text.replace(before, "\n".join(line[1:] for line in lines))
    return text


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """Return a copy of the project in which the page was followed, with the lab's intent that asks for the service."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in ("cluster_model", "templates", "inventory/lab"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        assert not (folder / name).exists(), f"{name} is there already"
        (folder / name).write_text(text, "utf-8")
    for name, hunks in CHANGES.items():
        (folder / name).write_text(change((folder / name).read_text("utf-8"), hunks), "utf-8")
    with (folder / "inventory/lab/cluster.yml").open("a", encoding="utf-8") as intent:
        intent.write(SHOWN["cluster.yml"])
    return folder


def gpuyard(checkout, *arguments):
    """Run the changed command, and return its exit code with what it printed."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "cluster_model.cli", *arguments],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(checkout)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout + done.stderr


def test_a_service_edits_at_most_three_shared_modules():
    assert len(CHANGES) <= 3
    added = [line for hunks in CHANGES.values() for line in hunks.splitlines() if line.startswith("+")]
    assert len(added) <= 8


def test_its_keys_are_checked_and_explained(checkout):
    code, said = gpuyard(checkout, "validate", "inventory/lab")
    assert code == 0, said
    assert "MIR001: control-001 alone holds the images" in said
    assert "Hold the image mirror on two servers." in gpuyard(checkout, "explain", "MIR001")[1]
    intent = checkout / "inventory/lab/cluster.yml"
    good = intent.read_text()
    intent.write_text(good.replace("mirror: {servers: control-001}", "mirror: {servers: controls, port: 70000}"))
    code, said = gpuyard(checkout, "validate", "inventory/lab")
    intent.write_text(good)
    assert code == 1
    assert "a whole number from 1 to 65535" in said
    assert "controls" in said and "INT026" in said, said


def test_its_files_groups_and_lines_are_rendered(checkout):
    code, said = gpuyard(checkout, "render", "inventory/lab", "-o", "build/lab")
    assert code == 0, said
    assert (checkout / "build/lab/mirror/config.yml").read_text() == SHOWN["build/lab/mirror/config.yml"]
    groups = json.loads((checkout / "build/lab/inventory/inventory.json").read_text())
    assert groups["image_mirrors"]["hosts"] == ["control-001"]
    assert "Image mirror: control-001, port 5000." in gpuyard(checkout, "plan", "inventory/lab")[1]
    assert json.loads((checkout / "build/lab/plan.json").read_text())["summary"]["mirror"] == {"10.76.65.7": "control-001"}


def test_it_stands_in_new_clusters_and_in_the_page_of_rules(checkout):
    assert gpuyard(checkout, "new", "trial", "--gpus", "64")[0] == 0
    assert "#mirror:\n" in (checkout / "inventory/trial/cluster.yml").read_text()
    page = subprocess.run(
        [sys.executable, "-P", "-m", "cluster_model.checks.manual"],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(checkout)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "## The image mirror" in page
