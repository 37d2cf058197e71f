"""The files of a subnet manager, in forms of fabric that OpenSM does not run here: planes, three tiers, several chips."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cluster_model.render.infiniband.subnet import choose_routing, is_even, list_subnets
from tests.unit.render.infiniband.intents import FORMS, list_switches, make_plan, render_files


def read_keys(text):
    return dict(line.split(None, 1) for line in text.splitlines() if line and not line.startswith("#"))


def test_ethernet_has_no_such_files():
    plan = make_plan("two tiers")
    without = replace(plan, networks=tuple(n for n in plan.networks if n.technology != "infiniband"))
    assert list(list_subnets(without)) == []


@pytest.mark.parametrize(
    ("form", "engine"),
    [
        ("two tiers", "ftree,updn"),
        ("split ports", "ftree,updn"),
        ("two planes", "ftree,updn"),
        ("three tiers", "ftree,updn"),
        ("one switch", ""),
    ],
)
def test_the_engine_follows_the_form(form, engine):
    assert {choose_routing(subnet)[0] for subnet in list_subnets(make_plan(form))} == {engine}


def drop_links(switches, *ends):
    """Return the switches without the cables at some ends."""
    peers = {(p.peer, p.peer_port) for s in switches for p in s.ports if (s.name, p.name) in ends}
    gone = {*ends, *peers}
    return tuple(replace(s, ports=tuple(p for p in s.ports if (s.name, p.name) not in gone)) for s in switches)


def test_an_uneven_fabric_is_routed_up_and_down():
    (subnet,) = list_subnets(make_plan("two tiers"))
    uplink = next(p.name for p in subnet.switches[0].ports if p.use == "fabric")
    uneven = replace(subnet, switches=drop_links(subnet.switches, (subnet.switches[0].name, uplink)))
    assert is_even(subnet.switches)
    assert not is_even(uneven.switches)
    assert choose_routing(uneven)[0] == "updn"


def test_thinner_cables_to_one_spine_are_uneven_even_where_all_leafs_are_alike():
    (subnet,) = list_subnets(make_plan("two tiers"))
    spine = list_switches("two tiers", "spine")[0]
    first = {s.name: next(p.name for p in s.ports if p.peer == spine) for s in subnet.switches if s.role == "leaf"}
    assert not is_even(drop_links(subnet.switches, *first.items()))


def test_every_plane_has_its_own_managers_roots_and_subnet_prefix():
    files = render_files("two planes")
    assert sorted(files) == [
        "partitions.conf",
        "root_guids-p1.conf",
        "root_guids-p2.conf",
        "topology-p1.txt",
        "topology-p2.txt",
        "ufm-001/opensm-p1.conf",
        "ufm-001/opensm-p2.conf",
        "ufm-002/opensm-p1.conf",
        "ufm-002/opensm-p2.conf",
    ]
    keys = {name: read_keys(text) for name, text in files.items() if "opensm" in name}
    assert {name: found["subnet_prefix"] for name, found in keys.items()} == {
        "ufm-001/opensm-p1.conf": "0xfec0000000000001",
        "ufm-001/opensm-p2.conf": "0xfec0000000000002",
        "ufm-002/opensm-p1.conf": "0xfec0000000000001",
        "ufm-002/opensm-p2.conf": "0xfec0000000000002",
    }
    assert {found["sm_priority"] for name, found in keys.items() if name.startswith("ufm-001")} == {"15"}
    assert {found["sm_priority"] for name, found in keys.items() if name.startswith("ufm-002")} == {"14"}
    assert "compute-leaf-p1" in files["topology-p1.txt"]
    assert "compute-leaf-p2" not in files["topology-p1.txt"]


def test_roots_are_all_named_or_none():
    spines = list_switches("two tiers", "spine")
    rows = [f"{name},0x{0xFC6A_1C03_0010_0000 + n:016x}" for n, name in enumerate(spines)]
    whole = render_files("two tiers", "\n".join(["name,guid", *rows, ""]))
    assert [line.split() for line in whole["root_guids.conf"].splitlines()[1:]] == [
        [row.split(",")[1], "#", row.split(",")[0]] for row in rows
    ]
    assert read_keys(whole["ufm-001/opensm.conf"])["root_guid_file"] == "/etc/opensm/root_guids.conf"

    part = render_files("two tiers", "\n".join(["name,guid", *rows[1:], ""]))
    assert all(line.startswith("#") for line in part["root_guids.conf"].splitlines())
    assert f"#   {spines[0]}\n" in part["root_guids.conf"]
    assert f"#   {spines[1]}\n" not in part["root_guids.conf"]
    assert "root_guid_file" not in read_keys(part["ufm-001/opensm.conf"])
    assert f"# 1 of {len(spines)} roots lack a GUID in facts.switches" in part["ufm-001/opensm.conf"]


def test_roots_of_three_tiers_are_the_cores():
    (subnet,) = list_subnets(make_plan("three tiers"))
    assert [switch.name for switch in subnet.roots] == list_switches("three tiers", "core")


def test_switches_of_several_chips_get_no_topology_and_no_roots():
    files = render_files("multi-chip")
    assert sorted(files) == ["opensm.conf", "partitions.conf", "root_guids.conf"]
    assert "a GUID for each of its chips" in files["root_guids.conf"]
    assert "root_guid_file" not in read_keys(files["opensm.conf"])
    assert "sm_priority" not in read_keys(files["opensm.conf"])


@pytest.mark.parametrize("form", FORMS)
def test_opensm_reads_every_line_whole(form):
    """OpenSM reads lists of GUIDs in pieces of 255 characters, and UFM partitions in lines of 4096."""
    for name, text in render_files(form).items():
        limit = 255 if name.startswith(("root_guids", "ib-node")) else 4096
        assert max(map(len, text.splitlines())) < limit, name


def test_parts_of_a_divided_port_have_guids_of_their_own_and_a_whole_port_by_either_name():
    rows = "name,guid.rail0,guid.rail0s0,guid.rail0s1\ngpu-001,0x00000000000000aa,0x00000000000000a0,0x00000000000000a1\n"
    split = {p.name: p.guid for p in make_plan("two planes", servers=rows).server("gpu-001").ports if p.name.startswith("rail0")}
    assert split == {"rail0s0": "0x00000000000000a0", "rail0s1": "0x00000000000000a1"}
    for column in ("enp24s0np0", "ibp24s0"):
        plan = make_plan("two tiers", servers=f"name,guid.{column}\ngpu-001,0x00000000000000a0\n")
        assert {p.name: p.guid for p in plan.server("gpu-001").ports}["ibp24s0"] == "0x00000000000000a0"
