"""Print, as JSON, what a run left on this server, item by item: run on a target by bench/roles.py, with Python alone."""

import json
import subprocess
from base64 import b64encode
from pathlib import Path

ROOTS = ["/etc", "/usr/local/sbin", "/opt"]
PACKAGES = ["chrony", "sudo", "containerd", "podman", "tzdata"]
SERVICES = ["chrony", "containerd", "systemd-networkd", "nvidia-persistenced", "nvidia-fabricmanager"]
SERVICES += ["gpuyard-gpu-power-check.timer", "nvidia-cdi-refresh.path"]
AT_BOOT = ["gpuyard-gpu-power.service", "nvidia-cdi-refresh.service"]
"""These run and end, so they are enabled and no more."""
LEFT_BY_PACKAGES = ("/etc/ld.so.cache", "/etc/passwd", "/etc/group", "/etc/shadow", "/etc/gshadow", "/etc/subuid", "/etc/subgid")


def main():
    print(
        json.dumps(
            {
                "peer_files": list(list_files()),
                "peer_packages": list_packages(),
                # A clock cannot be set in a container, so its service may not run there.
                "peer_services": [*filter(is_active, SERVICES)],
                "peer_services_at_boot": AT_BOOT,
                "peer_held": run("apt-mark", "showhold"),
                "peer_limits_w": run("nvidia-smi", "--query-gpu=power.limit", "--format=csv,noheader,nounits"),
            }
        )
    )


def list_files():
    for name in run("find", *ROOTS, "-newer", "/root/before-the-run", "-type", "f"):
        path = Path(name)
        if not name.startswith(LEFT_BY_PACKAGES) and not name.endswith((".lock", "-")):
            # In base64, since Ansible would take braces in an inventory's text for a template.
            yield {"path": name, "content": b64encode(path.read_bytes()).decode(), "mode": f"{path.stat().st_mode & 0o7777:04o}"}


def list_packages():
    names = [*run("apt-mark", "showhold"), *PACKAGES]
    return run("dpkg-query", "-W", "-f", "${Package}=${Version}\n", *names)


def is_active(service):
    return subprocess.run(["systemctl", "is-active", "-q", service], check=False).returncode == 0


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")[:-1]


main()
