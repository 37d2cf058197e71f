"""The expected topology: port numbers by hand, both ends of every cable, and what a real ibnetdiscover prints, read."""

from __future__ import annotations

import pytest

from cluster_model.render.infiniband.ports import count_ports, name_links, number_ports
from cluster_model.verify.cabling.ibnetdiscover import compare_topology, list_links, read_topology
from tests.unit.render.infiniband.intents import FORMS, make_plan, render_files

DRAWN = [form for form in FORMS if form != "multi-chip"]


@pytest.mark.parametrize(
    ("form", "device", "expected", "count"),
    [
        # Two ports to a cage: IB1/17/2 is port 34 of a QM9700, IB1/32/2 port 64.
        ("two tiers", "compute-leaf-u01-01", {"1/1": 1, "1/2": 2, "2/1": 3, "3/2": 6}, 65),
        # Split-ready: four numbers to a cage; an unsplit port has the first of its two.
        ("split ports", "compute-leaf-u01-01", {"1/1": 1, "1/2": 2, "1/4": 4, "2/1": 5, "3/1": 9, "32/1": 125, "32/2": 127}, 129),
        # One to a cage.
        ("three tiers", "compute-leaf-u01-01", {"1/1": 1, "2/1": 2, "20/1": 20, "40/1": 40}, 41),
    ],
)
def test_port_numbers(form, device, expected, count):
    switch = make_plan(form).switch(device)
    numbers = number_ports(switch)
    assert expected.items() <= numbers.items()
    assert count_ports(switch) == count
    assert len(set(numbers.values())) == len(numbers)


@pytest.mark.parametrize(
    ("form", "port", "link"),
    [
        ("two tiers", "1/1", "4xNDR"),
        ("split ports", "1/1", "2xNDR"),
        ("split ports", "3/1", "4xNDR"),
        ("three tiers", "1/1", "4xHDR"),
    ],
)
def test_links_are_worded_as_ibnetdiscover_does(form, port, link):
    assert name_links(make_plan(form).switch("compute-leaf-u01-01"))[port] == link


@pytest.mark.parametrize("form", DRAWN)
def test_every_cable_stands_twice_and_no_other(form):
    plan = make_plan(form)
    text = "\n".join(content for name, content in render_files(form).items() if name.startswith("topology"))
    planned = {tuple(sorted(((c.a, c.a_port), (c.b, c.b_port)))) for c in plan.cables if c.network == "compute"}
    assert list_links(plan, text) == planned
    nodes = read_topology(text)
    lines = [(node.id, number, peer.node, peer.port) for node in nodes.values() for number, peer in node.ports.items()]
    assert len(lines) == 2 * len(planned)
    assert {(b, m, a, n) for a, n, b, m in lines} == set(lines)
    assert not compare_topology(plan, text)


REAL = """\
#
# Topology file: generated on Fri Jul 19 02:49:25 2024
#
vendid=0x2c9
devid=0xd2f2
sysimgguid=0xfc6a1c0300100000
switchguid=0xfc6a1c0300100000(fc6a1c0300100000)
Switch\t65 "S-fc6a1c0300100000"\t\t# "MF0;compute-leaf-u01-01:MQM9700/U1" enhanced port 0 lid 1 lmc 0
[1]\t"H-a088c20300200010"[1](a088c20300200010) \t\t# "gpu-001 mlx5_0" lid 22 4xNDR
[3]\t"H-a088c20300200020"[1](a088c20300200020) \t\t# "gpu-003.ib.example.net mlx5_0" lid 23 2xNDR
[65]\t"H-fc6a1c0300100008"[1](fc6a1c0300100008) \t\t# "Mellanox Technologies Aggregation Node" lid 2 4xHDR

vendid=0x2c9
caguid=0xfc6a1c0300100008
Ca\t1 "H-fc6a1c0300100008"\t\t# "Mellanox Technologies Aggregation Node"
[1](fc6a1c0300100008) \t"S-fc6a1c0300100000"[65]\t\t# lid 2 lmc 0 "MF0;compute-leaf-u01-01:MQM9700/U1" lid 1 4xHDR

caguid=0xa088c20300200010
Ca\t1 "H-a088c20300200010"\t\t# "gpu-001 mlx5_0"
[1](a088c20300200010) \t"S-fc6a1c0300100000"[1]\t\t# lid 22 lmc 0 "MF0;compute-leaf-u01-01:MQM9700/U1" lid 1 4xNDR

caguid=0xa088c20300200020
Ca\t1 "H-a088c20300200020"\t\t# "gpu-003.ib.example.net mlx5_0"
[1](a088c20300200020) \t"S-fc6a1c0300100000"[3]\t\t# lid 23 lmc 0 "MF0;compute-leaf-u01-01:MQM9700/U1" lid 1 2xNDR
"""


def test_names_of_managed_switches_and_hosts_are_understood_and_aggregation_nodes_left_out():
    found = list_links(make_plan("two tiers"), REAL)
    assert found == {
        (("compute-leaf-u01-01", "1/1"), ("gpu-001", "ibp24s0")),
        (("compute-leaf-u01-01", "2/1"), ("gpu-003", "ibp24s0")),
    }
    assert read_topology(REAL)["S-fc6a1c0300100000"].ports[3].speed == "2xNDR"


def test_a_device_that_nobody_planned_goes_by_what_it_says():
    text = REAL.replace("gpu-001 mlx5_0", "intruder mlx5_0")
    assert (("compute-leaf-u01-01", "1/1"), ("intruder mlx5_0", "1")) in compare_topology(make_plan("two tiers"), text).unexpected


@pytest.mark.parametrize("text", ["", "garbage\n", "[1] nothing\n", 'Switch\t65 "S-1"\n[1]\t"H-gone"[1]\n'])
def test_text_without_links_leaves_every_cable_missing(text):
    plan = make_plan("two tiers")
    found = compare_topology(plan, text)
    assert len(found.missing) == sum(cable.network == "compute" for cable in plan.cables)
    assert not found.unexpected
