# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about growth: the GRW family."""

from __future__ import annotations

from collections.abc import Iterator

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.wording import count_things
from cluster_model.diagnostic import Diagnostic


class GrowthAhead(Rule):
    """Know what a network can still take.

    What it checks:
        For compute and storage: units built and planned, and host ports of the built leafs that are free.

    Why it matters:
        Growth within these numbers moves no cable and no address. Growth beyond them may recable spines or add a tier.

    How to fix:
        Raise `planned` now if more is to come: spines, racks and addresses are then kept for it.

    Source:
        Counts of the plan.
    """

    id, severity, title = "GRW002", "info", "room to grow"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        rooms = []
        for network in design.plan.networks:
            if network.name == "oob" or not network.leafs:
                continue
            kept = network.leafs * network.hosts_per_leaf
            free = max(0, kept - network.host_leaf_cables - network.fabric_manager_cables)
            more = count_things(max(0, network.planned_units - network.units), "more unit")
            rooms.append(f"{network.name} {more}, {count_things(free, 'free port')}")
        if rooms:
            yield self.finding(
                "servers",
                f"room to grow without moving a cable: {'; '.join(rooms)}",
                "",
                "",
                "raise planned of the server groups now if more than that is to come",
            )
