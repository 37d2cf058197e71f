# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about how servers hang on the business network by bonds: the BND family."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.wording import count_things, list_names
from cluster_model.diagnostic import Diagnostic
from cluster_model.plan.fabric.business import MULTIHOMING, has_feature


class HomingFeature(Rule):
    """Share bonds between two leafs in a way that their system has.

    What it checks:
        `homing: esi` against EVPN multihoming of the platform in the release named, `homing: mlag` against its feature mlag;
        with `auto`, that it has one of the two.

    Why it matters:
        Each leaf answers LACP for itself: the server takes one link into its bond and leaves the other out, or frames arrive
        twice.

    How to fix:
        Leave `homing` out, name a release that has it, or choose another `nos`. With neither, set `leafs_per_unit` to 1.

    Source:
        RFC 7432, section 8 (multihoming); `since` and `features` of templates/switch/NOS/platform.yml.
    """

    id, title = "BND001", "homing that the platform does not have"
    asks = (MULTIHOMING, "mlag")

    def find(self, design: Design) -> Iterator[Diagnostic]:
        network, intent = design.plan.network("business"), design.cluster.networks.business
        platform = design.platform(network) if network is not None else None
        if network is None or intent is None or platform is None:
            return
        has_esi, has_mlag = has_feature(platform, MULTIHOMING, intent.release), platform.features.mlag
        release = f"{platform.name} {intent.release or platform.release}".strip()
        since = platform.since.get(MULTIHOMING)
        if network.homing == "esi" and not has_esi:
            wrong = f"{release} has no EVPN multihoming" + (f", which came with {since}" if since else "")
            fix = f"set release to {since} where it runs that, or homing to mlag" if since else "set homing to mlag"
            if not has_mlag:
                fix = "choose another nos, or set leafs_per_unit to 1"
        elif network.homing == "mlag" and not has_mlag:
            wrong = f"{release} has no MLAG"
            fix = (
                "leave homing out, so that it takes EVPN multihoming"
                if has_esi
                else "choose another nos, or set leafs_per_unit to 1"
            )
        else:
            return
        yield self.finding(
            "networks.business.homing" if intent.homing != "auto" else "networks.business.nos",
            f"leaf pairs of business share bonds by {network.homing}, and {wrong}",
            "a way that the platform has in this release",
            f"{network.homing} on {network.nos}",
            fix,
        )


class SingleHomed(Rule):
    """Give every server of the business network as many links as the others have.

    What it checks:
        Servers with one port on the business network, where leafs come in pairs and other servers have two.

    Why it matters:
        The reboot of a leaf takes these servers away from their tenants, and from whoever relied on a pair of leafs.

    How to fix:
        Name a second port under `servers.GROUP.nics.business`, or choose a model with two.

    Source:
        NVIDIA Enterprise reference architectures: the two north-south ports go to two different switches.
    """

    id, severity, title = "BND002", "warning", "server with one business link"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        network = design.plan.network("business")
        if network is None or network.leafs_per_unit < 2:
            return
        counts = {s.name: sum(port.network == "business" for port in s.ports) for s in design.plan.servers}
        if max(counts.values(), default=0) < 2:
            return
        for group, servers in design.servers_of.items():
            names = [server.name for server in servers if counts[server.name] == 1]
            if names:
                yield self.finding(
                    f"servers.{group}.nics.business",
                    f"{count_things(len(names), 'server')} of {group} with one link to the business network",
                    "two ports, on two leafs",
                    list_names(names),
                    f"name a second port under servers.{group}.nics.business",
                )


