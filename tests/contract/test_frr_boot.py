"""Small fabrics booted from rendered files: sessions come up, the right routes cross, and a dead host's route goes."""

from __future__ import annotations

import pytest

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
