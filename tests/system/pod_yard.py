"""A spine, two leafs and hosts of the lab: rendered switches on real FRR, and GoBGP and BIRD as Cilium's and Calico's agents."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from ipaddress import ip_network

import pytest
import yaml

from cluster_model.plan.model import Plan
from cluster_model.render.kubernetes.network.bgp import render_bgp
from cluster_model.twin.node import Node
from tests.system.speakers import Bird, Gobgp, Objects
from tests.unit.render.switch import factory
from tests.unit.render.switch.namespaces import Router, boot, require_frr, wait_for

SPINE = "storage-spine-01"
LEAFS = ("storage-leaf-u01-01", "storage-leaf-u01-02")
Speakers = Mapping[str, "type[Gobgp] | type[Bird] | None"]
"""Host → the double of its agent; none for hosts that are no nodes."""
SOON_S = 5
"""The restart time of nodes of which it is seen that they are forgotten; the others have what is rendered."""
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
    """A host: its ports, addresses and routes as planned. On a node of Kubernetes some pods' addresses, and a speaker."""

    def __init__(
        self, plan: Plan, name: str, leafs: dict[str, Router], part: str, speaker: type[Gobgp] | type[Bird] | None, is_soon: bool
    ) -> None:
        self.server, self.part = plan.server(name), part
        self.pods = [str(address) for address in list(ip_network(part).hosts())[9:40]] if speaker else []
        self.ports = [port for port in self.server.ports if port.network == plan.kubernetes.network]
        self.node = Node(name)
        (service,) = (service for service in self.server.services if service.beyond)
        self.own = own = service.address.partition("/")[0]
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
        self.speaker: Gobgp | Bird
        if speaker is Gobgp:
            objects = read_bgp_yaml(plan)
            self.speaker = Gobgp(self.node, forget_soon(objects) if is_soon else objects, own, [part])
        elif speaker is Bird:
            restart = {"restart_s": SOON_S} if is_soon else {}
            self.speaker = Bird(self.node, read_bgp_yaml(plan), own, plan.kubernetes.pod_pool, [part], **restart)

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
    """A spine, two leafs, and hosts."""

    def __init__(self, plan: Plan, routers: dict[str, Router], speakers: Speakers, soon: Iterable[str]) -> None:
        self.plan = plan
        self.spine, self.leafs = routers[SPINE], {name: routers[name] for name in LEAFS}
        parts = ip_network(plan.kubernetes.pod_pool).subnets(new_prefix=plan.kubernetes.node_prefix)
        self.hosts = {
            name: Host(plan, name, self.leafs, str(part), speaker, name in soon)
            for (name, speaker), part in zip(speakers.items(), parts, strict=False)
        }

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


@contextmanager
def open_yard(speakers: Speakers, soon: Iterable[str]) -> Iterator[Yard]:
    """Yield the yard with its hosts' speakers started.

    Args:
        speakers: the hosts.
        soon: nodes with the restart time SOON_S.
    """
    require_frr(daemons=True)
    if missing := [program for program in ("gobgpd", "bird") if shutil.which(program) is None]:
        (pytest.fail if os.environ.get("GPUYARD_REQUIRE_FRR") else pytest.skip)(f"{missing[0]} is missing: install {missing[0]}")
    plan = factory.plan("lab")
    switches = [(plan.switch(name), factory.file("lab", name, "frr.conf")) for name in (SPINE, *LEAFS)]
    with boot(*switches) as routers, ExitStack() as stack:
        yard = Yard(plan, routers, speakers, soon)
        for host in yard.hosts.values():
            stack.callback(host.node.close)
        for name, host in yard.hosts.items():
            if speakers[name]:
                host.speaker.start()
        yield yard
