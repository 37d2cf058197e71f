"""VRFs, bonds, VXLANs and VLANs as the twin reads them from both dialects, and the lines that make them."""

import pytest

from cluster_model.twin.dataplane import parse_interfaces
from cluster_model.twin.ethernet.lines import (
    add_interface,
    find_present,
    list_bridge_lines,
    list_removal_lines,
    list_switch_lines,
)
from cluster_model.twin.plan_file import TreeError


@pytest.fixture(scope="module")
def planes(trees):
    """Return a function: name of a plan and of a switch to the switch's data plane."""
    return lambda name, switch: trees(name).switch_files(trees(name).plan.switch(switch)).plane


def test_frr_and_sonic_make_the_same_overlay_of_the_same_plan(planes):
    """Names and MTUs are the systems' own; VNIs, VLANs, VRFs, gateways and bonds are the plan's."""
    leaf = "business-leaf-u01-01"
    frr, sonic = planes("driving-frr", leaf), planes("driving-sonic", leaf)

    def digest(plane):
        devices = plane.interfaces.values()
        return {
            "vnis": sorted((item.vni, item.untagged, item.local) for item in devices if item.kind == "vxlan"),
            "gateways": sorted(
                (item.vlan, item.addresses, item.mac) for item in devices if item.kind == "vlan" and item.addresses
            ),
            "vrfs": sorted(item.name.removeprefix("Vrf") for item in devices if item.kind == "vrf"),
            "l3": sorted((item.vlan, item.vrf.removeprefix("Vrf")) for item in devices if item.kind == "vlan" and item.vrf),
            "bonds": sorted((item.description, item.tagged, item.system_mac) for item in devices if item.kind == "bond"),
        }

    assert digest(frr) == digest(sonic)
    assert len(digest(frr)["vnis"]) == 11 and len(digest(frr)["bonds"]) == 16


def test_lines_of_a_leaf(planes):
    plane = planes("driving-frr", "business-leaf-u01-01")
    bond = next(item for item in plane.interfaces.values() if item.kind == "bond" and 17 in item.tagged)
    uplink = next(item.name for item in plane.interfaces.values() if item.kind == "port" and item.mtu_bytes == 9100)
    plugged = {bond.members[0], uplink}
    lines = list_switch_lines(plane, plugged)
    assert lines.index("link add perception type vrf table 10001") < lines.index("link set vlan17 master perception")
    assert f"link set {bond.members[0]} master {bond.name}" in lines
    assert (
        sum(line.endswith("fast miimon 100 xmit_hash_policy layer3+4 ad_actor_system 02:67:79:00:00:01") for line in lines) == 1
    )
    assert "route replace unreachable default metric 4278198272 table 10001" in lines
    assert "link set vni10017 type bridge_slave learning off neigh_suppress on" in lines
    assert max(lines.index(line) for line in lines if "vlan17" in line.split()) < lines.index(
        "link add vlan16 link bridge type vlan id 16"
    )
    vlans = list_bridge_lines(plane, find_present(plane, plugged))
    assert {f"vlan add vid 17 dev {bond.name}", "vlan add vid 17 dev vni10017 pvid untagged"} <= set(vlans)
    assert "vlan add vid 17 dev bridge self" in vlans
    assert "fdb replace 00:00:5e:00:01:01 dev bridge self local vlan 17" in vlans
    gone = list_removal_lines(plane, plugged)
    assert gone[-1].startswith("link del ") and "link del bridge" in gone and f"link del {uplink}" not in gone


def test_a_switch_without_an_overlay_keeps_what_it_made_when_it_dies(planes):
    assert list_removal_lines(planes("lab", "oob-leaf-a01"), {"swp1"}) == []


def test_an_mlag_pair_is_read_with_its_router_s_mac(planes):
    plane = planes("driving", "business-leaf-u01-01")
    assert plane.mlag is not None and plane.mlag.peer_link == "PortChannel1000"
    assert plane.interfaces["PortChannel1"].system_mac == plane.interfaces["Vlan16"].mac == "02:67:79:00:00:01"
    assert plane.interfaces["PortChannel1000"].system_mac == ""
    assert plane.interfaces["Vlan4094"].addresses == ("10.112.144.0/31",)


def test_a_port_is_put_where_its_files_say(planes):
    plane = planes("driving-frr", "business-border-01")
    port = next(item for item in plane.interfaces.values() if item.vrf == "internet")
    assert add_interface(plane, port, [port.name]) == [
        f"link set {port.name} master internet",
        f"link set {port.name} mtu 1500",
        f"addr replace {port.addresses[0]} dev {port.name}",
        f"link set {port.name} up",
    ]


def test_a_command_that_the_twin_does_not_run_is_refused():
    with pytest.raises(TreeError, match=r"tree/interfaces:2: the twin runs `ip` and `bridge` alone: post-up sh -c true"):
        parse_interfaces("iface swp1\n    post-up sh -c true\n", "tree/interfaces")
