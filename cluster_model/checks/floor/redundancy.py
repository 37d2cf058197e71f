# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about parts whose loss takes more with it than it should: racks, feeds, spines. Part of the RED family."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.wording import count_things, list_names
from cluster_model.diagnostic import Diagnostic
from cluster_model.plan.model import Switch

CRITICAL = ("storage", "control", "gateway", "fabric-manager")
"""Roles whose servers many others depend on."""


class SingleSpine(Rule):
    """Give every network two spines or more.

    What it checks:
        Networks of two or more tiers with several leafs have at least two spines per pod and plane; the out-of-band network
        counts as any other.

    Why it matters:
        One spine is one software upgrade, one power supply, one chip. Its loss cuts the network into single leafs; out of band,
        nothing can be reached to repair the rest.

    How to fix:
        Set `switches.spine` to 2 or more, or leave it out where the uplinks allow two.

    Source:
        DGX SuperPOD reference architecture H100, Table 4: no fabric with fewer than 4 spines.
    """

    id, severity, title = "RED001", "warning", "single spine"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for network in design.plan.networks:
            if network.tiers > 1 and network.spines_per_pod == 1 and network.leafs > 1:
                yield self.finding(
                    f"networks.{network.name}.switches.spine",
                    f"all leafs of {network.name} connect to a single spine" + (" per plane" if network.planes > 1 else ""),
                    ">= 2 spines",
                    "1 spine",
                    f"set networks.{network.name}.switches.spine to 2",
                )


class LeafPairInOneRack(Rule):
    """Put leafs that back each other up into different racks.

    What it checks:
        Leafs that serve the same servers (of one unit and plane, with the same rails), two or more of them, against their
        racks; border leafs in the same way. The out-of-band network has one leaf per rack and is left out.

    Why it matters:
        A rack that loses power or cooling takes both, and the servers' second port with them.

    How to fix:
        Give the network's `racks` another group, with two racks or more: neighbors go to different racks by themselves. Leafs
        stand among their servers where these are of the same rack group, so a unit whose servers fill one rack has both there.

    Source:
        NVIDIA Enterprise reference architectures: the two north-south ports go to two different switches.
    """

    id, severity, title = "RED002", "warning", "leafs that back each other up in one rack"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        pairs: dict[tuple[str, int, int, tuple[int, ...]], list[Switch]] = defaultdict(list)
        for switch in design.plan.switches:
            if switch.is_edge and switch.network != "oob":
                pairs[switch.network, switch.plane, switch.unit, switch.rails].append(switch)
        together: dict[tuple[str, str], list[str]] = defaultdict(list)
        for (network, *_), leafs in pairs.items():
            if len(leafs) > 1 and len({leaf.rack for leaf in leafs}) == 1:
                together[network, leafs[0].role].append(f"{leafs[0].name} and {leafs[1].name} in {leafs[0].rack}")
        for (network, role), found in together.items():
            border = role == "border"
            yield self.finding(
                f"networks.{network}.border.racks" if border else f"networks.{network}.racks",
                f"{count_things(len(found), 'set')} of {network} {'border ' * border}leafs that back each other up share a rack",
                "different racks",
                list_names(found, 2),
                "name another rack group, with two racks or more"
                if border
                else "name another rack group under racks.leaf of the network, or let the unit's servers stand in two racks",
            )


class TierInOneRack(Rule):
    """Spread the spines of a pod over racks, and the cores of a group.

    What it checks:
        Two or more spines of one pod and plane, or cores of one group and plane, against their racks.

    Why it matters:
        One rack's loss is the whole network's, though every switch has a sibling.

    How to fix:
        Give `racks.spine` (or `racks.core`) of the network a group with more racks.

    Source:
        Derived: what a rack loses, it loses at once.
    """

    id, severity, title = "RED003", "warning", "all spines or cores in one rack"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        sets: dict[tuple[str, str, int, int], list[Switch]] = defaultdict(list)
        for switch in design.plan.switches:
            if not switch.is_edge:
                sets[switch.network, switch.role, switch.plane, switch.pod].append(switch)
        together: dict[tuple[str, str], list[Switch]] = defaultdict(list)
        for (network, role, _, _), switches in sets.items():
            if len(switches) > 1 and len({switch.rack for switch in switches}) == 1:
                together[network, role] += switches
        for (network, role), switches in together.items():
            racks = list(dict.fromkeys(switch.rack for switch in switches))
            yield self.finding(
                f"networks.{network}.racks",
                f"the {network} {role}s stand together in {list_names(racks)}",
                "two racks or more",
                list_names(switch.name for switch in switches),
                f"give racks.{role} of the network a rack group with more racks",
            )


