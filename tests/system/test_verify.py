"""`gpuyard verify` against devices that run: FRR, lldpd and sshd in namespaces, read over SSH, with faults planted."""

import json
import os
from pathlib import Path

import pytest

from cluster_model.cli.common import inspect_cluster
from cluster_model.render.tree import render_tree
from tests.system.verify.floor import boot_floor

CLUSTER = "tests/system/verify"
LEAF, OTHER_LEAF, SPINE = "storage-leaf-u01-01", "storage-leaf-u01-02", "storage-spine-02"
MEET = "ping -6 -q -c 1 -W 2 ff02::1%swp1 >/dev/null; ip -6 neigh show dev swp1"
pytestmark = pytest.mark.frr


@pytest.fixture(scope="module")
def floor(tmp_path_factory):
    root = Path(__file__).resolve().parents[2]
    opened = inspect_cluster(root / CLUSTER)
    tree = tmp_path_factory.mktemp("tree")
    for path, content in render_tree(opened.plan, opened.catalogue, only={"switches"}).items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_bytes(content)
    with boot_floor(opened.plan, tree, tmp_path_factory.mktemp("desk") / "home") as running:
        yield running


def verify(floor, what, *options):
    code, out, err = floor.gpuyard(what, CLUSTER, "--network", "storage", "--format", "json", *options)
    assert out, err
    return code, json.loads(out)


def test_a_floor_as_planned_then_one_with_faults(floor, tmp_path):
    code, told = verify(floor, "cabling")
    assert (code, told["findings"], told["cables"]) == (0, [], {"right": 8})
    assert told["devices"] == {"read": 6, "not_reached": {}}
    # Switches call their ports by name, as rendered; a plain server's lldpd gives a MAC address and the name as description.
    assert '"type": "ifname"' in floor.run(LEAF, "lldpcli", "-f", "json0", "show", "neighbors", "ports", "swp31")
    assert '"type": "mac", "value"' in " ".join(
        floor.run(LEAF, "lldpcli", "-f", "json0", "show", "neighbors", "ports", "swp1").split()
    )
    code, told = verify(floor, "fabric")
    assert (code, told["findings"]) == (0, [])
    assert told["compared"] == {"AS numbers": 4, "sessions": 8, "MTUs": 16, "prefixes": 3}

    # Two cables exchanged at a leaf, one port shut down, a wrong MTU, a wrong AS number.
    one, other = ("storage-001", "enp65s0np0"), ("storage-002", "enp65s0np0")
    floor.unplug(one)
    floor.unplug(other)
    floor.plug(one, (LEAF, "swp2"))
    floor.plug(other, (LEAF, "swp1"))
    floor.run(OTHER_LEAF, "ip", "link", "set", "swp1", "down")
    floor.run("storage-002", "ip", "link", "set", "enp193s0np0", "mtu", "1500")
    conf = (floor.tree / "switches" / SPINE / "frr.conf").read_text()
    asn = floor.plan.switch(SPINE).asn
    wrong = conf.replace(f"router bgp {asn}", f"router bgp {asn + 7}")
    floor.run(SPINE, "vtysh", "-c", "configure terminal", "-c", f"no router bgp {asn}")
    floor.run(SPINE, "sh", "-c", "cat > /etc/frr/wrong.conf && vtysh -f /etc/frr/wrong.conf", text=wrong)
    for end, far in ((one, LEAF), (other, LEAF), ((LEAF, "swp1"), "storage-002"), ((LEAF, "swp2"), "storage-001")):
        floor.wait_for(lambda end=end, far=far: floor.hears(end, far), f"{end} to hear {far}")
    floor.wait_for(lambda: floor.devices[LEAF].established() == 1, "the sessions to go down")

    sheet = tmp_path / "sheet.html"
    code, told = verify(floor, "cabling", "--print", str(sheet))
    assert code == 1
    found = {finding["id"]: finding for finding in told["findings"]}
    assert len(found) == len(told["findings"]) == 2
    assert found["VER001"]["cables"] == ["storage-001:enp65s0np0", "storage-002:enp65s0np0"]
    assert found["VER001"]["fix"] == (
        f"exchange the plugs in A01 U47 {LEAF} swp1 and swp2 (labels storage-002:enp65s0np0 and storage-001:enp65s0np0)"
    )
    assert (found["VER006"]["device"], found["VER006"]["port"]) == (OTHER_LEAF, "swp1")
    assert found["VER006"]["fix"] == f"enable A02 U47 {OTHER_LEAF} swp1, which is shut down"
    assert told["cables"] == {"right": 5, "exchanged": 2, "dark": 1}
    assert "Rack A01" in sheet.read_text() and "exchange the plugs" in sheet.read_text()

    kept = Path("docs/examples/floor.json").resolve() if os.environ.get("GPUYARD_UPDATE_DOCS") else tmp_path / "observed.json"
    code, told = verify(floor, "fabric", "--save", str(kept))
    assert code == 1
    assert verify(floor, "fabric", "--observed", str(kept)) == (code, told)
    assert {finding["id"] for finding in verify(floor, "cabling", "--observed", str(kept))[1]["findings"]} == set(found)
    seen = {(finding["id"], finding["device"], finding["port"]): finding for finding in told["findings"]}
    # The leaf may keep the spine's routes a while: graceful restart.
    assert set(seen) - {("VER033", LEAF, "")} == {
        ("VER031", SPINE, ""),
        ("VER032", "storage-002", "enp193s0np0"),
        ("VER033", SPINE, ""),
    }
    assert seen["VER031", SPINE, ""]["actual"] == f"AS {asn + 7}; 2 of its 2 sessions are down"
    assert (seen["VER033", SPINE, ""]["expected"], seen["VER033", SPINE, ""]["actual"]) == ("1 way", "no way")

    # A host without lldpd is known by its MAC address; a switch that does not answer does not stop the others.
    floor.run("storage-002", "sh", "-c", "kill $(cat /run/lldpd.pid)")
    floor.run(OTHER_LEAF, "sh", "-c", "kill $(cat /run/sshd.pid)")
    floor.wait_for(lambda: not floor.hears((LEAF, "swp1"), "storage-002"), "the leaf to forget the host")
    # All of a link answer this, and the leaf then has the host's address in its neighbour table.
    floor.wait_for(lambda: "lladdr" in floor.run(LEAF, "sh", "-c", MEET), "the leaf to meet the host")
    code, told = verify(floor, "cabling", "--timeout", "10")
    assert code == 3
    assert list(told["devices"]["not_reached"]) == [OTHER_LEAF]
    # What cannot be told is said: the host's other cable leads to the leaf that does not answer.
    assert {"VER001", "VER006", "VER013", "VER020", "VER021"} == {finding["id"] for finding in told["findings"]}
