"""How fast and how large a fabric is: the speed between its switches, its tiers, and how its pool is cut."""

from __future__ import annotations

from math import ceil

from cluster_model.plan.fabric.addressing import Cut, cut_pool, pow2
from cluster_model.plan.fabric.clos import Clos, round_uplinks, size_clos
from cluster_model.plan.fabric.units import Units, count_lanes, count_planes, count_uplinks, managers_per_leaf
from cluster_model.plan.fabric.wanted import Wanted
from cluster_model.plan.ports import count_ports, list_speeds, mode_for, speeds_of
from cluster_model.plan.refusal import Refused


def choose_speed(wanted: Wanted) -> int:
    """Return the speed between switches, Gb/s: as asked, or the hosts', or the nearest that all tiers have.

    Raises:
        Refused: NET004.
    """
    models = wanted.models
    pairs = [("leaf", models.leaf, "spine", models.spine)]
    if models.core.ref != models.spine.ref:
        pairs.append(("spine", models.spine, "core", models.core))
    if models.border and models.border.ref != models.leaf.ref:
        pairs.append(("border leaf", models.border, "spine", models.spine))
    common = speeds_of(models.leaf.cages)
    for pair in pairs:
        common &= speeds_of(pair[1].cages) & speeds_of(pair[3].cages)
    asked = wanted.intent.fabric_speed_gbps
    speed = asked if asked is not None else wanted.host_speed_gbps
    if asked is None and speed not in common:
        slower_or_faster = sorted(s for s in common if s >= speed) or sorted(common, reverse=True)
        speed = slower_or_faster[0] if slower_or_faster else speed
    if speed in common:
        return speed
    unmet = (pair for pair in pairs if speed not in speeds_of(pair[1].cages) & speeds_of(pair[3].cages))
    lower, low, upper, high = next(unmet, pairs[0])
    known = ", ".join(str(found) for found in sorted(common, reverse=True))
    key = "border.leaf" if lower == "border leaf" else upper
    raise Refused(
        "NET004",
        f"{lower} {low.ref} and {upper} {high.ref} share no speed" + (f" of {speed} Gb/s" if asked else ""),
        expected=f"one of {known} Gb/s" if common else f"a speed of the {lower}: {list_speeds(low.cages)} Gb/s",
        actual=f"{speed} Gb/s" if asked else f"the {upper} has {list_speeds(high.cages)} Gb/s",
        fix=f"set fabric_speed_gbps to {max(common)}, or leave it out"
        if common
        else f"choose a {upper} that breaks out to a speed of the {lower}",
        where=f"{wanted.where}.{'fabric_speed_gbps' if asked else key}",
    )


def size_fabric(wanted: Wanted, units: Units, speed_gbps: int) -> Clos:
    """Return the dimensions of one plane.

    Raises:
        Refused: NET001, NET005, NET006.
    """
    leafs = len(units.seats) * wanted.leafs_per_unit + wanted.borders
    return size_tiers(wanted, leafs, _agree_uplinks(wanted, units, leafs, speed_gbps), speed_gbps)


def size_tiers(wanted: Wanted, leafs: int, uplinks: int, speed_gbps: int) -> Clos:
    """Return the dimensions of one plane of `leafs` leafs with `uplinks` each: `size_clos` with what its models and intent say.

    Raises:
        Refused: NET001, NET005, NET006, at the key to change.
    """
    intent, models = wanted.intent, wanted.models
    try:
        return size_clos(
            leafs=leafs,
            leafs_per_unit=wanted.leafs_per_unit,
            uplinks=uplinks,
            spine_ports=count_ports(models.spine.cages, speed_gbps),
            core_ports=count_ports(models.core.cages, speed_gbps),
            tiers=None if intent.tiers == "auto" else intent.tiers,
            spines=intent.switches.spine,
            cores=intent.switches.core,
            usual_spines=wanted.kind.usual_spines,
        )
    except Refused as refused:
        tier = "tiers" if intent.tiers != "auto" else "spine" if intent.spine else "leaf"
        refused.where = f"{wanted.where}.{'switches' if refused.rule in {'NET001', 'NET006'} else tier}"
        raise


def _agree_uplinks(wanted: Wanted, units: Units, leafs: int, speed_gbps: int) -> int:
    """Return the uplinks of a leaf: by bandwidth, raised within its free ports where the spines would not divide them."""
    uplinks, chosen = count_uplinks(wanted, speed_gbps, units.host_gbps), wanted.intent.switches.spine
    if wanted.intent.uplinks is not None:
        return uplinks
    ports = count_ports(wanted.models.spine.cages, speed_gbps)
    most = uplink_room(wanted, units, speed_gbps)
    if chosen is not None:
        even = ceil(uplinks / chosen) * chosen
        return even if even <= most else uplinks
    if leafs > ports:
        ports //= 2
        leafs = max(1, ports // wanted.leafs_per_unit) * wanted.leafs_per_unit
    return round_uplinks(uplinks, leafs, ports, wanted.kind.usual_spines, most)


def uplink_room(wanted: Wanted, units: Units, speed_gbps: int) -> int:
    """Return the uplinks that fit a leaf beside its hosts and fabric managers."""
    host, cages = wanted.host_speed_gbps, wanted.models.leaf.cages
    able = [mode.count for cage in cages if (mode := mode_for(cage, speed_gbps))]
    own = sum(1 for cage in cages if mode_for(cage, host) and not mode_for(cage, speed_gbps))
    dense = min((mode.count for cage in cages if (mode := mode_for(cage, host))), default=1)
    links = units.hosts_per_leaf + managers_per_leaf(units.managers, wanted.leafs_per_unit)
    taken = max(0, ceil(links / dense) + units.mixed - own)
    return sum(able[taken + wanted.peer_links :])


def cut_fabric(wanted: Wanted, units: Units, clos: Clos) -> Cut | None:
    """Return how the pool of a network is cut; None where it has none, or where its hosts need no addresses of ours.

    Raises:
        Refused: ADR001.
    """
    intent = wanted.intent
    if intent.pool is None or wanted.technology == "infiniband":
        return None
    legs = [leg for found in wanted.legs.values() for leg in found]
    planes, count, per_unit = count_planes(wanted), len(units.seats), wanted.leafs_per_unit
    bridged = wanted.kind.bridged
    try:
        return cut_pool(
            intent.pool,
            planes=planes,
            lanes=count_lanes(wanted),
            units=count,
            leafs=1 if bridged or wanted.railed else per_unit,
            seats=1 if bridged else count_ports(wanted.models.leaf.cages, min(leg.speed_gbps for leg in legs)),
            switches=(units.count_numbers(planes) * pow2(per_unit) + wanted.borders, *count_positions(clos, planes)),
            slots=count_slots(clos) if intent.underlay == "numbered" else (0, 0),
        )
    except Refused as refused:
        refused.where = f"{wanted.where}.pool"
        raise


def count_positions(clos: Clos, planes: int = 1) -> tuple[int, int]:
    """Return one more than the highest position of a spine and of a core, over all planes."""
    return planes * pow2(clos.pods) * pow2(max(1, clos.uplinks)), planes * pow2(max(1, clos.core_groups)) * pow2(
        max(1, clos.cores)
    )


def count_slots(clos: Clos) -> tuple[int, int]:
    """Return the uplinks that a leaf and a spine have addresses for."""
    return pow2(max(1, clos.uplinks)), pow2(max(1, clos.spine_uplinks))
