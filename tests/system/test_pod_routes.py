"""Nodes tell leafs of their pods: rendered switches on real FRR, and GoBGP and BIRD as Cilium's and Calico's agents have them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from ipaddress import ip_network

import pytest
import yaml

from cluster_model.plan.model import Plan
from cluster_model.render.kubernetes.network.bgp import render_bgp
from cluster_model.render.switch.context import NODE_PREFIX_LIMIT
from cluster_model.twin.node import Node
from tests.system.speakers import Bird, Gobgp, Objects, signal_all
from tests.unit.render.switch import factory
from tests.unit.render.switch.namespaces import Router, boot, require_frr, wait_for

pytestmark = pytest.mark.frr

SPINE = "storage-spine-01"
LEAFS = ("storage-leaf-u01-01", "storage-leaf-u01-02")
SPEAKERS = {"gpu-001": Gobgp, "gpu-002": Bird, "gpu-003": Gobgp, "gpu-004": Bird, "gpu-005": Gobgp}
SOON_S = 5
"""The restart time of the nodes of which it is seen that they are forgotten; the others have what is rendered."""
SOON_FORGOTTEN = ("gpu-003", "gpu-004", "gpu-005")
# As docs/host-network.md has it.
KERNEL = {"arp_ignore": "1", "arp_announce": "2", "rp_filter": "2", "ignore_routes_with_linkdown": "1"}


def read_bgp_yaml(plan: Plan) -> Objects:
    """Return what kubernetes/network/bgp.yaml holds with either network plug-in."""
    files = [render_bgp(replace(plan, kubernetes=replace(plan.kubernetes, cni=cni))) for cni in ("cilium", "calico")]
    return [found for ((_, data),) in map(list, files) for found in yaml.safe_load_all(data)]


def forget_soon(objects: Objects) -> Objects:
    """Return Cilium's objects with a short restart time; Calico's must have none beside sourceAddress None."""
    copy = json.loads(json.dumps(objects))
    for found in copy:
        if found["kind"] == "CiliumBGPPeerConfig":
            found["spec"]["gracefulRestart"]["restartTimeSeconds"] = SOON_S
    return copy


class Host:
    """A node of Kubernetes: its ports, addresses and routes as planned, some pods' addresses, and a speaker."""

    def __init__(self, plan: Plan, name: str, leafs: dict[str, Router], part: str) -> None:
        self.server, self.part = plan.server(name), part
        self.pods = [str(address) for address in list(ip_network(part).hosts())[9:40]]
        self.ports = [port for port in self.server.ports if port.network == plan.kubernetes.network]
        self.node = Node(name)
        (service,) = (service for service in self.server.services if service.beyond)
        own = service.address.partition("/")[0]
        for port in self.ports:
            plug = ["ip", "link", "set", f"x{port.peer_port}", "netns", str(self.node.pid), "name", port.name]
            subprocess.run(["nsenter", "-t", str(leafs[port.peer].pid), "-n", *plug], check=True)
        ways = zip(service.gateways, service.ports, strict=True)
        hops = " ".join(f"nexthop via {gateway} dev {port}" for gateway, port in ways)
        self.node.configure(
            [
                *("link set lo up", f"addr add {service.address} dev lo", "link add pods type bridge", "link set pods up"),
                *(f"addr add {pod}/32 dev pods" for pod in self.pods),
                *(f"addr add {port.address} dev {port.name}" for port in self.ports),
                *(f"link set {port.name} up" for port in self.ports),
                *(f"route add {prefix} src {own} {hops}" for prefix in (service.route, *service.beyond)),
            ]
        )
        by_port = {f"ipv4/conf/{port.name}/{key}": value for port in self.ports for key, value in KERNEL.items()}
        self.node.set_kernel(
            {"ipv4/ip_forward": "1", "ipv4/fib_multipath_hash_policy": "1", "ipv4/conf/all/rp_filter": "0", **by_port}
        )
        objects = read_bgp_yaml(plan)
        self.speaker: Gobgp | Bird
        if SPEAKERS[name] is Gobgp:
            self.speaker = Gobgp(self.node, forget_soon(objects) if name in SOON_FORGOTTEN else objects, own, [part])
        else:
            restart = {"restart_s": SOON_S} if name in SOON_FORGOTTEN else {}
            self.speaker = Bird(self.node, objects, own, plan.kubernetes.pod_pool, [part], **restart)

    def address(self, leaf: str) -> str:
        """Return the address of the port to a leaf."""
        return next(port.address[:-3] for port in self.ports if port.peer == leaf)

    def choose_pods(self, target: str) -> list[str]:
        """Return one pod for each gateway over which the kernel sends what pods say to a target."""
        found: dict[str, str] = {}
        for pod in self.pods:
            (route,) = json.loads(self.node.run("ip", "-j", "route", "get", target, "from", pod, "ipproto", "icmp"))
            found[route["gateway"]] = pod
            if len(found) == len(self.ports):
                break
        return sorted(found.values())

    def ping(self, other: Host, pods: list[str]) -> None:
        """Have pods reach one of another node's, each once."""
        for pod in pods:
            self.node.run("ping", "-n", "-c", "1", "-W", "10", "-I", pod, other.pods[0])

    @contextmanager
    def pinging(self, other: Host) -> Iterator[None]:
        """Have pods ask one of another node's all the while, over each gateway: no answer may be missing."""
        command = [*self.node.prefix, "ping", "-n", "-i", "0.1", "-I"]
        asked = self.choose_pods(other.pods[0])
        running = [subprocess.Popen([*command, pod, other.pods[0]], stdout=subprocess.PIPE, text=True) for pod in asked]
        try:
            yield
        finally:
            self.node.run("pkill", "-INT", "-x", "ping")
            said = [process.communicate(timeout=60)[0] for process in running]
        for text in said:
            heard = [int(number) for number in re.findall(r"icmp_seq=(\d+) ttl", text)]
            assert heard and heard == list(range(1, heard[-1] + 1)), f"{self.server.name} to {other.server.name}: {text[-300:]}"


