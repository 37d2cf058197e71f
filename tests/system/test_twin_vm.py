"""`gpuyard twin test` where this kernel lacks VRFs: it picks the small machine, says so, and nothing of it is left over."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cluster_model.twin.machine import list_lacks, list_obstacles
from cluster_model.twin.vm import kernel
from tests.planned import open_example, open_folder
from tests.slowness import stretch, wait_for
from tests.system import counted

ROOT = Path(__file__).parents[2]
PATIENCE_S = 3600
"""For what must come: only a failure takes that long."""
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
        out, said = process.communicate(timeout=stretch(PATIENCE_S))
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


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_the_small_machine_ends_with_the_twin(number):
    with start(ROOT / "tests/vm/cluster.yml", "--network", "business") as process:
        why = "the small machine did not start"
        wait_for(lambda: process.poll() is not None or find_machines(process), PATIENCE_S, why)
        assert process.poll() is None, process.communicate()
        machines = find_machines(process)
        process.send_signal(number)
        process.communicate(timeout=stretch(PATIENCE_S))
    assert process.returncode == {signal.SIGKILL: -9}.get(number, 130)
    wait_for(lambda: not any(map(is_running, machines)), PATIENCE_S, "the small machine lives on")


@pytest.mark.slow  # about ten minutes
def test_driving_s_tenants_on_sonic_leafs_in_mlag_pairs(tmp_path):
    rows, out = try_cluster(tmp_path, "inventory/driving", "business")
    assert "\nnote     business  in a small machine " in f"\n{out}"
    assert {"hosts", "DHCP", "MLAG", "router MACs", "timers"} <= set(rows[""])
    assert "its daemon is played" in rows[""]["MLAG"]
    found = rows["business"]
    plan = open_example("driving").plan
    edges, ends = counted.edges(plan, "business"), counted.sessions(counted.switches(plan, "business"))
    outside, vnis = sum(len(overlay.externals) for _, overlay in edges), counted.vnis(plan, "business")
    assert found["sessions"] == f"{ends} of {ends} ends established with the planned ASN"
    assert found["EVPN and external sessions"] == f"{ends + outside} of {ends + outside} ends up, external peers' in their VRFs"
    assert found["VNIs in their VRFs"] == f"{vnis} of {vnis} on {len(edges)} switches"
    routes = read_routes(found["EVPN routes"])
    vlans = sum(len(overlay.vlans) for _, overlay in edges)
    # Of the hosts a sample is there: what hangs on them has a floor alone.
    assert set(routes) == {2, 3, 5} and routes[3] == vlans and routes[2] >= vlans and routes[5] >= vnis - vlans
    assert found["shared addresses stay apart"].endswith(" datagrams went to the tenant's own machine")
    assert found["leaving by external peers"].endswith(" flows leave with a planned address")
    floors = {
        "hosts reach hosts": 2 * vlans,
        "shared addresses stay apart": 2 * 2,  # two hosts on each side
        "leaving by external peers": outside,
        "tenants that do not meet": len(plan.tenants),
    }
    assert {name: floor for name, floor in floors.items() if counted.whole(found[name]) < floor} == {}
    names = [*(switch.name for switch in counted.switches(plan, "business", "border", "spine")), "business-leaf-u01-01"]
    assert {f"{name} without power" for name in names} <= set(found)
    assert any(name.startswith("peer link cable cut") for name in found)
    mistakes = list_mistakes(found)
    assert len(mistakes) == 3 and all(text.startswith("caught: ") for text in mistakes)
    for words in (" stand in each other's place", " lacks VNI ", " runs as AS "):
        assert [text for text in mistakes if words in text], words


def read_routes(text):
    """Return how many routes of each type are all there."""
    return {int(part.rpartition(" type ")[2]): counted.whole(part) for part in text.split(", ")}


def list_mistakes(found):
    return [text for name, text in found.items() if name.startswith("planted: ")]


@pytest.mark.slow  # six minutes on a machine that others use as well
def test_ethernet_segments_and_vrfs_on_compute(tmp_path):
    rows, _ = try_cluster(tmp_path, ROOT / "tests/vm/apart.yml", "compute", "business")
    assert "no designated forwarder" in rows[""]["Ethernet segments"]
    business, compute = rows["business"], rows["compute"]
    plan = open_folder(ROOT / "tests/vm/apart.yml").plan
    overlays = [overlay for _, overlay in counted.edges(plan, "business")]
    halves = [bond.esi for overlay in overlays for bond in overlay.bonds if bond.esi]
    vlans, segments = sum(len(overlay.vlans) for overlay in overlays), len(set(halves))
    addresses = sum(bool(vlan.address) for server in plan.servers for bond in server.bonds for vlan in bond.vlans)
    forwarders = f"{segments} of {segments} segments have the planned designated forwarder"
    routes = read_routes(business["EVPN routes"])
    assert business["designated forwarders"] == forwarders
    assert set(routes) == {1, 2, 3, 4, 5} and routes[5] >= counted.vnis(plan, "business") - vlans
    assert [routes[kind] for kind in (1, 2, 3, 4)] == [len(halves), addresses, vlans, len(halves)]
    assert business["gateways"] == f"{addresses} of {addresses} answer"
    dead = next(text for name, text in business.items() if name.startswith("business-leaf-u01-01 without power"))
    assert forwarders in dead
    pairs, vnis = counted.pairs(plan, "compute"), counted.vnis(plan, "compute")
    assert compute["hosts reach hosts"] == f"{pairs} of {pairs} pairs"
    assert counted.whole(compute["tenants that do not meet"]) >= len(plan.tenants)
    assert compute["VNIs in their VRFs"] == f"{vnis} of {vnis} on {len(counted.edges(plan, 'compute'))} switches"
    mistakes = [*list_mistakes(business), *list_mistakes(compute)]
    assert len(mistakes) == 3 and all(text.startswith("caught: ") for text in mistakes)
