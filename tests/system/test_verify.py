"""`gpuyard verify` against a twin that is up: FRR, lldpd and sshd in namespaces, read over SSH, with faults planted."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cluster_model.pipeline import inspect
from cluster_model.twin.keeper import find_state
from cluster_model.twin.machine import list_obstacles
from cluster_model.twin.management import list_missing
from tests import recorded
from tests.slowness import stretch, wait_for

ROOT = Path(__file__).resolve().parents[2]
CLUSTER = "tests/system/verify"
RAILS_0_TO_3, RAILS_4_TO_7, SPINE = "compute-leaf-u01-01", "compute-leaf-u01-02", "compute-spine-01"
LEAF, OTHER_LEAF, WRONG = "storage-leaf-u01-01", "storage-leaf-u01-02", "storage-spine-02"
RAIL_0, RAIL_1 = "enp24s0np0", "enp64s0np0"
MEET = "ping -6 -q -c 1 -W 2 ff02::1%swp2 >/dev/null; ip -6 neigh show dev swp2"
PLANTED = {
    ("VER001", RAILS_0_TO_3, "Ethernet0"),
    ("VER003", RAILS_4_TO_7, "Ethernet256"),
    ("VER006", OTHER_LEAF, "swp1"),
}
"""What the planted faults are in the cabling."""
PATIENCE_S = 120
pytestmark = pytest.mark.frr


def gpuyard(*arguments):
    """Run gpuyard; return exit code and output."""
    command = [sys.executable, "-m", "cluster_model.cli", *map(str, arguments)]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, check=False, timeout=stretch(600))
    return done.returncode, done.stdout, done.stderr


class Twin:
    """A twin that is up, and what breaks it; ends are (machine, port)."""

    def __init__(self, plan):
        self.pids = find_state(Path(CLUSTER)).machines
        self._mtus = {(server.name, port.name): port.mtu_bytes for server in plan.servers for port in server.ports}
        self._mtus |= {(switch.name, ""): switch.mtu_bytes for switch in plan.switches}

    def run(self, machine, *command, text=None, check=True):
        prefix = ["nsenter", "-t", str(self.pids[machine]), "-n", "-m", "-u", "-p"]
        limit_s = stretch(PATIENCE_S)
        done = subprocess.run([*prefix, *command], input=text, capture_output=True, text=True, check=False, timeout=limit_s)
        assert not check or done.returncode == 0, f"{machine}: {command}: {done.stdout}{done.stderr}"
        return done.stdout

    def unplug(self, end):
        self.run(end[0], "ip", "link", "del", end[1])

    def plug(self, one, other):
        """Lay a cable; its ports have the MTU that the plan gives them."""
        (a, a_port), (b, b_port) = one, other
        link = ["name", a_port, "netns", str(self.pids[a]), "type", "veth", "peer", "name", b_port, "netns", str(self.pids[b])]
        subprocess.run(["ip", "link", "add", *link], check=True)
        for machine, port in (one, other):
            mtu = self._mtus.get((machine, port)) or self._mtus[machine, ""]
            self.run(machine, "ip", "link", "set", port, "mtu", str(mtu), "up")

    def vtysh(self, machine, *lines):
        self.run(machine, "vtysh", *(word for line in ("configure terminal", *lines) for word in ("-c", line)))

    def hears(self, end, far):
        """Return whether a port hears a device by LLDP."""
        return f'"value": "{far}"' in self.run(end[0], "lldpcli", "-f", "json0", "show", "neighbors", "ports", end[1])

    def has_ways(self, machine, prefix, ways):
        said = json.loads(self.run(machine, "vtysh", "-c", f"show ip route {prefix} json"))
        return sum(bool(hop.get("fib")) for route in said.get(prefix, ()) for hop in route["nexthops"]) == ways

    def wait_for(self, reached, what):
        wait_for(reached, PATIENCE_S, f"waited in vain for {what}", every_s=0.2)

    def verify(self, what, *options):
        """Verify from the operator's machine, with no option that says how to log in."""
        environment = ["env", f"PYTHONPATH={ROOT}", sys.executable, "-m", "cluster_model.cli"]
        code, out, err = gpuyard(
            "twin", "exec", CLUSTER, "operator", *environment, "verify", what, CLUSTER, "--format", "json", *options
        )
        assert out, err
        return code, json.loads(out)


@pytest.fixture(scope="module")
def plan():
    return inspect(ROOT / CLUSTER).plan