class Yard:
    """A spine, two leafs, and nodes."""

    def __init__(self, plan: Plan, routers: dict[str, Router]) -> None:
        self.spine, self.leafs = routers[SPINE], {name: routers[name] for name in LEAFS}
        parts = ip_network(plan.kubernetes.pod_pool).subnets(new_prefix=plan.kubernetes.node_prefix)
        self.hosts = {name: Host(plan, name, self.leafs, str(part)) for name, part in zip(SPEAKERS, parts, strict=False)}

    @property
    def routers(self) -> list[Router]:
        return [self.spine, *self.leafs.values()]

    def ways(self, router: Router, prefix: str) -> set[str]:
        """Return the gateways of a prefix in a router's kernel."""
        routes = json.loads(router.run("ip", "-j", "route", "show", prefix, "proto", "bgp"))
        return {hop["gateway"] for route in routes for hop in route.get("nexthops", [route])}

    def uplinks(self, router: Router, *peers: str) -> set[str]:
        """Return the addresses of a router's neighbors among some switches."""
        return {port.peer_address for port in router.switch.ports if port.peer in peers}

    def is_known(self, host: Host) -> bool:
        """Return whether a node's part is where it shall be: leafs have it of the node, the spine of both leafs."""
        at_leafs = all(self.ways(leaf, host.part) == {host.address(name)} for name, leaf in self.leafs.items())
        return at_leafs and self.ways(self.spine, host.part) == self.uplinks(self.spine, *LEAFS)

    def settle(self, *names: str) -> list[Host]:
        """Return nodes once all is as it shall be with them."""
        for name in names:
            wait_for(lambda name=name: self.is_known(self.hosts[name]), f"{name}'s pods at leafs and spine")
        return [self.hosts[name] for name in names]

    def sessions(self, host: Host) -> dict[str, dict]:
        """Return what leafs say of their sessions with a node."""
        found = {}
        for name, leaf in self.leafs.items():
            address = host.address(name)
            found[name] = leaf.show(f"bgp neighbors {address}")[address]
        return found

    def is_forgotten(self, host: Host) -> bool:
        return not any(self.ways(router, host.part) for router in self.routers)


@pytest.fixture(scope="module")
def yard() -> Iterator[Yard]:
    require_frr(daemons=True)
    if missing := [program for program in ("gobgpd", "bird") if shutil.which(program) is None]:
        (pytest.fail if os.environ.get("GPUYARD_REQUIRE_FRR") else pytest.skip)(f"{missing[0]} is missing: install {missing[0]}")
    plan = factory.plan("lab")
    switches = [(plan.switch(name), factory.file("lab", name, "frr.conf")) for name in (SPINE, *LEAFS)]
    with boot(*switches) as routers, ExitStack() as stack:
        yard = Yard(plan, routers)
        for host in yard.hosts.values():
            stack.callback(host.node.close)
        for host in yard.hosts.values():
            host.speaker.start()
        yield yard


