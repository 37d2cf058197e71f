"""Sweep doubles of many BMCs for inventory and power: what one more costs, against bare HTTPS requests, and who is lost."""

import argparse
import http.client
import json
import os
import resource
import ssl
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from cluster_model.transport.bmc.controller import BmcLogin, BmcTarget
from cluster_model.transport.bmc.planned import Door
from cluster_model.transport.fleet import visit
from cluster_model.verify.hosts.machines import visit_bmcs
from tests.baremetal.bmc_double import run_doubles

USER, PASSWORD = "admin", "correct horse"
PARALLEL = 64
REQUESTS = 12
"""Requests of an inventory by Redfish; the floor makes as many."""
CAUSES = {"silent": "silent", "no json": "language", "wrong json": "language", "full": "busy", "password": "login"}


def place(number):
    """Return the address and the language of a BMC: one in four speaks IPMI."""
    return f"127.88.{number // 250}.{number % 250 + 1}", "ipmi" if number % 4 == 3 else "redfish"


def choose_faults(count):
    """Return the faults by number: one BMC in fifty, all kinds in turn; IPMI has no JSON."""
    numbers = range(7, count, 50)
    kinds = {"redfish": list(CAUSES), "ipmi": ["silent", "full", "password"]}
    return {n: kinds[place(n)[1]][i // 2 % len(kinds[place(n)[1]])] for i, n in enumerate(numbers)}


def used():
    """Return CPU seconds of this process and the programs that it has run."""
    return sum(
        getattr(resource.getrusage(who), key)
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        for key in ("ru_utime", "ru_stime")
    )


def timed(work):
    """Return what work returns, and its CPU and wall seconds."""
    begun, wall = used(), time.perf_counter()
    found = work()
    return found, used() - begun, time.perf_counter() - wall


def request_barely(address, port):
    """Make as many requests as an inventory does, with nothing around them."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # without the authorities, which take longer to load than all requests
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    line = http.client.HTTPSConnection(address, port, context=context, timeout=60)
    for _ in range(REQUESTS):
        line.request("GET", "/redfish/v1/")
        json.loads(line.getresponse().read())
    line.close()


def measure(count):
    """Return a row: what a sweep of `count` BMCs costs."""
    faults = choose_faults(count)
    with tempfile.TemporaryDirectory(prefix="gpuyard-bench-") as folder:
        os.environ["GPUYARD_KNOWN_BMCS"] = f"{folder}/known"
        with run_doubles(USER, PASSWORD, {place(n)[0]: fault for n, fault in faults.items()}) as (_, https, ipmi):
            login = BmcLogin(USER, PASSWORD, cipher=3, answer_s=10, retries=1)
            doors = {"redfish": [], "ipmi": []}
            for number in range(count):
                address, language = place(number)
                target = BmcTarget(f"n{number}", address, port=ipmi if language == "ipmi" else https)
                doors[language].append(Door(target, login, (language,)))
            everyone = [*doors["redfish"], *doors["ipmi"]]
            healthy = [door for door in doors["redfish"] if int(door.target.name[1:]) not in faults]
            # In turn, not at once: each has the machine and its double to itself.
            _, floor, _ = timed(lambda: list(visit(healthy, lambda d: request_barely(d.target.address, https), PARALLEL)))
            ways = {name: timed(lambda name=name: visit_bmcs(doors[name], PARALLEL)) for name in doors}
            power, power_cpu, power_wall = timed(lambda: visit_bmcs(everyone, PARALLEL, facts=False))
    inventory = {name: told for found, _, _ in ways.values() for name, told in found.items()}
    wrong = [*judge(inventory, faults, facts=True), *judge(power, faults, facts=False)]
    if wrong:
        sys.exit("\n".join(wrong))
    per = {name: cpu / len(doors[name]) for name, (_, cpu, _) in ways.items()}
    return {
        "bmcs": count,
        "misbehave": len(faults),
        "lost": 0,
        "inventory_wall_s": round(sum(wall for _, _, wall in ways.values()), 1),
        "power_wall_s": round(power_wall, 1),
        "redfish_cpu_ms": round(per["redfish"] * 1000, 1),
        "ipmi_cpu_ms": round(per["ipmi"] * 1000, 1),
        "power_cpu_ms": round(power_cpu / count * 1000, 1),
        "times_floor": round(per["redfish"] / (floor / len(healthy)), 1),
        "peak_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    }


def judge(visits, faults, *, facts):
    """Return what is wrong with a sweep: a BMC that fails without a fault, or for another reason, or is not itself."""
    lines = []
    for name, told in visits.items():
        number = int(name[1:])
        fault, cause = faults.get(number), told.error.cause if told.error else ""
        if told.error and cause != CAUSES.get(fault):
            lines.append(f"{name}: {fault or 'no fault'}, and {cause}: {told.error}")
        elif fault and not told.error and (facts or "json" not in fault):
            lines.append(f"{name}: {fault}, and it was read")
        elif not told.error and facts and told.machine.serial != f"S{(88 << 16) + (number // 250 << 8) + number % 250 + 1:08}":
            lines.append(f"{name}: {told.machine.serial} answered")
    return lines


def main():
    """Run each size in a process of its own, a JSON line each; then how a BMC's cost grows from the first to the last."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bmcs", type=int, nargs="*", default=[250, 2000], help="sizes; default: %(default)s")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(measure(args.one)))
        return
    rows = []
    for count in args.bmcs:
        done = subprocess.run([sys.executable, __file__, "--one", str(count)], capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(done.stderr or done.stdout)
        rows.append(json.loads(done.stdout))
        print(json.dumps(rows[-1]), flush=True)
    few, many = rows[0], rows[-1]
    walls = ("inventory_wall_s", "power_wall_s")
    costs = ("redfish_cpu_ms", "ipmi_cpu_ms", "power_cpu_ms")
    growth = {key: round(many[key] / many["bmcs"] / (few[key] / few["bmcs"]), 2) for key in walls}
    growth |= {key: round(many[key] / few[key], 2) for key in costs}
    print(json.dumps({"times_a_bmc": growth}))


if __name__ == "__main__":
    main()
