"""A rendered tree read back: the plan, and stand-ins for dialects without frr.conf."""

from dataclasses import replace

import factory
import orjson
import pytest

from cluster_model.twin.dataplane import parse_interfaces
from cluster_model.twin.plan_file import TreeError, load_plan
from cluster_model.twin.tree import Tree, fill_secrets, open_tree


@pytest.mark.parametrize("name", ["lab", "driving", "superpod-roce"])
def test_plan_json_gives_the_plan_back(trees, name):
    assert trees(name).plan == factory.plan(name)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda path: path.unlink(), "a rendered tree has a plan.json; run gpuyard render"),
        (lambda path: path.write_text("{"), "not JSON"),
        (lambda path: path.write_text("{}"), "not in the format gpuyard-plan-1"),
        (lambda path: path.write_text('{"format": "gpuyard-plan-1", "name": "x"}'), "written by another version"),
    ],
)
def test_a_plan_that_cannot_be_read(tmp_path, trees, change, said):
    (tmp_path / "plan.json").write_bytes((trees("lab").folder / "plan.json").read_bytes())
    change(tmp_path / "plan.json")
    with pytest.raises(TreeError, match=said):
        load_plan(tmp_path)


def test_unknown_fields_of_a_newer_version_are_left(tmp_path, trees):
    body = orjson.loads((trees("lab").folder / "plan.json").read_bytes())
    body["servers"][0]["colour"] = "green"
    (tmp_path / "plan.json").write_bytes(orjson.dumps(body))
    assert load_plan(tmp_path) == factory.plan("lab")


def test_a_plan_of_before_links_to_peers_had_an_mtu_is_read_and_keeps_its_order(tmp_path, trees):
    body = orjson.loads((trees("driving").folder / "plan.json").read_bytes())
    externals = [external for switch in body["switches"] for external in (switch["overlay"] or {}).get("externals", ())]
    ports = [port for switch in body["switches"] for port in switch.get("external_ports", ())]
    assert externals
    for external in (*externals, *ports):
        assert list(external).index("mtu_bytes") == list(external).index("speed_gbps") + 1
        assert external.pop("mtu_bytes") == 1500
    (tmp_path / "plan.json").write_bytes(orjson.dumps(body))
    assert load_plan(tmp_path) == factory.plan("driving")


def test_files_of_both_dialects(trees):
    tree = trees("lab")
    sonic = tree.switch_files(tree.plan.switch("compute-leaf-u01-01"))
    linux = tree.switch_files(tree.plan.switch("oob-leaf-a01"))
    assert not sonic.is_stand_in and not linux.is_stand_in
    assert sonic.plane.interfaces["Ethernet0"].addresses == ("10.64.0.0/31",)
    assert linux.plane.interfaces["vlan13"].addresses == ("10.76.64.1/26",)
    assert linux.daemons == ("zebra", "staticd", "bgpd", "bfdd")


def test_the_interfaces_are_the_plans(trees):
    """What is booted has every port and address of the plan, in each dialect: the files say it, the plan confirms it."""
    tree = trees("lab")
    for switch in tree.plan.switches:
        plane = tree.switch_files(switch).plane
        for port in switch.ports:
            assert plane.interfaces[port.name].addresses == ((port.address,) if port.address else ())
        assert [plane.interfaces["lo"].addresses] == [(switch.loopback,)]


def test_a_switch_of_another_dialect_boots_from_a_stand_in(trees):
    lab = trees("lab").plan
    leaf = lab.switch("storage-leaf-u01-01")
    ports = tuple(replace(port, name=f"Ethernet{number}/1") for number, port in enumerate(leaf.ports, 1))
    routes = tuple(replace(route, port="Ethernet1/1") for route in leaf.service_routes[:1])
    other = replace(leaf, nos="eos", ports=ports, service_routes=routes)
    plan = replace(lab, switches=tuple(other if switch is leaf else switch for switch in lab.switches))
    found = Tree(trees("lab").folder / "elsewhere", plan, factory.catalogue()).switch_files(other)
    assert found.is_stand_in
    assert "router bgp 4220000001\n" in found.files["frr.conf"]
    assert f"ip route {routes[0].prefix} {routes[0].next_hop} Ethernet1_1\n" in found.files["frr.conf"]
    assert found.plane == parse_interfaces(found.files["interfaces"], "x")
    assert found.plane.interfaces["Ethernet1_1"].addresses == (leaf.ports[0].address,)


def test_a_tree_that_lacks_a_switch(trees, tmp_path):
    (tmp_path / "plan.json").write_bytes((trees("lab").folder / "plan.json").read_bytes())
    tree = open_tree(tmp_path)
    with pytest.raises(TreeError, match=r"oob-leaf-a01: no frr\.conf; run gpuyard render again"):
        tree.switch_files(tree.plan.switch("oob-leaf-a01"))


def test_secrets_are_dummies():
    assert fill_secrets("password {{gpuyard-secret:bgp-isp-1}} x") == "password dummy-bgp-isp-1 x"
