"""`gpuyard twin` for real: the lab booted, tried and broken; kept up and explored; and ended in every way there is."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cluster_model.twin.machine import list_obstacles
from tests.planned import open_example, open_folder
from tests.slowness import stretch, wait_for
from tests.system import counted

ROOT = Path(__file__).parents[2]
TWO_PLANES = ROOT / "tests/system/two-planes"
PATIENCE_S = 3600
"""For what must come: only a failure takes that long."""
pytestmark = pytest.mark.frr


@pytest.fixture(autouse=True)
def _require_machine():
    obstacles = list_obstacles()
    if obstacles:
        (pytest.fail if os.environ.get("GPUYARD_REQUIRE_FRR") else pytest.skip)("; ".join(obstacles))


def start(*arguments, **more):
    command = [sys.executable, "-m", "cluster_model.cli", "twin", *map(str, arguments)]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def run(*arguments):
    with start(*arguments) as process:
        out, said = process.communicate(timeout=stretch(PATIENCE_S))
    return process.returncode, out, said


def try_cluster(cluster, tmp_path, *more):
    """Return the report of `twin test`, which must have passed."""
    code, out, said = run("test", cluster, "--report", tmp_path, *more)
    assert code == 0, f"{out}\n{said}"
    return json.loads((tmp_path / "twin.json").read_text()), out


def test_the_lab_is_booted_tried_broken_and_mended(tmp_path):
    report, out = try_cluster("inventory/lab", tmp_path)
    rows = report["rows"]
    found = {(row["network"], row["name"]): row["found"] for row in rows}
    plan = open_example("lab").plan
    neighbours, asked = counted.neighbours(plan, "compute"), counted.gateways(plan, "oob")
    ends = counted.sessions(counted.switches(plan, "compute"))
    routes, hops = counted.routes(counted.switches(plan, "compute"))
    assert found["compute", "sessions"] == f"{ends} of {ends} ends established with the planned ASN"
    assert found["compute", "routes and equal paths"] == f"{routes} of {routes} routes, over {hops} next hops in all"
    ends, nodes = (count(counted.switches(plan, "storage")) for count in (counted.sessions, counted.node_sessions))
    whole = f"{ends} of {ends} ends established with the planned ASN, {nodes} of {nodes} with nodes"
    assert nodes == 22 and found["storage", "sessions"] == whole
    for network in ("compute", "storage"):
        pairs = counted.pairs(plan, network)
        assert found[network, "hosts reach hosts"] == f"{pairs} of {pairs} pairs"
    assert found["oob", "gateways"] == f"{asked} of {asked} answer"
    assert found["compute", "LLDP neighbours are the cables"] == f"{neighbours} of {neighbours} ends have the planned neighbour"
    faults = [(row["network"], row["name"]) for row in rows if row["kind"] == "fault"]
    assert len(faults) == sum(counted.faults(plan, network.name) for network in plan.networks)
    for network in ("compute", "storage", "oob"):
        spines = {(network, f"{spine.name} without power") for spine in counted.switches(plan, network, "spine")}
        assert spines and spines <= set(faults)
    cut_off = counted.pairs(plan, "compute") - counted.pairs(plan, "compute", {"compute-leaf-u01-01"})
    assert f" {cut_off} cut off as planned" in found["compute", "compute-leaf-u01-01 without power, rails 0 to 3"]
    mistakes = {row["name"]: row["found"] for row in rows if row["kind"] == "mistake"}
    assert len(mistakes) == 4
    leaf = "storage-leaf-u01-01"
    assert f"{leaf} takes 0.0.0.0/0 from AS 64512" in mistakes[f"planted: {leaf} takes all that nodes tell it"]
    assert all(text.startswith("caught: ") for text in mistakes.values())
    assert {row["basis"] for row in rows} == {""}
    assert out.splitlines()[-2].startswith(f"{sum(row['result'] == 'passed' for row in rows)} passed, 3 left out, in ")
    assert "| ok | compute | sessions |" in (tmp_path / "twin.md").read_text()


def test_a_wrong_file_fails_the_trials_and_is_named(tmp_path):
    """The tree is what is tried: a mistake in one rendered file, with the plan as it was, fails and names the switch."""
    tree = tmp_path / "tree"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run(
        [sys.executable, "-m", "cluster_model.cli", "render", "inventory/lab", "-o", tree],
        env=env,
        check=True,
        capture_output=True,
    )
    conf = tree / "switches/storage-leaf-u01-02/frr.conf"
    conf.write_text(conf.read_text().replace("network 10.72.0.64/26", "network 10.72.0.128/26"))
    what = ("--network", "storage", "--no-faults", "--no-mistakes")
    code, out, _ = run("test", tree, *what, "--slowness", "1")  # which is how long is waited for what does not come
    assert code == 1
    assert "10.72.0.64/26, which storage-leaf-u01-02 shall announce, is missing on" in out
    assert "FAILED   storage   routes and equal paths" in out


def namespaces_of(pids):
    found = set()
    for pid in pids:
        found.add(str(Path(f"/proc/{pid}/ns/net").readlink()))
    return found


def processes_in(spaces):
    left = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if str((entry / "ns/net").readlink()) in spaces:
                    left.append((entry / "comm").read_text().strip())
            except OSError:
                continue
    return left


def list_children(process):
    return [int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_nothing_outlives_a_twin_that_is_ended(number):
    own = str(Path("/proc/self/ns/net").readlink())
    plan = open_example("lab").plan
    machines = len(counted.switches(plan, "storage")) + len(counted.hosts(plan, "storage"))
    with start("test", "inventory/lab", "--network", "storage", "--no-mistakes") as process:
        spaces = set()

        def is_running():
            assert process.poll() is None, process.communicate()
            pids = list_children(process)
            if len(pids) >= machines:
                try:
                    spaces.update(namespaces_of(pids))
                except OSError:
                    return False
            spaces.discard(own)
            return "bgpd" in processes_in(spaces)

        wait_for(is_running, PATIENCE_S, "the daemons did not start")
        process.send_signal(number)
        process.communicate(timeout=stretch(PATIENCE_S))
    assert process.returncode == {signal.SIGKILL: -9}.get(number, 130)
    assert len(spaces) >= machines
    wait_for(lambda: not processes_in(spaces), PATIENCE_S, "the twin's processes live on")


def test_a_twin_that_stays_up_is_explored_and_ended():
    plan = open_example("lab").plan
    switches, hosts = len(counted.switches(plan, "oob")), len(counted.hosts(plan, "oob"))
    ways = sum(port.peer_asn > 0 for port in plan.switch("oob-leaf-a01").ports)
    code, out, said = run("up", "inventory/lab", "--network", "oob")
    try:
        assert code == 0, said
        assert f"{switches} switches and {hosts} hosts are up." in out
        assert run("up", "inventory/lab")[0] == 2
        code, out, _ = run("exec", "inventory/lab", "oob-leaf-a01", "vtysh", "-c", "show bgp ipv4 unicast summary json")
        assert code == 0
        assert [peer["state"] for peer in json.loads(out)["peers"].values()] == ["Established"] * ways
        ping = ("exec", "lab", "gpu-001", "ping", "-c1", "-W2", "10.76.65.5")
        wait_for(lambda: "1 received" in run(*ping)[1], 60, "gpu-001 is not answered")
        code, _, said = run("exec", "lab", "oob-leaf-a1", "true")
        assert code == 2 and "did you mean oob-leaf-a01?" in said
    finally:
        code, out, said = run("down", "inventory/lab")
    assert (code, out) == (0, "The twin of lab is down.\n"), said
    assert run("down", "lab")[0] == 2


@pytest.mark.slow  # twice the switches of the lab, whose faults are played in `make test`
def test_two_planes_three_tiers_and_stand_ins(tmp_path):
    report, _ = try_cluster(TWO_PLANES, tmp_path)
    rows = {(row["network"], row["name"]): row for row in report["rows"]}
    plan = open_folder(TWO_PLANES).plan
    dead = {switch.name for switch in counted.switches(plan, "compute") if switch.plane == 1}
    pairs, left = counted.pairs(plan, "compute"), counted.pairs(plan, "compute", dead)
    without = rows["compute", "plane 1 without power"]["found"]
    assert without.startswith(f"{left} of {left} pairs, {pairs - left} cut off as planned;")
    assert rows["compute", "sessions"]["basis"] == ""
    assert rows["storage", "sessions"]["basis"] == rows["oob", "sessions"]["basis"] == "stand-in: plan proved, file not"
    assert ("oob", "oob-core-g01-01 without power") in rows
    tried = counted.whole(rows["compute", "nothing else is reached"]["found"])
    assert tried >= 3 * len(counted.hosts(plan, "compute"))  # each host tries two other networks and the other plane


@pytest.mark.slow
def test_a_sample_of_a_superpod(tmp_path):
    report, _ = try_cluster("inventory/superpod-roce", tmp_path)
    plan, chosen = open_example("superpod-roce").plan, {}
    for network in ("compute", "oob"):
        leafs = counted.switches(plan, network, "leaf")
        chosen[network] = [leaf for leaf in leafs if leaf.unit == 1] + [leaf for leaf in leafs if leaf.unit != 1][:2]
        assert report["sampled"][network].startswith(f"{len(chosen[network])} of {len(leafs)} leafs")
    assert set(report["sampled"]) == set(chosen)
    spines = counted.switches(plan, "compute", "spine")
    assert f"{len(spines)} of {len(spines)} spines" in report["sampled"]["compute"]
    rows = {(row["network"], row["name"]): row for row in report["rows"]}
    ends, (routes, hops) = counted.sessions(chosen["compute"] + spines), counted.routes(chosen["compute"] + spines)
    assert rows["compute", "sessions"]["found"] == f"{ends} of {ends} ends established with the planned ASN"
    assert rows["compute", "routes and equal paths"]["found"] == f"{routes} of {routes} routes, over {hops} next hops in all"


@pytest.mark.slow
def test_a_sample_with_two_spines(tmp_path):
    report, _ = try_cluster("inventory/superpod-roce", tmp_path, "--network", "compute", "--spines", "2", "--leafs", "1")
    spines = counted.switches(open_example("superpod-roce").plan, "compute", "spine")
    assert f"2 of {len(spines)} spines (compute-spine-01, compute-spine-02)" in report["sampled"]["compute"]
    faults = {row["name"] for row in report["rows"] if row["kind"] == "fault"}
    assert {"compute-spine-01 without power", "compute-spine-02 without power"} < faults


@pytest.mark.parametrize(
    ("more", "broken"),
    [
        (["--no-faults", "--no-mistakes"], set()),
        # The lab above breaks the same three networks; here each fault is played on twice the switches.
        pytest.param([], {"compute", "storage", "oob"}, marks=pytest.mark.slow),
    ],
    ids=["booted and tried", "broken and mended"],
)
def test_the_networks_of_driving_without_vrfs(more, broken, tmp_path):
    networks = ("--network", "compute", "--network", "storage", "--network", "oob")
    report, _ = try_cluster("inventory/driving", tmp_path, *networks, *more)
    assert {row["network"] for row in report["rows"] if row["kind"] == "trial"} >= {"compute", "storage", "oob"}
    assert {row["network"] for row in report["rows"] if row["kind"] == "fault"} == broken
