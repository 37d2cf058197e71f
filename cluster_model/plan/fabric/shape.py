"""The shape of a routed fabric: units, legs, tiers, addresses. Wiring follows it (wiring.py)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import Any

from cluster_model.intent.model.business import BusinessNetwork
from cluster_model.intent.model.networks import ComputeNetwork, OobNetwork, StorageNetwork
from cluster_model.intent.model.policy import Lossless
from cluster_model.kinds import NetworkKind
from cluster_model.plan.context import Context
from cluster_model.plan.fabric.addressing import Cut
from cluster_model.plan.fabric.clos import Clos
from cluster_model.plan.fabric.sizing import choose_speed, cut_fabric, size_fabric
from cluster_model.plan.fabric.units import Units, count_lanes, count_planes, fill_units, may_fit
from cluster_model.plan.fabric.wanted import Models, Wanted, want_fabric
from cluster_model.plan.refusal import Refused

IPOIB_HEADER_BYTES = 4  # RFC 4391, sections 6 and 7: what IP over InfiniBand puts before each datagram


@dataclass(frozen=True, slots=True)
class FabricShape:
    """A routed fabric before it is wired: what was wanted, and what each step of its planning made of it.

    Args:
        wanted: what the intent and the catalogue say.
        units: which servers share leafs.
        planes: parallel fabrics.
        lanes: address lanes per plane.
        host_speed_gbps: fastest link of a server.
        fabric_speed_gbps: speed between switches.
        clos: dimensions of one plane.
        cut: its pool; None where it has no addresses of ours.
    """

    wanted: Wanted
    units: Units
    planes: int
    lanes: int
    host_speed_gbps: int
    fabric_speed_gbps: int
    clos: Clos
    cut: Cut | None

    @property
    def kind(self) -> NetworkKind:
        """Return what follows from what the network is for."""
        return self.wanted.kind

    @property
    def name(self) -> str:
        """Return the network's name."""
        return self.wanted.kind.name

    @property
    def where(self) -> str:
        """Return the intent path."""
        return self.wanted.where

    @property
    def intent(self) -> ComputeNetwork | StorageNetwork | BusinessNetwork | OobNetwork:
        """Return what the intent says of it."""
        return self.wanted.intent

    @property
    def models(self) -> Models:
        """Return its switches."""
        return self.wanted.models

    def mtus(self, lossless: Lossless) -> tuple[int, int]:
        """Return the MTU of switch ports and of host interfaces, bytes: as said, or else what its technology has."""
        kind, intent = self.kind, self.intent
        if self.wanted.technology == "infiniband":
            most = self.models.leaf.platform.mtu_bytes
            usual = most, most - IPOIB_HEADER_BYTES
        else:
            usual = kind.mtu_bytes or lossless.mtu_bytes, kind.host_mtu_bytes or lossless.host_mtu_bytes
        return intent.mtu_bytes or usual[0], intent.host_mtu_bytes or usual[1]

    @property
    def units_per_pod(self) -> int:
        """Return the units whose leafs share a pod's spines."""
        return max(1, self.clos.leafs_per_pod // self.wanted.leafs_per_unit)

    def slot(self, unit: int) -> int:
        """Return the place of a unit under the spines, from 0; the border follows the units of the first phase of building."""
        first = next(filter(None, self.units.phases), 0)
        if not self.wanted.borders or first == len(self.units.seats):
            return unit
        return first if unit == len(self.units.seats) else unit + (unit >= first)

    def pod(self, unit: int) -> int:
        """Return the pod of a unit, from 0."""
        return self.slot(unit) // self.units_per_pod


def shape_fabric(ctx: Context, kind: NetworkKind) -> FabricShape | None:
    """Return the shape of a network; None where there is none or where findings forbid it.

    Errors: HWR001, HWR002, HWR003, NOS001, NET001, NET002, NET004 to NET008, ADR001.
    """
    try:
        wanted = want_fabric(ctx, kind)
        if wanted is None:
            return None
        speed_gbps = choose_speed(wanted)
        units = fill_units(ctx, wanted, speed_gbps)
        clos = size_fabric(wanted, units, speed_gbps)
        cut = cut_fabric(wanted, units, clos)
    except Refused as refused:
        ctx.refuse(refused, f"networks.{kind.name}")
        return None
    return FabricShape(wanted, units, count_planes(wanted), count_lanes(wanted), wanted.host_speed_gbps, speed_gbps, clos, cut)


def fit_units(ctx: Context, shape: FabricShape) -> dict[str, int]:
    """Return the largest units whose leafs have ports for all, by the key to set; none where no number below today's fits.

    The keys are those of the server groups that share the network in scalable units, or else the network's own.
    """
    groups, own = ctx.cluster.servers, getattr(shape.intent, "unit", None)
    sizes = {f"servers.{g}.unit": groups[g].unit or next(filter(None, groups[g].phases)) for g in shape.wanted.legs}
    if not shape.kind.scalable_units:
        sizes = {f"{shape.where}.unit": own} if own else {}
    for size in range(max(sizes.values(), default=1) - 1, 0, -1):
        lower = {key: size for key, today in sizes.items() if today > size}
        if may_fit(shape.wanted, size, shape.fabric_speed_gbps, 0) and _would_fit(ctx, shape.kind, lower):
            return lower
    return {}


def fit_rails(ctx: Context, shape: FabricShape) -> dict[str, int]:
    """Return the most rails that may share a leaf, by the key to set; none where fewer than today's would not fit either."""
    key = f"{shape.where}.rails_per_leaf"
    today = shape.intent.rails_per_leaf if isinstance(shape.intent, ComputeNetwork) and shape.wanted.railed else 1
    return next(({key: fewer} for fewer in range(today - 1, 0, -1) if _would_fit(ctx, shape.kind, {key: fewer})), {})


def _would_fit(ctx: Context, kind: NetworkKind, changes: dict[str, int]) -> bool:
    """Return whether a network can be shaped, and every leaf wired, with other numbers at some keys of the intent."""
    cluster = ctx.cluster
    for key, value in changes.items():
        part, name, last = key.split(".")
        inside = getattr(cluster, part)
        changed = (inside[name] if isinstance(inside, dict) else getattr(inside, name)).model_copy(update={last: value})
        both: Any = {**inside, name: changed} if isinstance(inside, dict) else inside.model_copy(update={name: changed})
        cluster = cluster.model_copy(update={part: both})
    bench = Context(cluster, ctx.catalogue, ctx.facts, servers=ctx.servers)
    shape = shape_fabric(bench, kind)
    return shape is not None and not bench.failed() and _has_ports(bench, shape)


def _has_ports(ctx: Context, shape: FabricShape) -> bool:
    """Return whether the leafs of every unit have ports for their hosts, fabric managers, uplinks and links to each other."""
    wanted, speed = shape.wanted, shape.fabric_speed_gbps
    for unit, seats in enumerate(shape.units.seats):
        loads: dict[tuple[int, int], list[int]] = {}
        legs = [leg for g, _ in seats for leg in wanted.legs[g]]
        legs += [leg for _, leg in shape.units.managers if unit == 0 and leg.reserved < 0]
        for leg in legs:
            loads.setdefault((leg.plane, leg.leaf), []).append(leg.speed_gbps)
        for speeds in set(map(tuple, loads.values())):
            down = tuple((s, len(list(run))) for s, run in groupby(speeds))
            if ctx.layout(wanted.models.leaf, down, (speed, shape.clos.uplinks), (speed, wanted.peer_links)).missing:
                return False
    return True