class MixedBond(Rule):
    """Bundle links of one speed.

    What it checks:
        The ports of every bond run at the same speed.

    Why it matters:
        LACP bundles only links that are alike: the slower one stays out of the bond, or all flows that hash to it are slow.

    How to fix:
        Name ports of one speed under `servers.GROUP.nics.business`, or set `speed_gbps` of the network.

    Source:
        IEEE 802.1AX-2008: links of an aggregation have one data rate; Linux bonding, 802.3ad: aggregators by speed and duplex.
    """

    id, title = "BND003", "bond over links of different speeds"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        found: dict[str, list[str]] = defaultdict(list)
        speeds: dict[str, set[int]] = defaultdict(set)
        for server in design.plan.servers:
            for bond in server.bonds:
                own = {port.speed_gbps for port in server.ports if port.name in bond.ports}
                if len(own) > 1:
                    found[server.group].append(server.name)
                    speeds[server.group] |= own
        for group, names in found.items():
            yield self.finding(
                f"servers.{group}.nics.business",
                f"bonds of {count_things(len(names), 'server')} of {group} over links of different speeds",
                "one speed",
                ", ".join(f"{speed} Gb/s" for speed in sorted(speeds[group])),
                f"name ports of one speed under servers.{group}.nics.business, or set networks.business.speed_gbps",
            )


class SegmentReused(Rule):
    """Give every server an Ethernet segment of its own, the same on all its leafs.

    What it checks:
        An ESI, and a bond number within a unit, belongs to one server; a server has the same on each of its leafs.

    Why it matters:
        Leafs take two servers with one segment for one: they elect a forwarder between them and block the other.

    How to fix:
        Report it: segments follow from unit and seat.

    Source:
        RFC 7432, section 5: an ESI is unique across the network, and the same for all links of one host.
    """

    id, title, by_intent = "BND004", "Ethernet segment used twice", False

    def find(self, design: Design) -> Iterator[Diagnostic]:
        owners: dict[str, set[str]] = defaultdict(set)
        segments: dict[str, set[str]] = defaultdict(set)
        for switch in design.switches_of.get("business", []):
            for bond in switch.overlay.bonds if switch.overlay else ():
                segment = bond.esi or f"bond {bond.number} of unit {switch.unit}"
                owners[segment].add(bond.server)
                segments[bond.server].add(segment)
        for segment, servers in owners.items():
            if len(servers) > 1:
                yield self._report(f"Ethernet segment {segment} belongs to {list_names(sorted(servers))}")
        for server, own in segments.items():
            if len(own) > 1:
                yield self._report(f"{server} has {count_things(len(own), 'Ethernet segment')}: {list_names(sorted(own), 2)}")

    def _report(self, summary: str) -> Diagnostic:
        return self.finding("networks.business", summary, "one per server", "", "report this with your cluster.yml")


class SegmentWithoutFilters(Rule):
    """Let switches with a switching chip share bonds by Ethernet segments.

    What it checks:
        Leaf pairs with Ethernet segments against the platform's feature segment_filters.

    Why it matters:
        BGP of plain Linux tells all that multihoming needs, and the kernel forwards otherwise: both leafs pass a flooded frame
        on to the server, what a server sends may come back to it by the other leaf, and addresses behind the other leaf are
        forgotten. Servers see frames twice, and lose some when a link is out.

    How to fix:
        Set `leafs_per_unit` to 1 where that is enough (servers then bond to one leaf), or run another `nos` on the leafs. In a
        laboratory that looks at BGP alone it may stay.

    Source:
        RFC 7432, sections 8.3 (split horizon) and 8.5 (designated forwarder); FRRouting/frr issues 10027, 10090 and 18748; seen
        on FRR 8.4.4 with Debian 12's kernel.
    """

    id, severity, title = "BND005", "warning", "Ethernet segments that the switch does not enforce"
    asks = ("segment_filters",)

    def find(self, design: Design) -> Iterator[Diagnostic]:
        network = design.plan.network("business")
        platform = design.platform(network) if network is not None else None
        if network is None or platform is None or network.homing != "esi" or platform.features.segment_filters:
            return
        yield self.finding(
            "networks.business.leafs_per_unit",
            f"{platform.name} announces Ethernet segments, but forwards without their filters",
            "switches that filter by Ethernet segment",
            f"{network.homing} on {network.nos}",
            "set leafs_per_unit to 1, or choose another nos for the leafs",
        )
