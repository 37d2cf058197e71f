"""Three control servers as containers with systemd inside, on a network of their own; what our playbook makes of them is real.

scripts/build-kubernetes builds the programs. There is no registry, and a container has not all rights of a machine: node.sh lays
what the role kubernetes_node would install, and `loosen` changes the rendered files where a container cannot do what they say.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from tests.kubernetes.control_plane import find_programs
from tests.slowness import stretch, wait_for

ROOT = Path(__file__).resolve().parents[3]
HERE = Path(__file__).resolve().parent
SERVERS = ("control-001", "control-002", "control-003")
PACKAGES = (
    *(
        "busybox-static",
        "conntrack",
        "containerd",
        "containernetworking-plugins",
        "curl",
        "ebtables",
        "ethtool",
        "haproxy",
        "iptables",
    ),
    *("iputils-ping", "keepalived", "openssl", "runc", "socat", "util-linux"),
)
"""Of a node's image."""
NETWORK = "10.76.64.0/20"
"""Out-of-band network of the example cluster lab, of which all three servers have their planned addresses."""
SECRET = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
PREFLIGHT = (
    *("SystemVerification", "Mem", "NumCPU", "Swap", "ImagePull"),
    "FileContent--proc-sys-net-bridge-bridge-nf-call-iptables",
)
"""Checks of kubeadm's that no container passes."""
SETTINGS = {
    "kubernetes_control_secrets": {"kubernetes-encryption": SECRET},
    "kubernetes_control_free_gb": 1,
    "kubernetes_control_skip_phases": ["addon/coredns"],
    "kubernetes_control_ignore_preflight": list(PREFLIGHT),
    "kubernetes_control_wait_s": int(stretch(180)),
}


def run(*command: object, limit_s: float = 300, check: bool = True, **options: Any) -> subprocess.CompletedProcess[str]:
    """Return what a command says; AssertionError with its words where it must not fail and does."""
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=stretch(limit_s), check=False, **options
    )
    assert not check or done.returncode == 0, f"{' '.join(map(str, command))[:300]}: {done.stdout[-6000:]}\n{done.stderr[-3000:]}"
    return done


