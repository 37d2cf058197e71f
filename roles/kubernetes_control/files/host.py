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

ROOT = Path("/")
ETCD = "/var/lib/etcd"
OURS = re.compile(r"# \S+: the address of the API server of ")
"""How our configuration of keepalived begins."""
PROGRAMS = {"keepalived": "usr/sbin/keepalived", "curl": "usr/bin/curl"}
"""What an address takes that control servers share, by package. curl-minimal, as Rocky has it, brings the same program."""
TIMED = ("gpuyard-etcd-backup", "gpuyard-kubernetes-renew")
"""What timers start, and nobody sees fail."""
RUNNING = "gpuyard-kubernetes-endpoint"
"""What systemd starts again for ever, so that it never counts as failed."""


def main(endpoint: str, snapshots: str) -> None:
    """Print what there is."""
    about = {
        "kubeadm": ask("kubeadm", "version", "-o", "short").strip(),
        "addresses": re.findall(r"\binet6? ([0-9a-f.:]+/\d+)", ask("ip", "-o", "address")),
        "endpoint": resolve(endpoint),
        "free": list_free(ETCD, snapshots),
        "keepalived": judge_router(),
        "lacks": [package for package, program in PROGRAMS.items() if not (ROOT / program).exists()],
        "held_back": ask("getsebool", "keepalived_connect_any").strip().endswith(" off"),
        "failed": [unit for unit in TIMED if ask("systemctl", "is-failed", f"{unit}.service").strip() == "failed"],
    }
    if ask("systemctl", "show", "--property=SubState", f"{RUNNING}.service").strip() == "SubState=auto-restart":
        about["failed"].append(RUNNING)
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


def judge_router() -> str:
    """Return whose keepalived's configuration is: ours, the package's or others'; empty where there is none."""
    path = ROOT / "etc/keepalived/keepalived.conf"
    if not path.exists():
        return ""
    if OURS.match(path.read_text("utf-8", "replace")):
        return "ours"
    # Only the rpm brings one; as a program rpm may be elsewhere too, and knows of no package then.
    is_there = ask("rpm", "-q", "--qf", "there", "keepalived") == "there"
    return "package" if is_there and path.name not in ask("rpm", "-V", "keepalived") else "others"


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
