"""What runs inside the small machine as its first process: makes a system of the mounts, and runs the job."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import termios
import time
import traceback
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from cluster_model.twin.node import NodeError
from cluster_model.twin.plan_file import TreeError

MODULES = (
    *("vrf", "veth", "bridge", "vxlan", "8021q", "dummy", "bonding"),
    *("nf_tables", "nft_ct", "nft_chain_nat", "nft_meta_bridge"),
)
PORT = "/dev/ttyS1"

Tell = Callable[[str, Any], None]


def open_port() -> Tell:
    """Return what tells (kind, value) to the machine outside."""
    port = os.open(PORT, os.O_WRONLY | os.O_NOCTTY)
    mode = termios.tcgetattr(port)
    mode[1] &= ~termios.OPOST
    mode[3] &= ~termios.ECHO
    termios.tcsetattr(port, termios.TCSANOW, mode)

    def tell(kind: str, value: Any) -> None:
        left = json.dumps([kind, value]).encode() + b"\n"
        while left:
            left = left[os.write(port, left) :]

    return tell


def prepare() -> None:
    """Load modules, and bring the loopback up."""
    os.environ["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
    subprocess.run(["modprobe", "-a", *MODULES], check=False)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def main() -> None:
    """Be the first process: run the job in another one, bury what nobody else does, and switch the machine off."""
    pid = os.fork()
    if not pid:
        run_job(sys.argv[1])
        os._exit(0)
    while os.wait()[0] != pid:
        pass
    os.sync()
    time.sleep(0.5)
    Path("/proc/sysrq-trigger").write_text("o", "utf-8")
    time.sleep(60)


def run_job(job: str) -> None:
    """Run a job, `package.module:function`, and tell how it ended."""
    tell = open_port()
    try:
        prepare()
        module, _, function = job.partition(":")
        getattr(import_module(module), function)(tell)
        tell("done", "")
    except (NodeError, TreeError) as error:
        tell("failed", str(error))
    except BaseException:
        tell("failed", traceback.format_exc().strip())


if __name__ == "__main__":
    main()
