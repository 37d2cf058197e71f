# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about where Kubernetes' API server is reached. Part of the K8S family."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.wording import count_things, list_names
from cluster_model.diagnostic import Diagnostic
from cluster_model.plan.services.kubernetes import CARRIER
from cluster_model.plan.tenancy.places import find_address

UNUSED = {
    "local": "with local each node asks the control servers itself",
    "bgp": "with bgp it is the last service address of the storage network",
}
"""Why an address is of no use, by mode."""
SERVICE_NAME = re.compile(r"boot|ns[0-9]+")
"""Names in the zone that are no device's; render/dns.py writes them."""


def _list_subnets(design: Design) -> list[str]:
    """Return the subnets that control servers have their addresses in, each once."""
    return sorted({node.subnet for node in design.plan.kubernetes.nodes if node.is_control and node.subnet})


class EndpointAcrossSubnets(Rule):
    """Let control servers share the subnet of an address that moves between them.

    What it checks:
        With `endpoint.mode: vrrp` all control servers have their address in `kubernetes.network` in one subnet of at least two
        addresses.

    Why it matters:
        VRRP is heard within a subnet alone. Across subnets each server believes that it is the only one and takes the address,
        and the network brings no packet to any of them.

    How to fix:
        Take `local`, which needs no subnet, or a `network` in which the control servers share one.

    Source:
        RFC 9568, VRRP version 3, section 1: routers on a LAN.
    """

    id, title = "K8S020", "VRRP between servers in different subnets"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        kubernetes = design.plan.kubernetes
        if kubernetes.endpoint.mode != "vrrp":
            return
        subnets = _list_subnets(design)
        if len(subnets) > 1 or any(IPv4Network(subnet).prefixlen == 32 for subnet in subnets):
            yield self.finding(
                "kubernetes.endpoint.mode",
                f"control servers have addresses in {count_things(len(subnets), 'subnet')} of {kubernetes.network}",
                "one subnet that all of them are in",
                list_names(subnets),
                "set mode to local, or name a network in which the control servers share a subnet",
            )


class EndpointAddress(Rule):
    """Give VRRP an address that it can have.

    What it checks:
        With `endpoint.mode: vrrp` there is an `address`; it lies in the subnet of the control servers, is neither its first nor
        its last, and no server or gateway has it. With `local` and `bgp` there is none.

    Why it matters:
        An address that two have is answered by either. One outside of the subnet is brought to none of them.

    How to fix:
        Take a free address that the finding names.

    Source:
        RFC 9568, VRRP version 3, section 1.
    """

    id, title = "K8S021", "address that the API server cannot have"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        asked = design.cluster.kubernetes
        if asked is None:
            return
        address = asked.endpoint.address
        if unused := UNUSED.get(asked.endpoint.mode):
            if address is not None:
                yield self.finding(
                    "kubernetes.endpoint.address",
                    f"{address} is used by nothing: {unused}",
                    "no address",
                    str(address),
                    "leave address out, or set mode to vrrp",
                )
            return
        subnets = [IPv4Network(subnet) for subnet in _list_subnets(design)]
        if len(subnets) != 1 or subnets[0].prefixlen == 32:
            return  # K8S013, K8S020
        subnet = subnets[0]
        taken = _list_taken(design, subnet)
        why = (
            "there is no address for VRRP"
            if address is None
            else f"{address} is not in the subnet of the control servers"
            if address not in subnet
            else f"{address} has a use of its own in {subnet}"
            if int(address) in taken
            else ""
        )
        if why:
            free = next((number for number in range(int(subnet[-1]), int(subnet[0]), -1) if number not in taken), None)
            yield self.finding(
                "kubernetes.endpoint.address" if address is not None else "kubernetes.endpoint",
                why,
                f"a free address in {subnet}",
                str(address or "none"),
                f"set address to {IPv4Address(free)}" if free is not None else "name a network whose subnets have room",
            )


class EndpointName(Rule):
    """Call the API server by a name of its own.

    What it checks:
        `endpoint.name` is not the name of a device, nor one that the cluster's zone has for a service: `boot`, `ns1` and so on.
        With `mode: bgp` the same holds for NAME-storage.

    Why it matters:
        The name leads to both: every other request reaches a machine on which no API server listens.

    How to fix:
        Leave `name` out, or take one that nothing has.

    Source:
        RFC 1034, section 3.6: a name with several addresses leads to any of them.
    """

    id, title = "K8S022", "API server called like something else"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        asked = design.cluster.kubernetes
        if asked is None:
            return
        where = "kubernetes.endpoint.name" if "name" in asked.endpoint.model_fields_set else "kubernetes.endpoint"
        announced = [f"{asked.endpoint.name}-{CARRIER}"] if asked.endpoint.mode == "bgp" else []
        for name in (asked.endpoint.name, *announced):
            if owner := _find_owner(design, name):
                fix = (
                    "leave name out, for kubernetes" if where.endswith("name") else "set endpoint.name to a name that nothing has"
                )
                summary = f"the API server is called {name}, as is {owner}"
                yield self.finding(where, summary, "a name that nothing else has", name, fix)


