# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about pools and routes: the ADR family."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network
from itertools import combinations

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.wording import list_names
from cluster_model.diagnostic import Diagnostic


class PoolTooSmall(Rule):
    """Give every network a pool that holds its planned size.

    What it checks:
        The slices of a pool (hosts, services, links, loopbacks), each cut by capacity, hold what is planned.

    Why it matters:
        Addresses cannot be moved while jobs run. A pool that is full means a second one, with routes of its own on every host.

    How to fix:
        Take the shorter prefix that the finding names, clear of the other pools.

    Source:
        Slices are fixed by capacity so that growth within the plan changes no address.
    """

    id, title, stage = "ADR001", "pool too small for the plan", "plan"


def list_pools(design: Design) -> list[tuple[IPv4Network, str]]:
    """Return (pool, network) by address."""
    found = [(IPv4Network(network.pool, strict=False), network.name) for network in design.plan.networks if network.pool]
    return sorted(found)


def list_services(design: Design) -> Iterator[tuple[IPv4Address, str]]:
    """Yield every address of the site's services with its intent path."""
    site = design.cluster.site
    for name in ("dns", "ntp", "syslog", "snmp_managers"):
        for index, address in enumerate(getattr(site, name)):
            yield address, f"site.{name}.{index}"
    for index, address in enumerate(design.cluster.networks.oob.dhcp_servers):
        yield address, f"networks.oob.dhcp_servers.{index}"


class PoolsOverlap(Rule):
    """Keep the pools of networks apart.

    What it checks:
        No network's pool shares addresses with another's.

    Why it matters:
        Two devices get one address, and hosts send one network's traffic out of the other's ports.

    How to fix:
        Move one of the pools.

    Source:
        Networks are cut independently of each other, each from its own pool.
    """

    id, title = "ADR002", "pools that overlap"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for (first, owner), (second, other) in combinations(list_pools(design), 2):
            if first.overlaps(second):
                yield self.finding(
                    f"networks.{other}.pool",
                    f"the pools of {owner} and {other} overlap",
                    f"a prefix clear of {first} ({owner})",
                    str(second),
                    "move one of the two pools",
                )


class ServiceInPool(Rule):
    """Keep the site's services out of the pools, unless they run on a planned device.

    What it checks:
        DNS, NTP, syslog, SNMP and DHCP addresses against all pools. An address that the plan gave to one of its own devices is
        fine.

    Why it matters:
        The address is given to a second device sooner or later, or hosts look for the service behind a fabric that it is not
        on: names stop resolving, and clocks drift.

    How to fix:
        Move the pool, or use the service's true address.

    Source:
        Hosts reach a whole pool over that network's ports.
    """

    id, title = "ADR003", "site service inside a pool"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        pools = list_pools(design)
        inside = [(a, where, pool, name) for a, where in list_services(design) for pool, name in pools if a in pool]
        if not inside:
            return
        own = {address.partition("/")[0] for address in _device_addresses(design)}
        for address, where, pool, name in inside:
            if str(address) not in own:
                yield self.finding(
                    where,
                    f"{address} lies in the pool of {name}, and no planned device has it",
                    f"an address outside {pool}, or one of a planned device",
                    str(address),
                    f"move networks.{name}.pool, or correct the address",
                )


def _device_addresses(design: Design) -> Iterator[str]:
    for server in design.plan.servers:
        yield from (port.address for port in server.ports)
        yield from (service.address for service in server.services)
        if server.bmc:
            yield server.bmc.address


class RouteCaptures(Rule):
    """Route only a network's own addresses over its ports.

    What it checks:
        Routes that hosts have in their main table for compute and storage, against the other networks' pools and the site's
        services.

    Why it matters:
        Traffic to the service leaves through the wrong fabric and dies there. The host loses DNS, or its boot server, as soon
        as that port comes up.

    How to fix:
        Move one of the pools so that neither contains the other.

    Source:
        Longest-prefix match of the Linux main table.
    """

    id, title, by_intent = "ADR004", "host route that contains another network", False

    def find(self, design: Design) -> Iterator[Diagnostic]:
        routes = {
            (p.network, p.route) for s in design.plan.servers for p in s.ports if p.route and not p.table and p.network != "oob"
        }
        routes |= {(service.network, service.route) for s in design.plan.servers for service in s.services if service.route}
        own = {name: pool for pool, name in list_pools(design)}
        services = list(list_services(design))
        for network, text in sorted(routes):
            route, pool = IPv4Network(text, strict=False), own.get(network)
            if pool and route.subnet_of(pool):
                continue  # what else lies in the pool itself, ADR002 and ADR003 find
            caught = [f"{name} ({other})" for name, other in own.items() if name != network and route.overlaps(other)]
            caught += [f"{where} ({address})" for address, where in services if address in route]
            if caught:
                yield self.finding(
                    f"networks.{network}.pool",
                    f"hosts send {text} over {network}, which contains {list_names(caught, 3)}",
                    f"a pool of {network} that contains nothing else",
                    text,
                    "move one of the pools",
                )


