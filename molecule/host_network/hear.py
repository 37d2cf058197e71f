"""Listen with lldpd on the leafs' side, and say which ports of the hosts are not heard as the plan has them, a line each.

lldpd runs in the namespace that is every leaf, with a /run of its own; its answer is read as `gpuyard verify cabling` reads it.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from cluster_model.verify.read.linux import parse_lldp

LISTEN = "mount -t tmpfs none /run && mkdir /run/lldpd && chown _lldpd: /run/lldpd && exec lldpd -d"
DEADLINE_S = 240  # an agent speaks every 30 s


def main() -> int:
    """Return 1 where a port is not heard in time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fabric", metavar="NAMESPACE", required=True)
    parser.add_argument("--plans", type=Path, required=True, help="folder of HOST.json, as fabric.py tells them")
    parser.add_argument("hosts", nargs="+", metavar="HOST=PID")
    wanted = parser.parse_args()
    missing = {}
    for host, pid in (pair.split("=") for pair in wanted.hosts):
        told = json.loads((wanted.plans / f"{host}.json").read_text("utf-8"))
        missing |= {f"h{pid}p{index}": (host, port["name"]) for index, port in enumerate(told["gpuyard_interfaces"])}
    environment = {**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"}
    command = ["ip", "netns", "exec", wanted.fabric, "unshare", "-m", "sh", "-c", LISTEN]
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, env=environment, **quiet) as listener:
        try:
            missing = listen(listener.pid, missing, environment)
        finally:
            listener.terminate()
    sys.stdout.write("".join(f"{name}: {end} is not heard; heard: {heard}\n" for name, (end, heard) in missing.items()))
    return 1 if missing else 0


def listen(pid: int, missing: dict, environment: dict) -> dict:
    """Return what is not heard until the deadline, with what is heard instead: {leaf's port: (end, heard)}."""
    end_s = time.monotonic() + DEADLINE_S
    while True:
        ask = ["nsenter", "-t", str(pid), "-m", "-n", "lldpcli", "-f", "json0", "show", "neighbors"]
        done = subprocess.run(ask, env=environment, capture_output=True, text=True, check=False)
        heard = parse_lldp(done.stdout) if done.returncode == 0 else {}
        ends = {name: {(each.system, each.port) for each in neighbours} for name, neighbours in heard.items()}
        left = {name: (end, sorted(ends.get(name, ()))) for name, end in missing.items() if ends.get(name) != {end}}
        if not left or time.monotonic() > end_s:
            return left
        time.sleep(1)


if __name__ == "__main__":
    sys.exit(main())
