"""Small fabrics booted from rendered files: sessions come up, the right routes cross, and a dead host's route goes."""

from __future__ import annotations

import pytest

from tests.unit.render_switch import factory
from tests.unit.render_switch.namespaces import Router, boot, require_frr, wait_for

pytestmark = pytest.mark.frr


def _parts(cluster: str, *names: str) -> list:
    return [(factory.plan(cluster).switch(name), factory.file(cluster, name, "frr.conf")) for name in names]


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
            expected = {*far.switch.originates, f"{far.switch.loopback.partition('/')[0]}/32"}
            assert far.switch.originates
            wait_for(lambda near=near, expected=expected: expected <= near.routes(), f"the routes of {near.switch.name}")
            for prefix in far.switch.originates:

                def hops(prefix: str = prefix, near: Router = near) -> int:
                    return len(near.show(f"ip route {prefix}")[prefix][0]["nexthops"])

                wait_for(lambda hops=hops: hops() == 2 * len(links), f"{prefix} over every link to both spines")
            own = {*near.switch.originates, f"{near.switch.loopback.partition('/')[0]}/32"}
            for port in near.switch.ports:
                if port.peer in names[:2]:
                    assert near.advertised(port.peer_address or port.name) == own


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