# IANA special-purpose registry (RFC 6890) and RFC 1112, 1122: never forwarded, or not unicast.
_UNUSABLE = {
    "0.0.0.0/8": "this network",
    "127.0.0.0/8": "loopback",
    "169.254.0.0/16": "link-local",
    "192.0.2.0/24": "documentation",
    "198.51.100.0/24": "documentation",
    "203.0.113.0/24": "documentation",
    "224.0.0.0/4": "multicast",
    "240.0.0.0/4": "reserved",
}
UNUSABLE = {IPv4Network(prefix): use for prefix, use in _UNUSABLE.items()}
PRIVATE = tuple(IPv4Network(prefix) for prefix in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10"))


def is_public(prefix: IPv4Network) -> bool:
    """Return whether a prefix is address space that somebody on the internet may own."""
    return not any(prefix.subnet_of(private) for private in PRIVATE) and not any(prefix.overlaps(other) for other in UNUSABLE)


class PoolUnusable(Rule):
    """Cut pools from addresses that routers forward.

    What it checks:
        No pool touches loopback, link-local, multicast, documentation or reserved ranges.

    Why it matters:
        Kernels and switch chips drop these addresses whatever the routing table says.

    How to fix:
        Take a prefix from 10.0.0.0/8.

    Source:
        RFC 6890 (special-purpose address registry), RFC 1112 (multicast, reserved).
    """

    id, title = "ADR005", "pool in a range that is never forwarded"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for pool, name in list_pools(design):
            for prefix, use in UNUSABLE.items():
                if pool.overlaps(prefix):
                    yield self.finding(
                        f"networks.{name}.pool",
                        f"the pool of {name} touches {prefix} ({use})",
                        "addresses that routers forward, e.g. from 10.0.0.0/8",
                        str(pool),
                        "choose another pool",
                    )


class PoolPublic(Rule):
    """Cut pools from private addresses.

    What it checks:
        Each pool lies in 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 or 100.64.0.0/10.

    Why it matters:
        The true owner of the addresses becomes unreachable from the cluster: a mirror, a registry, a customer.

    How to fix:
        Choose a private pool, or leave it where the addresses are yours.

    Source:
        RFC 1918; RFC 6598 (shared address space).
    """

    id, severity, title = "ADR006", "warning", "pool of public addresses"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for pool, name in list_pools(design):
            if is_public(pool):
                yield self.finding(
                    f"networks.{name}.pool",
                    f"the pool of {name} is public address space",
                    "a private prefix (RFC 1918, RFC 6598)",
                    str(pool),
                    "choose a private pool, or leave it if the addresses are yours",
                )


DOCKER_BRIDGE = IPv4Network("172.17.0.0/16")


class PoolUnderDocker(Rule):
    """Keep pools clear of the range that Docker takes by itself.

    What it checks:
        No pool overlaps 172.17.0.0/16.

    Why it matters:
        A host on which somebody starts Docker gets a bridge with that range, which hides the part of the fabric behind it:
        some peers become unreachable from that host alone.

    How to fix:
        Move the pool, or set Docker's `bip` and `default-address-pools` on every host.

    Source:
        Docker documentation, bridge network driver: docker0 takes 172.17.0.0/16 unless told otherwise.
    """

    id, severity, title = "ADR007", "warning", "pool in Docker's default range"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for pool, name in list_pools(design):
            if pool.overlaps(DOCKER_BRIDGE):
                yield self.finding(
                    f"networks.{name}.pool",
                    f"the pool of {name} overlaps {DOCKER_BRIDGE}, which Docker takes by itself",
                    f"a prefix clear of {DOCKER_BRIDGE}",
                    str(pool),
                    "move the pool, or set bip in every host's Docker configuration",
                )


class PoolUnderKubernetes(Rule):
    """Keep the pools of networks and Kubernetes' own ranges apart.

    What it checks:
        No network's pool shares addresses with `kubernetes.service_pool` or `kubernetes.pod_pool`, nor those with each other.

    Why it matters:
        kube-proxy and the pod network claim these ranges on every node: hosts behind them can no longer be reached from pods,
        storage servers among them. Changing the service range means building the cluster again.

    How to fix:
        Move the network's pool, or give Kubernetes another range.

    Source:
        kubeadm's default for networking.serviceSubnet is 10.96.0.0/12 (kubeadm configuration v1beta4).
    """

    id, title = "ADR008", "pool under a range of Kubernetes"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        kubernetes = design.cluster.kubernetes
        if kubernetes is None:
            return
        ranges = [(kubernetes.service_pool, "service_pool"), (kubernetes.pod_pool, "pod_pool")]
        for pool, owner in list_pools(design):
            for taken, name in ranges:
                if pool.overlaps(taken):
                    yield self.finding(
                        f"networks.{owner}.pool",
                        f"the pool of {owner} lies in Kubernetes' {name.replace('_', ' ')}",
                        f"a prefix clear of {taken} (kubernetes.{name})",
                        str(pool),
                        f"move the pool, or set kubernetes.{name}",
                    )
        if kubernetes.service_pool.overlaps(kubernetes.pod_pool):
            yield self.finding(
                "kubernetes.pod_pool",
                "pods and services of Kubernetes share addresses",
                f"a prefix clear of {kubernetes.service_pool} (kubernetes.service_pool)",
                str(kubernetes.pod_pool),
                "move one of the two",
            )
