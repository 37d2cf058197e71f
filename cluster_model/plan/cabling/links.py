"""From links to cables: a medium for each, agreed by all ports of a cage.

A cage takes one transceiver, so its ports share a medium. Where cages interlock (two rails in one cage of a server, each to
another leaf) the agreement spreads over the whole tier, and one optical standard that reaches its longest link serves all:
that is how such fabrics are ordered. Planned links count beside the built ones, so that growth changes no cable. A later phase
of building chooses for itself, but for the cages that it shares with an earlier one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cluster_model.catalogue.ground import Technology
from cluster_model.plan.cabling.media import Cabler, Choice, Shape
from cluster_model.plan.draft import SwitchDraft
from cluster_model.plan.floor.placement import Floor
from cluster_model.plan.model import Cable, CableKind
from cluster_model.plan.ports import End, Seat

HOST_KINDS = {"host_leaf", "fabric_manager"}
NO_KIN: frozenset[End] = frozenset()


@dataclass(slots=True)
class Link:
    """A link between two seats. `near` is the end nearer the hosts; `near_optics` collects the watts of its cages."""

    kind: CableKind
    way: Shape
    near: str
    near_port: str
    near_rack: str
    near_u: int
    near_cage: int
    near_end: End
    near_optics: dict[int, float]
    far: SwitchDraft
    seat: Seat
    built: bool
    need_m: float = 0.0
    phase: int = 1
    group: object = None  # the links that take one medium together

    @property
    def bundle(self) -> tuple[str, int] | None:
        """Return the cage whose links take one medium together; None where each may choose for itself."""
        if self.way == "fan":
            return (self.far.name, self.seat.cage) if self.seat.count > 1 else (self.near, self.near_cage)
        return (self.near, self.near_cage) if self.way == "twin" else None


def cut_cables(
    floor: Floor, cabler: Cabler, network: str, technology: Technology, links: list[Link], phases: Mapping[str, int]
) -> list[Cable]:
    """Return the cables of the built links, in order. Errors: CAB001.

    Args:
        floor: the racks.
        cabler: what chooses media.
        network: the network's name.
        technology: what the links speak.
        links: all planned links of the network.
        phases: when each device came; one that was put elsewhere by hand counts as come after all. Empty where all came at once.
    """
    _part_mixed(links)
    _part_phases(links, phases)
    racks = floor.racks
    longest: dict[object, float] = {}
    ends: dict[object, set[End]] = {}
    for link in links:
        link.need_m = cabler.length(racks[link.near_rack].rack, link.near_u, racks[link.far.rack].rack, link.far.u)
        link.group = group = _group(link)
        if group is not None and link.need_m > longest.get(group, 0.0):
            longest[group] = link.need_m
        if link.way == "apart":
            ends.setdefault(group, set()).add(link.near_end)
    kin = {group: frozenset(found) for group, found in ends.items()}
    cables: list[Cable] = []
    for link in links:
        reach_m = link.need_m if link.group is None else longest[link.group]
        where = f"networks.{network}.{link.far.role}"
        choice = cabler.choose(technology, link.way, link.near_end, link.seat.end, reach_m, where, kin.get(link.group, NO_KIN))
        if choice is None or not link.built:
            continue
        link.near_optics[link.near_cage] = choice.a_w
        link.far.optics[link.seat.cage] = choice.b_w
        cables.append(_cable(network, link, choice, cabler))
    return cables


def _part_mixed(links: list[Link]) -> None:
    """Set the links apart that meet in a far cage from different kinds of near cages: no attached cable has such ends."""
    kinds: dict[tuple[str, int], set[tuple[Shape, End]]] = {}
    shared = [link for link in links if link.seat.count > 1 and link.kind in HOST_KINDS]  # switches of a tier are all alike
    for link in shared:
        kinds.setdefault((link.far.name, link.seat.cage), set()).add((link.way, link.near_end))
    mixed = {cage for cage, found in kinds.items() if len(found) > 1}
    for link in shared if mixed else ():
        if (link.far.name, link.seat.cage) in mixed:
            link.way = "apart"


def _part_phases(links: list[Link], phases: Mapping[str, int]) -> None:
    """Set the phase that each link chooses with: that of its later end, or the earliest of those that it shares a cage with."""
    if not phases:
        return
    for link in links:
        link.phase = max(phases[link.near], phases[link.far.name])
    cages: dict[tuple[str, int], int] = {}
    moved = any(link.phase > 1 for link in links)
    while moved:
        moved = False
        for link in links:
            ends = (link.near, link.near_cage), (link.far.name, link.seat.cage)
            least = min(link.phase, *(cages.get(end, link.phase) for end in ends))
            moved = moved or least < link.phase or any(cages.get(end) != least for end in ends)
            link.phase = cages[ends[0]] = cages[ends[1]] = least


def _group(link: Link) -> object:
    if link.way == "apart":
        tier = "host_leaf" if link.kind == "fabric_manager" else link.kind  # they share cages of the leafs
        return tier, link.near_end.speed_gbps, link.phase
    return link.bundle


def _cable(network: str, link: Link, choice: Choice, cabler: Cabler) -> Cable:
    assembly = f"{link.near}:{link.near_port}"
    length_m = choice.length_m
    if choice.a_optic:
        length_m = cabler.order(link.need_m)
    elif bundle := link.bundle:
        assembly = f"{bundle[0]}/{bundle[1]}"
    return Cable(
        network=network,
        kind=link.kind,
        a=link.near,
        a_port=link.near_port,
        b=link.far.name,
        b_port=link.seat.name,
        speed_gbps=link.seat.speed_gbps,
        length_m=length_m,
        medium=choice.medium,
        a_optic=choice.a_optic,
        b_optic=choice.b_optic,
        assembly=assembly,
        fec=choice.fec,
    )
