"""Time `gpuyard validate`, `plan --json` and `storage` of a Ceph with 24 drives a host: CPU and memory by hosts, and growth."""

import tempfile

from measure import meter_verbs, run


def measure(hosts):
    """Return what one size costs."""
    from cluster import write_cluster

    found = {"hosts": hosts}
    with tempfile.TemporaryDirectory(prefix="gpuyard-bench-") as name:
        write_cluster(64, name, storage=hosts)
        verbs = {
            "plan": ["plan", "--json", name],
            "storage": ["storage", name],
            "add": ["storage", name, "--add", max(1, hosts // 100)],
        }
        meter_verbs(found, name, verbs)
    for verb in verbs:
        found[f"{verb}_times_validate"] = round(found[f"{verb}_cpu_s"] / found["validate_cpu_s"], 2)
    return found


if __name__ == "__main__":
    run(
        __file__,
        measure,
        __doc__,
        ("plan_cpu_s", "storage_cpu_s", "add_cpu_s"),
        unit="hosts",
        sizes=(10, 100, 1000),
        largest=2000,
    )
