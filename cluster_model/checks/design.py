"""What the rules read: the plan, what was asked for, and indexes that each rule would otherwise build for itself."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property

from cluster_model.catalogue.load import Catalogue
from cluster_model.catalogue.platform_types import Platform
from cluster_model.intent.model.cluster import Cluster
from cluster_model.intent.model.networks import Fabric
from cluster_model.intent.references.membership import Seat
from cluster_model.intent.source.facts_csv import FactTables
from cluster_model.plan.model import Network, Plan, Rack, RackPower, Server, ServerPort, Switch, SwitchPort
from cluster_model.plan.tenancy.places import list_seats


@dataclass(frozen=True)
class Design:
    """A plan with its intent, the catalogue and the facts. Every index is built once, on first use, in one pass."""

    plan: Plan
    cluster: Cluster
    catalogue: Catalogue
    facts: FactTables = field(default_factory=FactTables)

    @cached_property
    def racks(self) -> dict[str, Rack]:
        """Racks by name."""
        return {rack.name: rack for rack in self.plan.racks}

    @cached_property
    def power(self) -> dict[str, RackPower]:
        """Rack power by rack name."""
        return {power.rack: power for power in self.plan.power}

    @cached_property
    def switches(self) -> dict[str, Switch]:
        """Switches by name."""
        return {switch.name: switch for switch in self.plan.switches}

    @cached_property
    def servers(self) -> dict[str, Server]:
        """Servers by name."""
        return {server.name: server for server in self.plan.servers}

    @cached_property
    def devices(self) -> tuple[Server | Switch, ...]:
        """Servers, then switches."""
        return (*self.plan.servers, *self.plan.switches)

    @cached_property
    def switches_of(self) -> dict[str, list[Switch]]:
        """Switches by network, in plan order."""
        table: dict[str, list[Switch]] = defaultdict(list)
        for switch in self.plan.switches:
            table[switch.network].append(switch)
        return dict(table)

    @cached_property
    def servers_of(self) -> dict[str, list[Server]]:
        """Servers by group, in plan order."""
        table: dict[str, list[Server]] = defaultdict(list)
        for server in self.plan.servers:
            table[server.group].append(server)
        return dict(table)

    @cached_property
    def ports(self) -> dict[tuple[str, str], ServerPort | SwitchPort]:
        """Cabled ports of servers and switches by device and port name. Management ports are not among them."""
        table: dict[tuple[str, str], ServerPort | SwitchPort] = {}
        for device in self.devices:
            for port in device.ports:
                table[device.name, port.name] = port
        return table

    @cached_property
    def routed(self) -> tuple[Network, ...]:
        """Networks whose switches route IP: all but InfiniBand."""
        return tuple(network for network in self.plan.networks if network.technology != "infiniband")

    @cached_property
    def lossless(self) -> tuple[Network, ...]:
        """Networks that carry RoCE."""
        return tuple(network for network in self.plan.networks if network.lossless)

    def group(self, name: str) -> list[Server]:
        """Return the servers of a group; none where it has none."""
        return self.servers_of.get(name, [])

    def intent(self, network: str) -> Fabric | None:
        """Return what the intent says of a network."""
        fabric: Fabric | None = getattr(self.cluster.networks, network, None)
        return fabric

    @cached_property
    def planned_legs(self) -> dict[tuple[str, str], list[Seat]]:
        """Servers in each subnet of a tenant, by tenant and subnet name; of a group that is named whole, also those not built."""
        table: dict[tuple[str, str], list[Seat]] = {}
        for name, tenant in self.cluster.tenants.items():
            for key, subnet in tenant.subnets.items():
                table[name, key] = list_seats(self.cluster, tenant.servers if subnet.servers is None else subnet.servers)
        return table

    def systems(self, network: Network) -> dict[str, str]:
        """Return the network operating systems of a network's switches, each with the intent path that chooses it."""
        table = {network.nos: f"networks.{network.name}.nos"} if network.nos else {}
        for switch in self.switches_of.get(network.name, []):
            if switch.role == "border":
                table.setdefault(switch.nos, f"networks.{network.name}.border.nos")
        return table

    def platform(self, network: Network) -> Platform | None:
        """Return the network operating system of a network's switches; None for InfiniBand and for one not known."""
        platform: Platform | None = self.catalogue.platforms.get(network.nos)
        return platform

    def rack_path(self, rack: Rack, name: str) -> str:
        """Return where a rack's limit was said: in its exception, or else in its group."""
        exception = self.cluster.racks.exceptions.get(rack.name)
        own = exception is not None and getattr(exception, name, None) is not None
        return f"racks.exceptions.{rack.name}.{name}" if own else f"racks.groups.{rack.group}.{name}"

    def mtu_path(self, network: Network, name: str) -> str:
        """Return where an MTU was said: at the network, in the lossless profile, or nowhere, which points at the network."""
        if name in self.cluster.lossless.model_fields_set and getattr(self.intent(network.name), name, None) is None:
            return f"lossless.{name}"
        return f"networks.{network.name}.{name}"


def models_of(network: Network) -> tuple[str, ...]:
    """Return the switch models that a network uses, leaf first, each once."""
    counted = (
        (network.leaf_model, network.leafs),
        (network.border_model, network.borders),
        (network.spine_model, network.spines),
        (network.core_model, network.cores),
    )
    return tuple(dict.fromkeys(model for model, count in counted if model and count))
