"""Plan how pods get on the compute network: the rails that they take, whose port is on each, and what hinders it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network

from cluster_model.plan.model import Network, Server, ServerPort
from cluster_model.plan.model.rails import Rail, RailSeat

NETWORK = "compute"
DOMAIN = "gpuyard.io"
"""Of the resources that ports are announced as."""


@dataclass(frozen=True, slots=True)
class Misfit:
    """Why pods cannot take rails: the fact, what would fit, what is there, and what to do."""

    summary: str
    expected: str
    actual: str
    fix: str


NO_ADDRESS = Misfit(
    "pods that share a port of the compute network have no address of their own on it",
    "technology infiniband, where RDMA needs none",
    "roce, where a link has one for its whole port",
    "set rdma to host-device or none, or leave it out",
)


def plan_rails(asked: str | None, networks: Sequence[Network], workers: Sequence[Server]) -> tuple[str, tuple[Rail, ...]]:
    """Return how pods reach the compute network, and the rails that they take in order of plane and number.

    Args:
        asked: what the intent says; None: `host-device` where it fits.
        networks: networks, which know their prefixes.
        workers: the built servers that run pods.
    """
    if asked == "none" or find_misfit(networks, workers, shared=asked == "shared") is not None:
        return "none", ()
    if asked == "shared":
        return asked, ()
    network = next(network for network in networks if network.name == NETWORK)
    reached = next(part.prefix for part in network.slices if part.name == "hosts")
    found: defaultdict[tuple[int, int, str], list[tuple[Server, ServerPort]]] = defaultdict(list)
    for server in workers:
        for port in list_ports(server):
            found[port.plane, port.rail, port.route].append((server, port))
    sides: defaultdict[tuple[int, int], list[str]] = defaultdict(list)
    for plane, number, route in sorted(found, key=lambda key: (*key[:2], IPv4Network(key[2]))):
        sides[plane, number].append(route)
    rails = []
    for (plane, number), routes in sides.items():
        for side, route in enumerate(routes, 1):
            ports = found[plane, number, route]
            name = f"plane{plane}-rail{number}" if network.planes > 1 else f"rail{number}"
            name += f"-side{side}" if len(routes) > 1 else ""
            rails.append(
                Rail(
                    name=name,
                    resource=f"{DOMAIN}/{name.replace('-', '_')}",
                    prefix=route,
                    # RDMA from a rail to another one looks for a way out of its own port, and finds none in the first route.
                    # A pod has the second once for each rail: containernetworking/plugins add it since 1.0.0 (76ef07eb).
                    routes=(route, reached),
                    groups=tuple(dict.fromkeys(server.group for server, _ in ports)),
                    pci=tuple(sorted({port.pci for _, port in ports})),
                    seats=tuple(_seat(server, port) for server, port in ports),
                )
            )
    return "host-device", tuple(rails)


def _seat(server: Server, port: ServerPort) -> RailSeat:
    """Return a port with its link, whose first address is the leaf's."""
    return RailSeat(server.name, f"{port.gateway}/{port.address.partition('/')[2]}", port.gateway)


def list_ports(server: Server) -> list[ServerPort]:
    """Return a server's ports on the compute network."""
    return [port for port in server.ports if port.network == NETWORK]


def find_misfit(networks: Sequence[Network], workers: Sequence[Server], shared: bool = False) -> Misfit | None:
    """Return what keeps pods from taking rails, or from sharing ports; None where nothing does.

    The first server of a group speaks for all of it.
    """
    network = next((network for network in networks if network.name == NETWORK), None)
    samples: dict[str, Server] = {}
    for server in workers:
        if server.group not in samples and list_ports(server):
            samples[server.group] = server
    if network is None or not samples:
        return Misfit(
            "no worker has a port on the compute network",
            "workers with compute ports",
            "none",
            "set rdma to none, or leave it out",
        )
    if shared:
        return None if network.technology == "infiniband" else NO_ADDRESS
    if network.technology != "roce" or network.design != "rail-optimized":
        return Misfit(
            "the compute network has no rails with addresses that a pod could take",
            "technology roce and design rail-optimized, where every port has a link of its own",
            f"{network.technology}, {network.design}",
            "set rdma to none, or leave it out",
        )
    return _find_unknown(samples) or _find_mixed(samples)


def _find_unknown(samples: dict[str, Server]) -> Misfit | None:
    """Return a misfit where ports cannot be told apart on the host: parts of a divided port share a PCI address."""
    for group, server in samples.items():
        bare = [port.name for port in list_ports(server) if not port.pci or not port.rdma]
        if bare:
            divided = any(port.sub for port in list_ports(server))
            return Misfit(
                f"ports of {group} have no PCI address and RDMA device of their own, so that no pod can ask for one",
                "a PCI address and an RDMA device for every compute port",
                f"none for {', '.join(bare[:3])}" + (f" and {len(bare) - 3} more" if len(bare) > 3 else ""),
                "set rdma to none" if divided else f"add pci and rdma to the ports of {server.model}, or set rdma to none",
            )
    return None


def _find_mixed(samples: dict[str, Server]) -> Misfit | None:
    """Return a misfit where a PCI address is one port here and another there: one list for all nodes says which it is."""
    users: dict[str, tuple[str, str, str]] = {}
    for group, server in samples.items():
        for port in server.ports:
            if not port.pci:
                continue
            route = port.route if port.network == NETWORK else ""
            other, name, first = users.setdefault(port.pci, (route, port.name, group))
            if other != route:
                return Misfit(
                    f"PCI address {port.pci} is {name} in {first} and {port.name} in {group}, on different rails",
                    "PCI addresses that are on the same rail in all workers",
                    f"{server.model} among {', '.join(sorted({sample.model for sample in samples.values()}))}",
                    f"take {group} out of workers, or set rdma to none",
                )
    return None
