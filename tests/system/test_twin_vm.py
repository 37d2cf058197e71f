"""`gpuyard twin test` where this kernel lacks VRFs: it picks the small machine, says so, and nothing of it is left over."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cluster_model.twin.machine import list_lacks, list_obstacles
from cluster_model.twin.vm import kernel

ROOT = Path(__file__).parents[2]
CLUSTER = ROOT / "tests/vm/cluster.yml"
pytestmark = pytest.mark.frr


@pytest.fixture(autouse=True)
def _require_machine():
    obstacles = list_obstacles() or kernel.list_obstacles()
    if obstacles:
        (pytest.fail if os.environ.get("GPUYARD_REQUIRE_VM") else pytest.skip)("; ".join(obstacles))
    if not list_lacks() & {"VRF devices", "VLAN-aware bridges", "VLAN devices", "bonds"}:
        pytest.skip("this kernel has all that a twin needs: nothing goes into the small machine")


def start(*arguments):
    command = [sys.executable, "-m", "cluster_model.cli", "twin", "test", *map(str, arguments)]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def try_cluster(tmp_path, *arguments):
    """Return the rows of a run that passed, by name, and its table."""
    with start(*arguments, "--network", "business", "--report", tmp_path) as process:
        out, said = process.communicate(timeout=3600)
    assert process.returncode == 0, f"{out}\n{said}"
    report = json.loads((tmp_path / "twin.json").read_text())
    assert {row["place"] for row in report["rows"] if row["kind"] != "scope"} == {"small machine"}
    return {row["name"]: row for row in report["rows"]}, out


def find_machines(process):
    """Return the QEMU processes that a process has started."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
                if int(parent) == process.pid and "qemu" in (entry / "cmdline").read_text():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def wait_until(reached, within_s, what):
    deadline = time.monotonic() + within_s
    while not reached():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_the_small_machine_ends_with_the_twin(number):
    with start(CLUSTER, "--network", "business") as process:
        wait_until(lambda: process.poll() is not None or find_machines(process), 300, "the small machine did not start")
        assert process.poll() is None, process.communicate()
        machines = find_machines(process)
        process.send_signal(number)
        process.communicate(timeout=60)
    assert process.returncode == {signal.SIGKILL: -9}.get(number, 130)
    wait_until(lambda: not any(map(is_running, machines)), 30, "the small machine lives on")


def test_tenants_are_tried_in_the_small_machine(tmp_path):
    rows, out = try_cluster(tmp_path, CLUSTER, "--no-faults", "--no-mistakes")
    assert rows["in a small machine"]["found"].startswith("QEMU, Linux 6.")
    assert "this kernel has no " in rows["in a small machine"]["found"]
    assert rows["timers"]["result"] == rows["DHCP"]["result"] == "note"
    found = {name: row["found"] for name, row in rows.items()}
    assert found["sessions"] == "12 of 12 ends established with the planned ASN"
    assert found["EVPN and external sessions"] == "14 of 14 ends up, external peers' in their VRFs"
    assert found["VNIs in their VRFs"] == "22 of 22 on 3 switches"
    assert found["EVPN routes"] == "11 of 11 type 2, 11 of 11 type 3, 22 of 22 type 5"
    assert found["shared addresses stay apart"] == "3 of 3 datagrams went to the tenant's own machine"
    assert found["tenants that do not meet"].startswith("37 of 37 ")
    assert "\nnote     business  in a small machine " in f"\n{out}"


@pytest.mark.slow
def test_ethernet_segments_fail_over_and_mistakes_are_named(tmp_path):
    cluster = tmp_path / "segments.yml"
    cluster.write_text(CLUSTER.read_text().replace("leafs_per_unit: 1", "leafs_per_unit: 2"))
    rows, _ = try_cluster(tmp_path, cluster)
    assert rows["designated forwarders"]["found"] == "6 of 6 segments have the planned designated forwarder"
    assert " type 1, " in rows["EVPN routes"]["found"] and " type 4, " in rows["EVPN routes"]["found"]
    assert "no designated forwarder" in rows["Ethernet segments"]["found"]
    faults = {row["name"] for row in rows.values() if row["kind"] == "fault"}
    assert {f"business-{name} without power" for name in ("spine-01", "spine-02", "border-01", "leaf-u01-01")} <= faults
    mistakes = [row for row in rows.values() if row["kind"] == "mistake"]
    assert any(" lacks VNI " in row["found"] for row in mistakes)
    assert all(row["found"].startswith("caught: ") for row in mistakes)


@pytest.mark.slow
def test_driving_s_tenants_on_sonic_leafs(tmp_path):
    rows, _ = try_cluster(tmp_path, "inventory/driving")
    assert "its daemon is played" in rows["MLAG"]["found"]
    assert rows["hosts"]["found"].startswith("11 of 29")
    assert {"business-border-01 without power", "business-border-02 without power"} <= set(rows)
