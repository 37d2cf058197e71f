"""Containers that stand for servers of inventory/lab, with systemd inside, and the way to run playbooks against them.

Nothing of the inventory is changed: an SSH configuration leads the servers' addresses into the containers. NICs are real cables
into one namespace that stands for the leafs. GPUs, the vendors' packages, the tools in them and update-grub are doubles.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FABRIC = ROOT / "molecule/host_network/fabric.py"
PACKAGES = ["chrony", "containerd", "cron", "openssh-client", "podman", "tzdata", "udev", "unattended-upgrades"]
TOOLS = ("podman", "mmdebstrap", "dpkg-scanpackages", "gpg", "ssh")
GRUB = """
cat >/usr/sbin/update-grub <<'EOF'
#!/bin/sh
# A double: a container has no disk to probe.
. /etc/default/grub
for file in /etc/default/grub.d/*.cfg; do . "$file"; done
echo "linux /vmlinuz root=/dev/sda1 $GRUB_CMDLINE_LINUX" >/boot/grub/grub.cfg
EOF
chmod +x /usr/sbin/update-grub
mkdir -p /boot/grub /etc/default/grub.d
echo 'GRUB_CMDLINE_LINUX="quiet"' >/etc/default/grub
"""
GPU_SERVER = """
set -e
cd /srv/packages/nvidia-cuda
for name in linux-image-6.1.0-43-amd64 gpuyard-double-gpu mokutil initramfs-tools; do
  dpkg --force-depends -i ${name}_*.deb >/dev/null
done
"""
SERVER = """
rm -f /etc/apt/sources.list
# Behind podman exec no one has an address: sshd says UNKNOWN, and PAM asks the planned resolvers for it, which are not there.
sed -i 's/^hosts:.*/hosts: files/' /etc/nsswitch.conf
until systemctl is-system-running | grep -qE 'running|degraded'; do sleep 0.2; done
systemctl stop podman.service # it would end by itself after some idle seconds, in the middle of a comparison
"""
SSHD = "/usr/sbin/sshd -i"
"""As the server has it configured: whoever shuts root's key out shuts the tests out."""


def find_missing() -> str:
    """Return why no such container can run here, or an empty text."""
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    return "not root" if os.getuid() else f"missing here: {', '.join(missing)}" if missing else ""


