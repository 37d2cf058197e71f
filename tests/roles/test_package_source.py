"""Where packages come from, on systems that no container here has: addresses by distribution, version and architecture."""

import json
import os
import subprocess
import sys
from pathlib import Path

import yaml

from roles import ROOT, read_defaults

NAMES = ["nvidia-cuda", "nvidia-container-toolkit", "doca"]
SYSTEMS = {
    "debian": "debian debian 12 x86_64",
    "ubuntu": "debian ubuntu 24.04 x86_64",
    "grace": "debian ubuntu 22.04 aarch64",
    "rocky": "redhat rocky 9.5 x86_64",
}
"""What files/look.sh says there."""
CUDA = "https://developer.download.nvidia.com/compute/cuda/repos"
TOOLKIT = "https://nvidia.github.io/libnvidia-container/stable"
DOCA = "https://linux.mellanox.com/public/repo/doca/3.2.1"
EXPECTED = {
    "debian": [f"{CUDA}/debian12/x86_64/", f"{TOOLKIT}/deb/amd64/", f"{DOCA}/debian12/x86_64/"],
    "ubuntu": [f"{CUDA}/ubuntu2404/x86_64/", f"{TOOLKIT}/deb/amd64/", f"{DOCA}/ubuntu24.04/x86_64/"],
    "grace": [f"{CUDA}/ubuntu2204/sbsa/", f"{TOOLKIT}/deb/arm64/", f"{DOCA}/ubuntu22.04/aarch64/"],
    "rocky": [f"{CUDA}/rhel9/x86_64/", f"{TOOLKIT}/rpm/x86_64/", f"{DOCA}/rhel9/x86_64/"],
    "mirror": [f"https://mirror.example.net/apt/{name}/" for name in NAMES],
    "folder": [f"file:///srv/packages/{name}/" for name in NAMES],
    "own": ["https://ours.example.net/cuda/", f"{TOOLKIT}/deb/amd64/", f"{DOCA}/debian12/x86_64/"],
}
ANSWERS = {
    "mirror": {"package_source_mode": "mirror", "package_source_mirror": "https://mirror.example.net/apt"},
    "folder": {"package_source_mode": "folder", "package_source_folder": "/srv/packages"},
    "own": {"package_source_repositories": {"nvidia-cuda": {"url": "https://ours.example.net/cuda/"}}},
}


def test_addresses(tmp_path):
    hosts = {
        name: {
            **read_defaults("package_source"),
            "package_source_names": NAMES,
            "versions_doca": "3.2.1",
            "__package_source_host": SYSTEMS.get(name, SYSTEMS["debian"]),
            **ANSWERS.get(name, {}),
        }
        for name in EXPECTED
    }
    (tmp_path / "hosts.json").write_text(json.dumps({"all": {"hosts": hosts}}))
    tasks = [
        {"ansible.builtin.include_vars": str(ROOT / "roles/package_source/vars/main.yml")},
        {"ansible.builtin.debug": {"msg": "{{ __package_source_urls }}"}},
    ]
    play = {
        "hosts": "all",
        "gather_facts": False,
        "connection": "local",
        "tasks": tasks,
    }
    (tmp_path / "play.yml").write_text(yaml.safe_dump([play]))
    environment = {
        **os.environ,
        "ANSIBLE_CONFIG": str(tmp_path / "none.cfg"),
        "ANSIBLE_HOME": str(tmp_path / "home"),
        "ANSIBLE_CALLBACKS_ENABLED": "ansible.builtin.tree",
        "ANSIBLE_CALLBACK_TREE_DIR": str(tmp_path / "tree"),
    }
    command = [Path(sys.executable).parent / "ansible-playbook", "-i", "hosts.json", "play.yml"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = {name: json.loads((tmp_path / "tree" / name).read_text())["msg"] for name in EXPECTED}
    assert found == {name: dict(zip(NAMES, urls, strict=True)) for name, urls in EXPECTED.items()}
