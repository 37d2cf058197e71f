"""Which ports of a server go to which leaf of its unit: the pattern of one server, the same for its whole group."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from cluster_model.catalogue.types import ServerPort
from cluster_model.intent.model.business import BusinessNetwork
from cluster_model.intent.model.networks import ComputeNetwork, Fabric, StorageNetwork
from cluster_model.intent.model.servers import NetworkName, ServerGroup
from cluster_model.plan.context import Context, SwitchModel
from cluster_model.plan.ports import speeds_of


@dataclass(frozen=True, slots=True)
class Leg:
    """One link from a server to a leaf of its unit.

    Args:
        plane: plane, from 0.
        leaf: leaf of the unit in that plane, from 0.
        lane: address lane: hosts reach a lane by one route (a rail; with dual-ToR a rail and side).
        rail: rail, or -1.
        port: the server's port.
        sub: part of the port where it is divided, from 0.
        split: parts that the port is divided into.
        speed_gbps: speed of the link.
        order: number of the leg on its server, from 0.
        reserved: which of the ports that the leaf has for fabric managers alone it takes, from 0; -1: one of all the others.
    """

    plane: int
    leaf: int
    lane: int
    rail: int
    port: ServerPort
    sub: int
    split: int
    speed_gbps: int
    order: int = 0
    reserved: int = -1

    @property
    def name(self) -> str:
        """Return the interface name on the server; the parts of a divided port are told apart by a suffix."""
        return self.port.name if self.split == 1 else f"{self.port.name}s{self.sub}"


def ports_for(ctx: Context, group: str, network: NetworkName) -> list[ServerPort]:
    """Return the ports of a group's model that serve a network. Errors: HWR003."""
    intent, model = ctx.cluster.servers[group], ctx.servers[group]
    chosen = intent.nics.get(network)
    ports = model.block.network.ports
    if chosen is None:
        given = {name for names in intent.nics.values() for name in names}
        return [port for port in ports if port.network == network and port.name not in given]
    known = {port.name: port for port in ports}
    for index, name in enumerate(chosen):
        if name not in known:
            ctx.report(
                "HWR003",
                f"servers.{group}.nics.{network}.{index}",
                f"{model.ref} has no port {name}",
                expected=f"one of {', '.join(known)}",
                actual=name,
                fix="name a port of the model; gpuyard catalogue shows them",
            )
    return [known[name] for name in chosen if name in known]


def check_nics(ctx: Context, group: str) -> None:
    """Report ports of a group that are given away twice, or that share a cage over two networks. Errors: HWR003."""
    owners: dict[str, str] = {}
    for network, names in ctx.cluster.servers[group].nics.items():
        for index, name in enumerate(names):
            if name in owners:
                ctx.report(
                    "HWR003",
                    f"servers.{group}.nics.{network}.{index}",
                    f"port {name} is already assigned to {owners[name]}",
                    expected="each port once",
                    actual=f"{owners[name]} and {network}" if owners[name] != network else f"twice in {network}",
                    fix="take it away here, or there",
                )
            owners.setdefault(name, network)
    _check_cages(ctx, group, owners)


def _check_cages(ctx: Context, group: str, owners: dict[str, str]) -> None:
    """Report cages of a group whose ports serve two networks: one transceiver cannot follow both. Errors: HWR003."""
    model, chosen = ctx.servers[group], ctx.cluster.servers[group].nics
    planned = {name for name, network in ctx.cluster.networks if network is not None}
    users: dict[int, tuple[str, str]] = {}
    for port in model.block.network.ports:
        network = owners.get(port.name) or ("" if port.network in chosen else port.network)
        if network not in planned:
            continue
        first, other = users.setdefault(port.cage, (network, port.name))
        if first != network:
            ctx.report(
                "HWR003",
                f"servers.{group}.nics.{network if network in chosen else first}",
                f"ports {other} and {port.name} share cage {port.cage} and serve two networks",
                expected="all ports of a cage on one network, since it takes one transceiver",
                actual=f"{first} and {network}",
                fix="give both ports to one network",
            )


def plan_legs(ctx: Context, group: str, network: NetworkName, fabric: Fabric, leaf: SwitchModel) -> tuple[Leg, ...]:
    """Return the legs of one server of a group on a network, in port order. Errors: HWR003, NET002, NET008, NET009."""
    before = len(ctx.findings)
    ports = ports_for(ctx, group, network)
    if not ports or len(ctx.findings) > before:
        return ()
    if isinstance(fabric, ComputeNetwork):
        return _compute_legs(ctx, group, ports, fabric, leaf)
    per_unit = fabric.leafs_per_unit if isinstance(fabric, StorageNetwork | BusinessNetwork) else 1
    legs = []
    for index, port in enumerate(ports):
        speed_gbps = _meet(ctx, group, network, port, _speeds(port), fabric.speed_gbps, leaf)
        if speed_gbps is None:
            return ()
        legs.append(Leg(0, index % per_unit, 0, -1, port, 0, 1, speed_gbps, index))
    return tuple(legs)


