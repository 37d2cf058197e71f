# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about bandwidth that is promised twice: oversubscription, slow uplinks, frames too small. Part of the NET family."""

from __future__ import annotations

from collections.abc import Iterator

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.wording import count_things
from cluster_model.diagnostic import Diagnostic
from cluster_model.plan.model import Network

LOSSLESS_LIMIT = 4.0
"""Host bandwidth over uplink bandwidth from which a lossless network is refused."""
LIMIT = 16.0
"""The same for any network that carries data of jobs."""


def _usual(network: Network) -> tuple[float, str]:
    """Return the oversubscription that this traffic bears, with the reason."""
    if network.name == "compute":
        return 1.0, "collectives fill every link at once"
    if network.lossless:
        return 2.0, "a lossless leaf pauses its senders instead of dropping"
    if network.name == "storage":
        return 4.0, "checkpoints come from all servers at once"
    return (20.0, "installing a rack takes hours above that") if network.name == "oob" else (8.0, "tenants notice")


def _is_beyond(network: Network) -> bool:
    allowed = network.oversubscription_allowed
    return network.name != "oob" and (allowed >= LOSSLESS_LIMIT if network.lossless else allowed > LIMIT)


class Oversubscribed(Rule):
    """Oversubscribe no further than the traffic bears.

    What it checks:
        `oversubscription` as the intent allows it: above 1 on compute, 2 on lossless storage, 4 on other storage, 8 on business
        and 20 out of band. NET026 has what is refused.

    Why it matters:
        All ranks of a job send at the same moment, and every checkpoint comes from all servers at once. What the uplinks cannot
        take waits, and GPUs wait with it: a collective is as slow as its slowest link.

    How to fix:
        Lower `oversubscription`, or keep it where jobs stay within a unit.

    Source:
        NVIDIA, DGX SuperPOD and Enterprise reference architectures (H100 to B300, 2024 to 2026): the compute fabric is a
        non-blocking fat tree. The limits for storage, business and out of band are of this toolkit.
    """

    id, severity, title = "NET025", "warning", "oversubscription above what the traffic bears"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for network in design.plan.networks:
            usual, why = _usual(network)
            allowed = network.oversubscription_allowed
            if allowed > usual and not _is_beyond(network):
                yield self.finding(
                    f"networks.{network.name}.oversubscription",
                    f"{network.name} may be oversubscribed {allowed:g}:1, and {why}",
                    f"<= {usual:g}",
                    f"{allowed:g}",
                    f"set oversubscription to {usual:g}, or keep it where traffic stays below one leaf",
                )


class OversubscribedBeyond(Rule):
    """Build no lossless network at 4:1, and none for data above 16:1.

    What it checks:
        `oversubscription` below 4 where RoCE runs, and at most 16 on compute, storage and business.

    Why it matters:
        A lossless leaf does not drop: with 4:1 its uplinks are full whenever a quarter of the hosts send, it pauses the others,
        the pauses spread to leafs that had nothing to do with it, and the watchdog begins to drop. Without PFC 16:1 leaves a
        server a sixteenth of its ports.

    How to fix:
        Lower `oversubscription`: 1 on compute, 2 on storage.

    Source:
        IEEE 802.1Qbb: a paused priority stops all flows of a port; RFC 7938, section 3: Clos networks of data centers are planned
        non-blocking or with a low ratio. The numbers are of this toolkit.
    """

    id, title = "NET026", "oversubscription that cannot carry the data"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for network in design.plan.networks:
            if _is_beyond(network):
                allowed, usual = network.oversubscription_allowed, _usual(network)[0]
                limit = f"below {LOSSLESS_LIMIT:g}, since it is lossless" if network.lossless else f"<= {LIMIT:g}"
                yield self.finding(
                    f"networks.{network.name}.oversubscription",
                    f"{network.name} may be oversubscribed {allowed:g}:1"
                    + (", and PFC spreads that congestion to all of it" if network.lossless else ""),
                    limit,
                    f"{allowed:g}",
                    f"set oversubscription to {usual:g}",
                )


