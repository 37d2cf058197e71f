# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about subnets that work and hurt: whose addresses, how large, and how many answer DHCP. Part of the SUB family."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address

from cluster_model.checks.design import Design
from cluster_model.checks.fabric.addresses import DOCKER_BRIDGE, is_public
from cluster_model.checks.registry import Rule
from cluster_model.checks.tenancy.subnets import list_subnets
from cluster_model.checks.wording import count_things
from cluster_model.diagnostic import Diagnostic

LARGEST = 16  # shortest prefix of one broadcast domain


class SubnetPublic(Rule):
    """Number tenants from private addresses, or from your own.

    What it checks:
        `cidr` of each subnet lies in 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 or 100.64.0.0/10.

    Why it matters:
        The true owner of the addresses becomes unreachable for the tenant: a mirror, a registry, a customer.

    How to fix:
        Choose a private prefix, or leave it where the addresses are yours.

    Source:
        RFC 1918; RFC 6598 (shared address space).
    """

    id, severity, title = "SUB011", "warning", "subnet of public addresses"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for name, _, key, subnet in list_subnets(design):
            if is_public(subnet.cidr):
                yield self.finding(
                    f"tenants.{name}.subnets.{key}.cidr",
                    f"{name}'s {key} is public address space",
                    "a private prefix (RFC 1918, RFC 6598)",
                    str(subnet.cidr),
                    "choose a private prefix, or leave it if the addresses are yours",
                )


class SubnetUnderDocker(Rule):
    """Keep tenants' subnets clear of the range that Docker takes by itself.

    What it checks:
        No `cidr` overlaps 172.17.0.0/16.

    Why it matters:
        A server on which somebody starts Docker gets a bridge with that range, and no longer reaches its neighbours.

    How to fix:
        Move the subnet, or set Docker's `bip` and `default-address-pools` on every server.

    Source:
        Docker documentation, bridge network driver: docker0 takes 172.17.0.0/16 unless told otherwise.
    """

    id, severity, title = "SUB012", "warning", "subnet in Docker's default range"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for name, _, key, subnet in list_subnets(design):
            if subnet.cidr.overlaps(DOCKER_BRIDGE):
                yield self.finding(
                    f"tenants.{name}.subnets.{key}.cidr",
                    f"{name}'s {key} overlaps {DOCKER_BRIDGE}, which Docker takes by itself",
                    f"a prefix clear of {DOCKER_BRIDGE}",
                    str(subnet.cidr),
                    "move the subnet, or set bip in every server's Docker configuration",
                )


class SubnetTooLarge(Rule):
    """Keep a subnet to what one broadcast domain bears.

    What it checks:
        `cidr` of each subnet is a /16 or longer.

    Why it matters:
        A subnet is one VLAN over all leafs. One scan of it makes every leaf ask for millions of addresses, and what it covers
        can be used for nothing else.

    How to fix:
        Take a /20 or /24 out of it.

    Source:
        RFC 1812, section 3.3.2 (ARP is sent for every address asked for); the limit is of this toolkit.
    """

    id, severity, title = "SUB013", "warning", "subnet larger than one broadcast domain"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for name, _, key, subnet in list_subnets(design):
            if subnet.cidr.prefixlen < LARGEST:
                yield self.finding(
                    f"tenants.{name}.subnets.{key}.cidr",
                    f"{name}'s {key} is one broadcast domain of {subnet.cidr.num_addresses} addresses",
                    f"/{LARGEST} or longer",
                    f"/{subnet.cidr.prefixlen}",
                    "take a /20 or /24 out of it",
                )


class PoolTooSmall(Rule):
    """Hand out as many addresses as there are servers to have them.

    What it checks:
        With `addressing: dhcp` the pool has an address for every server of the subnet, at its planned size.

    Why it matters:
        The server after the last address gets none, and nobody knows which one it will be after the next power cut.

    How to fix:
        Widen the pool, or name fewer servers.

    Source:
        RFC 2131, section 4.3.1: a server without a free address does not answer.
    """

    id, title = "SUB014", "DHCP pool smaller than its servers"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for name, _, key, subnet in list_subnets(design):
            if subnet.addressing != "dhcp" or subnet.pool is None:
                continue
            room = int(subnet.pool.last) - int(subnet.pool.first) + 1
            servers = len(design.planned_legs[name, key])
            if 0 < room < servers:
                yield self.finding(
                    f"tenants.{name}.subnets.{key}.pool",
                    f"the pool of {name}'s {key} has {count_things(room, 'address', 'addresses')} for {servers} servers",
                    f">= {servers} addresses",
                    str(room),
                    "widen first and last",
                )


class OneDhcpServer(Rule):
    """Relay DHCP to two servers.

    What it checks:
        A subnet with `dhcp_servers` names two different ones or more.

    Why it matters:
        While the only one is down no guest starts, and leases run out.

    How to fix:
        Add a second address to `dhcp_servers`.

    Source:
        Kea administrator reference, High Availability: two servers, so that one may be lost.
    """

    id, severity, title = "SUB015", "warning", "one DHCP server for a subnet"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for name, _, key, subnet in list_subnets(design):
            if len(set(subnet.dhcp_servers)) == 1:
                yield self.finding(
                    f"tenants.{name}.subnets.{key}.dhcp_servers",
                    f"{subnet.dhcp_servers[0]} alone answers DHCP for {name}'s {key}",
                    ">= 2 addresses",
                    "1",
                    "add a second address to dhcp_servers",
                )


class NobodyAnswersDhcp(Rule):
    """Relay DHCP to servers that are there.

    What it checks:
        Addresses under `dhcp_servers` that lie in a subnet with planned addresses are planned for a server.

    Why it matters:
        The relay's packets go to an address that nobody has: guests wait for an answer, and time out.

    How to fix:
        Write the address of a server, as `gpuyard show CLUSTER SERVER` says it; or leave it where a virtual machine has it.

    Source:
        Static addresses follow from `first` and the server's number.
    """

    id, severity, title = "SUB016", "warning", "DHCP server that is not planned"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        planned: dict[tuple[str, str], set[IPv4Address]] = {}
        for server in design.plan.servers:
            for vlan in (vlan for bond in server.bonds for vlan in bond.vlans if vlan.address):
                planned.setdefault((vlan.tenant, vlan.subnet), set()).add(IPv4Address(vlan.address.partition("/")[0]))
        subnets = {(name, key): subnet.cidr for name, _, key, subnet in list_subnets(design)}
        for name, tenant, key, subnet in list_subnets(design):
            for index, address in enumerate(subnet.dhcp_servers):
                met = [(name, other) for other in tenant.subnets]
                met += [(used, other) for used in tenant.uses if used in design.cluster.tenants for other in _keys(design, used)]
                holder = next((seat for seat in met if address in subnets[seat]), None)
                if holder is not None and planned.get(holder) and address not in planned[holder]:
                    yield self.finding(
                        f"tenants.{name}.subnets.{key}.dhcp_servers.{index}",
                        f"no planned server has {address}, which lies in {holder[0]}'s {holder[1]}",
                        "an address of a planned server, such as " + str(min(planned[holder])),
                        str(address),
                        "write the address of a server, or leave it where a virtual machine has it",
                    )


def _keys(design: Design, tenant: str) -> list[str]:
    return list(design.cluster.tenants[tenant].subnets)
