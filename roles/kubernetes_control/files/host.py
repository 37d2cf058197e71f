"""Look at a control server itself, whatever it has of a cluster. Prints JSON, changes nothing.

Arguments: the name of the API server, then the folder of etcd's snapshots. Python 3.9 suffices.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

ETCD = "/var/lib/etcd"
TIMED = ("gpuyard-etcd-backup", "gpuyard-kubernetes-renew")
"""What timers start, and nobody sees fail."""


def main(endpoint: str, snapshots: str) -> None:
    """Print what there is."""
    about = {
        "kubeadm": ask("kubeadm", "version", "-o", "short").strip(),
        "addresses": re.findall(r"\binet6? ([0-9a-f.:]+/\d+)", ask("ip", "-o", "address")),
        "endpoint": resolve(endpoint),
        "free": list_free(ETCD, snapshots),
        "keepalived": Path("/usr/sbin/keepalived").exists(),
        "failed": [unit for unit in TIMED if ask("systemctl", "is-failed", f"{unit}.service").strip() == "failed"],
    }
    sys.stdout.write(json.dumps(about) + "\n")


def ask(*words: str) -> str:
    """Return what a command prints, however it ends; nothing where there is no such program."""
    with contextlib.suppress(OSError):
        return subprocess.run(words, capture_output=True, text=True, check=False).stdout
    return ""


def resolve(name: str) -> list[str]:
    """Return the addresses of a name."""
    with contextlib.suppress(OSError):
        return sorted({str(found[4][0]) for found in socket.getaddrinfo(name, None)})
    return []


def list_free(*folders: str) -> list[tuple[list[str], float]]:
    """Return how many GB are free for folders, for those of one file system together. They need not be there yet."""
    found: dict[int, tuple[list[str], float]] = {}
    for folder in folders:
        there = next(path for path in (Path(folder), *Path(folder).parents) if path.is_dir())
        free = round(shutil.disk_usage(there).free / 1e9, 1)
        found.setdefault(there.stat().st_dev, ([], free))[0].append(folder)
    return list(found.values())


if __name__ == "__main__":
    main(*sys.argv[1:])
