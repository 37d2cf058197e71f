"""Time `netlab create` of the same fabric; prints a JSON line. Run it with the Python of a venv with networklab and ansible."""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from evpn import make_netlab, parse_fabric


def main():
    def add(parser):
        parser.add_argument("-d", "--device", default="eos", help="netlab's device type; default: %(default)s")
        parser.add_argument("--timeout", type=int, default=540, help="seconds")

    fabric, args = parse_fabric(__doc__, add)
    programs = Path(sys.executable).parent
    with tempfile.TemporaryDirectory(prefix="netlab-bench-") as folder:
        work = Path(folder)
        (work / "topology.yml").write_text(json.dumps(make_netlab(fabric, args.device)), "utf-8")  # JSON is YAML
        wall, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        try:
            done = subprocess.run(
                [programs / "netlab", "create", "topology.yml"],
                cwd=work,
                env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"},
                capture_output=True,
                text=True,
                timeout=args.timeout,
                check=False,
            )
            code, log = done.returncode, done.stdout + done.stderr
        except subprocess.TimeoutExpired:
            code, log = -1, "timeout"
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        devices = fabric.spines + fabric.leafs
        row = {
            "tool": "netlab",
            "device": args.device,
            "spines": fabric.spines,
            "leafs": fabric.leafs,
            "devices": devices,
            "cpu_s": round(cpu_s, 2),
            "wall_s": round(time.perf_counter() - wall, 2),
            "peak_mib": after.ru_maxrss // 1024,
            "bytes": sum(path.stat().st_size for path in (work / "node_files").rglob("*") if path.is_file()),
            "ms_per_device": round(1000 * cpu_s / devices, 1),
            "exit_code": code,
        }
    if code:
        print(log[-2000:], file=sys.stderr)
    print(json.dumps(row))
    sys.exit(bool(code))


if __name__ == "__main__":
    main()
