"""Print a kubeconfig by which a server that joins finds the cluster, with a token that ends; run on a control server.

Argument: how long the token lives, such as 1h. Python 3.9 suffices.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

ADMIN = Path("/etc/kubernetes/admin.conf")


def main(ttl: str) -> None:
    """Print how a server that joins finds the cluster: where it is, its CA, and a token."""
    text = ADMIN.read_text("utf-8")
    server, authority = re.search(r"server: *(\S+)", text), re.search(r"certificate-authority-data: *(\S+)", text)
    token = re.search(r"\b[a-z0-9]{6}\.[a-z0-9]{16}\b", make_token(ttl))
    if not server or not authority or not token:
        sys.exit(f"{ADMIN} names no server and CA, or kubeadm made no token")
    cluster = {"server": server[1], "certificate-authority-data": authority[1]}
    about = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "cluster", "cluster": cluster}],
        "users": [{"name": "join", "user": {"token": token[0]}}],
        "contexts": [{"name": "join", "context": {"cluster": "cluster", "user": "join"}}],
        "current-context": "join",
    }
    sys.stdout.write(json.dumps(about) + "\n")


def make_token(ttl: str) -> str:
    """Return what kubeadm says as it makes a token."""
    command = ["kubeadm", f"--kubeconfig={ADMIN}", "token", "create", "--ttl", ttl, "--description", "gpuyard: a server joins"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        sys.exit(f"kubeadm token create: {(done.stderr or done.stdout).strip()[-800:]}")
    return done.stdout


if __name__ == "__main__":
    main(sys.argv[1])