class SingleFeedRack(Rule):
    """Feed racks with critical devices twice.

    What it checks:
        Racks with one power feed that hold switches, or storage, control, gateway or fabric manager servers.

    Why it matters:
        One breaker, or one maintenance window on that feed, takes down what everything else depends on.

    How to fix:
        Set `feeds: 2` where the rack has two, or move these devices to a group that has.

    Source:
        Common practice: A and B feeds from separate UPS paths (ANSI/TIA-942, rated-3 power distribution).
    """

    id, severity, title = "RED004", "warning", "critical devices on one feed"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        single = {rack.name: rack for rack in design.plan.racks if rack.feeds == 1}
        if not single:
            return
        found: dict[str, list[str]] = defaultdict(list)
        for switch in design.plan.switches:
            if switch.rack in single:
                found[single[switch.rack].group].append(switch.name)
        for server in design.plan.servers:
            if server.rack in single and server.role in CRITICAL:
                found[single[server.rack].group].append(server.name)
        for group, names in found.items():
            yield self.finding(
                f"racks.groups.{group}.feeds",
                f"{count_things(len(names), 'critical device')} of rack group {group} on a single feed",
                ">= 2 feeds",
                list_names(names),
                "set feeds to 2, or move these devices to racks with two feeds",
            )


class ControlInOneRack(Rule):
    """Spread the control servers over racks.

    What it checks:
        Two or more servers of role control against their racks.

    Why it matters:
        DHCP, boot server, monitoring and cluster control go at once, and with them the means to bring the rest back.

    How to fix:
        Lower `per_rack` of the group, leave it out so that servers are dealt over the racks, or use a group with more racks.

    Source:
        Derived: what a rack loses, it loses at once.
    """

    id, severity, title = "RED005", "warning", "control servers in one rack"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for group, servers in design.servers_of.items():
            if servers[0].role == "control" and len(servers) > 1 and len({server.rack for server in servers}) == 1:
                yield self.finding(
                    f"servers.{group}.racks",
                    f"all {len(servers)} servers of {group} stand in {servers[0].rack}",
                    ">= 2 racks",
                    servers[0].rack,
                    "lower per_rack, or use a rack group with more racks",
                )


class SingleSupply(Rule):
    """Use devices with two power supplies where there are two feeds.

    What it checks:
        Switches, and storage, control, gateway and fabric manager servers, with one power supply in racks with two or more
        feeds.

    Why it matters:
        The second feed does not help a device that is plugged into one. Losing that feed loses it.

    How to fix:
        Order the model with a second supply and say so in your own catalogue file, or choose another model.

    Source:
        `power.psu_count` in the catalogue file of the model.
    """

    id, severity, title = "RED006", "warning", "one power supply where there are two feeds"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        dual = {rack.name for rack in design.plan.racks if rack.feeds > 1}
        found: dict[tuple[str, str], list[str]] = defaultdict(list)
        for switch in design.plan.switches:
            block = design.catalogue.switch(switch.model)
            if switch.rack in dual and block and block.power.psu_count == 1:
                found[f"networks.{switch.network}.{switch.role}", switch.model].append(switch.name)
        for group, servers in design.servers_of.items():
            server = design.catalogue.server(servers[0].model)
            if servers[0].role in CRITICAL and server and server.power.psu_count == 1:
                names = [each.name for each in servers if each.rack in dual]
                if names:
                    found[f"servers.{group}.model", servers[0].model] += names
        for (where, model), names in found.items():
            yield self.finding(
                where,
                f"{count_things(len(names), 'device')} with one power supply in racks with two feeds",
                f">= 2 power supplies ({model} has 1)",
                list_names(names),
                "order it with a second supply and correct your catalogue file, or choose another model",
            )
