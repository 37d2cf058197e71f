"""Tenants as rendered, booted for real: FRR's daemons, DHCP relays and the kernel of Debian 12, in one run of a small machine.

tests/vm/cluster.yml is the fabric, and the twin boots it. One run feeds all tests; each looks at what it recorded.
"""

from __future__ import annotations

import json
import os
import shutil
from ipaddress import IPv4Interface, IPv4Network
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster_model.catalogue.load import load_catalogue
from cluster_model.intent.model.cluster import Cluster
from cluster_model.plan.build import build_plan
from cluster_model.plan.model import Plan
from cluster_model.render.tree import render_tree
from cluster_model.twin.ethernet.outside import FORBIDDEN
from cluster_model.twin.vm.kernel import fetch_packages
from cluster_model.twin.vm.machine import UnavailableError, run_in_machine
from tests.slowness import SLOWNESS, stretch

HERE = Path(__file__).parents[1] / "vm"
pytestmark = pytest.mark.frr

WEB = "192.0.2.80"  # beyond the internet's router
DEPOT = "10.200.0.1"  # beyond the vehicles' router
INSIDE = "192.168.0.16"  # of alpha-001 (red), of blue-001 and of green-001
BORDER = "business-border-01"
LEAFS = ("business-leaf-u01-01", "business-leaf-u02-01")
OUTSIDE = "outside-vehicles"  # whose session has a password
SECRET = "dummy-bgp-vehicles"
SERVER = (
    "dnsmasq --keep-in-foreground --conf-file=/dev/null --pid-file --port=0 --user=root --log-facility=- --no-ping "
    "--dhcp-leasefile=/run/leases --dhcp-range=10.48.3.100,10.48.3.109,255.255.255.0,1h --dhcp-option=option:router,10.48.3.1"
)


def ping(name: str, node: str, to: str, **options: Any) -> dict[str, Any]:
    return {"name": name, "do": "ping", "node": node, "to": to, **options}


def show(name: str, node: str, command: str) -> dict[str, Any]:
    return {"name": name, "do": "vtysh", "node": node, "command": command}


def ask(name: str, node: str, **options: Any) -> dict[str, Any]:
    return {"name": name, "do": "ask", "node": node, "to": WEB, "within_s": stretch(120), **options}


def lease(node: str) -> dict[str, Any]:
    return {"name": f"lease of {node}", "do": "lease", "node": node, "port": "bond0.19", "within_s": stretch(120)}


def session(name: str, deaf: str, within_s: float = stretch(120), **options: Any) -> dict[str, Any]:
    ends = {"node": BORDER, "vrf": "vehicles", "peer": "198.51.100.4", "outside": OUTSIDE, "local": "198.51.100.5", "asn": 64511}
    return {"name": name, "do": "session", **ends, "deaf": deaf, "within_s": within_s, **options}


STEPS = [
    # Nobody has spoken yet. What is asked first is asked of a silent host, by one of another subnet.
    ping("silent host", "tools-001", "10.48.1.17", within_s=stretch(90)),
    *(
        ping(f"gateway of {node}", node, to, within_s=stretch(60), count=4)
        for node, to in (("alpha-001", "10.48.1.1"), ("green-001", "192.168.0.1"), ("gate-001", "10.48.16.1"))
    ),
    *(
        ping(name, node, to, within_s=stretch(60), count=4)
        for name, node, to in (
            ("own machine", "omega-001", INSIDE),
            ("services for red", "alpha-001", "10.48.0.16"),
            ("services for red from afar", "omega-001", "10.48.0.16"),
            ("services for intake", "gate-001", "10.48.0.16"),
            ("peering", "omega-001", "10.48.2.16"),
            ("peering back", "blue-001", "10.48.1.17"),
            ("depot", "gate-001", DEPOT),
        )
    ),
    {"name": "whose machine", "do": "shell", "node": "omega-001", "command": f"ip -j neigh show {INSIDE}"},
    {"name": "alpha's MAC", "do": "shell", "node": "alpha-001", "command": "cat /sys/class/net/bond0/address"},
    ping("address of red only, from blue", "blue-001", "192.168.0.17"),
    ping("address of red only, from green", "green-001", "192.168.0.17"),
    ping("services for green", "green-001", "10.48.0.16"),
    ping("depot for red", "alpha-001", DEPOT),
    ping("intake for red", "alpha-001", "10.48.16.16"),
    {"name": "web", "do": "serve", "node": "outside-internet"},
    ask("red outside", "alpha-001", source=INSIDE),
    ask("blue outside", "blue-001", source=INSIDE),
    ask("red's other machine outside", "omega-001"),
    show("heard by internet", "outside-internet", "show bgp ipv4 unicast json"),
    show("heard by vehicles", "outside-vehicles", "show bgp ipv4 unicast json"),
    *(show(f"{vrf} on {BORDER}", BORDER, f"show bgp vrf {vrf} ipv4 unicast json") for vrf in ("internet", "vehicles")),
    *(show(f"routes of {vrf}", LEAFS[0], f"show ip route vrf {vrf} json") for vrf in ("red", "blue", "services")),
    show("routes of intake", LEAFS[1], "show ip route vrf intake json"),
    show("routes of green", LEAFS[1], "show ip route vrf green json"),
    # The first to ask is not behind the server's leaf, and no relay has heard anybody yet. Clients take the way that they are
    # told, so what they send afterwards leaves by their new address.
    *({"name": f"relay on {leaf}", "do": "relay", "node": leaf, "vrf": "red"} for leaf in LEAFS),
    {"name": "dhcp-server", "do": "start", "node": "tools-001", "command": SERVER, "udp": 67},
    lease("omega-001"),
    lease("alpha-001"),
    *(
        ping(f"{what} for guest {node}", node, to, within_s=stretch(60))
        for node in ("alpha-001", "omega-001")
        for what, to in (("gateway", "10.48.3.1"), ("services", "10.48.0.16"))
    ),
    show("way back to the relay", LEAFS[0], "show ip route vrf services 10.48.3.1/32 json"),
    {"name": "wrong VNI", "do": "wrong_vni"},
    # Last of what needs the fabric: the border leaf boots again, and its daemons read everything anew.
    {"name": "reboot", "do": "reboot", "node": BORDER},
    session("the peer connects", OUTSIDE),
    session("the border leaf connects", BORDER),
    session("the peer connects, another password", OUTSIDE, 25, password="wrong"),
    session("the border leaf connects, another password", BORDER, 25),
    session("the peer connects, no password", OUTSIDE, 25, password=""),
    session("the border leaf connects, no password", BORDER, 25),
    session("the password again", OUTSIDE, password=SECRET),
    *({"name": f"ifupdown2 on {name}", "do": "ifupdown2", "node": name} for name in (LEAFS[0], BORDER)),
]