def test_pods_are_known_and_reach_each_other(yard):
    hosts = yard.settle(*SPEAKERS)
    for host in hosts:
        for leaf, said in yard.sessions(host).items():
            assert said["bgpState"] == "Established", (host.server.name, leaf)
            assert said["bgpTimerHoldTimeMsecs"] == 9000
    for host, other in zip(hosts, [*hosts[1:], hosts[0]], strict=True):
        pods = host.choose_pods(other.pods[0])
        assert len(pods) == len(LEAFS), "the static route has both gateways"
        host.ping(other, pods)
        # What kube-proxy masquerades has the address of the port that it leaves by.
        host.ping(other, [host.address(leaf) for leaf in yard.leafs])


def test_nodes_are_told_nothing(yard):
    for host in yard.settle(*SPEAKERS):
        for name, leaf in yard.leafs.items():
            assert leaf.advertised(host.address(name)) == set()
        assert host.speaker.list_heard() == ""


def test_leafs_take_parts_alone(yard):
    gobgp, bird = yard.settle("gpu-001", "gpu-002")
    wrong = ["10.244.0.0/16", "10.244.210.0/25", "10.244.211.1/32", "0.0.0.0/0", "10.9.0.0/24", "10.244.212.0/24 aspath 65001"]
    right = {"10.244.213.0/24", "10.244.214.0/24"}
    gobgp.speaker.announce(*wrong, "10.244.213.0/24")
    # The static route is in the pool, so Calico's BIRD tells of it; and of a pod that has an address of another node's block.
    bird.node.run("ip", "route", "add", "10.244.215.1/32", "dev", "pods")
    told = {bird.part, "10.244.0.0/16", "10.244.215.1/32"}
    wait_for(lambda: bird.speaker.list_told() == told, "BIRD to tell of them")
    bird.speaker.announce("10.244.214.0/24")  # after those, so that they were heard when this one is
    parts = {host.part for host in yard.hosts.values()} | right
    for router in yard.routers:
        wait_for(lambda router=router: right <= router.routes(), f"{right} at {router.switch.name}")
        pods = {prefix for prefix in router.routes() if not ip_network(prefix).subnet_of(ip_network("10.72.0.0/16"))}
        assert pods == parts, router.switch.name
    gobgp.speaker.withdraw(*wrong, "10.244.213.0/24")
    bird.node.run("ip", "route", "del", "10.244.215.1/32", "dev", "pods")
    bird.speaker.withdraw()


def test_what_else_a_node_says_of_its_pods_is_not_taken(yard):
    host, other = yard.settle("gpu-001", "gpu-003")
    address = other.address(LEAFS[0])
    said = {
        "10.244.216.0/24": f"nexthop {address}",
        "10.244.217.0/24": "community no-export",
        "10.244.218.0/24": "community no-advertise",
        "10.244.219.0/24": "community blackhole",
    }
    host.speaker.announce(*(f"{part} {words}" for part, words in said.items()))
    for part in said:
        for name, leaf in yard.leafs.items():
            own = {host.address(name)}
            wait_for(lambda leaf=leaf, part=part, own=own: yard.ways(leaf, part) == own, f"{name} to send {part} to the node")
        up = yard.uplinks(yard.spine, *LEAFS)
        wait_for(lambda part=part, up=up: yard.ways(yard.spine, part) == up, f"the spine to hear of {part}")
    host.speaker.withdraw(*said)


def test_a_node_that_tells_too_much_is_shut_out(yard):
    # FRR counts a prefix after it has asked for the count.
    parts = [f"10.244.{number}.0/24" for number in range(20, 20 + NODE_PREFIX_LIMIT + 10)]
    hosts = yard.settle("gpu-004", "gpu-005")
    for host in hosts:
        host.speaker.announce(*parts)
        wait_for(lambda host=host: yard.is_forgotten(host), f"all of {host.server.name} to go")
        assert {said["bgpState"] for said in yard.sessions(host).values()} == {"Idle"}
        for prefix in (parts[0], parts[-1]):
            for router in yard.routers:
                wait_for(lambda router=router, prefix=prefix: not yard.ways(router, prefix), f"{prefix} to go")
        host.speaker.withdraw(*parts)
        for name, leaf in yard.leafs.items():
            leaf.run("vtysh", "-c", f"clear bgp {host.address(name)}")  # else it comes back after the 5 minutes that are rendered


