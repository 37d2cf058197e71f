# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about growth: the GRW family."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from cluster_model.catalogue.cages import switch_cages
from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.wording import count_things, list_names
from cluster_model.diagnostic import Diagnostic
from cluster_model.plan.model import Network
from cluster_model.plan.ports import count_ports
from cluster_model.plan.services.provisioning import MOST_SERVERS, find_boot_port


class GrowthAhead(Rule):
    """Know what a network can still take.

    What it checks:
        Units built and planned, host ports of the built leafs that are free, and for how many leafs more than are planned the
        spines of a network of two tiers have ports; of the out-of-band network the last alone.

    Why it matters:
        Growth within these numbers moves no cable and no address. What comes later, as a further number of `planned` and
        `racks`, moves none either while the spines have ports for it. A fabric that needs more spines, or a tier, is recabled.

    How to fix:
        Raise `planned` now if more is to come: spines, racks and addresses are then kept for it. Or name more spines now.

    Source:
        Counts of the plan.
    """

    id, severity, title = "GRW002", "info", "room to grow"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        rooms, spare = list[str](), list[str]()
        for network in design.plan.networks:
            if not network.leafs:
                continue
            leafs = self._count_spare(design, network)
            if leafs is not None:
                spare.append(f"{leafs if spare else count_things(leafs, 'more leaf')} of {network.name}")
            if network.name == "oob":
                continue
            kept = network.leafs * network.hosts_per_leaf
            free = max(0, kept - network.host_leaf_cables - network.fabric_manager_cables)
            more = count_things(max(0, network.planned_units - network.units), "more unit")
            rooms.append(f"{network.name} {more}, {count_things(free, 'free port')}")
        if rooms:
            fix = f"raise planned of the server groups now if more is to come; a later phase is a number more{self._show(design)}"
            if spare:
                fix += f"; spines have ports for {list_names(spare, len(spare))}, and more than these recable them"
            yield self.finding(
                "servers",
                f"room to grow without moving a cable: {'; '.join(rooms)}",
                "",
                "",
                fix,
            )

    def _show(self, design: Design) -> str:
        """Return how a later phase is written in the group that grows most, behind what it has: a unit more, or half of it."""
        groups = design.cluster.servers
        roles = {server.group: server.role for server in design.plan.servers}
        name = max(groups, key=lambda g: (roles.get(g) == "gpu", groups[g].final_count, -groups[g].id), default="")
        if not name:
            return ""
        group = groups[name]
        phases = [*group.phases, group.unit or ceil(group.final_count / 2)]
        return f", as servers.{name}.planned: {phases}, with racks for it in the same way"

    def _count_spare(self, design: Design, network: Network) -> int | None:
        """Return the leafs, in whole units, that the spines take beyond those that are planned; None without two tiers."""
        spine = design.catalogue.device(network.spine_model)
        if network.tiers != 2 or spine is None or not network.uplinks:
            return None
        links = max(1, network.uplinks // network.spines_per_pod)
        free = count_ports(switch_cages(spine), network.fabric_speed_gbps) // links
        free -= network.planned_units * network.leafs_per_unit + network.borders
        return max(0, free) // network.leafs_per_unit * network.leafs_per_unit


class BootServersByOrder(Rule):
    """Say which of several groups of control servers answers DHCP.

    What it checks:
        Where servers of several groups have the role control and a port on the out-of-band network, `provisioning.servers` or
        `networks.oob.dhcp_servers` says who answers.

    Why it matters:
        Without a word the first control servers answer, by group id. A group of a lower id that comes later would take that
        over: every out-of-band leaf relays to other addresses, and servers look for their boot files where there are none.

    How to fix:
        Name the group that answers today under `provisioning.servers`; where nothing is installed by gpuyard, its addresses under
        `networks.oob.dhcp_servers`.

    Source:
        RFC 1542, section 4: a relay agent sends to the servers it is configured with; "who boots" in docs/boot.md.
    """

    id, title = "GRW010", "boot servers that follow from the order of groups"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        asked = design.cluster.provisioning
        if (asked is not None and asked.servers) or design.cluster.networks.oob.dhcp_servers:
            return
        able: dict[str, list[str]] = {}
        for server in design.plan.servers:
            port = find_boot_port(server.ports)
            if server.role == "control" and port is not None:
                able.setdefault(server.group, []).append(port.address.partition("/")[0])
        if len(able) < 2:
            return
        ways = {group: f"[{', '.join(addresses[:MOST_SERVERS])}]" for group, addresses in able.items()}
        fix = f"set provisioning.servers to the one that answers today: {' or '.join(able)}"
        if asked is None:
            known = ", or ".join(f"{way} if that is {group}" for group, way in ways.items())
            fix = f"set networks.oob.dhcp_servers to those that answer today; in this plan they are {known}"
        yield self.finding(
            "provisioning" if asked is not None else "networks.oob",
            f"{list_names(able)} have control servers, and nothing says which of them answers DHCP",
            "a group or addresses, since the order of ids would change with the next group",
            f"the first of {next(iter(able))}, which has the lowest id",
            fix,
        )
