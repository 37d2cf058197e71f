"""External peers of border leafs, played by the twin: routers that announce what they may, and something that they may not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Network

from cluster_model.plan.model import Plan, Switch
from cluster_model.plan.model.overlay import External, Filter
from cluster_model.plan.tenancy.meetings import passes

FORBIDDEN = "198.18.99.0/24"
"""Announced by every peer, and accepted by none that does not name it: of the range for benchmarks (RFC 2544)."""
DEFAULT = "0.0.0.0/0"
BEYOND_DEFAULT = "192.0.2.80"
"""What lies behind a default route: an address for documentation (RFC 5737)."""


@dataclass(frozen=True, slots=True)
class Peer:
    """An external peer: its machine here, an address behind what it announces, and its ports to border leafs.

    It also announces what is `refused`: what nobody asked for, a default route, a part of an accepted prefix that is too small.
    """

    name: str
    machine: str
    vrf: str
    asn: int
    announces: tuple[str, ...]
    refused: tuple[str, ...]
    addresses: tuple[str, ...]
    ports: tuple[tuple[Switch, External], ...]


def list_peers(plan: Plan, switches: Iterable[Switch]) -> Iterator[Peer]:
    """Yield the external peers of some switches."""
    borders = [(switch, end) for switch in switches if switch.overlay for end in switch.overlay.externals]
    for peer in plan.border_peers:
        ports = tuple((switch, end) for switch, end in borders if end.peer == peer.name)
        if ports:
            lines = peer.accept or ()
            accepted = tuple(dict.fromkeys(prefix for line in lines for prefix in _list_accepted(line)))
            refused = [FORBIDDEN, DEFAULT, *(prefix for line in lines for prefix in _list_too_small(line))]
            refused = [prefix for prefix in dict.fromkeys(refused) if not passes(prefix, lines)]
            addresses = tuple(dict.fromkeys(_find_address(line.prefix) for line in lines))
            room = max(0, peer.max_routes - len(accepted)) if peer.max_routes else len(refused)
            yield Peer(peer.name, name_machine(peer.name), peer.vrf, peer.asn, accepted, tuple(refused[:room]), addresses, ports)


def _list_accepted(line: Filter) -> list[str]:
    """Return what of a filter's line a peer announces: the prefix, and a part of it as small as may be."""
    network = IPv4Network(line.prefix)
    return [line.prefix, f"{network.network_address}/{line.up_to}"] if line.up_to > network.prefixlen else [line.prefix]


def _list_too_small(line: Filter) -> list[str]:
    length = max(line.up_to, IPv4Network(line.prefix).prefixlen) + 1
    return [f"{IPv4Network(line.prefix).network_address}/{length}"] if 1 < length <= 30 else []


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
        lines += [f"addr add {end.peer_address}/{length} dev {port}", f"link set {port} mtu {end.mtu_bytes} up"]
    return lines


def write_peer_conf(peer: Peer) -> str:
    """Return a peer's frr.conf: the twin's own, for nobody renders what is not ours."""
    told = dict.fromkeys((*peer.announces, *peer.refused))
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
