"""Which router MACs are missing, and what they are, by what `ip` and bgpd said on a leaf that had forgotten one."""

import json

from cluster_model.twin.ethernet.router_macs import find_router_macs, list_unknown

FIRST, SECOND = "10.112.231.254", "10.112.231.255"
ROUTES = [
    {
        "dst": "default",
        "table": "1003",
        "protocol": "bgp",
        "nexthops": [
            {"gateway": FIRST, "dev": "Vlan16", "weight": 1, "flags": ["onlink"]},
            {"gateway": SECOND, "dev": "Vlan16", "weight": 1, "flags": ["onlink"]},
        ],
    },
    {"dst": "10.48.16.0/24", "gateway": SECOND, "dev": "Vlan176", "table": "1002", "flags": ["onlink"]},
    {"dst": "10.48.1.0/24", "dev": "Vlan18", "table": "1003"},
    {"dst": "10.112.231.254", "gateway": "10.0.0.1", "dev": "Ethernet0"},
    {"type": "unreachable", "dst": "default", "table": "1003"},
]
NEIGHBOURS = [
    {"dst": SECOND, "dev": "Vlan16", "lladdr": "16:f2:3c:f4:96:2d", "state": ["NOARP"]},
    {"dst": SECOND, "dev": "Vlan176", "state": ["FAILED"]},
]


def test_next_hops_into_tunnels_without_a_mac_are_missing():
    said = f"{json.dumps(ROUTES)}\n\n{json.dumps(NEIGHBOURS)}\n"
    assert list_unknown(said, {"Vlan16", "Vlan176"}) == [(FIRST, "Vlan16"), (SECOND, "Vlan176")]
    assert list_unknown("[]\n\n[]\n", {"Vlan16"}) == list_unknown("", {"Vlan16"}) == []


def route(address, mac):
    path = {"extendedCommunity": {"string": f"ET:8 RT:64512:50001 Rmac:{mac}"}, "nexthops": [{"ip": address, "afi": "ipv4"}]}
    return {"rd": f"{address}:50001", "[5]:[0]:[0]:[0.0.0.0]": {"prefix": "[5]:[0]:[0]:[0.0.0.0]", "paths": [[path], [path]]}}


def test_router_macs_are_read_from_type_5_routes():
    shown = {
        f"{FIRST}:50001": route(FIRST, "26:90:c5:5f:45:df"),
        f"{SECOND}:50001": route(SECOND, "16:f2:3c:f4:96:2d"),
        "10.0.0.9:2": {"rd": "10.0.0.9:2", "x": {"paths": [[{"nexthops": [{"ip": "10.0.0.9"}]}]]}},
        "numPrefix": 3,
    }
    assert find_router_macs(shown) == {FIRST: "26:90:c5:5f:45:df", SECOND: "16:f2:3c:f4:96:2d"}
    assert find_router_macs({}) == find_router_macs([]) == {}