class LabServers:
    """Some of the lab's servers."""

    def __init__(self, folder: Path, hosts: list[str]):
        self.folder, self.hosts = folder, hosts
        self.prefix = f"gy-lab-{os.getpid()}"
        self.environment = {
            **os.environ,
            "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
            "ANSIBLE_HOME": str(folder / "home"),
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_RETRY_FILES_SAVE_PATH": str(folder / "retry"),
            # podman exec does not end with its container, so ssh has to notice a reboot itself, and soon.
            "ANSIBLE_SSH_ARGS": "-o ControlMaster=auto -o ControlPersist=120s -o ServerAliveInterval=5",
            "ANSIBLE_SSH_COMMON_ARGS": f"-F {folder}/ssh",
            "ANSIBLE_SSH_CONTROL_PATH_DIR": str(folder / "cp"),
            "CONTAINERS_CONF": str(ROOT / "molecule/shared/containers.conf"),
            "GPUYARD_BUILD": str(folder / "build"),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        }

    def run(self, *command):
        """Return exit code, output and complaint of a command."""
        done = subprocess.run(command, cwd=ROOT, env=self.environment, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    def must(self, *command):
        """Return the output of a command that must not fail."""
        code, said, complaint = self.run(*command)
        assert code == 0, f"{' '.join(map(str, command))}\n{said[-3000:]}\n{complaint[-3000:]}"
        return said.strip()

    def name(self, host):
        """Return the name of a host's container."""
        return f"{self.prefix}-{host}"

    def inside(self, host, script):
        """Return what a shell says inside a host's container."""
        return self.must("podman", "exec", self.name(host), "sh", "-c", script)

    def start(self):
        """Start the containers, and leave them as an installer leaves servers."""
        self.must("gpuyard", "render", "inventory/lab", "-o", self.folder / "build/lab")
        image = self.must(ROOT / "scripts/container-image", *PACKAGES)
        repository = self.must(sys.executable, ROOT / "tests/roles/repository/build.py")
        self.must("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / "key")
        lines = ["Host *", "  User root", f"  IdentityFile {self.folder}/key", "  StrictHostKeyChecking no"]
        lines += ["  UserKnownHostsFile /dev/null", "  LogLevel ERROR"]
        (self.folder / "ssh-direct").write_text("\n".join(lines) + "\n")
        for host in self.hosts:
            self.must(
                *("podman", "run", "-d", "--name", self.name(host), "--hostname", host, "--pull=never", "--systemd=always"),
                *("--restart=always", "--network=none", "--no-hosts", "--cap-add=SYS_ADMIN", "--cap-add=NET_ADMIN"),
                *("-v", f"{self.folder}/key.pub:/root/.ssh/authorized_keys:ro", "-v", f"{repository}:/srv/packages:ro", image),
            )
            lines += [f"Host {self.address(host)}", f"  ProxyCommand podman exec -i {self.name(host)} {SSHD}"]
        (self.folder / "ssh").write_text("\n".join(lines) + "\n")
        for host in self.hosts:
            self.inside(host, GRUB + SERVER + (GPU_SERVER if host.startswith("gpu") else ""))
        self.plug("--fresh")
        fingerprint = (Path(repository) / "fingerprint").read_text().strip()
        sources = {name: {"fingerprints": [fingerprint]} for name in ("nvidia-cuda", "nvidia-container-toolkit")}
        settings = {"package_source_mode": "folder", "package_source_folder": "/srv/packages"}
        settings |= {"package_source_keys": f"{repository}/keys", "package_source_repositories": sources}
        (self.folder / "settings.json").write_text(json.dumps(settings))

    def address(self, host):
        """Return the address out of band of a host, as the inventory has it."""
        return self.inventory["_meta"]["hostvars"][host]["ansible_host"]

    @property
    def inventory(self):
        """Return the rendered inventory."""
        return json.loads((self.folder / "build/lab/inventory/inventory.json").read_text())

    def plug(self, *options):
        """Give containers without cables theirs: `--fresh` with an address out of band, else as the host configures it."""
        bare = [host for host in self.hosts if "ether" not in self.inside(host, "ip -o link")]
        pids = [f"{host}={self.must('podman', 'inspect', '-f', '{{.State.Pid}}', self.name(host))}" for host in bare]
        rendered = ("--inventory", self.folder / "build/lab/inventory/inventory.json")
        if pids:
            self.must(sys.executable, FABRIC, "plug", *options, "--fabric", self.prefix, *rendered, *pids)
            # Where the site's resolvers are, a port that refuses: silence would cost every login ten seconds.
            for resolver in self.inventory["all"]["vars"]["gpuyard_site"]["dns"]:
                self.must("ip", "-n", self.prefix, "address", "replace", f"{resolver}/32", "dev", "lo")

    def stop(self):
        """Take away all that was started."""
        self.run("podman", "rm", "-f", "-i", "-t", "0", *map(self.name, self.hosts))
        self.run(sys.executable, FABRIC, "unplug", "--fabric", self.prefix)

    def play(self, playbook, *options, limit=""):
        """Run a playbook, and return its exit code, the output's end, and the counts of its recap by host."""
        command = ["ansible-playbook", "-i", "inventory/lab/cluster.yml", f"playbooks/{playbook}"]
        command += ["--limit", limit or ",".join(self.hosts), "-e", f"@{self.folder}/settings.json", *options]
        code, said, complaint = self.run(*command)
        return code, (said + complaint)[-8000:], read_recap(said)


def read_recap(said):
    """Return the counts of a recap by host: ok, changed, unreachable, failed."""
    recap = re.findall(r"^(\S+)\s+: ok=(\d+)\s+changed=(\d+)\s+unreachable=(\d+)\s+failed=(\d+)", said, re.MULTILINE)
    names = ("ok", "changed", "unreachable", "failed")
    return {host: dict(zip(names, map(int, counts), strict=True)) for host, *counts in recap}
