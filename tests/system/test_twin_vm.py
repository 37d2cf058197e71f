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
PATIENCE_S = 3600
"""How long is waited for what must come, however busy this machine is: only a failure takes that long."""
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


def try_cluster(tmp_path, cluster, *networks):
    """Try some networks of a cluster, of which no trial may fail; return {network: {name: what was found}}, and the table.

    Notes about the whole run are those of network "".
    """
    with start(cluster, *(f"--network={name}" for name in networks), "--report", tmp_path) as process:
        out, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, f"{out}\n{said}"
    rows = json.loads((tmp_path / "twin.json").read_text())["rows"]
    assert {row["place"] for row in rows if row["kind"] != "scope"} == {"small machine"}
    found = {name: {row["name"]: row["found"] for row in rows if row["network"] == name} for name in ("", *networks)}
    for name in networks:
        kernel = found[name]["in a small machine"]
        assert kernel.startswith("QEMU, Linux 6.") and "this kernel has no " in kernel
    return found, out


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


def wait_until(reached, what):
    deadline = time.monotonic() + PATIENCE_S
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
    with start(ROOT / "tests/vm/cluster.yml", "--network", "business") as process:
        wait_until(lambda: process.poll() is not None or find_machines(process), "the small machine did not start")
        assert process.poll() is None, process.communicate()
        machines = find_machines(process)
        process.send_signal(number)
        process.communicate(timeout=PATIENCE_S)
    assert process.returncode == {signal.SIGKILL: -9}.get(number, 130)
    wait_until(lambda: not any(map(is_running, machines)), "the small machine lives on")


@pytest.mark.slow  # about ten minutes
def test_driving_s_tenants_on_sonic_leafs_in_mlag_pairs(tmp_path):
    rows, out = try_cluster(tmp_path, "inventory/driving", "business")
    assert "\nnote     business  in a small machine " in f"\n{out}"
    assert {"hosts", "DHCP", "MLAG", "router MACs", "timers"} <= set(rows[""])
    assert "its daemon is played" in rows[""]["MLAG"]
    found = rows["business"]
    assert found["sessions"] == "96 of 96 ends established with the planned ASN"
    assert found["hosts reach hosts"] == "108 of 108 pairs"
    assert found["EVPN and external sessions"] == "100 of 100 ends up, external peers' in their VRFs"
    assert found["VNIs in their VRFs"] == "42 of 42 on 8 switches"
    assert found["EVPN routes"] == "36 of 36 type 2, 20 of 20 type 3, 40 of 40 type 5"
    assert found["shared addresses stay apart"] == "8 of 8 datagrams went to the tenant's own machine"
    assert found["leaving by external peers"] == "16 of 16 flows leave with a planned address"
    assert found["tenants that do not meet"].startswith("45 of 45 ")
    names = ("border-01", "border-02", "spine-01", "spine-02", "leaf-u01-01")
    assert {f"business-{name} without power" for name in names} <= set(found)
    assert any(name.startswith("peer link cable cut") for name in found)
    mistakes = list_mistakes(found)
    assert len(mistakes) == 3 and all(text.startswith("caught: ") for text in mistakes)
    for words in (" stand in each other's place", " lacks VNI ", " runs as AS "):
        assert [text for text in mistakes if words in text], words


def list_mistakes(found):
    return [text for name, text in found.items() if name.startswith("planted: ")]


@pytest.mark.slow  # six minutes on a machine that others use as well
def test_ethernet_segments_and_vrfs_on_compute(tmp_path):
    rows, _ = try_cluster(tmp_path, ROOT / "tests/vm/apart.yml", "compute", "business")
    assert "no designated forwarder" in rows[""]["Ethernet segments"]
    business, compute = rows["business"], rows["compute"]
    assert business["designated forwarders"] == "4 of 4 segments have the planned designated forwarder"
    assert business["EVPN routes"] == "8 of 8 type 1, 4 of 4 type 2, 4 of 4 type 3, 8 of 8 type 4, 4 of 4 type 5"
    assert business["gateways"] == "4 of 4 answer"
    dead = next(text for name, text in business.items() if name.startswith("business-leaf-u01-01 without power"))
    assert "4 of 4 segments have the planned designated forwarder" in dead
    assert compute["hosts reach hosts"] == "8 of 8 pairs"
    assert compute["tenants that do not meet"].startswith("4 of 4 ")
    assert compute["VNIs in their VRFs"] == "8 of 8 on 4 switches"
    mistakes = [*list_mistakes(business), *list_mistakes(compute)]
    assert len(mistakes) == 3 and all(text.startswith("caught: ") for text in mistakes)
