"""Small fabrics booted from rendered files: sessions come up, the right routes cross, and a dead host's route goes."""

from __future__ import annotations

import dataclasses

import pytest

from cluster_model.plan.model import Switch
from tests.unit.render.switch import factory
from tests.unit.render.switch.namespaces import Router, boot, require_frr, wait_for

pytestmark = pytest.mark.frr


def _parts(cluster: str, *names: str) -> list:
    return [(factory.plan(cluster).switch(name), factory.file(cluster, name, "frr.conf")) for name in names]


def _own(leaf: Router) -> set[str]:
    return {*leaf.switch.originates, f"{leaf.switch.loopback.partition('/')[0]}/32"}


def _hops(router: Router, prefix: str) -> int:
    routes = router.show(f"ip route {prefix}").get(prefix, [])
    return sum(len(route["nexthops"]) for route in routes if route.get("selected"))


@pytest.mark.parametrize("cluster", ["lab", "turned"], ids=["unnumbered", "numbered"])
def test_leafs_reach_each_other_and_carry_no_transit(cluster: str) -> None:
    require_frr(daemons=True)
    names = ("compute-spine-01", "compute-spine-02", "compute-leaf-u01-01", "compute-leaf-u02-01")
    with boot(*_parts(cluster, *names)) as routers:
        spines, leafs = [routers[name] for name in names[:2]], [routers[name] for name in names[2:]]
        links = [port for port in leafs[0].switch.ports if port.peer == spines[0].switch.name]
        for router in (*spines, *leafs):
            wait_for(lambda router=router: router.established() == 2 * len(links), f"the sessions of {router.switch.name}")
        for near, far in (leafs, leafs[::-1]):
            assert far.switch.originates
            for prefix in _own(far):
                wait_for(lambda near=near, prefix=prefix: _hops(near, prefix) == 2 * len(links), f"{prefix} over every uplink")
        for leaf in leafs:
            for port in leaf.switch.ports:
                if port.peer in names[:2]:
                    peer = port.peer_address or port.name
                    wait_for(lambda leaf=leaf, peer=peer: _own(leaf) <= leaf.advertised(peer), f"{leaf.switch.name} to speak")
                    assert leaf.advertised(peer) == _own(leaf), "what it heard from one spine it does not tell another"


def test_a_dead_host_takes_its_service_address_along() -> None:
    """The aggregate's Null0 must not keep the host's route alive (a route without a port would)."""
    require_frr(daemons=True)
    names = ("storage-spine-01", "storage-leaf-u01-01", "storage-leaf-u01-02")
    with boot(*_parts("lab", *names)) as routers:
        spine, leaf, other = (routers[name] for name in names)
        service = leaf.switch.service_routes[0]

        def leafs() -> set[str]:
            paths = spine.show(f"bgp ipv4 unicast {service.prefix}").get("paths", [])
            return {path["aspath"]["string"] for path in paths}

        wait_for(lambda: leafs() == {str(leaf.switch.asn), str(other.switch.asn)}, "the service address over both leafs")
        leaf.run("ip", "link", "set", f"x{service.port}", "down")
        wait_for(lambda: leafs() == {str(other.switch.asn)}, "the dead path to go")
        assert service.prefix in other.routes()
        assert set(leaf.switch.originates) <= spine.routes()


def test_every_switch_knows_the_way_out_and_forgets_a_dead_one() -> None:
    require_frr(daemons=True)
    names = ("oob-spine-01", "oob-spine-02", "oob-leaf-a01", "oob-leaf-n01")
    with boot(*_parts("lab", *names)) as routers:
        first, leafs = routers[names[0]], [routers[name] for name in names[2:]]
        for leaf in leafs:
            wait_for(lambda leaf=leaf: _hops(leaf, "0.0.0.0/0") == 2, "the default route over both spines")
            for port in leaf.switch.ports:
                if port.peer in names[:2]:
                    peer = port.name
                    wait_for(lambda leaf=leaf, peer=peer: _own(leaf) <= leaf.advertised(peer), f"{leaf.switch.name} to speak")
                    assert leaf.advertised(peer) == _own(leaf), "a leaf leads nobody out"
        first.run("ip", "link", "set", f"x{first.switch.upstreams[0].port}", "down")
        for leaf in leafs:
            wait_for(lambda leaf=leaf: _hops(leaf, "0.0.0.0/0") == 1, "the dead way to go")


