"""What a switch's files say about its interfaces."""

import json

import pytest

from cluster_model.twin.dataplane import parse_interfaces
from cluster_model.twin.plan_file import TreeError
from cluster_model.twin.sonic_plane import parse_config_db

INTERFACES = """\
# ifupdown2
auto lo
iface lo inet loopback
    address 10.0.0.1/32

auto mgmt
iface mgmt
    address 127.0.0.1/8
    vrf-table 1001
    post-up ip rule add pref 900 to 10.255.0.53 table 1001

auto eth0
iface eth0
    address 10.9.0.4/26
    gateway 10.9.0.1
    vrf mgmt

auto swp1
iface swp1
    alias gpu-001:eth1
    mtu 9100
    address 10.1.0.0/31

# host
auto vlan13
iface vlan13
    bridge-ports swp2 swp3
    bridge-stp off
    bridge-fd 0
    address 10.2.0.1/26

auto vlan12
iface vlan12
    bridge-ports none
    address 10.3.0.1/26
"""


def test_interfaces_without_management():
    plane = parse_interfaces(INTERFACES, "x")
    assert list(plane.interfaces) == ["lo", "swp1", "vlan13", "vlan12"]
    assert plane.interfaces["lo"].addresses == ("10.0.0.1/32",)
    port = plane.interfaces["swp1"]
    assert (port.kind, port.mtu_bytes, port.addresses, port.description) == ("port", 9100, ("10.1.0.0/31",), "gpu-001:eth1")
    assert plane.interfaces["vlan13"].members == ("swp2", "swp3")
    assert (plane.interfaces["vlan12"].kind, plane.interfaces["vlan12"].members) == ("bridge", ())
    assert plane.needs == frozenset()


@pytest.mark.parametrize(
    ("lines", "need"),
    [
        ("iface red\n    vrf-table 10001", "VRF devices"),
        ("iface swp1\n    vrf red", "VRF devices"),
        ("iface bond1\n    bond-slaves swp1 swp2", "bonds"),
        ("iface vni10\n    vxlan-id 10", "VLAN-aware bridges"),
        ("iface bridge\n    bridge-vlan-aware yes", "VLAN-aware bridges"),
        ("iface vlan5\n    vlan-raw-device bridge", "VLAN devices"),
    ],
)
def test_what_interfaces_need_of_the_kernel(lines, need):
    assert parse_interfaces(f"auto x\n{lines}\n", "x").needs == {need}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("iface swp1\n    addr 10.0.0.1/31\n", "tree/interfaces:2: the twin does not know the option addr"),
        ("address 10.0.0.1/31\n", "tree/interfaces:1: neither `iface` nor an option of one: address 10.0.0.1/31"),
        ("iface swp1\n    mtu 9100\nsource other\n", "tree/interfaces:3: neither `iface` nor an option of one: source other"),
    ],
)
def test_what_interfaces_must_not_hold(text, said):
    with pytest.raises(TreeError) as caught:
        parse_interfaces(text, "tree/interfaces")
    assert str(caught.value) == said


CONFIG_DB = {
    "INTERFACE": {"Ethernet0": {}, "Ethernet0|10.1.0.0/31": {}, "Ethernet8": {"ipv6_use_link_local_only": "enable"}},
    "LOOPBACK_INTERFACE": {"Loopback0": {}, "Loopback0|10.0.0.1/32": {}},
    "MGMT_INTERFACE": {"eth0|10.9.0.4/26": {"gwaddr": "10.9.0.1"}},
    "PORT": {
        "Ethernet0": {"admin_status": "up", "mtu": "9100", "description": "gpu-001:eth1"},
        "Ethernet8": {"admin_status": "up", "mtu": "9100"},
        "Ethernet16": {"admin_status": "down", "mtu": "9100"},
    },
    "VLAN": {"Vlan11": {"vlanid": "11"}},
    "VLAN_INTERFACE": {"Vlan11": {}, "Vlan11|10.2.0.1/26": {}},
    "VLAN_MEMBER": {"Vlan11|Ethernet24": {"tagging_mode": "untagged"}},
}


def test_config_db_without_management_and_dark_ports():
    plane = parse_config_db(json.dumps(CONFIG_DB), "x")
    assert list(plane.interfaces) == ["lo", "Ethernet0", "Ethernet8", "Vlan11"]
    assert plane.interfaces["lo"].addresses == ("10.0.0.1/32",)
    assert plane.interfaces["Ethernet0"].addresses == ("10.1.0.0/31",)
    assert plane.interfaces["Ethernet0"].description == "gpu-001:eth1"
    assert (plane.interfaces["Vlan11"].members, plane.interfaces["Vlan11"].addresses) == (("Ethernet24",), ("10.2.0.1/26",))
    assert plane.needs == frozenset()


@pytest.mark.parametrize(
    ("more", "needs"),
    [
        ({"VRF": {"Vrf_red": {}}}, {"VRF devices"}),
        ({"PORTCHANNEL": {"PortChannel1": {}}}, {"bonds"}),
        ({"INTERFACE": {"Ethernet0": {"vrf_name": "Vrf_red"}}}, {"VRF devices"}),
        ({"VLAN_MEMBER": {"Vlan11|Ethernet24": {"tagging_mode": "tagged"}}}, {"VLAN-aware bridges", "VLAN devices"}),
        ({"VXLAN_TUNNEL_MAP": {"vtep|map": {"vlan": "Vlan11", "vni": "10011"}}}, {"VLAN-aware bridges", "VLAN devices"}),
    ],
)
def test_what_a_config_db_needs_of_the_kernel(more, needs):
    assert parse_config_db(json.dumps({**CONFIG_DB, **more}), "x").needs == needs


def test_a_config_db_that_is_no_json():
    with pytest.raises(TreeError, match=r"tree/config_db\.json:2: not JSON"):
        parse_config_db("{\n oops", "tree/config_db.json")
