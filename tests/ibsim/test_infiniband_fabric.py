"""The SuperPOD's InfiniBand fabric, whole: OpenSM routes it with what we render, and ibnetdiscover reads it back."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cluster_model.verify.cabling.ibnetdiscover import compare_topology, list_links, read_topology
from tests.ibsim import simulator

pytestmark = pytest.mark.opensm
SUPERPOD = Path("inventory/superpod-h100/cluster.yml")
MANAGER = "ufm-001 ib0"
SPINES = 16


@pytest.fixture(scope="module")
def intent():
    simulator.require_programs()
    return SUPERPOD.read_text("utf-8")


@pytest.fixture(scope="module")
def superpod(intent, tmp_path_factory):
    """Return the plan with GUIDs for everything, the folder with its files, and their text."""
    folder = tmp_path_factory.mktemp("superpod")
    plan = simulator.make_plan(folder, intent)
    return plan, folder, simulator.render_files(plan, folder)


@pytest.fixture(scope="module")
def seen(superpod):
    """Return OpenSM's log, the routing engine that it used, and what ibnetdiscover prints of the fabric as planned."""
    plan, folder, _ = superpod
    simulator.write_net(plan, folder / "net", simulator.list_cables(plan))
    with simulator.simulated(folder, MANAGER) as fabric:
        log, engine = fabric.route(MANAGER, "ufm-001/opensm.conf")
        return (
            log,
            engine,
            fabric.run(MANAGER, "ibnetdiscover"),
            fabric.run(MANAGER, "ibnetdiscover", "--node-name-map", "ib-node-name-map"),
        )


def discover(plan, folder, cables, **spelling):
    simulator.write_net(plan, folder / "net", cables, **spelling)
    with simulator.simulated(folder, MANAGER) as fabric:
        return fabric.run(MANAGER, "ibnetdiscover")


def test_opensm_routes_it_as_the_fat_tree_that_it_is(seen, superpod):
    log, engine, *_ = seen
    assert engine == "ftree"
    assert "ERR" not in log, log
    roots = [line.split()[0] for line in superpod[2]["root_guids.conf"].splitlines() if not line.startswith("#")]
    assert roots == [switch.guid for switch in superpod[0].switches if switch.name.startswith("compute-spine")]
    assert len(roots) == SPINES


def test_the_simulator_shows_as_many_nodes_as_are_planned(seen):
    nodes = read_topology(seen[2])
    kinds = [node.kind for node in nodes.values()]
    assert (kinds.count("Switch"), kinds.count("Ca")) == (32 + SPINES, 127 * 8 + 2 * 2)


def test_the_expected_topology_is_what_ibnetdiscover_prints(seen, superpod):
    """Node by node and port by port, without the plan's names: switches by GUID, adapters by their port's GUID."""

    def flatten(text):
        nodes = read_topology(text)
        name = {
            (node.id, number): node.id if node.kind == "Switch" else f"{peer.guid:x}"
            for node in nodes.values()
            for number, peer in node.ports.items()
        }
        return {
            (name[node.id, number], number, name[peer.node, peer.port], peer.port)
            for node in nodes.values()
            for number, peer in node.ports.items()
        }

    expected = flatten(superpod[2]["topology.txt"])
    assert len(expected) == 2 * (1016 + 4 + 1024)
    assert flatten(seen[2]) == expected


def test_the_fabric_as_planned_is_without_difference(seen, superpod):
    plan, _, files = superpod
    planned = {tuple(sorted(cable)) for cable in simulator.list_cables(plan)}
    assert list_links(plan, seen[2]) == planned
    assert list_links(plan, files["topology.txt"]) == planned
    assert not compare_topology(plan, seen[2])


def test_the_name_map_names_every_switch(seen, superpod):
    shown = {node.description for node in read_topology(seen[3]).values() if node.kind == "Switch"}
    assert shown == {switch.name for switch in superpod[0].switches if switch.network == "compute"}