def _build_node(cluster: str, name: str) -> tuple[Switch, str]:
    """Return a double of Cilium on a server: FRR that tells each leaf of what is its own, and of what it has no right to."""
    plan = factory.plan(cluster)
    network, pods = plan.kubernetes.network, plan.kubernetes
    leafs = [switch for switch in plan.switches if switch.network == network and switch.role == "leaf"]
    ends = [(leaf, port) for leaf in leafs for port in leaf.ports if port.peer == name]
    ports = tuple(
        dataclasses.replace(
            port,
            name=port.peer_port,
            peer=leaf.name,
            peer_port=port.name,
            peer_asn=leaf.asn,
            address=f"{port.peer_address}/31",
            peer_address=port.address.partition("/")[0],
        )
        for leaf, port in ends
    )
    service = next(service for service in plan.server(name).services if service.network == network)
    node = dataclasses.replace(leafs[0], name=name, loopback=service.address, ports=ports, upstreams=(), vlans=())
    wrong = [pods.pod_pool, "10.244.7.9/32", "10.244.64.0/23", "10.9.9.0/24", "0.0.0.0/0", leafs[0].loopback]
    told = "".join(f"  network {prefix}\n" for prefix in ("10.244.7.0/24", *wrong))
    told += "  network 10.244.8.0/24 route-map LONGER\n"
    return node, (
        "route-map LONGER permit 10\n set as-path prepend 64513\nexit\n"
        f"router bgp {pods.node_asn}\n no bgp ebgp-requires-policy\n no bgp network import-check\n timers bgp 3 9\n"
        + "".join(f" neighbor {port.peer_address} remote-as {port.peer_asn}\n" for port in ports)
        + f" address-family ipv4 unicast\n{told} exit-address-family\nexit\n"
    )


def test_a_node_tells_of_its_pods_and_of_nothing_else() -> None:
    require_frr(daemons=True)
    names = ("storage-spine-01", "storage-spine-02", "storage-leaf-u01-01", "storage-leaf-u01-02")
    pods = "10.244.7.0/24"
    node, conf = _build_node("lab", "gpu-001")
    with boot(*_parts("lab", *names), (node, conf)) as routers:
        spines, (leaf, other), speaker = (
            [routers[name] for name in names[:2]],
            [routers[n] for n in names[2:]],
            routers[node.name],
        )
        near = {port.peer: port for port in node.ports}

        def heard(router: Router, path: str) -> bool:
            return path in {each["aspath"]["string"] for each in router.show(f"bgp ipv4 unicast {pods}").get("paths", [])}

        for each in (leaf, other):
            wait_for(lambda each=each: heard(each, "64512"), f"{each.switch.name} to hear of the pods")
            for spine in spines:
                path = f"{each.switch.asn} 64512"
                wait_for(lambda spine=spine, path=path: heard(spine, path), f"{spine.switch.name} to hear of them")
        assert speaker.established() == 2
        for each in (*spines, leaf, other):
            strange = {prefix for prefix in each.routes() if prefix.startswith(("10.244.", "10.9.", "0.0.0.0"))}
            assert strange == {pods}, each.switch.name
        for port in node.ports:
            assert routers[port.peer].advertised(port.address.partition("/")[0]) == set()
        # Its link to one leaf dies: that leaf reaches it by the spines, and leads nobody from one to the other.
        leaf.run("ip", "link", "set", near[leaf.switch.name].peer_port, "down")
        ups = [port for port in leaf.switch.ports if port.peer in names[:2]]
        wait_for(lambda: not heard(leaf, "64512") and _hops(leaf, pods) == len(ups), "the way over the spines")
        for port in ups:
            wait_for(lambda port=port: pods not in leaf.advertised(port.peer_address), "the dead way to go")
        # Its speaker dies: nothing is left of it once nobody has heard of it for the hold time.
        speaker.run("sh", "-c", "kill -STOP $(cat /run/frr/bgpd.pid)")
        wait_for(lambda: all(pods not in each.routes() for each in (*spines, leaf, other)), "the pods to be forgotten")
