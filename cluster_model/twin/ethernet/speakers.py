"""Doubles of the network plug-in on Kubernetes' nodes: FRR's bgpd tells leafs of pods, and of what they must not take.

Every node tells of the API server's address, which leafs must take of control servers alone. API servers are always ready here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Network

from cluster_model.twin.ethernet.scope import Link, Scope

OPTIONS = {"bgpd": "--no_zebra --bgp_port 0"}
"""Of the double's daemon: as Cilium's, it listens to nobody, and what it hears becomes no route."""
RELAYED_AS = 64496
"""Of another network, from which a node must not pass anything on: a number for documentation (RFC 5398)."""
_OUTSIDE = "198.18.99.0"
"""Nobody's pods: of the range for benchmarks (RFC 2544)."""


@dataclass(frozen=True, slots=True)
class Speaker:
    """A node that tells its leafs of its pods: those of `part` of `pool`.

    Args:
        server: its name.
        asn: its AS number.
        address: its service address, which is its router ID.
        pool: the range of all pods.
        part: its own part.
        spare: a part that no node has, which it claims to have heard of from others; empty where there is none.
        links: the cables to leafs that have a session with it.
        leafs: (address, AS number) of the leaf at the end of each.
        api_server: the API server's address; empty where leafs are told of none.
        is_control: whether leafs take that address of it.
    """

    server: str
    asn: int
    address: str
    pool: str
    part: str
    spare: str
    links: tuple[Link, ...]
    leafs: tuple[tuple[str, int], ...]
    api_server: str = ""
    is_control: bool = False

    @property
    def pod(self) -> str:
        """Return the address of its one pod: the first of its part."""
        return str(IPv4Network(self.part)[1])

    @property
    def refused(self) -> tuple[str, ...]:
        """Return what it announces and leafs must not take: too large, too small, nobody's (`spare`: by a wrong path)."""
        length = IPv4Network(self.part).prefixlen
        outside = str(IPv4Network(f"{_OUTSIDE}/{length}", strict=False))
        return tuple(prefix for prefix in ("0.0.0.0/0", self.pool, f"{self.pod}/32", outside) if prefix != self.part)


def list_speakers(scope: Scope, links: Iterable[Link]) -> Iterator[Speaker]:
    """Yield the nodes among booted servers whose leafs have sessions with them, by these cables."""
    ports = {(switch.name, port.name): port for switch in scope.switches.values() for port in switch.ports}
    mine: dict[str, list[Link]] = {}
    for link in links:
        port = ports.get((link.b, link.b_port))
        if port is not None and port.use == "host" and port.peer_asn:
            mine.setdefault(link.a, []).append(link)
    for name, found in mine.items():
        ends = [ports[link.ends[1]] for link in found]
        service = next(service for service in scope.servers[name].services if service.beyond)
        pool, part = IPv4Network(service.beyond[0]), IPv4Network(scope.pods[name])
        last = str(IPv4Network((int(pool.broadcast_address) - part.num_addresses + 1, part.prefixlen)))
        yield Speaker(
            name,
            ends[0].peer_asn,
            service.address.partition("/")[0],
            str(pool),
            str(part),
            "" if last in scope.pods.values() else last,
            tuple(found),
            tuple((end.address.partition("/")[0], scope.switches[link.b].asn) for link, end in zip(found, ends, strict=True)),
            scope.api_server,
            name in scope.control,
        )


def list_speaker_lines(speaker: Speaker) -> list[str]:
    """Return the lines of `ip -b` for a node's pod and its API server; whatever else is sent to its part ends there."""
    own = [f"addr add {speaker.api_server}/32 dev lo"] if speaker.is_control else []
    return [f"addr add {speaker.pod}/32 dev lo", f"route add unreachable {speaker.part}", *own]


def write_speaker_conf(speaker: Speaker) -> str:
    """Return a node's frr.conf: the twin's own, in place of what a network plug-in makes of its resources."""
    lines = [
        "frr defaults traditional",
        "route-map RELAYED permit 10",
        f" set as-path prepend {RELAYED_AS}",
        "exit",
        f"router bgp {speaker.asn}",
        f" bgp router-id {speaker.address}",
        " bgp graceful-restart-disable",  # else FRR waits 120 s to be called by a leaf that restarts, and leafs call nobody
        " no bgp ebgp-requires-policy",
        " no bgp default ipv4-unicast",
        " no bgp network import-check",
    ]
    for address, asn in speaker.leafs:
        lines += [f" neighbor {address} remote-as {asn}", f" neighbor {address} timers connect 10"]
    told = (speaker.part, *speaker.refused, *([f"{speaker.api_server}/32"] if speaker.api_server else []))
    lines += [" address-family ipv4 unicast", *(f"  network {prefix}" for prefix in told)]
    lines += [f"  network {speaker.spare} route-map RELAYED"] if speaker.spare else []
    lines += [f"  neighbor {address} activate" for address, _ in speaker.leafs]
    return "\n".join([*lines, " exit-address-family", "exit", ""])
