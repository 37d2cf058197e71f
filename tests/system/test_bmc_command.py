"""`gpuyard bmc` against BMC doubles that have the planned addresses and ports, in a network namespace of their own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.slowness import stretch

ROOT = Path(__file__).parents[2]
USER, PASSWORD = "admin", "correct horse"
NAMES = ("control-001", "plain-001", "mirror-001", "astray-001", "http-001")


def require_programs():
    """Skip where something is missing, and fail where GPUYARD_REQUIRE_BOOT is set."""
    missing = [program for program in ("ipmitool", "openssl", "unshare") if shutil.which(program) is None]
    if os.geteuid() or missing:
        reason = f"{', '.join(missing)} missing" if missing else "namespaces need root"
        (pytest.fail if os.environ.get("GPUYARD_REQUIRE_BOOT") else pytest.skip)(reason)


@pytest.fixture
def site(tmp_path):
    """Return a runner of gpuyard in a namespace where five BMCs answer, mirror-001's by IPMI and the others by Redfish."""
    require_programs()
    site = Site(tmp_path)
    try:
        site.start()
        yield site
    finally:
        site.stop()


class Site:
    def __init__(self, folder):
        self.folder, self.cluster, self._running = folder, folder / "cluster", []
        self.cluster.mkdir()
        shutil.copy(ROOT / "tests/baremetal/cluster.yml", self.cluster)
        (self.cluster / "ops.pub").write_text(
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMcc03yzvjhn6Nw+dkDmkVyW2r2fZ7Y4FLMROm9Dlj2U ops\n"
        )
        (self.cluster / "servers.csv").write_text(
            "name,serial,bmc_mac,mac.eno1,system_disks\n" + "".join(f"{n},,,,\n" for n in NAMES)
        )

    def start(self):
        self.gpuyard("render", "-o", self.folder / "tree", inside=False)
        plan = json.loads((self.folder / "tree/plan.json").read_text())
        addresses = {s["name"]: s["bmc"]["address"].partition("/")[0] for s in plan["servers"]}
        lines = [
            "ip link set lo up",
            *(f"ip address add {address}/32 dev lo" for address in addresses.values()),
            "echo ready",
            "cat",
        ]
        holder = subprocess.Popen(["unshare", "-n", "sh", "-ec", "\n".join(lines)], stdin=-1, stdout=-1, text=True)
        self.addresses = addresses
        self._running.append(holder)
        assert holder.stdout.readline() == "ready\n"
        self.pid = holder.pid
        words = self.inside(sys.executable, ROOT / "tests/baremetal/bmc_double.py")
        double = subprocess.Popen(words, stdin=-1, stdout=-1, text=True)
        self._running.insert(0, double)
        told = {
            "user": USER,
            "password": PASSWORD,
            "faults": {addresses["astray-001"]: "full"},
            "ports": {"https": 443, "ipmi": 623},
        }
        double.stdin.write(json.dumps(told) + "\n")
        double.stdin.flush()
        assert json.loads(double.stdout.readline()) == told["ports"]

    def stop(self):
        for process in self._running:
            process.stdin.close()
            process.wait(stretch(30))
            process.stdout.close()

    def inside(self, *words):
        return ["nsenter", "--target", str(self.pid), "--net", "--", *map(str, words)]

    def gpuyard(self, verb, *words, inside=True):
        """Run a verb with the cluster and more words."""
        command = [sys.executable, "-m", "cluster_model.cli", *verb.split(), *map(str, (self.cluster, *words))]
        command = self.inside(*command) if inside else command
        done = subprocess.run(command, capture_output=True, text=True, env=self.environment(), check=False)
        assert "Traceback" not in done.stderr
        return done

    def environment(self):
        return {
            **os.environ, "PYTHONPATH": str(ROOT), "GPUYARD_SECRET_BMC_PASSWORD": PASSWORD,
            "GPUYARD_KNOWN_BMCS": str(self.folder / "known"),
        }  # fmt: skip

    def power(self):
        done = self.gpuyard("bmc power", "status", "--format", "json", "--retries", "0")
        return {machine["name"]: machine.get("power", machine["cause"]) for machine in json.loads(done.stdout)["machines"]}


def test_from_discovery_to_the_list_of_servers_to_power(site):
    done = site.gpuyard("bmc discover")
    assert done.returncode == 0 and "5 of 5 planned BMCs answer" in done.stdout

    done = site.gpuyard("bmc inventory", "--write", "--retries", "0")
    assert done.returncode == 3
    assert "error BMC001" in done.stderr and "astray-001" in done.stderr and "no session to spare" in done.stderr
    rows = dict(line.split(",", 1) for line in (site.cluster / "servers.csv").read_text().splitlines())
    assert {name for name in NAMES if rows[name].startswith("S0")} == set(NAMES) - {"astray-001"}

    others = [word for name in NAMES[:3] for word in ("--limit", name)]
    done = site.gpuyard("bmc inventory", *others)
    assert done.returncode == 0, done.stdout + done.stderr

    text = (site.cluster / "servers.csv").read_text()
    one, other = (rows[name].split(",")[0] for name in ("plain-001", "mirror-001"))
    (site.cluster / "servers.csv").write_text(text.replace(one, "X").replace(other, one).replace("X", other))
    done = site.gpuyard("bmc inventory", *others)
    assert done.returncode == 1
    assert "error BMC002" in done.stderr and "plain-001 and mirror-001 are exchanged" in done.stderr
    (site.cluster / "servers.csv").write_text(text)

    done = site.gpuyard("bmc power", "on", *others)
    assert "power on would change 3 of them; --apply does it" in done.stdout
    assert site.power() == dict.fromkeys(NAMES, "off") | {"astray-001": "busy"}
    done = site.gpuyard("bmc power", "on", "--all", "--apply", "--pause", "0", "--retries", "0")
    assert done.returncode == 3 and "4 done, 1 failed" in done.stdout
    assert site.power() == dict.fromkeys(NAMES, "on") | {"astray-001": "busy"}

    done = site.gpuyard("bmc boot", "pxe", *others)
    assert (
        "would tell 3 machines to boot pxe at the next start: control-001, plain-001, mirror-001; --apply does it" in done.stdout
    )
    done = site.gpuyard("bmc boot", "pxe", *others, "--apply")
    assert done.returncode == 0 and "boot pxe: 3 done, 0 failed." in done.stdout
