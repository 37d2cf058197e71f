# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about addresses that tenants' servers get by DHCP. Part of the SUB family."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.tenancy.subnets import find_bounds, find_gateway, list_subnets
from cluster_model.diagnostic import Diagnostic


class PoolOutside(Rule):
    """Hand out addresses of the subnet only.

    What it checks:
        `pool` of a subnet lies inside `cidr`, first before last, without the gateway, network and broadcast address.

    Why it matters:
        A host with such an address answers nobody, or takes the gateway away from all others.

    How to fix:
        Write a range inside the subnet.

    Source:
        RFC 2131, section 3.1: the server offers addresses of the client's subnet.
    """

    id, title = "SUB005", "DHCP pool that its subnet does not hold"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for name, _, key, subnet in list_subnets(design):
            if subnet.pool is None:
                continue
            low, high = find_bounds(subnet.cidr)
            first, last = int(subnet.pool.first), int(subnet.pool.last)
            wrong = ""
            if first > last:
                wrong = "ends before it begins"
            elif first < low or last > high:
                wrong = f"leaves {subnet.cidr}"
            elif first <= find_gateway(subnet) <= last:
                wrong = f"holds the gateway, {IPv4Address(find_gateway(subnet))}"
            if wrong:
                yield self.finding(
                    f"tenants.{name}.subnets.{key}.pool",
                    f"the pool of {name}'s {key} {wrong}",
                    f"a range from {IPv4Address(low)} to {IPv4Address(high)} without the gateway",
                    f"{subnet.pool.first} to {subnet.pool.last}",
                    "correct first and last",
                )


class DhcpWithoutServer(Rule):
    """Name a DHCP server where servers wait for one.

    What it checks:
        Subnets with `addressing: dhcp` have `dhcp_servers`.

    Why it matters:
        Requests are broadcasts, and a leaf passes them on only where it is told to: no host ever gets an address.

    How to fix:
        Name the servers under `dhcp_servers`, or set `addressing` to static.

    Source:
        RFC 2131, section 2; RFC 1542, section 4: relay agents.
    """

    id, title = "SUB006", "DHCP without a server"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for name, _, key, subnet in list_subnets(design):
            if subnet.addressing == "dhcp" and not subnet.dhcp_servers:
                yield self.finding(
                    f"tenants.{name}.subnets.{key}.addressing",
                    f"servers of {name}'s {key} ask for addresses, and leafs relay to nobody",
                    "dhcp_servers with an address or two",
                    "none",
                    "add dhcp_servers, or set addressing to static",
                )


class DhcpOutOfReach(Rule):
    """Relay DHCP to servers that the tenant reaches, and that reach it.

    What it checks:
        Each of `dhcp_servers` is in a subnet of the tenant, or in a visible subnet of a shared tenant that it uses; then the
        subnet that asks must be visible too.

    Why it matters:
        The relayed request has no route, or the answer has none: it goes to the gateway's address in the asking subnet.

    How to fix:
        Name the shared tenant under `uses`, set `visible` of both subnets, or name another server.

    Source:
        RFC 2131, section 4.1: the server answers to `giaddr`, the relay's address in the client's subnet.
    """

    id, title = "SUB007", "DHCP server out of reach"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        tenants = design.cluster.tenants
        for name, tenant, key, subnet in list_subnets(design):
            shared = [tenants[used] for used in tenant.uses if used in tenants and tenants[used].shared]
            for index, address in enumerate(subnet.dhcp_servers):
                if any(address in own.cidr for own in tenant.subnets.values()):
                    continue
                there = any(address in s.cidr for other in shared for s in other.subnets.values() if s.visible)
                if there and subnet.visible:
                    continue
                if there:
                    where, wrong = (
                        f"tenants.{name}.subnets.{key}.visible",
                        f"cannot answer to {name}'s {key}, which is not visible",
                    )
                    fix = "set visible to true, or relay to a server inside the tenant"
                else:
                    where, wrong = f"tenants.{name}.subnets.{key}.dhcp_servers.{index}", f"is out of {name}'s reach"
                    fix = _explain_reach(design, name, address)
                yield self.finding(
                    where,
                    f"DHCP server {address} {wrong}",
                    "an address inside the tenant, or in a visible subnet of a shared tenant that it uses",
                    str(address),
                    fix,
                )


def _explain_reach(design: Design, name: str, address: IPv4Address) -> str:
    """Return what would bring an address into a tenant's reach."""
    for other, tenant in design.cluster.tenants.items():
        for key, subnet in tenant.subnets.items():
            if address in subnet.cidr and tenant.shared:
                if not subnet.visible:
                    return f"set tenants.{other}.subnets.{key}.visible to true"
                return f"add {other} to tenants.{name}.uses"
    return "name a server of the tenant, or of a shared tenant under uses"
