"""Nodes tell leafs of their pods: rendered switches on real FRR, and GoBGP and BIRD as Cilium's and Calico's agents have them."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_network

import pytest

from cluster_model.render.switch.context import NODE_PREFIX_LIMIT
from tests.system.pod_yard import LEAFS, SPINE, Yard, open_yard
from tests.system.speakers import Bird, Gobgp, signal_all
from tests.unit.render.switch.namespaces import wait_for

pytestmark = pytest.mark.frr

SPEAKERS = {"gpu-001": Gobgp, "gpu-002": Bird, "gpu-003": Gobgp, "gpu-004": Bird, "gpu-005": Gobgp}
SOON_FORGOTTEN = ("gpu-003", "gpu-004", "gpu-005")


@pytest.fixture(scope="module")
def yard() -> Iterator[Yard]:
    with open_yard(SPEAKERS, SOON_FORGOTTEN) as yard:
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
