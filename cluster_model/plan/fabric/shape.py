"""The shape of a routed fabric: units, legs, tiers, addresses. Wiring follows it (wiring.py)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil
from typing import Literal

from cluster_model.catalogue.types import Technology
from cluster_model.intent.model.business import BusinessNetwork
from cluster_model.intent.model.networks import ComputeNetwork, Fabric, OobNetwork, StorageNetwork
from cluster_model.intent.model.policy import Lossless
from cluster_model.plan.context import Context, SwitchModel, resolve_switch
from cluster_model.plan.fabric.addressing import Cut, PoolTooSmall, advise_wider, cut_pool, pow2
from cluster_model.plan.fabric.business import HOST_MTU_BYTES, PEER_LINKS, resolve_border, resolve_homing
from cluster_model.plan.fabric.clos import Clos, Impossible, derive_uplinks, round_uplinks, size_clos
from cluster_model.plan.fabric.legs import Leg, legs_per_leaf, plan_legs, ports_for, role_of
from cluster_model.plan.fabric.ports import count_ports, mode_for, speeds_of

Seat = tuple[str, int]
"""A server: group and number."""
OOB_MTU_BYTES = 1500
IPOIB_HEADER_BYTES = 4  # RFC 4391, sections 6 and 7: what IP over InfiniBand puts before each datagram


@dataclass(slots=True)
class FabricShape:
    """A routed fabric before it is wired. `units` lists the planned servers of each unit in seat order."""

    name: Literal["compute", "storage", "business", "oob"]
    intent: ComputeNetwork | StorageNetwork | BusinessNetwork | OobNetwork
    technology: Technology
    leaf: SwitchModel
    spine: SwitchModel
    core: SwitchModel
    legs: dict[str, tuple[Leg, ...]]
    units: list[list[Seat]] = field(default_factory=list)
    managers: list[tuple[Seat, Leg]] = field(default_factory=list)  # fabric managers, all in unit 1
    planes: int = 1
    lanes: int = 1
    leafs_per_unit: int = 1
    leafs_per_lane: int = 1
    host_speed_gbps: int = 0
    fabric_speed_gbps: int = 0
    hosts_per_leaf: int = 0
    host_gbps: int = 0  # of a full leaf
    clos: Clos = field(default_factory=lambda: Clos(1, 0, 0, 1))
    cut: Cut | None = None
    mixed: int = 0  # cages that a full leaf leaves half empty where the speed of its hosts changes
    border: SwitchModel | None = None
    homing: str = ""  # esi | mlag | single; business only
    homing_reason: str = ""

    @property
    def borders(self) -> int:
        """Return the border leafs: one unit without servers, behind all others."""
        return self.leafs_per_unit if self.border else 0

    @property
    def peer_links(self) -> int:
        """Return the links between the two leafs of a unit, each in a cage of its own."""
        return PEER_LINKS if self.homing == "mlag" and self.leafs_per_unit == 2 else 0

    @property
    def where(self) -> str:
        """Return the intent path."""
        return f"networks.{self.name}"

    def mtus(self, lossless: Lossless) -> tuple[int, int]:
        """Return the MTU of switch ports and of host interfaces, bytes: as said, or else what its technology has."""
        if self.name == "oob":
            usual = OOB_MTU_BYTES, OOB_MTU_BYTES
        elif self.technology == "infiniband":
            usual = self.leaf.platform.mtu_bytes, self.leaf.platform.mtu_bytes - IPOIB_HEADER_BYTES
        else:
            usual = lossless.mtu_bytes, HOST_MTU_BYTES if self.name == "business" else lossless.host_mtu_bytes
        return self.intent.mtu_bytes or usual[0], self.intent.host_mtu_bytes or usual[1]

    @property
    def railed(self) -> bool:
        """Return whether rails have leafs of their own."""
        return isinstance(self.intent, ComputeNetwork) and self.intent.design == "rail-optimized"

    @property
    def units_per_pod(self) -> int:
        """Return the units whose leafs share a pod's spines."""
        return max(1, self.clos.leafs_per_pod // self.leafs_per_unit)


def resolve_models(
    ctx: Context, fabric: Fabric, where: str, nos: str, technology: Technology
) -> tuple[SwitchModel, SwitchModel, SwitchModel] | None:
    """Return the leaf, spine and core models of a network, or None with findings (HWR001, HWR002, NOS001)."""
    refs = {"leaf": fabric.leaf, "spine": fabric.spine or fabric.leaf}
    refs["core"] = fabric.core or refs["spine"]
    found: dict[str, SwitchModel | None] = {}
    for tier, ref in refs.items():
        stated = {"leaf": True, "spine": fabric.spine is not None, "core": fabric.core is not None}[tier]
        if not stated:
            found[tier] = found["leaf" if tier == "spine" else "spine"]
            continue
        nos_where = f"{where}.nos" if fabric.nos else where
        found[tier] = resolve_switch(ctx, ref, nos, technology, f"{where}.{tier}", nos_where)
    leaf, spine, core = found["leaf"], found["spine"], found["core"]
    if leaf is None or spine is None or core is None:
        return None
    return leaf, spine, core


def resolve_fabric(
    ctx: Context, name: str, intent: ComputeNetwork | StorageNetwork | BusinessNetwork
) -> tuple[Technology, tuple[SwitchModel, SwitchModel, SwitchModel] | None]:
    """Return what the compute, storage or business network speaks, and its models as `resolve_models` does."""
    if isinstance(intent, ComputeNetwork) and intent.technology == "infiniband":
        return "infiniband", resolve_models(ctx, intent, f"networks.{name}", "infiniband", "infiniband")
    return "ethernet", resolve_models(ctx, intent, f"networks.{name}", intent.system, "ethernet")


def shape_fabric(ctx: Context, name: Literal["compute", "storage", "business"]) -> FabricShape | None:
    """Return the shape of a network; None where there is none or where findings forbid it."""
    networks = ctx.cluster.networks
    intent = {"compute": networks.compute, "storage": networks.storage, "business": networks.business}[name]
    if intent is None:
        return None
    technology, models = resolve_fabric(ctx, name, intent)
    border = resolve_border(ctx, intent, models and models[0]) if isinstance(intent, BusinessNetwork) else None
    if models is None or (border is None and getattr(intent, "border", None)):
        return None
    before = len(ctx.findings)
    groups = sorted(ctx.cluster.servers, key=lambda group: ctx.cluster.servers[group].id)
    managers = [g for g in groups if ctx.cluster.servers[g].manages == name]
    if technology != "infiniband":
        _refuse_managers(ctx, managers, f"{name} is {getattr(intent, 'technology', technology)}")
    hosts = [g for g in groups if g not in managers and role_of(g, ctx.cluster.servers[g]) != "fabric-manager"]
    legs = {g: plan_legs(ctx, g, name, intent, models[0]) for g in hosts}
    legs = {g: found for g, found in legs.items() if found}
    if len(ctx.findings) > before and ctx.failed():
        return None
    shape = FabricShape(name, intent, technology, *models, legs, border=border)
    if isinstance(intent, BusinessNetwork):
        shape.homing, shape.homing_reason = resolve_homing(intent, shape.leaf.platform)
    if not legs:
        ctx.report(
            "NET008",
            f"networks.{name}",
            f"no server has a port for the {name} network",
            expected=f"a server group with {name} ports",
            actual="none",
            fix=f"choose a server model with {name} ports, name them under servers.<group>.nics, or leave the network out",
        )
        return None
    _measure(shape)
    if not _choose_fabric_speed(ctx, shape) or not _fill_units(ctx, shape, managers) or not _size(ctx, shape):
        return None
    return shape if _cut(ctx, shape) else None


def _measure(shape: FabricShape) -> None:
    legs = [leg for found in shape.legs.values() for leg in found]
    shape.planes = 1 + max(leg.plane for leg in legs)
    shape.lanes = 1 + max(leg.lane for leg in legs)
    stated = 1 if isinstance(shape.intent, OobNetwork) else shape.intent.leafs_per_unit
    per_unit = 1 + max(leg.leaf for leg in legs) if shape.railed else stated
    shape.leafs_per_unit = per_unit
    shape.leafs_per_lane = 1 if shape.railed else per_unit
    shape.host_speed_gbps = max(leg.speed_gbps for leg in legs)
    shape.mixed = len({leg.speed_gbps for leg in legs}) - 1


def _choose_fabric_speed(ctx: Context, shape: FabricShape) -> bool:
    pairs = [("leaf", shape.leaf, "spine", shape.spine)]
    if shape.core.ref != shape.spine.ref:
        pairs.append(("spine", shape.spine, "core", shape.core))
    if shape.border and shape.border.ref != shape.leaf.ref:
        pairs.append(("border leaf", shape.border, "spine", shape.spine))
    common = speeds_of(shape.leaf.cages)
    for pair in pairs:
        common &= speeds_of(pair[1].cages) & speeds_of(pair[3].cages)
    asked = shape.intent.fabric_speed_gbps
    speed = asked if asked is not None else shape.host_speed_gbps
    if asked is None and speed not in common:
        slower_or_faster = sorted(s for s in common if s >= speed) or sorted(common, reverse=True)
        speed = slower_or_faster[0] if slower_or_faster else speed
    if speed in common:
        shape.fabric_speed_gbps = speed
        return True
    unmet = (pair for pair in pairs if speed not in speeds_of(pair[1].cages) & speeds_of(pair[3].cages))
    lower, low, upper, high = next(unmet, pairs[0])
    known = ", ".join(str(found) for found in sorted(common, reverse=True))
    key = "border.leaf" if lower == "border leaf" else upper
    ctx.report(
        "NET004",
        f"{shape.where}.{'fabric_speed_gbps' if asked else key}",
        f"{lower} {low.ref} and {upper} {high.ref} share no speed" + (f" of {speed} Gb/s" if asked else ""),
        expected=f"one of {known} Gb/s" if common else f"a speed of the {lower}: {_speeds(low)} Gb/s",
        actual=f"{speed} Gb/s" if asked else f"the {upper} has {_speeds(high)} Gb/s",
        fix=f"set fabric_speed_gbps to {max(common)}, or leave it out"
        if common
        else f"choose a {upper} that breaks out to a speed of the {lower}",
    )
    return False


def _speeds(model: SwitchModel) -> str:
    return ", ".join(str(s) for s in sorted(speeds_of(model.cages), reverse=True))


def _fill_units(ctx: Context, shape: FabricShape, managers: list[str]) -> bool:
    if shape.name == "compute":
        return _fill_scalable_units(ctx, shape, managers)
    # GPU servers last: they are what grows most, and what comes after a group moves when it grows past its plan
    groups = sorted(shape.legs, key=lambda g: (role_of(g, ctx.cluster.servers[g]) == "gpu", ctx.cluster.servers[g].id))
    seats = [(g, n) for g in groups for n in range(1, _planned(ctx, g) + 1)]
    if shape.name == "business":  # servers of all purposes: speeds may come and go
        speeds = [leg.speed_gbps for g in groups for leg in shape.legs[g]]
        shape.mixed = sum(a != b for a, b in pairwise(speeds))
    assert isinstance(shape.intent, StorageNetwork | BusinessNetwork)
    size = shape.intent.unit or _largest_unit(shape, len(seats))
    shape.units = [seats[start : start + size] for start in range(0, len(seats), size)]
    shape.hosts_per_leaf, shape.host_gbps = _full_leaf(shape, size)
    return True


def _fill_scalable_units(ctx: Context, shape: FabricShape, managers: list[str]) -> bool:
    size_of = {g: ctx.cluster.servers[g].unit or _planned(ctx, g) for g in shape.legs}
    loads = [_full_leaf(shape, size, (g,)) for g, size in size_of.items()]
    shape.hosts_per_leaf = max(ports for ports, _ in loads)
    shape.host_gbps = max(gbps for _, gbps in loads)
    manager_legs = _manager_legs(ctx, shape, managers)
    if manager_legs is None:
        return False
    extra = _managers_per_leaf(shape, manager_legs)
    uplinks = _uplinks(shape) if len(shape.legs) > 1 or _planned_units(ctx, size_of) * shape.leafs_per_unit > 1 else 0
    reserved = (
        extra if extra and shape.hosts_per_leaf + extra + uplinks > count_ports(shape.leaf.cages, shape.host_speed_gbps) else 0
    )
    first = next(iter(size_of))
    for g, size in size_of.items():
        planned = _planned(ctx, g)
        kept = reserved if g == first else 0
        most = ceil(planned / size) * size - kept
        if kept and planned > most:
            ctx.report(
                "NET007",
                f"servers.{g}.{'planned' if ctx.cluster.servers[g].planned else 'count'}",
                f"{planned} servers leave no leaf port for the {len(manager_legs)} links of the fabric managers",
                expected=f"<= {most} servers, as the SuperPOD reference leaves out one for UFM"
                if most > 0
                else f"at most {(size - 1) * shape.leafs_per_unit} links of fabric managers, which share a unit with servers",
                actual=str(planned),
                fix=f"set it to {most}, or plan another unit" if most > 0 else "plan fewer fabric managers",
            )
            return False
        numbers = list(range(1, planned + 1))
        cuts = [0, *range(size - kept, planned, size), planned]
        shape.units += [[(g, n) for n in numbers[a:b]] for a, b in pairwise(cuts) if b > a]
    shape.managers = manager_legs
    return True


def _planned_units(ctx: Context, size_of: dict[str, int]) -> int:
    return sum(ceil(_planned(ctx, g) / size) for g, size in size_of.items())


def _manager_legs(ctx: Context, shape: FabricShape, managers: list[str]) -> list[tuple[Seat, Leg]] | None:
    """Return the links of fabric managers. A plane is a subnet of its own, so the ports of a manager go to the planes in turn."""
    found: list[tuple[Seat, Leg]] = []
    used = [0] * shape.planes
    for g in managers:
        group = ctx.cluster.servers[g]
        for number in range(1, _planned(ctx, g) + 1):
            for place, port in enumerate(ports_for(ctx, g, shape.name)):
                speeds = ({port.speed_gbps, *port.speeds_gbps}) & speeds_of(shape.leaf.cages)
                if not speeds:
                    ctx.report(
                        "NET002",
                        f"servers.{g}.model",
                        f"port {port.name} of {group.model} and leaf {shape.leaf.ref} share no speed",
                        expected=f"{_speeds(shape.leaf)} Gb/s (the leaf's)",
                        actual=f"{port.speed_gbps} Gb/s",
                        fix=f"choose a fabric manager with ports of {_speeds(shape.leaf)} Gb/s; or leave the group out, and "
                        "cable its servers by hand to ports that the leafs have for it alone",
                    )
                    return None
                plane = place % shape.planes
                leg = Leg(plane, used[plane] % shape.leafs_per_unit, 0, -1, port, 0, 1, max(speeds), len(found))
                used[plane] += 1
                found.append(((g, number), leg))
    return found


def _managers_per_leaf(shape: FabricShape, managers: list[tuple[Seat, Leg]]) -> int:
    """Return the most links of fabric managers that a leaf of the first unit gets."""
    by_plane = Counter(leg.plane for _, leg in managers)
    return ceil(max(by_plane.values(), default=0) / shape.leafs_per_unit)


def _refuse_managers(ctx: Context, managers: list[str], actual: str) -> None:
    for g in managers:
        ctx.report(
            "HWR002",
            f"servers.{g}.manages",
            "a fabric manager runs InfiniBand networks only",
            expected="a network with technology infiniband",
            actual=actual,
            fix="leave the group out, or let it manage a network that speaks InfiniBand",
        )


def _planned(ctx: Context, group: str) -> int:
    return ctx.cluster.servers[group].final_count


def _full_leaf(shape: FabricShape, size: int, groups: tuple[str, ...] | None = None) -> tuple[int, int]:
    """Return (host ports, host Gb/s) of a leaf with a full unit of the group that loads it most."""
    ports = gbps = 0
    for g in groups or tuple(shape.legs):
        legs = shape.legs[g]
        ports = max(ports, size * max(legs_per_leaf(legs).values()))
        for key in legs_per_leaf(legs):
            gbps = max(gbps, size * sum(leg.speed_gbps for leg in legs if (leg.plane, leg.leaf) == key))
    return ports, gbps


def _largest_unit(shape: FabricShape, total: int) -> int:
    """Return the most servers per unit for which a leaf has the ports; a multiple of 8 where it is 16 or more."""
    cages = shape.leaf.cages
    dense = min((m.count for c in cages if (m := mode_for(c, shape.host_speed_gbps))), default=1)
    up_mode = min((m.count for c in cages if (m := mode_for(c, shape.fabric_speed_gbps))), default=1)
    usable = sum(1 for c in cages if mode_for(c, shape.host_speed_gbps) or mode_for(c, shape.fabric_speed_gbps))
    for size in range(total, 1, -1):
        ports, gbps = _full_leaf(shape, size)
        uplinks = shape.intent.uplinks or derive_uplinks(gbps, shape.fabric_speed_gbps, shape.intent.oversubscription)
        if ceil(ports / dense) + shape.mixed + ceil(uplinks / up_mode) + shape.peer_links <= usable:
            return size if size == total or size < 16 else size // 8 * 8
    return 1


def _uplinks(shape: FabricShape) -> int:
    asked = shape.intent.uplinks
    return asked or derive_uplinks(shape.host_gbps, shape.fabric_speed_gbps, shape.intent.oversubscription)


def _agreed_uplinks(shape: FabricShape, leafs: int, least: int) -> int:
    """Return the uplinks of a leaf: by bandwidth, raised within its free ports where the spines would not divide them."""
    uplinks, chosen = _uplinks(shape), shape.intent.switches.spine
    if shape.intent.uplinks is not None:
        return uplinks
    ports = count_ports(shape.spine.cages, shape.fabric_speed_gbps)
    most = _uplink_room(shape)
    if chosen is not None:
        even = ceil(uplinks / chosen) * chosen
        return even if even <= most else uplinks
    if leafs > ports:
        ports //= 2
        leafs = max(1, ports // shape.leafs_per_unit) * shape.leafs_per_unit
    return round_uplinks(uplinks, leafs, ports, least, most)


def _uplink_room(shape: FabricShape) -> int:
    """Return the uplinks that fit a leaf beside its hosts and fabric managers."""
    host, fabric = shape.host_speed_gbps, shape.fabric_speed_gbps
    able = [mode.count for cage in shape.leaf.cages if (mode := mode_for(cage, fabric))]
    own = sum(1 for cage in shape.leaf.cages if mode_for(cage, host) and not mode_for(cage, fabric))
    dense = min((mode.count for cage in shape.leaf.cages if (mode := mode_for(cage, host))), default=1)
    links = shape.hosts_per_leaf + _managers_per_leaf(shape, shape.managers)
    taken = max(0, ceil(links / dense) + shape.mixed - own)
    return sum(able[taken + shape.peer_links :])


def _size(ctx: Context, shape: FabricShape) -> bool:
    intent = shape.intent
    leafs = len(shape.units) * shape.leafs_per_unit + shape.borders
    least = 1 if shape.name == "compute" else 2
    clos = size_clos(
        leafs=leafs,
        leafs_per_unit=shape.leafs_per_unit,
        uplinks=_agreed_uplinks(shape, leafs, least),
        spine_ports=count_ports(shape.spine.cages, shape.fabric_speed_gbps),
        core_ports=count_ports(shape.core.cages, shape.fabric_speed_gbps),
        tiers=None if intent.tiers == "auto" else intent.tiers,
        spines=intent.switches.spine,
        cores=intent.switches.core,
        least_spines=least,
    )
    if isinstance(clos, Impossible):
        key = {"NET006": "switches", "NET001": "switches"}.get(
            clos.rule, "tiers" if intent.tiers != "auto" else "spine" if intent.spine else "leaf"
        )
        ctx.report(clos.rule, f"{shape.where}.{key}", clos.summary, expected=clos.expected, actual=clos.actual, fix=clos.fix)
        return False
    shape.clos = clos
    return True


def _cut(ctx: Context, shape: FabricShape) -> bool:
    intent, clos = shape.intent, shape.clos
    if intent.pool is None or shape.technology == "infiniband":
        return True
    leaf_radix = count_ports(shape.leaf.cages, min(leg.speed_gbps for legs in shape.legs.values() for leg in legs))
    bridged = shape.name == "business"  # its hosts have tenants' addresses, and none of the pool
    numbered = intent.underlay == "numbered"
    units = len(shape.units)
    positions = (
        shape.planes * pow2(units) * pow2(shape.leafs_per_unit) + shape.borders,
        shape.planes * pow2(clos.pods) * pow2(max(1, clos.uplinks)),
        shape.planes * pow2(max(1, clos.core_groups)) * pow2(max(1, clos.cores)),
    )
    slots = (pow2(max(1, clos.uplinks)), pow2(max(1, clos.spine_uplinks))) if numbered else (0, 0)
    try:
        shape.cut = cut_pool(
            intent.pool,
            planes=shape.planes,
            lanes=shape.lanes,
            units=units,
            leafs=1 if bridged else shape.leafs_per_lane,
            seats=1 if bridged else leaf_radix,
            switches=positions,
            slots=slots,
        )
    except PoolTooSmall as small:
        ctx.report(
            "ADR001",
            f"{shape.where}.pool",
            f"the pool is too small for the planned {small.role}",
            expected=f"room for {2 ** (32 - small.needed):,} addresses: a prefix of length {small.needed} or shorter"
            if small.needed < 0
            else f"a prefix of length {small.needed} or shorter",
            actual=str(intent.pool),
            fix=advise_wider(intent.pool, small.needed),
        )
        return False
    return True
