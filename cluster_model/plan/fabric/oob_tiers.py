"""How many tiers the out-of-band network has, and which `racks_per_leaf` would make it smaller."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass

from cluster_model.plan.context import Context
from cluster_model.plan.draft import SwitchDraft
from cluster_model.plan.fabric.shape import FabricShape
from cluster_model.plan.fabric.sizing import size_tiers
from cluster_model.plan.ports import count_ports
from cluster_model.plan.refusal import Refused

MOST_RACKS_PER_LEAF = 16
"""The most that the intent takes."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What a value of `racks_per_leaf` comes to: switches that are built, by tier."""

    racks_per_leaf: int
    tiers: int
    leafs: int
    spines: int
    cores: int

    @property
    def switches(self) -> int:
        """Return the switches of all tiers."""
        return self.leafs + self.spines + self.cores

    def __str__(self) -> str:
        """Return the counts in words."""
        counts = {"leaf": self.leafs, "spine": self.spines, "core": self.cores}
        words = [f"{count:,} {tier}{'s' * (count != 1)}" for tier, count in counts.items() if count]
        return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def tell_of_tiers(
    ctx: Context,
    shape: FabricShape,
    switches: list[SwitchDraft],
    plugs: Iterable[tuple[str, bool]],
    divide: Callable[[int], Iterable[list[str]]],
    seats: int,
) -> None:
    """Tell that the out-of-band network has three tiers by itself, and what fewer leafs would make of it. Errors: NET042.

    Args:
        ctx: where to report.
        shape: the network as planned.
        switches: its switches.
        plugs: rack of everything that is plugged into it, and whether that is built.
        divide: racks that share a leaf, by `racks_per_leaf`.
        seats: devices that a leaf has ports for.
    """
    if shape.intent.tiers != "auto" or shape.clos.tiers < 3:
        return
    now = Counter(switch.role for switch in switches if switch.built)
    load: Counter[str] = Counter()
    built: set[str] = set()
    for rack, is_built in plugs:
        load[rack] += 1
        if is_built:
            built.add(rack)
    per_leaf = ctx.cluster.networks.oob.racks_per_leaf
    current = Choice(per_leaf, shape.clos.tiers, now["leaf"], now["spine"], now["core"])
    others = (_choose(shape, per, list(divide(per)), load, built, seats) for per in range(per_leaf + 1, MOST_RACKS_PER_LEAF + 1))
    smaller = [other for other in others if other is not None and other.switches < current.switches]
    best = min(
        smaller, key=lambda other: (other.tiers > 2, other.racks_per_leaf if other.tiers == 2 else other.switches), default=None
    )
    ports, speed = count_ports(shape.models.spine.cages, shape.fabric_speed_gbps), shape.fabric_speed_gbps
    leafs = shape.clos.leafs
    way = f"set networks.oob.racks_per_leaf to {best.racks_per_leaf}: {best} instead, {best.switches:,} switches" if best else ""
    spine = f"take a spine with {leafs:,} ports of {speed} Gb/s for two tiers"
    ctx.report(
        "NET042",
        "networks.oob.racks_per_leaf",
        f"the out-of-band network is {current.switches:,} switches in three tiers: {current}",
        expected=f"<= {ports:,} leafs for two tiers ({speed} Gb/s ports of {shape.models.spine.ref})",
        actual=f"{leafs:,} leafs, one for {'every rack' if per_leaf == 1 else f'{per_leaf} racks'}",
        fix=f"{way}; or {spine}" if way else f"{spine}, or set networks.oob.tiers to 3 where three are meant",
        severity="info",
    )


def _choose(
    shape: FabricShape, per_leaf: int, blocks: list[list[str]], load: Counter[str], built: Set[str], seats: int
) -> Choice | None:
    """Return what a value of `racks_per_leaf` comes to; None where a leaf has too few ports, or no fabric joins so many."""
    if max(sum(load[rack] for rack in racks) for racks in blocks) > seats:
        return None
    try:
        clos = size_tiers(shape.wanted, len(blocks), shape.clos.uplinks or 1, shape.fabric_speed_gbps)
    except Refused:
        return None
    used = [number for number, racks in enumerate(blocks) if not built.isdisjoint(racks)]
    pods = len({number // clos.leafs_per_pod for number in used})
    return Choice(per_leaf, clos.tiers, len(used), clos.spines * pods, clos.core_groups * clos.cores)
