"""What of an InfiniBand network is booted, and forwarding tables that lead nowhere."""

from pathlib import Path

import pytest

from cluster_model.render.infiniband.subnet import choose_routing
from cluster_model.twin.infiniband import scope
from cluster_model.twin.infiniband.tables import read_tables, walk_tables
from cluster_model.twin.plan_file import TreeError
from cluster_model.twin.tree import open_tree
from cluster_model.verify.cabling.ibnetdiscover import Names, compare_topology, read_topology

SUPERPOD = Path("inventory/superpod-h100")


@pytest.fixture(scope="module")
def tree(tmp_path_factory, render):
    folder = tmp_path_factory.mktemp("superpod-h100")
    for path, content in render(SUPERPOD, {"plan", "fabric-manager"}).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return open_tree(folder)


def choose(tree):
    parts, left_out = scope.choose_parts(tree, ["compute"])
    return (parts[0] if parts else None), left_out.get("compute", "")


def test_what_fits_is_whole(tree):
    part, why = choose(tree)
    assert (part.sampled, why) == ("", "")
    assert len(part.servers) == 129
    assert part.topology == (tree.folder / "fabric-manager/topology.txt").read_text()


def test_of_what_does_not_fit_whole_units_are_booted(tree, monkeypatch):
    monkeypatch.setattr(scope, "MAX_NODES", 600)
    part, _ = choose(tree)
    assert part.sampled.startswith("2 of 4 units, 16 of 32 leafs, 16 of 16 spines: ibsim takes ")
    assert {cable.b for cable in part.plan.cables} <= {switch.name for switch in part.subnet.switches}
    assert not compare_topology(part.plan, part.topology)
    assert choose_routing(part.subnet)[0] == "ftree,updn"
    assert len(read_topology(part.topology)) == 16 + 16 + (31 + 32) * 8 + 4


def test_what_fits_in_no_part_is_left_out(tree, monkeypatch):
    monkeypatch.setattr(scope, "MAX_SWITCHES", 8)
    assert choose(tree) == (None, f"{scope.LIMITS}, and one unit has more")


def test_a_tree_without_its_topology_is_refused(tree, tmp_path):
    (tmp_path / "plan.json").write_bytes((tree.folder / "plan.json").read_bytes())
    with pytest.raises(TreeError, match=r"topology\.txt: No such file"):
        choose(open_tree(tmp_path))


# --- Tables

NET = """\
switchguid=0x1
Switch 3 "a"  # "compute-leaf-u01-01"
[1] "h"[1]
[2] "s"[1]
switchguid=0x2
Switch 3 "b"  # "compute-leaf-u01-02"
[2] "s"[2]
switchguid=0x3
Switch 3 "s"  # "compute-spine-01"
[1] "a"[2]
[2] "b"[2]
caguid=0x9
Ca 1 "h"  # "gpu-001 mlx5_0"
[1] "a"[1] # lid 5 lmc 0
"""
RIGHT = {1: {5: 1}, 2: {5: 2}, 3: {5: 1}}
WRONG = {
    "no entry": ({**RIGHT, 3: {}}, "compute-leaf-u01-02 does not reach gpu-001:ibp24s0: compute-spine-01 has no entry for it"),
    "a dark port": ({**RIGHT, 2: {5: 3}}, "compute-leaf-u01-02 has port 3, which is dark, for it"),
    "a valley": ({**RIGHT, 1: {5: 2}, 3: {5: 2}}, "the way goes up again at compute-leaf-u01-02"),
}


def walk(tree, tables):
    names, nodes = Names(tree.plan), read_topology(NET)
    heights = {"compute-leaf-u01-01": 0, "compute-leaf-u01-02": 0, "compute-spine-01": 1}
    return walk_tables(nodes, tables, {"h": 5}, names, heights, [("gpu-001", "ibp24s0")])


def test_ways_that_lead_up_and_down_are_right(tree):
    found = walk(tree, RIGHT)
    assert (found.right, found.pairs, found.faults) == (2, 2, ())
    assert dict(found.loads) == {("compute-leaf-u01-02", 2): 1}


@pytest.mark.parametrize("name", WRONG)
def test_ways_that_lead_nowhere_are_named(tree, name):
    tables, words = WRONG[name]
    assert any(words in fault for fault in walk(tree, tables).faults), walk(tree, tables).faults


def test_tables_are_read_as_dump_fts_prints_them():
    text = "Unicast lids [0x0-0x5] of switch DR path slid 0; dlid 0; 0,1 guid 0x0000000000000003 (x):\n0x0005 001\n1 valid lids\n"
    assert read_tables(text) == {3: {5: 1}}
