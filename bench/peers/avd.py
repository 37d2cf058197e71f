"""Time pyavd from inputs to configs in one process; prints a JSON line. Run it with the Python of a venv that has pyavd."""

import json
import resource
import time

from evpn import make_avd, parse_fabric


def clock():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main():
    fabric, _ = parse_fabric(__doc__)
    phases = {}
    wall = time.perf_counter()

    def mark(name, begun):
        phases[name] = round(clock() - begun, 3)
        return clock()

    begun = clock()
    import pyavd
    from pyavd.api.schemas import AVDDesign

    begun = mark("import", begun)
    given = make_avd(fabric)
    begun = mark("inputs", begun)
    inputs = {}
    for host, values in given.items():
        found = pyavd.validate_inputs(values)
        if found.validated_data is None:
            raise SystemExit(f"{host}: {[str(error) for error in found.validation_result.violations][:5]}")
        inputs[host] = found.validated_data
    begun = mark("validate", begun)
    inputs = {host: AVDDesign._from_dict(values) for host, values in inputs.items()}
    begun = mark("load", begun)
    facts = pyavd.get_avd_facts(inputs)
    begun = mark("facts", begun)
    structured = {host: pyavd.get_device_structured_config(host, inputs[host], facts) for host in inputs}
    begun = mark("structured", begun)
    configs = {host: pyavd.get_device_config(values) for host, values in structured.items()}
    mark("configs", begun)
    cpu_s = sum(seconds for name, seconds in phases.items() if name not in {"import", "inputs"})
    row = {
        "tool": f"pyavd {pyavd.__version__}",
        "spines": fabric.spines,
        "leafs": fabric.leafs,
        "devices": len(configs),
        "cpu_s": round(cpu_s, 2),
        "wall_s": round(time.perf_counter() - wall, 2),
        "phases_cpu_s": phases,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "bytes": sum(len(text.encode()) for text in configs.values()),
        "ms_per_device": round(1000 * cpu_s / len(configs), 1),
    }
    print(json.dumps(row))


if __name__ == "__main__":
    main()
