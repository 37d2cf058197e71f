"""Which cage of a switch carries which link, and how its ports are named."""

import pytest
from intents import STORAGE, catalogue, plan_example, plan_of, small

from cluster_model.catalogue.cages import switch_cages
from cluster_model.plan.ports import count_ports, lay_out, mode_for, speeds_of

NATIVE = ("Ethernet{lane}", "Ethernet{lane}")


def cages(ref):
    return switch_cages(catalogue().device(ref))


@pytest.mark.parametrize(
    ("ref", "speed_gbps", "ports"),
    [
        ("nvidia/qm9700", 400, 64),
        ("nvidia/qm9700", 200, 128),
        ("nvidia/sn5600", 800, 64),
        ("nvidia/sn5600", 400, 128),
        ("nvidia/sn5600", 200, 256),
        ("nvidia/sn4700", 400, 32),
        ("nvidia/sn4700", 200, 64),
        ("nvidia/sn4700", 100, 128),
        ("nvidia/sn2201", 1, 48),
        ("nvidia/sn2201", 100, 4),
        ("nvidia/sn2201", 400, 0),
    ],
)
def test_radix_by_speed(ref, speed_gbps, ports):
    assert count_ports(cages(ref), speed_gbps) == ports


def test_hosts_sit_from_the_first_cage_up_and_uplinks_in_the_last():
    layout = lay_out(cages("nvidia/sn5600"), NATIVE, ((400, 3),), (400, 4))
    assert [(seat.cage, seat.sub, seat.name) for seat in layout.down] == [
        (1, 0, "Ethernet0"),
        (1, 1, "Ethernet4"),
        (2, 0, "Ethernet8"),
    ]
    assert [(seat.cage, seat.sub, seat.name) for seat in layout.up] == [
        (63, 0, "Ethernet496"),
        (63, 1, "Ethernet500"),
        (64, 0, "Ethernet504"),
        (64, 1, "Ethernet508"),
    ]
    assert layout.missing == 0
    assert [mode.cage for mode in layout.modes] == list(range(1, 65))
    assert {(mode.count, mode.speed_gbps) for mode in layout.modes if mode.cage in {1, 2, 63, 64}} == {(2, 400)}
    assert {(mode.count, mode.speed_gbps, mode.native) for mode in layout.modes if 2 < mode.cage < 63} == {(1, 800, True)}


def test_another_speed_begins_a_new_cage():
    layout = lay_out(cages("nvidia/sn4700"), NATIVE, ((200, 1), (100, 5)), (400, 0))
    assert [(seat.cage, seat.sub, seat.speed_gbps) for seat in layout.down] == [
        (1, 0, 200),
        (2, 0, 100),
        (2, 1, 100),
        (2, 2, 100),
        (2, 3, 100),
        (3, 0, 100),
    ]


@pytest.mark.parametrize(
    ("down", "up", "missing"),
    [(((400, 64),), (400, 64), 0), (((400, 65),), (400, 64), 1), (((400, 0),), (400, 130), 2), (((300, 5),), (400, 1), 5)],
)
def test_links_without_a_port_are_counted(down, up, missing):
    assert lay_out(cages("nvidia/sn5600"), NATIVE, down, up).missing == missing


def test_a_cage_that_takes_lanes_from_its_neighbour_keeps_its_native_mode():
    cage = next(cage for cage in cages("nvidia/sn5600"))
    whole = type(cage)(cage.number, cage.form_factor, cage.lanes, cage.modes, cage.first_lane, splittable=False)
    assert mode_for(whole, 400) is None and mode_for(cage, 400).count == 2
    assert speeds_of((whole,)) == {800}


def test_port_names_follow_the_platform():
    lab = plan_example("lab")
    names = {switch.nos: {port.name for port in switch.ports} for switch in lab.switches if switch.network != "oob"}
    assert "Ethernet0" in names["sonic"]
    assert all(name.startswith("swp") for name in names["frr"])


def test_all_cages_of_a_switch_are_listed_and_native_where_nothing_splits_them():
    for switch in plan_of(small(networks__storage=STORAGE)).switches:
        assert [mode.cage for mode in switch.modes] == [cage.number for cage in cages(switch.model)]
        used = {port.cage for port in switch.ports}
        assert all(mode.native for mode in switch.modes if mode.cage not in used)
