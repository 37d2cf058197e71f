"""External peers of border leafs, played by the twin: routers that announce what they may, and something that they may not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Network

from cluster_model.plan.model import Plan, Switch
from cluster_model.plan.overlay import External

FORBIDDEN = "198.18.99.0/24"
"""Announced by every peer, and accepted by none that does not name it: of the range for benchmarks (RFC 2544)."""
BEYOND_DEFAULT = "192.0.2.80"
"""What lies behind a default route: an address for documentation (RFC 5737)."""


@dataclass(frozen=True, slots=True)
class Peer:
    """An external peer: its machine here, what it announces, an address behind each, and its ports to border leafs."""

    name: str
    machine: str
    vrf: str
    asn: int
    announces: tuple[str, ...]
    addresses: tuple[str, ...]
    ports: tuple[tuple[Switch, External], ...]


def list_peers(plan: Plan, switches: Iterable[Switch]) -> Iterator[Peer]:
    """Yield the external peers of some switches."""
    borders = [(switch, end) for switch in switches if switch.overlay for end in switch.overlay.externals]
    for peer in plan.border_peers:
        ports = tuple((switch, end) for switch, end in borders if end.peer == peer.name)
        if ports:
            accepted = tuple(dict.fromkeys(line.prefix for line in peer.accept or ()))
            yield Peer(
                peer.name,
                name_machine(peer.name),
                peer.vrf,
                peer.asn,
                accepted,
                tuple(_find_address(prefix) for prefix in accepted),
                ports,
            )


def name_machine(peer: str) -> str:
    """Return the name of the machine that plays a peer."""
    return f"outside-{peer}"


def name_port(border: Switch) -> str:
    """Return the name of a peer's port to a border leaf."""
    return f"to-border-{border.index}"


def _find_address(prefix: str) -> str:
    network = IPv4Network(prefix)
    return BEYOND_DEFAULT if network.prefixlen == 0 else str(network[1])


def list_peer_lines(peer: Peer) -> list[str]:
    """Return the lines of `ip -b` for a peer."""
    lines = ["link set lo up", *(f"addr add {address}/32 dev lo" for address in peer.addresses)]
    for border, end in peer.ports:
        port = name_port(border)
        length = end.address.partition("/")[2]
        lines += [f"addr add {end.peer_address}/{length} dev {port}", f"link set {port} up"]
    return lines


def write_peer_conf(peer: Peer) -> str:
    """Return a peer's frr.conf: the twin's own, for nobody renders what is not ours."""
    told = dict.fromkeys((*peer.announces, FORBIDDEN))
    lines = [
        "frr defaults traditional",
        "no zebra nexthop kernel enable",
        *(f"ip route {prefix} Null0" for prefix in told),
        f"router bgp {peer.asn}",
        f" bgp router-id {peer.ports[0][1].peer_address}",
        " no bgp ebgp-requires-policy",
        " no bgp default ipv4-unicast",
        " bgp bestpath as-path multipath-relax",
    ]
    for border, end in peer.ports:
        neighbour = end.address.partition("/")[0]
        lines += [f" neighbor {neighbour} remote-as {border.asn}", f" neighbor {neighbour} timers connect 10"]
        lines += [f" neighbor {neighbour} password dummy-{end.secret}"] if end.secret else []
    lines += [" address-family ipv4 unicast", *(f"  network {prefix}" for prefix in told)]
    lines += [f"  neighbor {end.address.partition('/')[0]} activate" for _, end in peer.ports]
    return "\n".join([*lines, "  maximum-paths 16", " exit-address-family", "exit", ""])