class EndpointNotAnnounced(Rule):
    """Let leafs hear of the API server's address.

    What it checks:
        With `endpoint.mode: bgp` control servers tell leafs of their pods, by `pod_routing: bgp`, and no host has the last
        service address of the storage network, which is the API server's. The storage network's `load_balancing` is not dynamic.

    Why it matters:
        Leafs hear of the address over the sessions that are there for pods: without them nobody reaches it. An address that a
        host has as well is answered by either. Of equal ways to the address each ends at another server, so a connection that is
        moved to another way while it lasts, as switches do between two bursts with dynamic load balancing, is reset.

    How to fix:
        Set `pod_routing` to bgp, or `mode` to local. Where a host has the address, give the storage network a larger pool. Leave
        its `load_balancing` out.

    Source:
        RFC 4786, sections 4.4 (a prefix of a service is announced by the nodes that offer it) and 4.4.3 (equal-cost paths).
    """

    id, title = "K8S029", "address of the API server that leafs cannot be told of"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        asked, kubernetes = design.cluster.kubernetes, design.plan.kubernetes
        if asked is None or asked.endpoint.mode != "bgp":
            return
        if asked.pod_routing != "bgp":
            summary = f"with pod_routing {asked.pod_routing} nodes speak no BGP, and no leaf hears of the API server's address"
            fix = "set pod_routing to bgp, or endpoint.mode to local"
            yield self.finding("kubernetes.endpoint.mode", summary, "pod_routing: bgp", asked.pod_routing, fix)
            return
        network = design.plan.network(CARRIER)
        if network is not None and network.load_balancing == "dynamic":
            yield self.finding(
                f"networks.{CARRIER}.load_balancing",
                "switches move connections between ways, and of those to the API server each ends at another control server",
                "ecmp or adaptive",
                network.load_balancing,
                f"leave load_balancing of {CARRIER} out, or set kubernetes.endpoint.mode to local",
            )
        address = kubernetes.endpoint.announced
        services = ((server.name, service.address) for server in design.plan.servers for service in server.services)
        owner = next((name for name, own in services if address and own.partition("/")[0] == address), "")
        if owner:
            summary = f"{address} is the API server's and has a use of its own: it is {owner}'s"
            yield self.finding(
                "kubernetes.endpoint.mode",
                summary,
                "a last service address that no host has",
                f"{owner}: {address}",
                f"set networks.{CARRIER}.pool to a larger one, or endpoint.mode to local",
            )


def _find_owner(design: Design, name: str) -> str:
    """Return what kind of thing has a name; empty where nothing has."""
    return (
        "a server"
        if name in design.servers
        else "a switch"
        if name in design.switches
        else "a PDU"
        if any(pdu.name == name for pdu in design.plan.pdus)
        else "a service of the zone"
        if SERVICE_NAME.fullmatch(name) or (design.plan.ceph.store and name == "s3")
        else ""
    )


def _list_taken(design: Design, subnet: IPv4Network) -> set[int]:
    """Return the addresses of the control servers' subnet that something has, or will have once all that is planned is built."""
    network = design.plan.kubernetes.network
    taken = {int(subnet[0]), int(subnet[-1])}
    texts: list[str] = []
    tenant, _, key = network.partition("/")
    if key:
        asked = design.cluster.tenants[tenant].subnets[key]
        taken |= {find_address(asked, *seat) for seat in design.planned_legs[tenant, key]}
        taken |= set(range(int(asked.pool.first), int(asked.pool.last) + 1)) if asked.pool is not None else set()
        legs = (vlan for server in design.plan.servers for bond in server.bonds for vlan in bond.vlans)
        texts += [text for leg in legs if (leg.tenant, leg.subnet) == (tenant, key) for text in (leg.address, leg.gateway)]
    for server in design.plan.servers:
        texts += [text for port in server.ports if port.network == network for text in (port.address, port.gateway)]
        texts += [server.bmc.address] if server.bmc is not None else []
    for switch in design.plan.switches:
        texts += [switch.management.address] if switch.management is not None else []
    return taken | {int(IPv4Address(text.partition("/")[0])) for text in texts if text}
