"""Time the plan: CPU seconds and peak memory by size, growth, and the ratio to writing the plan's own bytes to disk."""

from measure import clock, peak_mib, phase, run, write_floor


def measure(gpus):
    """Return what one size costs."""
    from cluster import make_document

    from cluster_model.catalogue.load import load_catalogue
    from cluster_model.intent.cluster import Cluster
    from cluster_model.plan.build import build_plan

    found = {"gpus": gpus, "start_cpu_s": round(clock(), 4)}
    with phase(found, "intent"):
        cluster = Cluster.model_validate(make_document(gpus))
    with phase(found, "catalogue"):
        catalogue, _ = load_catalogue()
    with phase(found, "plan"):
        plan, findings = build_plan(cluster, catalogue)
    if plan is None:
        raise SystemExit("\n".join(f"{f.id} {f.where}: {f.summary}" for f in findings))
    found |= {"peak_mib": peak_mib(), "cables": len(plan.cables), "switches": len(plan.switches), "servers": len(plan.servers)}
    import orjson

    content = orjson.dumps([plan.servers, plan.switches, plan.cables])
    cpu_s, wall_s, size = write_floor({"plan.json": content})
    found |= {"floor_cpu_s": cpu_s, "floor_wall_s": wall_s, "bytes": size}
    found["times_floor"] = round(found["plan_cpu_s"] / max(cpu_s, 1e-4), 1)
    found["us_per_cable"] = round(1e6 * found["plan_cpu_s"] / found["cables"], 2)
    return found


if __name__ == "__main__":
    run(__file__, measure, __doc__, ("plan_cpu_s", "peak_mib"))
