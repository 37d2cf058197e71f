# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about who manages an InfiniBand network: part of the RED family."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.wording import count_things
from cluster_model.diagnostic import Diagnostic


class UnmanagedPlane(Rule):
    """Give every plane of an InfiniBand network a fabric manager.

    What it checks:
        Where an InfiniBand network has several planes and fabric managers, each plane has a port of one of them.

    Why it matters:
        Planes share no cable, so each is a subnet of its own. Without a subnet manager its ports never get an address: all of
        its links stay in the state Initialize, and the NICs run with what the other planes carry.

    How to fix:
        Choose a fabric manager with as many ports on the network as it has planes, or fewer planes. The ports of a manager go
        to the planes in turn.

    Source:
        InfiniBand Architecture Specification, volume 1, chapter 14: a subnet is brought up by its own subnet manager.
    """

    id, title = "RED011", "plane without a fabric manager"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        managed: dict[str, set[int]] = defaultdict(set)
        most: dict[str, int] = defaultdict(int)
        for server in design.plan.servers:
            if server.role == "fabric-manager":
                for name in {port.network for port in server.ports}:
                    planes = [port.plane for port in server.ports if port.network == name]
                    managed[name].update(planes)
                    most[name] = max(most[name], len(planes))
        for network in design.plan.networks:
            seen = managed[network.name]
            lacking = [plane for plane in range(1, network.planes + 1) if plane not in seen]
            if network.technology == "infiniband" and seen and lacking:
                yield self.finding(
                    f"networks.{network.name}.planes",
                    f"no fabric manager has a port in plane {', '.join(map(str, lacking))} of {network.name}",
                    f"a port in each of {network.planes} planes",
                    f"fabric managers with {count_things(most[network.name], 'port')}",
                    f"give fabric managers {network.planes} ports (another model, more under nics) or set planes to {len(seen)}",
                )