@pytest.fixture(scope="module")
def twin(plan):
    obstacles = [*list_obstacles(), *(f"{name} is missing: apt install openssh-server" for name in list_missing())]
    if obstacles:
        (pytest.fail if os.environ.get("GPUYARD_REQUIRE_FRR") else pytest.skip)("; ".join(obstacles))
    code, out, err = gpuyard("twin", "up", CLUSTER)
    try:
        assert code == 0, err
        assert f"gpuyard twin exec {CLUSTER} operator gpuyard verify cabling {CLUSTER}\n" in out
        yield Twin(plan)
    finally:
        gpuyard("twin", "down", CLUSTER)


def list_processes(spaces):
    """Return what runs in network namespaces."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if str((entry / "ns/net").readlink()) in spaces:
                    found.append((entry / "comm").read_text().strip())
            except OSError:
                continue
    return found


def by_place(told):
    """Return findings by id, device and port; each stands once."""
    found = {(finding["id"], finding["device"], finding["port"]): finding for finding in told["findings"]}
    assert len(found) == len(told["findings"])
    return found


def test_a_twin_as_planned_has_no_findings(twin):
    # lldpd announces a port by its MAC address before it has read how ports are called: neighbours keep that for an interval.
    twin.wait_for(lambda: twin.verify("cabling")[0] == 0, "every neighbour to have heard the names of ports")
    code, told = twin.verify("cabling")
    assert (code, told["findings"], told["cables"]) == (0, [], {"right": 80})
    stand_ins = dict.fromkeys([RAILS_0_TO_3, RAILS_4_TO_7, SPINE, "compute-spine-02"], "frr")
    assert told["devices"] == {"read": 18, "not_reached": {}, "stand_ins": stand_ins}
    # Switches call their ports by name, as rendered; a plain server's lldpd gives a MAC address and the name as description;
    # a BMC says nothing, and is known by its MAC address in the forwarding table.
    assert '"type": "ifname"' in twin.run(LEAF, "lldpcli", "-f", "json0", "show", "neighbors", "ports", "swp31")
    heard = twin.run(LEAF, "lldpcli", "-f", "json0", "show", "neighbors", "ports", "swp1")
    assert '"type": "mac", "value"' in " ".join(heard.split())
    code, told = twin.verify("fabric")
    assert (code, told["findings"]) == (0, [])
    assert told["compared"] == {"AS numbers": 14, "sessions": 64, "MTUs": 140, "prefixes": 26}


def test_every_planted_fault_is_found_and_named_and_nothing_else_is(twin, plan, tmp_path):
    _exchange_two_cables(twin)
    _plug_rail_1_into_a_leaf_of_other_rails(twin)
    twin.run(OTHER_LEAF, "ip", "link", "set", "swp1", "down")
    twin.run("storage-002", "ip", "link", "set", "enp193s0np0", "mtu", "1500")
    twin.run(SPINE, "ip", "link", "set", "Ethernet4", "mtu", "9000")
    twin.vtysh(SPINE, f"router bgp {plan.switch(SPINE).asn}", "neighbor Ethernet0 shutdown")
    asn = plan.switch(WRONG).asn
    conf = twin.run(WRONG, "cat", "/etc/frr/frr.conf").replace(f"router bgp {asn}", f"router bgp {asn + 7}")
    twin.vtysh(WRONG, f"no router bgp {asn}")
    twin.run(WRONG, "sh", "-c", "cat > /run/wrong.conf && vtysh -f /run/wrong.conf", text=conf)
    loopback = plan.switch(RAILS_4_TO_7).loopback
    twin.wait_for(lambda: twin.has_ways(RAILS_0_TO_3, loopback, 7), "the session to go down")
    twin.wait_for(lambda: twin.has_ways(WRONG, plan.switch(OTHER_LEAF).loopback, 0), "the wrong spine to lose its routes")

    # As above, ports that were plugged are called by their MAC addresses for a while.
    twin.wait_for(lambda: set(by_place(twin.verify("cabling")[1])) == PLANTED, "every neighbour to have heard the names of ports")
    kept = ROOT / "docs/examples/floor.json" if recorded.RECORDING else tmp_path / "observed.json"
    fabric_code, fabric = twin.verify("fabric", "--save", str(kept))
    sheet = tmp_path / "sheet.html"
    code, out, _ = gpuyard("verify", "cabling", CLUSTER, "--observed", kept, "--print", sheet, "--format", "json")
    told = json.loads(out)
    assert code == 1
    found = by_place(told)
    assert set(found) == PLANTED
    swap = found["VER001", RAILS_0_TO_3, "Ethernet0"]
    assert swap["cables"] == [f"gpu-001:{RAIL_0}", f"gpu-002:{RAIL_0}"]
    assert swap["fix"].startswith(f"exchange the plugs in A01 U46 {RAILS_0_TO_3} Ethernet0 and ")
    rail = found["VER003", RAILS_4_TO_7, "Ethernet256"]
    assert rail["summary"] == f"gpu-001:{RAIL_1} is on {RAILS_4_TO_7}: rail 1 on a leaf of rails 4 to 7"
    assert found["VER006", OTHER_LEAF, "swp1"]["fix"] == f"enable A02 U43 {OTHER_LEAF} swp1, which is shut down"
    assert told["cables"] == {"right": 76, "exchanged": 2, "wrong": 1, "dark": 1}
    assert "Rack A01" in sheet.read_text() and "exchange the plugs" in sheet.read_text()

    assert fabric_code == 1
    found = by_place(fabric)
    # A leaf may keep the routes of a spine that vanished for a while: graceful restart.
    assert set(found) - {("VER033", name, "") for name in (LEAF, OTHER_LEAF)} == {
        ("VER030", RAILS_0_TO_3, "Ethernet480"),
        ("VER031", WRONG, ""),
        ("VER032", SPINE, "Ethernet4"),
        ("VER032", "storage-002", "enp193s0np0"),
        ("VER033", RAILS_0_TO_3, ""),
        ("VER033", WRONG, ""),
    }
    assert found["VER031", WRONG, ""]["actual"] == f"AS {asn + 7}; 4 of its 4 sessions are down"
    thin = found["VER033", RAILS_0_TO_3, ""]
    assert (thin["expected"], thin["actual"]) == ("8 ways", "7 ways")


def test_the_quiet_and_the_dead_are_told_apart(twin, plan):
    """A host without lldpd is known by its MAC address; what does not answer is judged from its neighbours."""
    twin.run("storage-002", "sh", "-c", "kill $(cat /run/lldpd.pid)")
    twin.run(OTHER_LEAF, "sh", "-c", "kill $(cat /run/sshd/pid)")
    ports = [port.name for port in plan.servers[2].ports]
    for port in (*ports, "operator"):
        twin.run("storage-001", "ip", "link", "set", port, "down")
    twin.wait_for(lambda: not twin.hears((LEAF, "swp2"), "storage-002"), "the leaf to forget the host")
    # All of a link answer this, and the leaf then has the host's address in its neighbour table.
    twin.wait_for(lambda: "lladdr" in twin.run(LEAF, "sh", "-c", MEET), "the leaf to meet the host")
    timeout = ("--timeout", f"{stretch(60):g}")  # who does not answer is known sooner
    code, told = twin.verify("cabling", "--network", "storage", "--network", "oob", *timeout)
    assert code == 3
    assert set(told["devices"]["not_reached"]) == {OTHER_LEAF, "storage-001"}
    found = by_place(told)
    assert found["VER007", "storage-001", ""]["actual"] == "no answer, no link; its BMC has link, so power reaches it"
    assert ("VER020", OTHER_LEAF, "") in found and ("VER020", "storage-001", "") not in found
    assert found["VER021", "storage-002", ""]["summary"] == "storage-002 does not tell: LLDP neighbours (lldpcli)"
    # The quiet host's cable to the leaf that answers is known; the one to the leaf that does not is told, and no fault.
    quiet = next(finding for finding in told["findings"] if finding["id"] == "VER013")
    assert quiet["cables"] == ["storage-002:enp193s0np0"]
    assert ("VER006", LEAF, "swp2") not in found


def test_nothing_is_left_of_it(twin):
    spaces = {str(Path(f"/proc/{pid}/ns/net").readlink()) for pid in twin.pids.values()}
    assert "sshd" in list_processes(spaces)
    assert gpuyard("twin", "down", CLUSTER)[0] == 0
    twin.wait_for(lambda: not list_processes(spaces), "the twin to be gone")


def _exchange_two_cables(twin):
    ends = [("gpu-001", RAIL_0), ("gpu-002", RAIL_0)]
    for end in ends:
        twin.unplug(end)
    twin.plug(ends[0], (RAILS_0_TO_3, "Ethernet16"))
    twin.plug(ends[1], (RAILS_0_TO_3, "Ethernet0"))
    twin.wait_for(lambda: twin.hears((RAILS_0_TO_3, "Ethernet0"), "gpu-002"), "the leaf to hear the other host")
    twin.wait_for(lambda: twin.hears((RAILS_0_TO_3, "Ethernet16"), "gpu-001"), "the leaf to hear the other host")


def _plug_rail_1_into_a_leaf_of_other_rails(twin):
    end = ("gpu-001", RAIL_1)
    twin.unplug(end)
    twin.plug(end, (RAILS_4_TO_7, "Ethernet256"))
    twin.wait_for(lambda: twin.hears(end, RAILS_4_TO_7), "the host to hear the wrong leaf")
    twin.wait_for(lambda: twin.hears((RAILS_4_TO_7, "Ethernet256"), "gpu-001"), "the leaf to hear the host")
