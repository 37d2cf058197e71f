# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about the links of a device: the ports of a server, fabric managers, out-of-band access. Part of the RED family."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.wording import count_things, list_names
from cluster_model.diagnostic import Diagnostic
from cluster_model.intent.model.networks import ComputeNetwork


class BothPortsOnOneLeaf(Rule):
    """Lead the ports of a dual-homed server to different leafs.

    What it checks:
        Servers with two or more storage ports or business ports, and with two compute ports per rail where `leafs_per_rail` is
        2: not all of them may end on one leaf.

    Why it matters:
        The second port was bought against the loss of a leaf, and goes with it. A leaf upgrade takes storage, or the tenants'
        network, away from every server below it.

    How to fix:
        Set `leafs_per_unit` of the network to 2, or leave it out.

    Source:
        NVIDIA Enterprise reference architectures: two ports to two different switches; Alibaba HPN (SIGCOMM 2024): dual-ToR.
    """

    id, severity, title = "RED007", "warning", "both ports of a server on one leaf"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        compute = design.intent("compute")
        dual_tor = isinstance(compute, ComputeNetwork) and compute.leafs_per_rail > 1
        checked = {"storage", "business", "compute"} if dual_tor else {"storage", "business"}
        found: dict[tuple[str, str], list[str]] = defaultdict(list)
        for server in design.plan.servers:
            leafs: dict[tuple[str, int, int], list[str]] = defaultdict(list)
            for port in server.ports:
                if port.network in checked:
                    leafs[port.network, port.plane, port.rail].append(port.peer)
            for network in {key[0] for key, peers in leafs.items() if len(peers) > 1 and len(set(peers)) == 1}:
                found[server.group, network].append(server.name)
        for (group, network), names in found.items():
            field = "leafs_per_rail" if network == "compute" else "leafs_per_unit"
            yield self.finding(
                f"networks.{network}.{field}",
                f"{count_things(len(names), 'server')} of {group} with all {network} ports on one leaf",
                "two leafs",
                list_names(names),
                f"set networks.{network}.{field} to 2",
            )


class StorageSingleHomed(Rule):
    """Give storage servers two ports on the storage network.

    What it checks:
        Servers of role storage with exactly one storage port.

    Why it matters:
        A leaf, a transceiver or a cable takes a storage server out, and recovery then loads the others while jobs run.

    How to fix:
        Name two ports under `servers.GROUP.nics.storage`, or choose a model with two.

    Source:
        NVIDIA Enterprise reference architectures: storage servers have two ports to two switches.
    """

    id, severity, title = "RED008", "warning", "storage server with one link"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for group, servers in design.servers_of.items():
            names = [s.name for s in servers if s.role == "storage" and sum(port.network == "storage" for port in s.ports) == 1]
            if names:
                yield self.finding(
                    f"servers.{group}.nics.storage",
                    f"{count_things(len(names), 'storage server')} of {group} with one link to the storage network",
                    "two ports on two leafs",
                    list_names(names),
                    f"name a second port under servers.{group}.nics.storage",
                )


class FabricManagers(Rule):
    """Run two fabric managers per InfiniBand network.

    What it checks:
        Servers of role fabric-manager with ports on each InfiniBand network.

    Why it matters:
        Without a subnet manager no new port becomes active and no failed link is routed around. One manager is one reboot away
        from that; with none, a switch's own small one has to do.

    How to fix:
        Add a server group with role fabric-manager, `manages` the network, `count: 2`.

    Source:
        DGX SuperPOD reference architecture: UFM appliances run as a pair; 4 cables of Table 4 are theirs.
    """

    id, severity, title = "RED009", "warning", "fewer than two fabric managers"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        managed: dict[str, set[str]] = defaultdict(set)
        for server in design.plan.servers:
            if server.role == "fabric-manager":
                for port in server.ports:
                    managed[port.network].add(server.name)
        for network in design.plan.networks:
            count = len(managed[network.name])
            if network.technology == "infiniband" and count < 2:
                yield self.finding(
                    f"networks.{network.name}",
                    f"{network.name} is InfiniBand with {'one' if count else 'no'} fabric manager",
                    "2 fabric managers",
                    str(count),
                    f"add a server group with role fabric-manager, manages {network.name} and count 2",
                )


class NoOutOfBand(Rule):
    """Reach every device out of band.

    What it checks:
        Each server whose model has a BMC, each switch with a management port and each PDU has an out-of-band attachment. The
        out-of-band switches themselves are reached over their own network.

    Why it matters:
        When its data ports are down, such a device is repaired by somebody who walks there.

    How to fix:
        Give the rack an out-of-band leaf with enough ports, or a model of leaf with more.

    Source:
        NVIDIA Enterprise reference architectures: a separate out-of-band network reaches every device.
    """

    id, severity, title, by_intent = "RED010", "warning", "device without out-of-band access", False

    def find(self, design: Design) -> Iterator[Diagnostic]:
        catalogue = design.catalogue
        bmcs = {model for model in {s.model for s in design.plan.servers} if (block := catalogue.server(model)) and block.bmc}
        managed = {m for m in {s.model for s in design.plan.switches} if (switch := catalogue.switch(m)) and switch.management}
        names = [server.name for server in design.plan.servers if server.bmc is None and server.model in bmcs]
        names += [s.name for s in design.plan.switches if s.management is None and s.model in managed and s.network != "oob"]
        names += [pdu.name for pdu in design.plan.pdus if pdu.management is None]
        if names:
            yield self.finding(
                "networks.oob",
                f"{count_things(len(names), 'device')} without out-of-band access",
                "a port on an out-of-band leaf",
                list_names(names),
                "give networks.oob a leaf with more ports, or lower racks_per_leaf",
            )
