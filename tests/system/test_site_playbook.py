"""`ansible-playbook -i inventory/lab/cluster.yml playbooks/site.yml` against containers that stand for some of the lab's servers.

Nothing of the inventory is changed: an SSH configuration leads the servers' addresses into the containers. GPUs, the vendors'
packages and the tools in them are doubles.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FABRIC = ROOT / "molecule/host_network/fabric.py"
BIN = Path(sys.executable).parent
HOSTS = ["gpu-001", "gpu-005", "storage-001", "control-001"]
PACKAGES = ["chrony", "containerd", "cron", "openssh-client", "podman", "tzdata", "unattended-upgrades"]
TAGS = "driver,reboot,containers,nccl,power,gpus"
"""What runs for real here. base and network change what containers share with this machine, or lack: they have scenarios."""
GPU_SERVER = """
set -e
cd /srv/packages/nvidia-cuda
for name in linux-image-6.1.0-43-amd64 gpuyard-double-gpu mokutil initramfs-tools; do
  dpkg --force-depends -i ${name}_*.deb >/dev/null
done
"""
SERVER = "rm -f /etc/apt/sources.list; until systemctl is-system-running | grep -qE 'running|degraded'; do sleep 0.2; done"
SSHD = "/usr/sbin/sshd -i -o PermitRootLogin=yes -o AuthorizedKeysFile=/etc/ssh/harness_keys"

pytestmark = pytest.mark.slow


class Lab:
    """Containers of some of the lab's servers, and the way to them."""

    def __init__(self, folder):
        self.folder = folder
        self.prefix = f"gy-site-{os.getpid()}"
        self.environment = {
            **os.environ,
            "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
            "ANSIBLE_HOME": str(folder / "home"),
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_RETRY_FILES_SAVE_PATH": str(folder / "retry"),
            "ANSIBLE_SSH_ARGS": f"-F {folder}/ssh -o ControlMaster=auto -o ControlPersist=60s",
            "ANSIBLE_SSH_CONTROL_PATH_DIR": str(folder / "cp"),
            "CONTAINERS_CONF": str(ROOT / "molecule/shared/containers.conf"),
            "GPUYARD_BUILD": str(folder / "build"),
            "PATH": f"{BIN}:{os.environ['PATH']}",
        }

    def run(self, *command):
        done = subprocess.run(command, cwd=ROOT, env=self.environment, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    def must(self, *command):
        code, said, complaint = self.run(*command)
        assert code == 0, f"{' '.join(map(str, command))}\n{said[-3000:]}\n{complaint[-3000:]}"
        return said.strip()

    def name(self, host):
        return f"{self.prefix}-{host}"

    def inside(self, host, script):
        return self.must("podman", "exec", self.name(host), "sh", "-c", script)

    def start(self):
        self.must("gpuyard", "render", "inventory/lab", "-o", self.folder / "build/lab")
        image = self.must(ROOT / "scripts/container-image", *PACKAGES)
        repository = self.must(sys.executable, ROOT / "tests/roles/repository/build.py")
        self.must("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / "key")
        inventory = json.loads((self.folder / "build/lab/inventory/inventory.json").read_text())
        lines = ["Host *", "  User root", f"  IdentityFile {self.folder}/key", "  StrictHostKeyChecking no"]
        lines += ["  UserKnownHostsFile /dev/null", "  LogLevel ERROR"]
        for host in HOSTS:
            self.must(
                *("podman", "run", "-d", "--name", self.name(host), "--hostname", host, "--pull=never", "--systemd=always"),
                *("--restart=always", "--network=none", "--cap-add=SYS_ADMIN", "--cap-add=NET_ADMIN"),
                *("-v", f"{self.folder}/key.pub:/etc/ssh/harness_keys:ro", "-v", f"{repository}:/srv/packages:ro", image),
            )
            address = inventory["_meta"]["hostvars"][host]["ansible_host"]
            lines += [f"Host {address}", f"  ProxyCommand podman exec -i {self.name(host)} {SSHD}"]
        (self.folder / "ssh").write_text("\n".join(lines) + "\n")
        for host in HOSTS:
            self.inside(host, SERVER + (GPU_SERVER if host.startswith("gpu") else ""))
        # The check of the network looks at the NICs that are there, so they are: real cables into one namespace.
        pids = [f"{host}={self.must('podman', 'inspect', '-f', '{{.State.Pid}}', self.name(host))}" for host in HOSTS]
        rendered = ("--inventory", self.folder / "build/lab/inventory/inventory.json")
        self.must(sys.executable, FABRIC, "plug", "--fresh", "--fabric", self.prefix, *rendered, *pids)
        fingerprint = (Path(repository) / "fingerprint").read_text().strip()
        sources = {name: {"fingerprints": [fingerprint]} for name in ("nvidia-cuda", "nvidia-container-toolkit")}
        settings = {"package_source_mode": "folder", "package_source_folder": "/srv/packages"}
        settings |= {"package_source_keys": f"{repository}/keys", "package_source_repositories": sources}
        (self.folder / "sources.json").write_text(json.dumps(settings))

    def stop(self):
        self.run("podman", "rm", "-f", "-i", "-t", "0", *map(self.name, HOSTS))
        self.run(sys.executable, FABRIC, "unplug", "--fabric", self.prefix)

    def play(self, *options, limit=""):
        """Return the exit code, the output, and by host how many tasks were ok, changed, unreachable, failed."""
        command = [
            "ansible-playbook",
            "-i",
            "inventory/lab/cluster.yml",
            "playbooks/site.yml",
            "--limit",
            limit or ",".join(HOSTS),
        ]
        code, said, complaint = self.run(*command, "-e", f"@{self.folder}/sources.json", *options)
        recap = re.findall(r"^(\S+)\s+: ok=(\d+)\s+changed=(\d+)\s+unreachable=(\d+)\s+failed=(\d+)", said, re.MULTILINE)
        names = ("ok", "changed", "unreachable", "failed")
        return (
            code,
            (said + complaint)[-8000:],
            {host: dict(zip(names, map(int, counts), strict=True)) for host, *counts in recap},
        )


@pytest.fixture(scope="module")
def lab(tmp_path_factory, collection):
    missing = [tool for tool in ("podman", "mmdebstrap", "dpkg-scanpackages", "gpg", "ssh") if shutil.which(tool) is None]
    reason = "not root" if os.getuid() else f"missing here: {', '.join(missing)}" if missing else ""
    if reason:
        (pytest.fail if os.environ.get("GPUYARD_REQUIRE_CONTAINERS") == "1" else pytest.skip)(reason)
    made = Lab(tmp_path_factory.mktemp("s"))
    try:
        made.start()
        yield made
    finally:
        made.stop()


def list_state(lab, host):
    sys.path.insert(0, str(ROOT / "molecule/shared"))
    try:
        from dry_run import list_state
    finally:
        sys.path.pop(0)
    return list_state(lab.name(host))


def test_site_in_steps(lab):
    """Check mode on fresh servers, the run, a second one, and what happens when a server does not answer."""
    before = {host: list_state(lab, host) for host in HOSTS}
    code, said, recap = lab.play("--check")
    assert code == 0, said
    assert set(recap) == set(HOSTS)
    assert recap["gpu-001"]["changed"] > 2, "check mode announces base, network and driver"
    assert {host: sorted(set(list_state(lab, host)) ^ set(before[host])) for host in HOSTS} == {host: [] for host in HOSTS}

    code, said, recap = lab.play("--tags", TAGS)
    assert code == 0, said
    assert "580.95.05" in lab.inside("gpu-001", "nvidia-smi --query-gpu=driver_version --format=csv,noheader")
    planned = ",".join(f"mlx5_{number}:1" for number in (0, 3, 4, 5, 6, 9, 10, 11))
    assert f"NCCL_IB_HCA=={planned}" in lab.inside("gpu-001", "cat /etc/nccl.conf")
    assert lab.inside("storage-001", "test -e /etc/nccl.conf || echo none") == "none"

    code, said, recap = lab.play("--tags", TAGS)
    assert code == 0, said
    assert {host: counts["changed"] for host, counts in recap.items()} == dict.fromkeys(recap, 0), said

    lab.must("podman", "stop", "-t", "0", lab.name("gpu-005"))
    code, said, recap = lab.play("--tags", "power", "-e", "failure_budget=50")
    assert code == 4, said
    assert recap["gpu-005"]["unreachable"] == 1
    assert recap["gpu-001"]["ok"] > 0, "one server that does not answer holds up no other"
    assert (lab.folder / "retry/site.retry").read_text().split() == ["gpu-005"]
    assert set(recap) == {"gpu-001", "gpu-005"}, "a tag runs its verb, on its hosts"

    lab.must("podman", "start", lab.name("gpu-005"))
    lab.inside("gpu-005", SERVER)
    code, said, recap = lab.play("--tags", "power", limit=f"@{lab.folder}/retry/site.retry")
    assert code == 0, said
    assert set(recap) == {"gpu-005"}

    lab.must("podman", "stop", "-t", "0", lab.name("gpu-001"))
    code, said, recap = lab.play("--tags", "power", "-e", "batch=1", "-e", "failure_budget=0")
    assert code != 0
    assert recap.get("gpu-005", {"ok": 0})["ok"] == 0, "the budget is spent: the next batch is not begun"