def test_swapped_and_missing_cables_are_named(superpod):
    plan, folder, _ = superpod
    cables = simulator.list_cables(plan)
    (a, a_far), (b, b_far) = [c for c in cables if c[0][0].startswith("gpu-00")][3:5]
    (up, up_far), (other, other_far) = [c for c in cables if c[0][0].startswith("compute-leaf-u02")][7:9]
    gone = cables[-1]
    kept = [c for c in cables if c not in ((a, a_far), (b, b_far), (up, up_far), (other, other_far), gone)]
    wrong = [(a, b_far), (b, a_far), (up, other_far), (other, up_far)]
    found = compare_topology(plan, discover(plan, folder, kept + wrong))
    pairs = {frozenset({(one.a, one.a_port), (two.a, two.a_port)}) for one, two in found.swapped}
    assert pairs == {frozenset({a, b}), frozenset({up, other})}
    assert [((c.a, c.a_port), (c.b, c.b_port)) for c in found.missing] == [gone]
    assert found.unexpected == ()


def test_a_cable_in_a_free_port_is_unexpected(superpod):
    plan, folder, _ = superpod
    cables = simulator.list_cables(plan)
    moved = next(c for c in cables if c[0] == ("gpu-001", "ibp24s0"))
    taken = {end for cable in cables for end in cable}
    free = next(
        (leaf, f"{cage}/{sub}")
        for leaf in ("compute-leaf-u04-05", "compute-leaf-u01-05")
        for cage in range(1, 33)
        for sub in (1, 2)
        if (leaf, f"{cage}/{sub}") not in taken
    )
    found = compare_topology(plan, discover(plan, folder, [*(c for c in cables if c != moved), (moved[0], free)]))
    assert [c.a for c in found.missing] == ["gpu-001"]
    assert found.swapped == ()
    # The plan does not use that port: it goes by its number.
    assert found.unexpected == (tuple(sorted([moved[0], (free[0], str(simulator.number_port(free[1])))])),)


def test_without_guids_names_do_and_a_broken_cable_hands_over_to_updn(intent, tmp_path):
    plan = simulator.make_plan(tmp_path, intent, guids=False)
    files = simulator.render_files(plan, tmp_path)
    assert not re.search(r"^(guid|root_guid_file) ", files["ufm-001/opensm.conf"], re.MULTILINE)
    cables = simulator.list_cables(plan)
    simulator.write_net(plan, tmp_path / "net", cables[:-1], named=True)
    with simulator.simulated(tmp_path, MANAGER) as fabric:
        _, engine = fabric.route(MANAGER, "ufm-001/opensm.conf")
        found = compare_topology(plan, fabric.run(MANAGER, "ibnetdiscover"))
    assert engine == "updn"
    assert [((c.a, c.a_port), (c.b, c.b_port)) for c in found.missing] == cables[-1:]
    assert (found.swapped, found.unexpected) == ((), ())


def test_with_roots_named_a_broken_cable_changes_no_engine(superpod):
    plan, folder, _ = superpod
    simulator.write_net(plan, folder / "net", simulator.list_cables(plan)[:-1])
    with simulator.simulated(folder, MANAGER) as fabric:
        assert fabric.route(MANAGER, "ufm-001/opensm.conf")[1] == "ftree"


def test_the_expected_topology_boots_as_it_is(intent, tmp_path):
    plan = simulator.make_plan(tmp_path, intent, guids=False)
    (tmp_path / "net").write_text(simulator.render_files(plan, tmp_path)["topology.txt"], "utf-8")
    with simulator.simulated(tmp_path, "ufm-001 mlx5_0") as fabric:
        assert fabric.route("ufm-001 mlx5_0", "ufm-001/opensm.conf")[1] == "ftree"
        assert not compare_topology(plan, fabric.run("ufm-001 mlx5_0", "ibnetdiscover"))
