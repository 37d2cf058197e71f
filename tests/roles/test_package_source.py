"""Where packages come from, on systems that no container here has: addresses by distribution, version and architecture."""

import http.server
import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import yaml

from roles import ROOT, read_defaults

NAMES = ["nvidia-cuda", "nvidia-container-toolkit", "doca", "docker", "kubernetes-1.36"]
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
DOCKER = "https://download.docker.com/linux"
KUBERNETES = "https://pkgs.k8s.io/core:/stable:/v1.36"
EXPECTED = {
    "debian": [
        f"{CUDA}/debian12/x86_64/",
        f"{TOOLKIT}/deb/amd64/",
        f"{DOCA}/debian12/x86_64/",
        f"{DOCKER}/debian/",
        f"{KUBERNETES}/deb/",
    ],
    "ubuntu": [
        f"{CUDA}/ubuntu2404/x86_64/",
        f"{TOOLKIT}/deb/amd64/",
        f"{DOCA}/ubuntu24.04/x86_64/",
        f"{DOCKER}/ubuntu/",
        f"{KUBERNETES}/deb/",
    ],
    "grace": [
        f"{CUDA}/ubuntu2204/sbsa/",
        f"{TOOLKIT}/deb/arm64/",
        f"{DOCA}/ubuntu22.04/aarch64/",
        f"{DOCKER}/ubuntu/",
        f"{KUBERNETES}/deb/",
    ],
    "rocky": [
        f"{CUDA}/rhel9/x86_64/",
        f"{TOOLKIT}/rpm/x86_64/",
        f"{DOCA}/rhel9/x86_64/",
        f"{DOCKER}/rhel/9/x86_64/stable/",
        f"{KUBERNETES}/rpm/",
    ],
    "mirror": [f"https://mirror.example.net/apt/{name}/" for name in NAMES],
    "folder": [f"file:///srv/packages/{name}/" for name in NAMES],
    "own": [
        "https://ours.example.net/cuda/",
        f"{TOOLKIT}/deb/amd64/",
        f"{DOCA}/debian12/x86_64/",
        f"{DOCKER}/debian/",
        f"{KUBERNETES}/deb/",
    ],
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
    tasks = [
        {"ansible.builtin.include_vars": str(ROOT / "roles/package_source/vars/main.yml")},
        {"ansible.builtin.debug": {"msg": "{{ __package_source_urls }}"}},
    ]
    done, results = run_tasks(tasks, hosts, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    found = {name: results[name]["msg"] for name in EXPECTED}
    assert found == {name: dict(zip(NAMES, urls, strict=True)) for name, urls in EXPECTED.items()}


def run_tasks(tasks, hosts, folder):
    """Run tasks for hosts that are this machine by other names; return how it ended and the last result of each."""
    (folder / "hosts.json").write_text(json.dumps({"all": {"hosts": hosts}}))
    play = {"hosts": "all", "gather_facts": False, "connection": "local", "tasks": tasks}
    (folder / "play.yml").write_text(yaml.safe_dump([play]))
    environment = {
        **os.environ,
        "ANSIBLE_CONFIG": str(folder / "none.cfg"),
        "ANSIBLE_HOME": str(folder / "home"),
        "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".ansible/collections"),
        "ANSIBLE_CALLBACKS_ENABLED": "ansible.builtin.tree",
        "ANSIBLE_CALLBACK_TREE_DIR": str(folder / "tree"),
        "XDG_CACHE_HOME": str(folder / "cache"),
    }
    command = [Path(sys.executable).parent / "ansible-playbook", "-i", "hosts.json", "play.yml"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done, {file.name: json.loads(file.read_text()) for file in (folder / "tree").glob("*")}


@pytest.fixture
def vendor(tmp_path_factory):
    """Serve two keys, as a vendor has them by system; return the URL, their fingerprints by path, and what was asked for."""
    home = tmp_path_factory.mktemp("g")  # short: gpg's agent has a socket in it
    home.chmod(0o700)
    gpg = ["gpg", "--homedir", home, "--batch", "--quiet"]
    served, asked = {}, []
    fingerprints = {}
    for system in ("debian12", "rhel9"):
        path = f"/{system}/key.pub"
        subprocess.run([*gpg, "--passphrase", "", "--quick-gen-key", system, "ed25519", "sign", "never"], check=True)
        listed = subprocess.run([*gpg, "--with-colons", "-k", system], capture_output=True, text=True, check=True).stdout
        fingerprints[path] = next(line.split(":")[9] for line in listed.splitlines() if line.startswith("fpr:"))
        served[path] = subprocess.run([*gpg, "--armor", "--export", system], capture_output=True, check=True).stdout
    subprocess.run(["gpgconf", "--homedir", home, "--kill", "all"], check=False)

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            body = served.get(self.path)
            self.send_response(200 if body else 503)
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", fingerprints, asked
        server.shutdown()


@pytest.mark.skipif(shutil.which("gpg") is None, reason="no gpg here")
def test_each_system_of_one_batch_gets_its_own_key(vendor, collection, tmp_path):
    """Debian and Rocky run together; a host whose key cannot be had fails alone."""
    url, fingerprints, asked = vendor
    systems = {"debian-1": "debian", "debian-2": "debian", "rocky-1": "rocky", "ubuntu-1": "ubuntu"}
    key = url + "/{{ __package_source_system }}/key.pub"
    hosts = {
        name: {
            **read_defaults("package_source"),
            "package_source_names": ["nvidia-cuda"],
            "__package_source_host": SYSTEMS[system],
            "package_source_repositories": {"nvidia-cuda": {"key": key, "fingerprints": list(fingerprints.values())}},
        }
        for name, system in systems.items()
    }
    tasks = [
        {"ansible.builtin.include_role": {"name": "gpuyard.cluster.package_source", "tasks_from": "keys", "public": True}},
        {"ansible.builtin.debug": {"msg": "{{ lookup('ansible.builtin.file', __package_source_keys[0].file, rstrip=false) }}"}},
    ]
    done, results = run_tasks(tasks, hosts, tmp_path)
    got = {name: read_fingerprint(results[name]["msg"]) for name in systems if name != "ubuntu-1"}
    assert got == {
        "debian-1": fingerprints["/debian12/key.pub"],
        "debian-2": fingerprints["/debian12/key.pub"],
        "rocky-1": fingerprints["/rhel9/key.pub"],
    }, done.stdout
    assert sorted(set(asked)) == ["/debian12/key.pub", "/rhel9/key.pub", "/ubuntu2404/key.pub"]
    assert [asked.count(path) for path in fingerprints] == [1, 1], "once for all hosts of a system"
    said = results["ubuntu-1"]["msg"]
    assert "503" in said, said + done.stdout
    assert f"fix: have gpg on the controller and let it reach {url}/ubuntu2404/key.pub" in said


def read_fingerprint(key):
    """Return the fingerprint of an armored key."""
    done = subprocess.run(
        ["gpg", "--show-keys", "--with-colons"], input=key, capture_output=True, text=True, check=True
    )  # fmt: skip
    return next(line.split(":")[9] for line in done.stdout.splitlines() if line.startswith("fpr:"))
