"""Time the render of all files: CPU seconds and peak memory by size, growth, and the ratio to writing the same bytes."""

from measure import peak_mib, phase, run, write_floor


def measure(gpus):
    """Return what one size costs."""
    from cluster import make_document

    from cluster_model.catalogue.load import load_catalogue
    from cluster_model.intent.cluster import Cluster
    from cluster_model.plan.build import build_plan
    from cluster_model.render.tree import render_tree

    found = {"gpus": gpus}
    catalogue, _ = load_catalogue()
    cluster = Cluster.model_validate(make_document(gpus))
    with phase(found, "plan"):
        plan, findings = build_plan(cluster, catalogue)
    if plan is None:
        raise SystemExit("\n".join(f"{f.id} {f.where}: {f.summary}" for f in findings))
    found["plan_peak_mib"] = peak_mib()
    with phase(found, "render"):
        files = render_tree(plan, catalogue, findings=findings)
    found |= {"peak_mib": peak_mib(), "files": len(files), "devices": len(plan.switches) + len(plan.servers)}
    cpu_s, wall_s, size = write_floor(files)
    found |= {"floor_cpu_s": cpu_s, "floor_wall_s": wall_s, "bytes": size}
    found["times_floor"] = round(found["render_cpu_s"] / max(cpu_s, 1e-4), 1)
    found["ms_per_switch"] = round(1e3 * found["render_cpu_s"] / len(plan.switches), 2)
    return found


if __name__ == "__main__":
    run(__file__, measure, __doc__, ("render_cpu_s", "peak_mib"))
