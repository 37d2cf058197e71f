"""EVPN routes as FRR 8.4 prints them, and as the trials compare them; a double stands for the daemon."""

from types import SimpleNamespace

from cluster_model.twin.ethernet.scope import Sampling, choose_scope
from cluster_model.twin.tenancy.overlay_trials import _list_routes, _read_routes
from cluster_model.twin.tenancy.tenants import expect

ESI = "03:02:67:79:00:00:01:00:00:02"
SHOWN = {
    "10.112.224.0:2": {"rd": "10.112.224.0:2", f"[4]:[{ESI}]:[32]:[10.112.224.0]": {}},
    "10.112.224.0:3": {"rd": "10.112.224.0:3", f"[1]:[4294967295]:[{ESI}]:[32]:[0.0.0.0]:[0]": {}},
    "10.112.224.0:17": {
        "rd": "10.112.224.0:17",
        f"[1]:[0]:[{ESI}]:[32]:[0.0.0.0]:[0]": {},
        "[2]:[0]:[48]:[36:28:85:94:64:ed]": {},
        "[2]:[0]:[48]:[36:28:85:94:64:ed]:[32]:[10.48.2.19]": {},
        "[2]:[0]:[48]:[36:28:85:94:64:ed]:[128]:[fe80::1]": {},
        "[3]:[0]:[32]:[10.112.224.0]": {},
    },
    "numPrefix": 7,
}


def test_routes_are_read_as_they_are_planned():
    trials = SimpleNamespace(fabric=SimpleNamespace(show=lambda name, daemon, what: SHOWN))
    assert _read_routes(trials, "spine") == {
        1: {f"10.112.224.0 [1]:[{ESI}]"},
        2: {"10.112.224.0:17 36:28:85:94:64:ed 10.48.2.19", "17 36:28:85:94:64:ed 10.48.2.19"},
        3: {"10.112.224.0:17 [3]:[0]:[32]:[10.112.224.0]"},
        4: {f"10.112.224.0 [4]:[{ESI}]:[32]:[10.112.224.0]"},
    }


def test_a_leaf_announces_its_segments_and_one_of_a_pair_each_machine(trees):
    tree = trees("driving-frr")
    scope = choose_scope(tree, frozenset(), Sampling(full=True), ["business"])
    expectations = expect(scope, "business", tree.plan)
    name = "business-leaf-u01-01"
    switch, overlay = expectations.switches[name], expectations.overlays[name]
    server = next(server for server in scope.servers.values() if server.bonds and server.name == "train-001")
    macs = {(server.name, server.bonds[0].name): "02:00:00:00:00:01"}
    found = _list_routes(expectations, switch, overlay, macs)
    assert len(found[1]) == len(found[4]) == len(overlay.bonds)
    assert {route.partition(" ")[0] for route in (*found[1], *found[4])} == {overlay.vtep}
    addresses = {vlan.address.partition("/")[0] for vlan in server.bonds[0].vlans if vlan.address}
    assert {route.rpartition(" ")[2] for route in found[2]} == addresses
    assert {route.partition(" ")[0] for route in found[2]} == {str(vlan.vlan) for vlan in server.bonds[0].vlans if vlan.address}
