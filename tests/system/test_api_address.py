"""The API server's address: control servers have it while their API server is ready, and leafs bring its users there.

The role's program runs as its unit starts it, beside a double of the API server; leafs are rendered, on real FRR, and GoBGP and
BIRD are as Cilium's and Calico's agents have them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster_model.render.kubernetes.endpoint import UNIT, render_endpoint
from tests.system.api_server import DEAD, HANGING, NOT_READY, READY, ApiServer, write_certificate
from tests.system.pod_yard import LEAFS, SPINE, Yard, open_yard
from tests.system.speakers import Bird, Gobgp, signal_all
from tests.unit.render.switch.namespaces import wait_for

pytestmark = pytest.mark.frr

PROGRAM = Path(__file__).parents[2] / "roles/kubernetes_control/files/gpuyard_kubernetes_endpoint.py"
INSTALLED = "/usr/bin/python3 -IS /usr/local/sbin/gpuyard-kubernetes-endpoint"
SPEAKERS = {"control-001": Gobgp, "control-002": Bird, "control-003": Gobgp, "gpu-001": Gobgp, "storage-001": None}
CONTROL = ("control-001", "control-002", "control-003")


class Endpoint:
    """The control servers of a yard, each with its API server and the program that has the address."""

    def __init__(self, yard: Yard, folder: Path) -> None:
        self.yard, self.address = yard, yard.plan.kubernetes.endpoint.announced
        certificate = write_certificate(folder)
        self.servers = {name: ApiServer(yard.hosts[name].node, folder, certificate) for name in CONTROL}
        unit = dict(render_endpoint(yard.plan))[UNIT].decode()
        lines = re.findall(r"^Exec(StartPre|Start)=-?(.*)", unit, re.MULTILINE)
        before = "".join(f"{line}\n" for kind, line in lines if kind == "StartPre")
        (start,) = (line for kind, line in lines if kind == "Start")
        start = start.replace(INSTALLED, f"{sys.executable} -IS {PROGRAM}")
        for name in CONTROL:
            yard.hosts[name].node.run("sh", "-c", f"{before}{start} >/run/endpoint.log 2>&1 </dev/null &")

    def become(self, state: str, *names: str) -> None:
        for name in names:
            self.servers[name].become(state)

    def list_holders(self) -> set[str]:
        """Return the hosts that have the address."""
        return {
            name
            for name, host in self.yard.hosts.items()
            if f" {self.address}/32 " in host.node.run("ip", "-o", "-4", "address", "show", "dev", "lo")
        }

    def is_at(self, *names: str) -> bool:
        """Return whether leafs bring its users to these control servers, and the spine to the leafs."""
        prefix = f"{self.address}/32"
        hosts = [self.yard.hosts[name] for name in names]
        at_leafs = all(
            self.yard.ways(leaf, prefix) == {host.address(name) for host in hosts} for name, leaf in self.yard.leafs.items()
        )
        up = self.yard.uplinks(self.yard.spine, *LEAFS) if names else set()
        return at_leafs and self.yard.ways(self.yard.spine, prefix) == up

    def settle(self, *names: str) -> None:
        """Wait until the address is at these control servers, and at no other one."""
        wait_for(lambda: self.list_holders() == set(names), f"{names} alone to have the address")
        wait_for(lambda: self.is_at(*names), f"leafs to know {names} alone")

    def ask(self, client: str) -> str:
        """Return the control server that answers a client; empty where none does."""
        url = f"https://{self.address}:6443/readyz"
        said = self.yard.hosts[client].node.run("curl", "--silent", "--insecure", "--max-time", "3", url, check=False)
        return said.strip()


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    with open_yard(SPEAKERS, soon=("control-002", "control-003", "gpu-001")) as yard:
        yield Endpoint(yard, tmp_path_factory.mktemp("api"))


def test_hosts_reach_whoever_is_ready(endpoint):
    endpoint.settle(*CONTROL)
    assert {endpoint.ask("storage-001"), endpoint.ask("gpu-001")} <= set(CONTROL)
    assert endpoint.ask("control-002") == "control-002"
    endpoint.become(NOT_READY, "control-001")
    endpoint.become(DEAD, "control-003")
    endpoint.settle("control-002")
    assert {endpoint.ask("storage-001"), endpoint.ask("gpu-001")} == {"control-002"}
    endpoint.become(HANGING, "control-002")
    endpoint.settle()
    assert endpoint.ask("storage-001") == ""
    endpoint.become(READY, "control-003")
    endpoint.settle("control-003")
    assert endpoint.ask("storage-001") == "control-003"
    endpoint.become(READY, *CONTROL)
    endpoint.settle(*CONTROL)


def test_an_address_that_is_taken_away_comes_back(endpoint):
    endpoint.settle(*CONTROL)
    node = endpoint.yard.hosts["control-001"].node
    node.run("ip", "address", "del", f"{endpoint.address}/32", "dev", "lo")
    endpoint.settle(*CONTROL)


def test_leafs_take_it_of_control_servers_alone_and_nothing_else_of_them(endpoint):
    endpoint.settle(*CONTROL)
    yard = endpoint.yard
    node, control, bird = (yard.hosts[name] for name in ("gpu-001", "control-001", "control-002"))
    near = f"{endpoint.address.rpartition('.')[0]}.254"
    for host in (control, bird):
        host.node.run("ip", "address", "add", f"{near}/32", "dev", "lo")
    node.speaker.announce(f"{endpoint.address}/32", "10.244.220.0/24")  # after it, so that it was heard when this one is
    control.speaker.announce("10.244.221.0/24")
    bird.speaker.announce("10.244.222.0/24")
    for part, host in {"10.244.220.0/24": node, "10.244.221.0/24": control, "10.244.222.0/24": bird}.items():
        for name, leaf in yard.leafs.items():
            own = {host.address(name)}
            wait_for(lambda leaf=leaf, part=part, own=own: yard.ways(leaf, part) == own, f"{name} to hear of {part}")
    assert endpoint.is_at(*CONTROL)
    others = [f"{near}/32", *(f"{host.own}/32" for host in (node, control, bird))]
    for prefix in others:
        assert not any(yard.ways(leaf, prefix) for leaf in yard.leafs.values()), prefix
    node.speaker.withdraw(f"{endpoint.address}/32", "10.244.220.0/24")
    control.speaker.withdraw("10.244.221.0/24")
    bird.speaker.withdraw()
    for host in (control, bird):
        host.node.run("ip", "address", "del", f"{near}/32", "dev", "lo")


def test_a_host_goes_on_over_one_leaf(endpoint):
    endpoint.settle(*CONTROL)
    yard = endpoint.yard
    host, name = yard.hosts["storage-001"], LEAFS[0]
    near = yard.leafs[name]
    ports = [port.peer_port for each in map(yard.hosts.__getitem__, CONTROL) for port in each.ports if port.peer == name]
    for port in ports:
        near.run("ip", "link", "set", port, "down")
    prefix = f"{endpoint.address}/32"
    wait_for(lambda: yard.ways(near, prefix) == yard.uplinks(near, SPINE), f"{name} to reach it by the spine")
    assert {endpoint.ask(host.server.name) for _ in range(4)} <= set(CONTROL)
    for port in ports:
        near.run("ip", "link", "set", port, "up")


@pytest.mark.parametrize(("signal", "again"), [("KILL", ""), ("STOP", "CONT")])
def test_a_control_server_whose_agent_is_away_is_forgotten(endpoint, signal, again):
    """Its API server may be gone with it, and nobody could take the address back."""
    endpoint.settle(*CONTROL)
    hosts = [endpoint.yard.hosts[name] for name in ("control-003", "control-002")]
    for host in hosts:
        signal_all(host.node, signal)
    wait_for(lambda: endpoint.is_at("control-001"), "leafs to forget both")
    assert endpoint.list_holders() == set(CONTROL)
    assert endpoint.ask("storage-001") == "control-001"
    for host in hosts:
        if again:
            signal_all(host.node, again)
        else:
            host.speaker.start()
    endpoint.settle(*CONTROL)


def test_without_the_address_a_control_server_refuses_what_comes_for_it(endpoint):
    """While leafs do not know yet, since its agent is away: it would go back to a leaf, and come again until it is too old."""
    endpoint.settle(*CONTROL)
    host, client = endpoint.yard.hosts["control-001"], endpoint.yard.hosts["storage-001"]
    way = ("ip", "route", "get", endpoint.address, "from", client.own, "iif", host.ports[0].name)  # codespell:ignore
    assert host.node.run(*way).startswith(f"local {endpoint.address} ")
    endpoint.become(NOT_READY, *CONTROL)
    endpoint.settle()
    assert "via" not in host.node.run(*way, check=False)
    prefix = f"{endpoint.address}/32"
    for name, leaf in endpoint.yard.leafs.items():
        leaf.run("ip", "route", "add", prefix, "via", host.address(name))  # as one that was not told
    # From the leaf at once, and not a time out.
    said = client.node.run("ping", "-n", "-c", "2", "-W", "10", endpoint.address, check=False)
    assert len(re.findall(f"From {host.own}|From {'|From '.join(port.address[:-3] for port in host.ports)}", said)) == 2, said
    assert "Time to live exceeded" not in said and "Unreachable" in said
    for leaf in endpoint.yard.leafs.values():
        leaf.run("ip", "route", "del", prefix)
    endpoint.become(READY, *CONTROL)
    endpoint.settle(*CONTROL)