def _compute_legs(
    ctx: Context, group: str, ports: list[ServerPort], fabric: ComputeNetwork, leaf: SwitchModel
) -> tuple[Leg, ...]:
    railed = fabric.design == "rail-optimized"
    sides = fabric.leafs_per_rail if railed else 1
    parts = fabric.planes * sides
    rails: dict[int, list[ServerPort]] = {}
    for index, port in enumerate(ports):
        rails.setdefault(index if port.rail is None else port.rail, []).append(port)
    if railed and len(rails) % fabric.rails_per_leaf:
        ctx.report(
            "NET008",
            "networks.compute.rails_per_leaf",
            f"{len(rails)} rails of {ctx.servers[group].ref} do not fill leafs of {fabric.rails_per_leaf} rails",
            expected=f"a divisor of {len(rails)}",
            actual=str(fabric.rails_per_leaf),
            fix=f"set rails_per_leaf to a divisor of {len(rails)}",
        )
        return ()
    legs: list[Leg] = []
    for order, rail in enumerate(sorted(rails)):
        pieces = _pieces(ctx, group, rails[rail], parts, "planes" if fabric.planes > 1 else "leafs_per_rail")
        if pieces is None:
            return ()
        for part, (port, sub, split, speeds) in enumerate(pieces):
            speed_gbps = _meet(ctx, group, "compute", port, speeds, fabric.speed_gbps, leaf)
            if speed_gbps is None:
                return ()
            plane, side = part // sides, part % sides
            if railed:
                place, lane = order // fabric.rails_per_leaf * sides + side, order * sides + side
            else:
                place, lane = order % fabric.leafs_per_unit, 0
            legs.append(Leg(plane, place, lane, order if railed else -1, port, sub, split, speed_gbps, len(legs)))
    return tuple(legs)


def _pieces(
    ctx: Context, group: str, ports: list[ServerPort], parts: int, key: str
) -> list[tuple[ServerPort, int, int, set[int]]] | None:
    if len(ports) == parts:
        return [(port, 0, 1, _speeds(port)) for port in ports]
    if len(ports) == 1:
        for mode in ports[0].split:
            count, speed_gbps = map(int, mode.split("x"))
            if count == parts:
                return [(ports[0], sub, parts, {speed_gbps}) for sub in range(parts)]
    fix = "lower planes or leafs_per_rail, or choose a server whose NICs have the ports"
    if len(ports) > parts:
        fix = f"set planes or leafs_per_rail to {len(ports)}, or choose one port per rail under nics"
    ctx.report(
        "NET009",
        f"networks.compute.{key}",
        f"a NIC of {ctx.servers[group].ref} cannot be divided over {parts} {'leafs' if parts > 1 else 'leaf'}",
        expected=f"{parts} ports per rail, or a port that splits {parts} ways" if parts > 1 else "1 port per rail",
        actual=f"{len(ports)} port{'s' if len(ports) > 1 else ''} per rail, splits {', '.join(ports[0].split) or 'none'}",
        fix=fix,
    )
    return None


def _speeds(port: ServerPort) -> set[int]:
    return {port.speed_gbps, *port.speeds_gbps}


def _meet(
    ctx: Context, group: str, network: str, port: ServerPort, speeds: set[int], asked: int | None, leaf: SwitchModel
) -> int | None:
    offered = speeds_of(leaf.cages)
    common = {speed for speed in speeds & offered if asked is None or speed == asked}
    if common:
        return max(common)
    both = speeds & offered
    fix = (
        f"set speed_gbps to {max(both)}" if both else "choose a leaf whose cages break out to a speed of the NIC, or another NIC"
    )
    ctx.report(
        "NET002",
        f"networks.{network}.{'speed_gbps' if asked is not None else 'leaf'}",
        f"port {port.name} of {ctx.servers[group].ref} and leaf {leaf.ref} share no speed" + (f" of {asked}" if asked else ""),
        expected=f"one of {_list(speeds)} Gb/s (the NIC's)",
        actual=f"{_list(offered)} Gb/s (the leaf's)" if asked is None else f"{asked} Gb/s asked, leaf has {_list(offered)}",
        fix=fix,
    )
    return None


def _list(speeds: set[int]) -> str:
    return ", ".join(str(speed) for speed in sorted(speeds, reverse=True))


def legs_per_leaf(legs: tuple[Leg, ...]) -> Counter[tuple[int, int]]:
    """Return how many legs of one server go to each (plane, leaf)."""
    return Counter((leg.plane, leg.leaf) for leg in legs)


def role_of(name: str, group: ServerGroup) -> str:
    """Return a group's role; its own name where none is given."""
    return group.role or name
