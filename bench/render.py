"""Time `gpuyard render` as users run it: CPU and memory by size, growth, and times the floor, writing the same bytes to disk.

Rendering again, when nothing has changed, is measured too.
"""

import tempfile
from pathlib import Path

from measure import meter_verbs, run, write_floor


def measure(gpus):
    """Return what one size costs."""
    from cluster import write_cluster

    found = {"gpus": gpus}
    with tempfile.TemporaryDirectory(prefix="gpuyard-bench-") as name:
        write_cluster(gpus, name)
        tree = Path(name, "build")
        meter_verbs(found, name, {"render": ["render", name, "-o", tree], "again": ["render", name, "-o", tree]})
        files = {path.relative_to(tree).as_posix(): path.read_bytes() for path in tree.rglob("*") if path.is_file()}
    cpu_s, wall_s, size = write_floor(files)
    found |= {"files": len(files), "floor_cpu_s": cpu_s, "floor_wall_s": wall_s, "bytes": size}
    for name in ("render", "again"):
        found[f"{name}_times_validate"] = round(found[f"{name}_cpu_s"] / found["validate_cpu_s"], 2)
        found[f"{name}_times_floor"] = round(found[f"{name}_cpu_s"] / max(cpu_s, 1e-4), 1)
    return found


if __name__ == "__main__":
    run(__file__, measure, __doc__, ("render_cpu_s", "again_cpu_s", "render_peak_mib"))