def test_traffic_goes_on_over_one_leaf(yard):
    host, other = yard.settle("gpu-003", "gpu-002")
    name = LEAFS[0]
    near, far = yard.leafs[name], yard.leafs[LEAFS[1]]
    port = next(port for port in host.ports if port.peer == name)
    asked = other.choose_pods(host.pods[0])
    near.run("ip", "link", "set", port.peer_port, "down")
    wait_for(lambda: yard.ways(near, host.part) == yard.uplinks(near, SPINE), f"{name} to reach the node by the spine")
    wait_for(lambda: yard.ways(yard.spine, host.part) == yard.uplinks(yard.spine, LEAFS[1]), "the spine to know one leaf")
    assert yard.ways(far, host.part) == {host.address(LEAFS[1])}
    other.ping(host, asked)
    host.ping(other, host.pods[:4])
    near.run("ip", "link", "set", port.peer_port, "up")


def test_a_restart_loses_nothing(yard):
    hosts = yard.settle("gpu-001", "gpu-002")
    before = {name: said["connectionsEstablished"] for host in hosts for name, said in _by_address(yard, host)}
    with hosts[0].pinging(hosts[1]), hosts[1].pinging(hosts[0]):
        for host in hosts:
            signal_all(host.node, "KILL")
        for host in hosts:
            wait_for(lambda host=host: all(s["bgpState"] != "Established" for s in yard.sessions(host).values()), "the end")
            assert yard.is_known(host), "routes stay"
            host.speaker.start()
        for host in hosts:
            wait_for(lambda host=host: _is_back(yard, host, before), f"{host.server.name} to speak again")
            assert yard.is_known(host)


def _by_address(yard, host):
    return [(host.address(name), said) for name, said in yard.sessions(host).items()]


def _is_back(yard, host, before):
    """Return whether new sessions are up, and leafs have heard of the node's part in them."""
    new = all(
        said["bgpState"] == "Established" and said["connectionsEstablished"] > before[name]
        for name, said in _by_address(yard, host)
    )
    paths = [path for leaf in yard.leafs.values() for path in leaf.show(f"bgp ipv4 unicast {host.part}").get("paths", [])]
    return new and not any(path.get("stale") for path in paths)


def test_a_node_that_stays_away_is_forgotten_and_needs_but_one_leaf_to_come_back(yard):
    hosts = yard.settle("gpu-003", "gpu-004")
    for host in hosts:
        signal_all(host.node, "KILL")
    for host in hosts:
        wait_for(lambda host=host: yard.is_forgotten(host), f"{host.server.name} to be forgotten")
        port = next(port for port in host.ports if port.peer == LEAFS[1])
        yard.leafs[LEAFS[1]].run("ip", "link", "set", port.peer_port, "down")
        host.speaker.start()
    near = yard.leafs[LEAFS[0]]
    for host in hosts:
        wait_for(lambda host=host: yard.ways(near, host.part) == {host.address(LEAFS[0])}, f"{host.server.name} at {LEAFS[0]}")
        port = next(port for port in host.ports if port.peer == LEAFS[1])
        yard.leafs[LEAFS[1]].run("ip", "link", "set", port.peer_port, "up")


def test_a_speaker_that_hangs_is_forgotten(yard):
    """With BIRD after the hold time. GoBGP asks that the restart time begins then (RFC 8538), so its part stays that long."""
    hosts = gobgp, bird, soon = yard.settle("gpu-001", "gpu-002", "gpu-005")
    for host in hosts:
        signal_all(host.node, "STOP")
    for host in hosts:
        wait_for(lambda host=host: all(s["bgpState"] != "Established" for s in yard.sessions(host).values()), "the hold time")
    wait_for(lambda: yard.is_forgotten(bird), "BIRD's part to go")
    wait_for(lambda: yard.is_forgotten(soon), "GoBGP's part to go")
    assert yard.is_known(gobgp)
    for host in hosts:
        signal_all(host.node, "CONT")
