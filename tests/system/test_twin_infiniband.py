"""`gpuyard twin` on InfiniBand for real: rendered files booted in ibsim, run by OpenSM, broken, and wrong ones named."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.ibsim import simulator
from tests.planned import open_example, open_folder
from tests.slowness import stretch, wait_for
from tests.system import counted

ROOT = Path(__file__).parents[2]
TENANTS = f"{simulator.SMALL}  blue: {{id: 2, servers: [gpu-003], subnets: {{front: {{id: 1, cidr: 10.48.2.0/24}}}}}}\n"
PATIENCE_S = 1800
"""For what must come: only a failure takes that long."""
pytestmark = pytest.mark.opensm


@pytest.fixture(autouse=True)
def _require_machine():
    simulator.require_programs()


def start(*arguments):
    command = [sys.executable, "-m", "cluster_model.cli", *map(str, arguments)]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run(*arguments):
    with start(*arguments) as process:
        out, said = process.communicate(timeout=stretch(PATIENCE_S))
    return process.returncode, out, said


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Return the folder of a small cluster with two tenants, every GUID in its facts."""
    folder = tmp_path_factory.mktemp("infiniband")
    simulator.make_plan(folder, TENANTS)
    return folder


def try_cluster(cluster, report, *more):
    code, out, said = run("twin", "test", cluster, "--network", "compute", "--report", report, *more)
    rows = json.loads((report / "twin.json").read_text())["rows"]
    return code, rows, f"{out}\n{said}"


def count_adapters(plan):
    """Return how many ports of servers hang on the subnet."""
    return sum(port.network == "compute" for server in plan.servers for port in server.ports)


def test_a_subnet_is_booted_tried_broken_and_mended(cluster, tmp_path):
    code, rows, said = try_cluster(cluster, tmp_path)
    assert code == 0, said
    found = {row["name"]: row["found"] for row in rows}
    assert re.fullmatch(r"SUBNET UP \S+ s after OpenSM's start on ufm-001, no error in its log", found["subnet up"])
    plan = open_folder(cluster).plan
    leafs, cables, adapters = counted.switches(plan, "compute", "leaf"), counted.cables(plan, "compute"), count_adapters(plan)
    nodes, ways = len(counted.switches(plan, "compute")) + adapters, len(leafs) * adapters
    assert found["nodes and cables"] == f"{nodes} nodes, {len(cables)} of {len(cables)} cables"
    assert found["routing engine"] == "ftree"
    assert found["leafs reach adapters"].startswith(f"{ways} of {ways} ways; ")
    keys = len(plan.tenants) + 2  # those of the managers and of nobody
    assert found["partitions"] == f"{adapters} of {adapters} ports have the keys of their partition, {keys} in all"
    assert found["managers"] == "ufm-001 is master with priority 15; ufm-002 stands by"
    faults = {row["name"]: row["found"] for row in rows if row["kind"] == "fault"}
    assert {f"{spine.name} without power" for spine in counted.switches(plan, "compute", "spine")} < faults.keys()
    assert all("routed by ftree" in text for name, text in faults.items() if "spine" in name)
    cut_off = sum(port.use == "host" for port in leafs[-1].ports)
    assert f" {cut_off} adapters cut off as planned" in faults[f"{leafs[-1].name} without power"]
    assert faults["OpenSM killed on ufm-001"].startswith("ufm-002 is master after ")
    mistakes = {row["name"]: row["found"] for row in rows if row["kind"] == "mistake"}
    assert list(mistakes.values()) == [
        "caught: swapped: the cables at gpu-002:ibp24s0 and gpu-002:ibp64s0 stand in each other's place",
        "caught: missing: compute-leaf-u01-08:32/2 to compute-spine-04:32/2",
        "caught: compute-spine-04 has the GUID 0x00000000deadbeef; the plan has 0xfc6a1c03001002c0 from the facts",
        "caught: gpu-001:ibp24s0 has the keys 0x7fff; planned are 0x8001 0x7fff",
    ]
    assert "| ok | compute | partitions |" in (tmp_path / "twin.md").read_text()


def edit(path, old, new):
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")


