"""Time `gpuyard validate` and `gpuyard plan --json` as users run them: CPU and memory by size, growth, and times the floor.

The floor is writing the plan's own bytes to disk in the same run.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from measure import meter_verbs, run, write_floor


def measure(gpus):
    """Return what one size costs."""
    from cluster import write_cluster

    found = {"gpus": gpus}
    with tempfile.TemporaryDirectory(prefix="gpuyard-bench-") as name:
        write_cluster(gpus, name)
        meter_verbs(found, name, {"plan": ["plan", "--json", name]})
        command = [sys.executable, "-m", "cluster_model.cli", "render", name, "--only", "plan", "-o", f"{name}/build"]
        subprocess.run(command, check=True, capture_output=True)
        content = Path(name, "build", "plan.json").read_bytes()
    cpu_s, wall_s, size = write_floor({"plan.json": content})
    found |= {"floor_cpu_s": cpu_s, "floor_wall_s": wall_s, "bytes": size}
    found["plan_times_validate"] = round(found["plan_cpu_s"] / found["validate_cpu_s"], 2)
    found["plan_times_floor"] = round(found["plan_cpu_s"] / max(cpu_s, 1e-4), 1)
    return found


if __name__ == "__main__":
    run(__file__, measure, __doc__, ("validate_cpu_s", "plan_cpu_s", "plan_peak_mib"))