class UplinkSlower(Rule):
    """Give links between switches the speed of host ports, or more.

    What it checks:
        `fabric_speed_gbps` against the speed of host ports, on compute, storage and business.

    Why it matters:
        One flow takes one link. However many uplinks there are, no flow gets more than one of them carries, and two large ones
        that are hashed onto the same link share it.

    How to fix:
        Raise `fabric_speed_gbps`, or leave it out for that of the hosts.

    Source:
        RFC 2992: ECMP hashes each flow to one next hop.
    """

    id, severity, title = "NET028", "warning", "links between switches slower than host ports"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for network in design.plan.networks:
            if network.name != "oob" and network.leaf_spine_cables and network.fabric_speed_gbps < network.host_speed_gbps:
                yield self.finding(
                    f"networks.{network.name}.fabric_speed_gbps",
                    f"a flow of a {network.host_speed_gbps}G host of {network.name} gets {network.fabric_speed_gbps}G at most",
                    f">= {network.host_speed_gbps} Gb/s (host ports)",
                    f"{network.fabric_speed_gbps} Gb/s",
                    f"set fabric_speed_gbps to {network.host_speed_gbps} or higher, or leave it out",
                )


class OneUplink(Rule):
    """Give every leaf two uplinks or more.

    What it checks:
        `uplinks` of each network with more than one switch tier.

    Why it matters:
        One transceiver cuts off a leaf, with all hosts below it; out of band it cuts off the consoles of a rack.

    How to fix:
        Set `uplinks` to 2 or more, or leave it out.

    Source:
        Derived: what hangs on one link goes with it.
    """

    id, severity, title = "RED012", "warning", "leafs with one uplink"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for network in design.plan.networks:
            if network.tiers > 1 and network.leafs > 1 and network.uplinks == 1:
                yield self.finding(
                    f"networks.{network.name}.uplinks",
                    f"{count_things(network.leafs, 'leaf', 'leafs')} of {network.name} have a single uplink each",
                    ">= 2 uplinks",
                    "1",
                    "set uplinks to 2 or more, or leave it out",
                )


class SmallFrames(Rule):
    """Send storage in large frames.

    What it checks:
        The host MTU of compute and storage networks that carry no RoCE is above 1500 (ROC007 has those that do).

    Why it matters:
        At 1500 bytes a server needs six times the packets, interrupts and headers for the same checkpoint: 100G and faster ports
        are not filled.

    How to fix:
        Leave `host_mtu_bytes` and `mtu_bytes` out: 9000 on hosts and 9100 on switches.

    Source:
        Ceph documentation, network configuration: jumbo frames for better throughput per CPU.
    """

    id, severity, title = "NET029", "warning", "storage in small frames"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for network in design.routed:
            if network.name == "storage" and not network.lossless and network.host_mtu_bytes <= 1500:
                yield self.finding(
                    design.mtu_path(network, "host_mtu_bytes"),
                    f"servers send {network.name} in frames of {network.host_mtu_bytes} bytes",
                    "9000 bytes",
                    f"{network.host_mtu_bytes} bytes",
                    "set host_mtu_bytes to 9000 and mtu_bytes to 9100, or leave both out",
                )


class InfinibandMtu(Rule):
    """Give InfiniBand an MTU that it has.

    What it checks:
        On InfiniBand `mtu_bytes` is 2048 or 4096, and `host_mtu_bytes` at least 4 bytes below it.

    Why it matters:
        The subnet manager refuses the value, or takes the next lower one: IPoIB interfaces do not join their group and stay down.

    How to fix:
        Leave both out: 4096, and 4092 for datagrams.

    Source:
        InfiniBand Architecture Specification, volume 1: an MTU of 256, 512, 1024, 2048 or 4096 bytes; RFC 4391, section 7: IPoIB
        takes 4 bytes of it.
    """

    id, title = "NET030", "MTU that InfiniBand does not have"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for network in design.plan.networks:
            if network.technology != "infiniband":
                continue
            if network.mtu_bytes not in {2048, 4096}:
                yield self._report(network, "mtu_bytes", network.mtu_bytes, "2048 or 4096 bytes", "leave mtu_bytes out")
            elif network.host_mtu_bytes > network.mtu_bytes - 4:
                most = network.mtu_bytes - 4
                yield self._report(
                    network, "host_mtu_bytes", network.host_mtu_bytes, f"<= {most} bytes", f"set host_mtu_bytes to {most}"
                )

    def _report(self, network: Network, key: str, found: int, expected: str, fix: str) -> Diagnostic:
        summary = f"InfiniBand has no MTU of {found} bytes" if key == "mtu_bytes" else "IPoIB needs 4 bytes of InfiniBand's MTU"
        return self.finding(f"networks.{network.name}.{key}", summary, expected, f"{found} bytes", fix)
