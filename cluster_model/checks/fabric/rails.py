# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about which leaf a server's ports land on: part of the NET family."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.wording import count_things, list_names
from cluster_model.diagnostic import Diagnostic
from cluster_model.intent.model.networks import ComputeNetwork
from cluster_model.plan.model import ServerPort


class RailOnWrongLeaf(Rule):
    """Land rail k of every server of a unit on the leafs of rail k.

    What it checks:
        Each compute port ends on a leaf of its server's unit and its own plane; where the design is rail-optimised, on a leaf
        that lists its rail, and all servers of the unit share the leafs of a rail. Cables of `cables.exceptions` are left out
        (NET040).

    Why it matters:
        NCCL counts on one hop between equal rails of a unit. One crossed rail sends that traffic over the spines, and every
        collective of the unit waits for it.

    How to fix:
        The planner never crosses rails by itself: report it with the intent. Until then, give `servers.GROUP.nics.compute` in
        rail order.

    Source:
        DGX SuperPOD reference architecture H100, network fabrics: NIC k of each system of a scalable unit joins leaf k.
    """

    id, title, by_intent = "NET013", "rail on the wrong leaf", False

    def find(self, design: Design) -> Iterator[Diagnostic]:
        networks = {
            network.name: network.design == "rail-optimized" for network in design.plan.networks if network.name == "compute"
        }
        wrong: dict[tuple[str, int], list[str]] = defaultdict(list)
        leafs: dict[tuple[str, int, int, int], set[str]] = defaultdict(set)
        told = {exception.cable for exception in design.cluster.cables.exceptions}
        for server in design.plan.servers:
            for port in server.ports:
                if port.network not in networks or (leaf := design.switches.get(port.peer)) is None or server.role != "gpu":
                    continue
                if told and f"{server.name}:{port.name}" in told:
                    continue
                by_rail = networks[port.network] and port.rail >= 0
                if leaf.unit != server.unit or leaf.plane != port.plane or (by_rail and port.rail not in leaf.rails):
                    wrong[port.network, server.unit].append(f"{server.name} {port.name} (rail {port.rail}) on {leaf.name}")
                elif by_rail:
                    leafs[port.network, server.unit, port.plane, port.rail].add(leaf.name)
        for (network, unit), ends in wrong.items():
            yield self.finding(
                f"networks.{network}",
                f"{count_things(len(ends), 'port')} of unit {unit} on the wrong {network} leaf",
                f"a leaf of unit {unit} that lists the rail",
                list_names(ends, 2),
                "report this with your cluster.yml; meanwhile list servers.GROUP.nics.compute in rail order",
            )
        intent = design.intent("compute")
        allowed = intent.leafs_per_rail if isinstance(intent, ComputeNetwork) else 1
        for (network, unit, _plane, rail), found in leafs.items():
            if len(found) > allowed:
                yield self.finding(
                    f"networks.{network}",
                    f"rail {rail} of unit {unit} is spread over {count_things(len(found), 'leaf', 'leafs')}",
                    f"{count_things(allowed, 'leaf', 'leafs')} per rail and plane",
                    list_names(sorted(found)),
                    "report this with your cluster.yml",
                )


class RailLeft(Rule):
    """Leave a rail or a unit by `cables.exceptions` only for a while.

    What it checks:
        Each compute cable of `cables.exceptions` ends on a leaf of its server's unit, and where the design is rail-optimised on a
        leaf that lists its port's rail.

    Why it matters:
        The port keeps its address, and the fabric routes to it, but what was one hop between equal rails crosses the spines.
        Every collective of the unit waits for that GPU.

    How to fix:
        Re-patch the cable to a leaf of its rail. Until then, keep jobs that wait for each other off the server.

    Source:
        DGX SuperPOD reference architecture H100, network fabrics: NIC k of each system of a scalable unit joins leaf k.
    """

    id, severity, title = "NET040", "warning", "cable exception that leaves a rail"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        by_rail = {network.name for network in design.plan.networks if network.design == "rail-optimized"}
        for number, exception in enumerate(design.cluster.cables.exceptions):
            name, _, port_name = exception.cable.partition(":")
            server, port = design.servers.get(name), design.ports.get((name, port_name))
            if server is None or server.role != "gpu" or not isinstance(port, ServerPort) or port.network != "compute":
                continue
            leaf = design.switches.get(port.peer)
            railed = port.network in by_rail and port.rail >= 0
            if leaf is None or (leaf.unit == server.unit and (not railed or port.rail in leaf.rails)):
                continue
            own = f"rail {port.rail} of unit {server.unit}" if railed else f"unit {server.unit}"
            there = (
                f"rail{'s' if len(leaf.rails) > 1 else ''} {list_names(map(str, leaf.rails))} of unit {leaf.unit}"
                if railed
                else f"unit {leaf.unit}"
            )
            yield self.finding(
                f"cables.exceptions.{number}.to",
                f"{exception.cable} leaves {own}",
                f"a leaf of {own}",
                f"{leaf.name}, of {there} ({exception.reason})",
                "re-patch the cable to a leaf of its rail, or accept that its traffic crosses the spines",
            )


class RailsShareCable(Rule):
    """Give every rail of a server a cable of its own.

    What it checks:
        No attached cable (DAC or AOC splitter, twin cable) carries two rails of the same server.

    Why it matters:
        One broken cable takes two GPUs off the network at once, and swapping it takes down the healthy rail too.

    How to fix:
        Use `rails_per_leaf: 1`, or a server and leaf pairing that gives each rail its own cable. Where the leaf takes both
        rails on one twin-port cage, live with it knowingly.

    Source:
        A splitter is one part: both legs share the connector (catalogue, media.yaml, cables).
    """

    id, severity, title, by_intent = "NET014", "warning", "two rails of a server on one attached cable", False

    def find(self, design: Design) -> Iterator[Diagnostic]:
        first: dict[str, tuple[str, int]] = {}
        shared: dict[str, dict[str, None]] = defaultdict(dict)
        for cable in design.plan.cables:
            if cable.network != "compute" or cable.kind != "host_leaf" or not cable.assembly or cable.a_optic:
                continue
            port = design.ports.get((cable.a, cable.a_port))
            if not isinstance(port, ServerPort) or port.rail < 0:
                continue
            server, rail = first.setdefault(cable.assembly, (cable.a, port.rail))
            if server == cable.a and rail != port.rail:
                shared[cable.network][server] = None
        for network, servers in shared.items():
            yield self.finding(
                f"networks.{network}",
                f"{count_things(len(servers), 'server')} with two rails on one {network} cable",
                "one cable per rail",
                list_names(servers),
                "set rails_per_leaf to 1, or accept that one broken cable takes two rails",
            )