@pytest.fixture(scope="session")
def plan() -> Plan:
    data = yaml.safe_load((HERE / "cluster.yml").read_text("utf-8"))
    planned, findings = build_plan(Cluster.model_validate(data), load_catalogue()[0])
    assert planned is not None, findings
    return planned


@pytest.fixture(scope="session")
def found(plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Boot the fabric once and return what each step found; all tests that ask are one unit, and so in one process."""
    share = tmp_path_factory.mktemp("tenants-machine")
    for path, content in render_tree(plan, load_catalogue()[0], {"plan", "switches"}).items():
        file = share / "tree" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return _run(share)


def _run(share: Path) -> dict[str, Any]:
    """Return what the steps find; skip where there is no machine, fail where GPUYARD_REQUIRE_VM is set."""
    found: dict[str, Any] = {}

    def take(kind: str, value: Any) -> None:
        if kind == "found":
            found[value[0]] = value[1]
        else:
            print(value)

    (share / "job.json").write_text(json.dumps({"steps": STEPS, "slowness": SLOWNESS}), "utf-8")
    try:
        shutil.copytree(fetch_packages(("ifupdown2",)) / "root", share / "packages", symlinks=True)
        run_in_machine("tests.vm.fabric:play", share, take, stretch(3600))
    except UnavailableError as why:
        (pytest.fail if os.environ.get("GPUYARD_REQUIRE_VM") else pytest.skip)(f"no small machine: {why}")
    return found


def test_the_fabric_forwards_as_planned(found: dict[str, Any]) -> None:
    assert found["converged"] is not None


def test_a_silent_host_is_reached(found: dict[str, Any]) -> None:
    assert found["silent host"]["received"] > 0


@pytest.mark.parametrize("host", ["alpha-001", "green-001", "gate-001"])
def test_the_gateway_answers_once(found: dict[str, Any], host: str) -> None:
    assert found[f"gateway of {host}"] == {"sent": 4, "received": 4, "duplicates": 0}


def test_the_same_address_is_the_tenant_s_own_machine(found: dict[str, Any]) -> None:
    assert found["own machine"]["received"] == 4
    assert [entry["lladdr"] for entry in json.loads(found["whose machine"])] == [found["alpha's MAC"].strip()]


@pytest.mark.parametrize("tenant", ["blue", "green"])
def test_a_neighbour_s_address_is_nobody_s(found: dict[str, Any], tenant: str) -> None:
    assert found[f"address of red only, from {tenant}"]["received"] == 0


@pytest.mark.parametrize("step", ["services for red", "services for red from afar", "services for intake"])
def test_shared_services_are_reached_by_who_uses_them(found: dict[str, Any], step: str) -> None:
    assert found[step]["received"] >= 3


def test_shared_services_are_not_reached_by_others(found: dict[str, Any]) -> None:
    assert found["services for green"]["received"] == 0
    assert "10.48.0.0/24" not in found["routes of green"]


@pytest.mark.parametrize("step", ["peering", "peering back"])
def test_tenants_that_peer_reach_each_other(found: dict[str, Any], step: str) -> None:
    assert found[step]["received"] >= 3


def test_what_is_not_visible_stays_inside(found: dict[str, Any]) -> None:
    assert "192.168.0.0/20" not in found["routes of services"]
    for vrf in ("red", "blue"):
        routes = [route for route in found[f"routes of {vrf}"]["192.168.0.0/20"] if route.get("selected")]
        assert [route["protocol"] for route in routes] == ["connected"]


def test_the_dedicated_line_is_intake_s_alone(found: dict[str, Any]) -> None:
    assert found["depot"]["received"] >= 3
    assert "10.200.0.0/14" in found["routes of intake"]
    assert found["depot for red"]["received"] == 0
    assert found["intake for red"]["received"] == 0
    for vrf in ("red", "blue", "services", "green"):
        assert not [prefix for prefix in found[f"routes of {vrf}"] if prefix.startswith("10.200.")]


def test_only_what_the_filter_names_is_taken(found: dict[str, Any]) -> None:
    taken = set(found[f"vehicles on {BORDER}"]["routes"])
    assert taken == {"10.200.0.0/14", "10.200.0.0/24", "10.48.16.0/24"}
    taken = set(found[f"internet on {BORDER}"]["routes"])
    assert taken == {"0.0.0.0/0", "203.0.113.0/29", "203.0.113.8/29"}
    assert "0.0.0.0/0" in found["routes of red"]
    assert FORBIDDEN not in found["routes of red"]


def _heard(table: dict[str, Any]) -> dict[str, list[str]]:
    """Return AS paths by prefix, of what others announced."""
    return {
        prefix: [path["path"] for path in paths if path["path"]] for prefix, paths in table["routes"].items() if paths[0]["path"]
    }


def test_only_what_the_filter_names_is_told(found: dict[str, Any], plan: Plan) -> None:
    asn = str(plan.switch(BORDER).asn)
    assert _heard(found["heard by internet"]) == {"203.0.113.0/29": [asn], "203.0.113.8/29": [asn]}
    assert _heard(found["heard by vehicles"]) == {"10.48.16.0/24": [asn]}


def test_tenants_leave_with_outside_addresses_of_their_own(found: dict[str, Any]) -> None:
    for step in ("red outside", "red's other machine outside"):
        assert found[step] in {f"203.0.113.{last}" for last in range(8)}
    assert found["blue outside"] in {f"203.0.113.{last}" for last in range(8, 16)}


@pytest.mark.parametrize("host", ["alpha-001", "omega-001"])
def test_a_guest_gets_its_address_by_the_relay(found: dict[str, Any], host: str) -> None:
    address, gateway, server = found[f"lease of {host}"].split()
    assert IPv4Interface(address).network == IPv4Network("10.48.3.0/24")
    assert 100 <= IPv4Interface(address).ip.packed[3] <= 109
    assert (gateway, server) == ("10.48.3.1", "10.48.0.16")
    for what in ("gateway", "services"):
        assert found[f"{what} for guest {host}"] == {"sent": 3, "received": 3, "duplicates": 0}


def test_guests_get_different_addresses(found: dict[str, Any]) -> None:
    assert found["lease of alpha-001"] != found["lease of omega-001"]


def test_what_the_dhcp_server_answers_goes_to_the_relay_on_its_own_leaf(found: dict[str, Any]) -> None:
    """Also what is for a guest behind the other leaf: that relay sends it on over the VXLAN."""
    ways = [way for way in found["way back to the relay"]["10.48.3.1/32"] if way.get("selected")]
    assert [(way["protocol"], way["nexthops"][0]["interfaceName"]) for way in ways] == [("static", "red")]


@pytest.mark.parametrize(("step", "listener"), [("the peer connects", "border"), ("the border leaf connects", "peer")])
def test_a_session_with_a_password_comes_up_whoever_connects(found: dict[str, Any], step: str, listener: str) -> None:
    """After a boot in the order of the rendered unit: FRR 8.4 forgets the password where the VRF comes after it."""
    assert found["reboot"] is None
    assert (found[step]["state"], found[step]["listener"], found[step]["key"]) == ("Established", listener, True), found[step]


@pytest.mark.parametrize("password", ["another password", "no password"])
@pytest.mark.parametrize("who", ["peer", "border leaf"])
def test_a_session_without_the_password_stays_down(found: dict[str, Any], who: str, password: str) -> None:
    step = found[f"the {who} connects, {password}"]
    assert step["state"] in {"Active", "Connect", "Idle"}, step
    assert found["the password again"]["state"] == "Established"


def test_a_wrong_vni_is_named(found: dict[str, Any]) -> None:
    said = found["wrong VNI"]
    assert said["caught"] == f"{LEAFS[1]} lacks VNI 10017 (red-inside); VNI 11017, which the plan does not give it, is there"
    assert said["wrong"] == []


@pytest.mark.parametrize("name", [LEAFS[0], BORDER])
def test_the_twin_makes_the_interfaces_that_ifupdown2_makes(found: dict[str, Any], name: str) -> None:
    result = found[f"ifupdown2 on {name}"]
    made, ours = result["ifupdown2"], result["twin"]
    assert len(ours) > 10, result
    assert set(made) - {"eth0", "mgmt"} == set(ours), result["said"]
    assert {device: made[device] for device in ours} == ours
