# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about the links to external peers: their addresses, speeds and MTUs. Part of the BRD family."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network

from cluster_model.checks.design import Design
from cluster_model.checks.fabric.network import VXLAN_BYTES
from cluster_model.checks.registry import Rule
from cluster_model.checks.tenancy.exposure import FORGED, list_peers, name_special
from cluster_model.checks.wording import list_names
from cluster_model.diagnostic import Diagnostic
from cluster_model.intent.model.business import BorderLink

INTERNET_MTU_BYTES = 1500
"""What a provider's port takes unless something else was agreed on."""


class BorderLinkUnusable(Rule):
    """Number links to border peers with addresses of links.

    What it checks:
        Prefixes of `links` touch neither loopback, link-local, multicast and reserved ranges nor the pool of a network.

    Why it matters:
        The switch refuses the address or never forwards from it; inside a pool it is a device's of the cluster as well.

    How to fix:
        Correct the prefix: it is the peer's to give.

    Source:
        RFC 6890 (special-purpose address registry); RFC 1112.
    """

    id, title = "BRD021", "link to a border peer with addresses that no link has"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        pools = {IPv4Network(n.pool, strict=False): f"the pool of {n.name}" for n in design.plan.networks if n.pool}
        for where, name, index, link in _list_links(design):
            if use := name_special(str(link.prefix), {**FORGED, **pools}):
                yield self.finding(
                    f"{where}.prefix",
                    f"link {index + 1} of {name} has addresses of {use}",
                    "a /30 or /31 that the peer gives",
                    str(link.prefix),
                    "correct the prefix",
                )


def _list_links(design: Design) -> Iterator[tuple[str, str, int, BorderLink]]:
    """Yield (intent path, peer, number from 0, link) of every link to a border peer."""
    for name, peer in list_peers(design).items():
        for index, link in enumerate(peer.links):
            yield f"networks.business.border.peers.{name}.links.{index}", name, index, link


class LinksUneven(Rule):
    """Give the links of one border peer one speed.

    What it checks:
        `speed_gbps` of all links of a peer.

    Why it matters:
        BGP deals flows over both links evenly: the slower one is full while the faster one is half empty, and carries half of
        everything when the faster one fails.

    How to fix:
        Order the same speed for both.

    Source:
        RFC 2992: ECMP deals flows without regard to the speed of the next hops.
    """

    id, severity, title = "BRD022", "warning", "links of one border peer at different speeds"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        network = design.plan.network("business")
        for name, peer in list_peers(design).items():
            default = network.fabric_speed_gbps if network is not None else 0
            speeds = sorted({link.speed_gbps or default for link in peer.links})
            if len(speeds) > 1:
                yield self.finding(
                    f"networks.business.border.peers.{name}.links",
                    f"the links of {name} run at {list_names(f'{speed}G' for speed in speeds)}",
                    "one speed",
                    list_names(f"{speed} Gb/s" for speed in speeds),
                    f"set speed_gbps of all its links to {speeds[-1]}, or to {speeds[0]}",
                )


class LinkMtuLarge(Rule):
    """Send external peers no larger packets than they take.

    What it checks:
        `mtu_bytes` of each link to an external peer is at most 1500.

    Why it matters:
        The peer's port drops what is larger than its own MTU, and tells nobody: small packets pass, BGP comes up, and transfers
        stand still. Below 1500 and up to it, the border leaf answers a large packet by ICMP, and the server sends smaller ones.

    How to fix:
        Leave `mtu_bytes` out; keep it where the peer has agreed to that size on its own port, as on a dedicated line.

    Source:
        RFC 894 (1500 bytes over Ethernet); RFC 2923, section 2.1 (black holes of path MTU discovery).
    """

    id, severity, title = "BRD023", "warning", "link to a border peer with an MTU above 1500"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for where, name, _, link in _list_links(design):
            if link.mtu_bytes > INTERNET_MTU_BYTES:
                yield self.finding(
                    f"{where}.mtu_bytes",
                    f"packets of up to {link.mtu_bytes} bytes go to {name}, and few peers take over {INTERNET_MTU_BYTES}",
                    f"<= {INTERNET_MTU_BYTES} bytes, or what the peer has agreed to",
                    f"{link.mtu_bytes} bytes",
                    "leave mtu_bytes out, or keep it where the peer's port has the same",
                )


class LinkMtuBeyondLeaf(Rule):
    """Ask border leafs for an MTU that they have.

    What it checks:
        `mtu_bytes` of each link to an external peer against the chip of the border leaf, what its NOS accepts on a routed port,
        and what the fabric behind it carries in VXLAN.

    Why it matters:
        The switch refuses the line, and with it, on some systems, the whole configuration; or it drops what the peer sends.

    How to fix:
        Lower `mtu_bytes` to what the peer has, mostly 1500.

    Source:
        `asic.mtu_bytes` of the model; `mtu_bytes` of templates/switch/NOS/platform.yml; RFC 7348, section 4.3: tunnel endpoints
        do not fragment.
    """

    id, title = "BRD024", "link to a border peer with an MTU that its leaf has not"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        leaf = next((each for each in design.switches_of.get("business", []) if each.role == "border"), None)
        model = design.catalogue.switch(leaf.model) if leaf else None
        platform = design.catalogue.platforms.get(leaf.nos) if leaf else None
        limits = {leaf.model: model.asic.mtu_bytes} if leaf and model else {}
        limits |= {platform.name: platform.mtu_bytes} if platform else {}
        business = next((each for each in design.routed if each.name == "business" and each.evpn), None)
        # What comes in by the link crosses the fabric in VXLAN.
        limits |= {f"the fabric with {VXLAN_BYTES} of VXLAN": business.mtu_bytes - VXLAN_BYTES} if business else {}
        if not limits:
            return
        what, limit = min(limits.items(), key=lambda item: item[1])
        for where, name, _, link in _list_links(design):
            if link.mtu_bytes > limit:
                yield self.finding(
                    f"{where}.mtu_bytes",
                    f"MTU {link.mtu_bytes} of the link to {name} is above what {what} carries",
                    f"<= {limit} bytes ({what})",
                    f"{link.mtu_bytes} bytes",
                    "set mtu_bytes to what the peer's port has",
                )
