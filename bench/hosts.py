"""The sweep by pyinfra against Ansible's setup module, on the same sshd targets: CPU per host at both ends, as ratios."""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

from targets import PORT, make_keys, per_host

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
SWEEP = """
import sys
from pathlib import Path
from cluster_model.transport.session import Login, Target
from cluster_model.transport.sweep import sweep
targets = [Target(address, address, port={port}) for address in sys.argv[2:]]
replies = sweep(targets, Path("templates/hosts/probe.py").read_text(), Login("root", Path(sys.argv[1])), 200)
lost = [reply for reply in replies.values() if reply.reason or "gpuyard-host-facts" not in reply.text]
sys.exit(str(lost) if lost else 0)
"""


def main():
    """Print a JSON line for each way, then how many times the sweep's cost the others take."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=20, help="targets; default: %(default)s")
    count = parser.parse_args().hosts
    with tempfile.TemporaryDirectory(prefix="gpuyard-bench-") as folder:
        make_keys(folder)
        (Path(folder) / "stock.cfg").write_text("[defaults]\n")
        env = {**os.environ, "HOME": folder, "PYTHONPATH": str(ROOT), "ANSIBLE_HOME": f"{folder}/ansible"}
        env |= {"ANSIBLE_SSH_CONTROL_PATH_DIR": f"{folder}/cp", "ANSIBLE_HOST_KEY_CHECKING": "False"}

        def sweep(addresses):
            return [sys.executable, "-c", SWEEP.format(port=PORT), f"{folder}/user", *addresses]

        def setup(addresses):
            login = [
                "-u",
                "root",
                "--private-key",
                f"{folder}/user",
                "-e",
                f"ansible_port={PORT} ansible_python_interpreter=/usr/bin/python3",
            ]
            return [str(BIN / "ansible"), "all", "-i", ",".join(addresses) + ",", *login, "-m", "ansible.builtin.setup"]

        os.chdir(ROOT)
        # Our configuration without our inventory plugin, which reads intents and not lists of addresses.
        ours = {**env, "ANSIBLE_CONFIG": f"{folder}/stock.cfg", "ANSIBLE_PIPELINING": "True", "ANSIBLE_FORKS": "50"}
        stock = {**env, "ANSIBLE_CONFIG": f"{folder}/stock.cfg", "ANSIBLE_PIPELINING": "False", "ANSIBLE_FORKS": "5"}
        found = {}
        for name, command, environment in (
            ("sweep", sweep, env),
            ("setup_pipelined", setup, ours),
            ("setup_stock", setup, stock),
        ):
            controller, target = per_host(folder, command, environment, count)
            found[name] = (controller, target)
            row = {"way": name, "hosts": count, "controller_cpu_s": round(controller, 4), "target_cpu_s": round(target, 4)}
            print(json.dumps(row), flush=True)
    ends = ("controller", "target")
    times = {
        f"{name}_{ends[end]}": round(cost[end] / found["sweep"][end], 2)
        for name, cost in found.items()
        if name != "sweep"
        for end in (0, 1)
    }
    print(json.dumps({"times_the_sweep": times}))


if __name__ == "__main__":
    main()