RED = "0xa088c20300200001"
"""The first port of gpu-001, in the partition of tenant red."""
WRONG = {
    "topology": ("topology.txt", '[64]\t"S-', '#[64]\t"S-', "topology", "remote port 64 in node"),
    "engine": ("ufm-001/opensm.conf", "ftree,updn", "minhop", "routing engine", "planned is ftree"),
    "priority": ("ufm-001/opensm.conf", "sm_priority 15", "sm_priority 3", "managers", "is master; planned is ufm-001"),
    "partition": ("partitions.conf", f"{RED}=full", f"{RED}=limited", "partitions", "gpu-001:ibp24s0 has the keys"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_file_fails_its_trial_and_is_named(cluster, tmp_path, case):
    name, old, new, trial, words = WRONG[case]
    tree = tmp_path / "tree"
    assert run("render", cluster, "-o", tree)[0] == 0
    edit(tree / "fabric-manager" / name, old, new)
    code, rows, said = try_cluster(tree, tmp_path, "--no-faults", "--no-mistakes")
    assert code == 1, said
    row = next(row for row in rows if row["name"] == trial)
    assert row["result"] == "failed", rows
    assert any(words in detail for detail in row["details"]), row


def list_processes():
    """Return (name, parent) of every process, by its id."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                name, _, rest = (entry / "stat").read_text().partition("(")[2].rpartition(")")
                found[int(entry.name)] = (name, int(rest.split()[1]))
    return found


def list_simulators(root):
    """Return the simulators and subnet managers that a process has started, and no others that may run on this machine."""
    every = list_processes()

    def descends(number):
        while number in every and number != root:
            number = every[number][1]
        return number == root

    return {number for number, (name, _) in every.items() if name in {"ibsim", "opensm"} and descends(number)}


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_nothing_outlives_a_subnet_that_is_ended(cluster, number):
    with start("twin", "test", cluster, "--network", "compute") as process:

        def find_all():
            assert process.poll() is None, process.communicate()
            mine = list_simulators(process.pid)
            return mine if len(mine) >= 3 else None

        mine = wait_for(find_all, PATIENCE_S, "ibsim and two managers did not start")
        process.send_signal(number)
        process.communicate(timeout=stretch(PATIENCE_S))
    assert process.returncode == {signal.SIGKILL: -9}.get(number, 130)
    wait_for(lambda: not mine & list_processes().keys(), PATIENCE_S, lambda: f"{mine & list_processes().keys()} live on")


def test_missing_packages_are_named(cluster):
    """With nothing but Python on the path, the command says what to install, and exits as for other machines."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": "/nowhere"}
    code = (
        "import cluster_model.twin.infiniband.simulator as s; s.PROGRAMS['no-such-program'] = 'opensm'\n"
        "from cluster_model.cli.main import main; main()"
    )
    arguments = ["twin", "test", str(cluster), "--network", "compute"]
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=stretch(PATIENCE_S))
    assert done.returncode == 3, done.stderr
    assert re.search(r"programs are missing: apt install .*\bopensm\b", done.stderr)


@pytest.mark.slow
def test_the_superpod_whole_with_its_ethernet_networks(tmp_path):
    code, out, said = run("twin", "test", "inventory/superpod-h100", "--no-mistakes", "--no-faults", "--report", tmp_path)
    assert code == 0, f"{out}\n{said}"
    report = json.loads((tmp_path / "twin.json").read_text())
    rows = {(row["network"], row["name"]): row for row in report["rows"]}
    plan = open_example("superpod-h100").plan
    cables, adapters = len(counted.cables(plan, "compute")), count_adapters(plan)
    nodes, ways = len(counted.switches(plan, "compute")) + adapters, len(counted.switches(plan, "compute", "leaf")) * adapters
    assert rows["compute", "leafs reach adapters"]["found"].startswith(f"{ways:,} of {ways:,} ways")
    assert rows["compute", "nodes and cables"]["found"] == f"{nodes:,} nodes, {cables:,} of {cables:,} cables"
    assert ("storage", "sessions") in rows and ("oob", "sessions") in rows
