"""Links to what the cluster ends at: the site's routers, and the border's external peers."""

from __future__ import annotations

from collections.abc import Iterator

from cluster_model.plan.model import Cable, Plan, Switch

SITE = "site"
"""The far end of a link to a router of the site, which has no name here."""
SITE_MEDIUM = "as the site has it"


def list_ways(switch: Switch) -> Iterator[tuple[str, str, str, str, int]]:
    """Yield a switch's links to the outside: port, far device, its own address, the far one's, and Gb/s."""
    yield from ((way.port, SITE, way.address, way.gateway, way.speed_gbps) for way in switch.upstreams)
    if switch.overlay is not None:
        yield from ((way.port, way.peer, way.address, way.peer_address, way.speed_gbps) for way in switch.overlay.externals)


def list_outside(plan: Plan) -> Iterator[Cable]:
    """Yield these links as cables; what joins them, and how long it is (0), the site says. The far port is an address."""
    for switch in plan.switches:
        for port, far, _, address, speed_gbps in list_ways(switch):
            ends = (switch.name, port, far, address)
            yield Cable(switch.network, "upstream", *ends, speed_gbps, 0.0, SITE_MEDIUM, "", "", f"{switch.name}:{port}")
