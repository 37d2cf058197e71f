"""Ways of a host to services and to pods of other nodes: which lost ones are told, and what the kernel makes of them."""

import copy
import json
import os
import subprocess

import pytest
from told import describe

from cluster_model.verify.hosts.routes import find_lost_ways
from tests.slowness import stretch

PODS, PORTS = "10.244.0.0/16", "10.72.0.0/17"


@pytest.fixture
def server(lab):
    return lab.server("gpu-001")


@pytest.fixture
def facts(lab, server):
    return copy.deepcopy(describe(lab, server))


def keep(facts, is_kept):
    facts["routes"] = [route for route in facts["routes"] if is_kept(route)]


def unplug(facts, *names):
    for port in facts["ports"]:
        port["up"] &= port["name"] not in names


def told(server, facts):
    return [(lost.summary, lost.actual) for lost in find_lost_ways(server, facts)]


def test_all_ways_are_there(server, facts):
    assert told(server, facts) == []


def test_a_range_without_a_route(server, facts):
    (service,) = server.services
    keep(facts, lambda route: route["dst"] not in {PODS, PORTS, service.route})
    assert told(server, facts) == [
        ("it has no route to storage addresses", "no route"),
        ("it has no route to pods of other nodes", "no route"),
        ("it has no route to ports of other hosts", "no route"),
    ]
    assert [lost.expected for lost in find_lost_ways(server, facts)] == [
        f"{destination} over {', '.join(service.gateways)}" for destination in (service.route, PODS, PORTS)
    ]


def test_the_route_of_least_metric_counts(server, facts):
    keep(facts, lambda route: route["dst"] != PODS or route["metric"] != 100)
    assert told(server, facts) == [("pods of other nodes are not reached as planned", f"over {server.services[0].gateways[0]}")]


@pytest.mark.parametrize(
    "change", [{"table": "100"}, {"dst": "10.244.1.0/24"}, {"nexthops": [5], "gateway": 5}, {"nexthops": []}]
)
def test_a_route_of_another_table_or_range_is_none(server, facts, change):
    keep(facts, lambda route: route["dst"] != PODS or route["metric"] == 100)
    next(route for route in facts["routes"] if route["dst"] == PODS).update(change)
    assert [summary for summary, _ in told(server, facts)] == ["it has no route to pods of other nodes"]


def test_one_way_is_enough_where_a_port_has_no_link(server, facts):
    (service,) = server.services
    keep(facts, lambda route: route.get("metric") != 100)
    unplug(facts, service.ports[0])
    assert told(server, facts) == []
    keep(facts, lambda route: route["dst"] != PODS)
    assert len(told(server, facts)) == 1
    unplug(facts, *service.ports)
    assert told(server, facts) == []


def test_without_the_address_its_routes_are_not_told_too(server, facts):
    keep(facts, lambda route: route["dst"] != PODS)
    facts["addresses"] = [entry for entry in facts["addresses"] if entry["port"] != "lo"]
    assert told(server, facts) == []


@pytest.mark.usefixtures("machine_tier")
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to make a network namespace")
def test_the_kernel_keeps_own_pods_and_sends_others_over_all_ways(server, facts):
    """The routes as roles/host_network has them, with one to the node's own pods as a network plug-in makes it."""
    (service,), space = server.services, f"hrt{os.getpid()}"
    source, hops = service.address.partition("/")[0], []
    ports = {port.name: port for port in server.ports}

    def ip(*words):
        return subprocess.run(["ip", "-n", space, *words], check=True, timeout=stretch(60), capture_output=True, text=True).stdout

    def way(to, *words):
        (found,) = json.loads(ip("-j", "route", "get", to, *words))
        return found["dev"], found.get("gateway"), found.get("prefsrc")

    subprocess.run(["ip", "netns", "add", space], check=True)
    try:
        ip("link", "set", "lo", "up")
        ip("address", "add", service.address, "dev", "lo")
        for name, gateway, far in [*zip(service.ports, service.gateways, ("f0", "f1"), strict=True), ("pods", "", "f2")]:
            ip("link", "add", "name", name, "type", "veth", "peer", "name", far)
            ip("link", "set", far, "up")
            ip("link", "set", name, "up")
            ip("address", "add", ports[name].address if gateway else "10.244.3.1/24", "dev", name)
            hops += ["nexthop", "via", gateway, "dev", name] if gateway else []
        for destination in (service.route, *service.beyond):
            ip("route", "add", destination, "src", source, "metric", "100", *hops)
            for number, (gateway, name) in enumerate(zip(service.gateways, service.ports, strict=True)):
                ip("route", "add", destination, "via", gateway, "dev", name, "src", source, "metric", str(200 + number))
        facts["routes"] = json.loads(ip("-j", "-N", "-4", "route", "show", "table", "all"))
        assert told(server, facts) == []
        assert way("10.244.3.9") == ("pods", None, "10.244.3.1")
        others = {way(f"10.244.{node}.9") for node in range(4, 68)}
        assert others == {(name, gateway, source) for name, gateway in zip(service.ports, service.gateways, strict=True)}
        ip("route", "delete", PODS, "metric", "100")
        facts["routes"] = json.loads(ip("-j", "-N", "-4", "route", "show", "table", "all"))
        assert [actual for _, actual in told(server, facts)] == [f"over {service.gateways[0]}"]
    finally:
        subprocess.run(["ip", "netns", "del", space], check=True)
