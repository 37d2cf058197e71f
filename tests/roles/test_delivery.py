"""What role provision_server delivers: the task that packs it is run as it stands, on this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
import yaml

pytest.importorskip("ansible")
ROOT = Path(__file__).parents[2]


def test_of_the_intents_folder_only_what_the_plan_is_made_of_is_delivered(tmp_path):
    intent, tree = tmp_path / "lab", tmp_path / "tree"
    shutil.copytree(ROOT / "inventory/lab", intent, ignore=shutil.ignore_patterns("build"))
    command = [sys.executable, "-m", "cluster_model.cli", "render", str(intent), "-o", str(tree)]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    for name in ("vault-password", "secrets.yml", "secrets-prod.yml", "id_ed25519", ".env", "group_vars/all.yml"):
        (intent / name).parent.mkdir(exist_ok=True)
        (intent / name).write_text("hunter2\n")
        (intent / name).chmod(0o600)
    tasks = yaml.safe_load((ROOT / "roles/provision_server/tasks/main.yml").read_text())
    pack = next(task for task in tasks if task["name"] == "Pack what is delivered, on the controller")
    places = {"provision_server_tree": str(tree), "provision_server_intent": str(intent)}
    play = tmp_path / "play.yml"
    play.write_text(yaml.safe_dump([{"hosts": "localhost", "gather_facts": False, "vars": places, "tasks": [pack]}]))
    environment = {**os.environ, "ANSIBLE_CONFIG": str(tmp_path / "none.cfg"), "ANSIBLE_PYTHON_INTERPRETER": sys.executable}
    done = subprocess.run(
        [Path(sys.executable).parent / "ansible-playbook", "-i", "localhost,", str(play)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    with tarfile.open(f"{tree}.boot.tar") as packed:
        names = {member.name for member in packed if member.isfile()}
    inputs = {"cluster.yml", "ops.pub", "pdus.csv", "servers.csv", "switches.csv"}
    assert {name.removeprefix("intent/") for name in names if name.startswith("intent/")} == inputs
    assert {"tree/manifest.json", "tree/boot/boot.json"} <= names
    assert {name.split("/")[0] for name in names} == {"intent", "tree"}
