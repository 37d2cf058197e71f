"""kubernetes/endpoint/: how the API server is reached: a proxy on each node, an address that control servers share, or both."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network
from math import ceil

from cluster_model.paths import TEMPLATES
from cluster_model.plan.model import Plan
from cluster_model.plan.model.kubernetes import Node
from cluster_model.plan.services.kubernetes import API_PORT
from cluster_model.render.templating import open_templates

CHECKS_PER_S = 50
"""That all proxies together put to an API server, as long as LONGEST_S allows: our choice. Each is a TLS handshake, about a
millisecond of its CPU."""
SHORTEST_S, LONGEST_S = 3, 10
"""Between two checks of a proxy: our choice. A server that falls silent is out after two checks, 2 s apart, each of which waits
3 s: after 18 s at most. Then connections to it are cut, but for those that a reload left in an old process, which checks nothing;
and kubelets renew their leases by another one before their nodes are NotReady. With 2,000 nodes that is 200 checks a second.
Source: kube-controller-manager, --node-monitor-grace-period: 40 s, 50 s in later versions."""
UNIT = "kubernetes/endpoint/gpuyard-kubernetes-endpoint.service"
"""What has the API server's address on the loopback of a control server."""
RULE_PRIORITY = 32_700
"""Of the rule by which a control server without the address refuses what comes for it: our choice, before the main table's 32766
and after whatever a network plug-in adds. The role takes it away by this number."""
HIGHEST_PRIORITY = 150
"""Of the first control server; each further one has one less. keepalived's own default is 100."""


def render_endpoint(plan: Plan) -> Iterator[tuple[str, bytes]]:
    """Yield HAProxy's configuration, one for all nodes, or keepalived's of each control server; and who announces an address."""
    control = [node for node in plan.kubernetes.nodes if node.is_control]
    endpoint = plan.kubernetes.endpoint
    if endpoint.announced:
        yield UNIT, _write_unit(plan)
    if endpoint.is_proxied:
        yield "kubernetes/endpoint/haproxy.cfg", _write_proxy(plan, control)
        return
    for position, node in enumerate(control):
        yield f"kubernetes/endpoint/{node.name}.keepalived.conf", _write_router(plan, control, position)


def _write_proxy(plan: Plan, control: list[Node]) -> bytes:
    """Return a file that one node more leaves as it is, but where the interval grows by a second: all nodes read it then."""
    endpoint = plan.kubernetes.endpoint
    interval_s = min(LONGEST_S, max(SHORTEST_S, ceil(plan.kubernetes.planned / CHECKS_PER_S)))
    template = open_templates(TEMPLATES).get_template("kubernetes/haproxy.cfg.j2")
    return template.render(
        cluster=plan.name,
        name=endpoint.name,
        address=endpoint.address,
        port=endpoint.port,
        api_port=API_PORT,
        servers=control,
        interval_s=interval_s,
    ).encode()


def _write_unit(plan: Plan) -> bytes:
    """Return the unit of all control servers."""
    endpoint = plan.kubernetes.endpoint
    template = open_templates(TEMPLATES).get_template("kubernetes/endpoint.service.j2")
    told = {"name": endpoint.announced_name, "address": endpoint.announced, "priority": RULE_PRIORITY}
    return template.render(cluster=plan.name, api_port=API_PORT, **told).encode()


def _write_router(plan: Plan, control: list[Node], position: int) -> bytes:
    node, address = control[position], plan.kubernetes.endpoint.address
    template = open_templates(TEMPLATES).get_template("kubernetes/keepalived.conf.j2")
    return template.render(
        cluster=plan.name,
        node=node,
        peers=[peer for peer in control if peer is not node],
        address=address,
        length=IPv4Network(node.subnet).prefixlen,
        # Unicast: a neighbor with the same number is not heard. The last byte of the address is 1 to 254, as VRRP wants it.
        router_id=int(IPv4Address(address)) % 256 or 1,
        priority=HIGHEST_PRIORITY - position,
        api_port=API_PORT,
    ).encode()
