"""What the benchmarks share: one size in a process of its own, and ratios of what was measured in one run."""

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
SIZES = (1024, 4096, 16_384)
LARGEST = 102_400


def clock():
    """Return CPU seconds of this process, user and system."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


@contextmanager
def phase(found, name):
    """Add the CPU seconds of a block to `found` under NAME_cpu_s."""
    begun = clock()
    yield
    found[f"{name}_cpu_s"] = round(clock() - begun, 4)


def peak_mib():
    """Return the most memory this process has held, MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def write_floor(files, rounds=3):
    """Return (CPU seconds, wall seconds, bytes) of writing files, {relative path: bytes}, to disk at best: the floor."""
    return min(_write(files) for _ in range(rounds))


def _write(files):
    with tempfile.TemporaryDirectory(prefix="gpuyard-bench-") as folder:
        root, begun, wall = Path(folder), clock(), time.perf_counter()
        for name in {str(Path(name).parent) for name in files}:
            (root / name).mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (root / name).write_bytes(content)
        return round(clock() - begun, 4), round(time.perf_counter() - wall, 4), sum(map(len, files.values()))


def meter_verbs(found, folder, verbs):
    """Run verbs of gpuyard as a user does, each in a process of its own, and add CPU and wall seconds and peak memory to `found`.

    Args:
        found: what was measured so far.
        folder: the cluster's folder; it must validate without errors, or the benchmark stops.
        verbs: arguments by the name that the verb's figures begin with.
    """
    for name, arguments in {"validate": ["validate", folder], **verbs}.items():
        command = [sys.executable, "-m", "cluster_model.cli", *map(str, arguments)]
        begun = time.perf_counter()
        with tempfile.TemporaryFile() as said:
            running = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT)
            _, status, used = os.wait4(running.pid, 0)
            running.returncode = os.waitstatus_to_exitcode(status)
            if running.returncode:
                said.seek(0)
                raise SystemExit(f"{' '.join(command)} fails, so its time says nothing:\n{said.read().decode()[:3000]}")
        found[f"{name}_cpu_s"] = round(used.ru_utime + used.ru_stime, 3)
        found[f"{name}_wall_s"] = round(time.perf_counter() - begun, 3)
        found[f"{name}_peak_mib"] = used.ru_maxrss // 1024


def exponent(rows, key, unit="gpus"):
    """Return the growth exponent of a value over the sizes, by least squares on logarithms; 1 is linear."""
    points = [(math.log(row[unit]), math.log(row[key])) for row in rows if row.get(key)]
    if len(points) < 2:
        return None
    mean_x, mean_y = (sum(point[axis] for point in points) / len(points) for axis in (0, 1))
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)
    return round(slope, 3)


def run(script, measure, doc, keys, *, unit="gpus", sizes=SIZES, largest=LARGEST):
    """Run a benchmark: each size in a process of its own, a JSON line each, then the growth of `keys`."""
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument(f"--{unit}", dest="sizes", type=int, nargs="*", default=list(sizes), help="sizes; default: %(default)s")
    parser.add_argument("--large", action="store_true", help=f"add {largest:,} {unit}")
    parser.add_argument("--rounds", type=int, default=1, help="runs per size, of which the quickest counts")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(measure(args.one)))
        return
    rows = []
    for size in [*args.sizes, *([largest] if args.large else [])]:
        found = []
        for _ in range(args.rounds):
            done = subprocess.run([sys.executable, script, "--one", str(size)], capture_output=True, text=True, check=False)
            if done.returncode:
                sys.exit(done.stderr or done.stdout)
            found.append(json.loads(done.stdout))
        rows.append(min(found, key=lambda row: row[keys[0]]))
        print(json.dumps(rows[-1]), flush=True)
    print(json.dumps({"growth_exponent": {key: exponent(rows, key, unit) for key in keys}}))