def loosen(tree: Path) -> None:
    """Have the rendered files say what a container can do: cgroups of its own, no limits of conntrack, images that are there."""
    path = tree / "kubernetes/kubeadm/init.yaml"
    documents = list(yaml.safe_load_all(path.read_text("utf-8")))
    for document in documents:
        if document["kind"] == "ClusterConfiguration":
            document["imageRepository"] = "lab.local"
        if document["kind"] == "KubeletConfiguration":
            document |= {"cgroupDriver": "cgroupfs", "failSwapOn": False}
    conntrack = {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"}
    documents.append(
        {
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
            "kind": "KubeProxyConfiguration",
            "mode": "iptables",
            "conntrack": conntrack,
        }
    )
    path.write_text(yaml.safe_dump_all(documents), "utf-8")
    seal(tree, "kubernetes/kubeadm/init.yaml")


def seal(tree: Path, name: str) -> None:
    """Have a tree's manifest hold a file as it is by now: what was edited since it was rendered is refused."""
    path = tree / "manifest.json"
    manifest = json.loads(path.read_text("utf-8"))
    manifest["files"][name] = hashlib.sha256((tree / name).read_bytes()).hexdigest()
    path.write_text(json.dumps(manifest), "utf-8")


class Lab:
    """Three servers. `open_lab` makes them."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self.folder = folder
        self.programs = programs
        self.name = f"gy-k8s-{os.getpid()}"
        self.tree = folder / "build/lab"
        self.label = f"gpuyard-run={os.environ.get('GPUYARD_TEST_RUN') or 'by-hand'}"
        self.environment = {**os.environ, "CONTAINERS_CONF": str(ROOT / "molecule/shared/containers.conf")}
        self.addresses: dict[str, str] = {}

    def podman(self, *words: object, limit_s: float = 300, check: bool = True) -> str:
        """Return what podman prints."""
        return run("podman", *words, limit_s=limit_s, check=check, env=self.environment).stdout

    def on(self, server: str, *words: object, limit_s: float = 300, check: bool = True) -> str:
        """Return what a command on a server prints."""
        return self.podman("exec", f"{self.name}-{server}", *words, limit_s=limit_s, check=check)

    def kubectl(self, *words: object, server: str = SERVERS[0], check: bool = True, said: object = None) -> str:
        """Return what kubectl prints on a server, as the administrator; objects in `said` are its standard input."""
        command = ["podman", "exec", "-i", f"{self.name}-{server}", "kubectl", "--kubeconfig=/etc/kubernetes/admin.conf", *words]
        return run(*command, check=check, env=self.environment, input=json.dumps(said) if said else None).stdout

    def render(self) -> None:
        """Render the example cluster lab as one of Kubernetes 1.20 on its out-of-band network, which routes no pods."""
        intent = self.folder / "intent"
        shutil.copytree(ROOT / "inventory/lab", intent)
        path = intent / "cluster.yml"
        version = self.programs.name.partition("-")[0]
        said = f'kubernetes: {{version: "{version}", network: oob, '
        path.write_text(
            path.read_text("utf-8").replace("kubernetes: {", said).replace(", pod_routing: bgp, endpoint: {mode: bgp}", ""),
            "utf-8",
        )
        run(sys.executable, "-m", "cluster_model.cli", "render", intent, "--output", self.tree, cwd=ROOT)
        loosen(self.tree)
        for server in SERVERS:
            join = yaml.safe_load((self.tree / f"kubernetes/kubeadm/join/{server}.yaml").read_text("utf-8"))
            self.addresses[server] = join["controlPlane"]["localAPIEndpoint"]["advertiseAddress"]
            (self.folder / "names").mkdir(exist_ok=True)
            (self.folder / "names" / self.addresses[server]).write_text(f"{self.name}-{server}", "utf-8")

    def start(self) -> None:
        """Start the servers, with what the role kubernetes_node would install."""
        image = run(ROOT / "scripts/container-image", *PACKAGES, limit_s=600, env=self.environment).stdout.strip()
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / "key")
        self.podman("network", "create", "--label", self.label, "--subnet", NETWORK, "--gateway", "10.76.79.254", self.name)
        images = self.folder / "images"
        images.mkdir()
        for server in SERVERS:
            store = self.folder / "containerd" / server
            store.mkdir(parents=True)
            self.podman(
                *("run", "-d", "--name", f"{self.name}-{server}", "--hostname", server, "--label", "gpuyard=kubernetes"),
                *("--label", self.label, "--pull=never", "--systemd=always", "--privileged", "--cgroupns=private", "--no-hosts"),
                *("--network", self.name, "--ip", self.addresses[server], "--ulimit", "nofile=20000:20000"),
                *("--ulimit", "nproc=20000:20000"),
                *("-v", f"{self.folder}/key.pub:/etc/ssh/harness_keys:ro", "-v", f"{store}:/var/lib/containerd"),
                *("-v", f"{self.programs}:/programs:ro", "-v", f"{images}:/images", "-v", f"{HERE}:/lab:ro", image),
            )
        for server in SERVERS:
            wait_for(partial(self._is_up, server), 60, server)
        self.on(SERVERS[0], "/lab/images.sh", "/programs", "/images")
        for number, server in enumerate(SERVERS, 1):
            self.on(server, "/lab/node.sh", number, "/programs", "/images")
            self.lay_node(server)
        self.settings = {
            "ansible_user": "root",
            "ansible_connection": "ssh",
            "ansible_ssh_private_key_file": str(self.folder / "key"),
            "ansible_python_interpreter": "/usr/bin/python3",
            "ansible_ssh_common_args": (
                f"-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR "
                f'-o ProxyCommand="podman exec -i $(cat {self.folder}/names/%h) /usr/sbin/sshd -i '
                f'-o PermitRootLogin=yes -o AuthorizedKeysFile=/etc/ssh/harness_keys"'
            ),
            **SETTINGS,
        }

    def _is_up(self, server: str) -> bool:
        return self.on(server, "systemctl", "is-system-running", check=False).strip() in ("running", "degraded")

    def lay_node(self, server: str) -> None:
        """Lay what the role kubernetes_node delivers, the proxy and names, and routes between nodes' pods."""
        proxy = (self.tree / "kubernetes/endpoint/haproxy.cfg").read_text("utf-8").replace("/dev/log local0", "127.0.0.1 local0")
        rendered = (self.tree / "kubernetes/kubeadm/init.yaml").read_text("utf-8")
        name = re.search(r"controlPlaneEndpoint: ([a-z0-9.-]+):", rendered)
        assert name
        hosts = f"127.0.0.1 localhost {name[1]}\n{self.addresses[server]} {server}\n"
        for path, text in (("/etc/haproxy/haproxy.cfg", proxy), ("/etc/hosts", hosts)):
            run("podman", "exec", "-i", f"{self.name}-{server}", "sh", "-c", f"cat >{path}", input=text, env=self.environment)
        self.on(server, "mkdir", "-p", "/etc/kubernetes/gpuyard")
        self.on(server, "systemctl", "restart", "haproxy")
        for number, other in enumerate(SERVERS, 1):
            if other != server:
                self.on(server, "ip", "route", "replace", f"10.244.{number}.0/24", "via", self.addresses[other])

    def play(self, name: str, *options: object, check: bool = True) -> tuple[int, str]:
        """Return exit code and output of one of our playbooks, as a user calls it."""
        extra = self.folder / "settings.json"
        extra.write_text(json.dumps(self.settings), "utf-8")
        environment = {
            **self.environment,
            "GPUYARD_BUILD": str(self.folder / "build"),
            "ANSIBLE_HOME": str(self.folder / "home"),
            "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
            "ANSIBLE_SSH_CONTROL_PATH_DIR": str(self.folder / "cp"),
            "NO_COLOR": "1",
        }
        program = Path(sys.executable).parent / "ansible-playbook"
        command = [program, "-i", self.folder / "intent/cluster.yml", ROOT / "playbooks" / name, "-e", f"@{extra}", *options]
        done = run(*command, limit_s=900, check=False, cwd=ROOT, env=environment)
        said = done.stdout + done.stderr
        assert not check or done.returncode == 0, said[-8000:]
        return done.returncode, said

    def stop(self) -> None:
        """Remove all of it."""
        self.podman("rm", "-f", "-i", "-t", "0", *(f"{self.name}-{server}" for server in SERVERS), check=False)
        self.podman("network", "rm", "-f", self.name, check=False)


@contextmanager
def open_lab(folder: Path) -> Iterator[Lab]:
    """Have three servers run, on which nothing of a cluster is; at the end nothing of them is left."""
    lab = Lab(folder, find_programs())
    try:
        lab.render()
        lab.start()
        yield lab
    finally:
        lab.stop()
        shutil.rmtree(folder / "containerd", ignore_errors=True)


if __name__ == "__main__":  # by hand: python -m tests.kubernetes.three_servers.lab FOLDER
    with open_lab(Path(sys.argv[1])) as opened:
        print(opened.play("kubernetes.yml", "--tags", "control,objects", "--limit", "kubernetes_control")[1])
        time.sleep(float("inf"))
