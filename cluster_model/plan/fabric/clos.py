"""How many switches a Clos fabric needs, in closed form.

Source: NVIDIA DGX SuperPOD H100 reference architecture, network fabrics, table 4, from whose rows the spine rule is derived:
every leaf has the same number of links to every spine, so the spine count divides the uplinks. A plain ceiling gives 12
spines for three units where the published figure is 16.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from cluster_model.plan.refusal import Refused

LEAST_SPINES = 2
"""Spines of a pod that are derived, where there are as many uplinks: one may fail."""


@dataclass(frozen=True, slots=True)
class Clos:
    """Dimensions of one plane. Counts are of the planned fabric.

    Args:
        tiers: 1 to 3.
        leafs: leafs of one plane.
        uplinks: uplinks per leaf; 0 with one tier.
        leafs_per_pod: leafs whose spines are the same.
        pods: 1 with two tiers.
        spines: spines per pod.
        links_per_spine: links from a leaf to each spine of its pod.
        spine_uplinks: uplinks per spine; 0 below three tiers.
        cores: cores per core group; group j serves spine j of every pod.
        links_per_core: links from a spine to each core of its group.
    """

    tiers: int
    leafs: int
    uplinks: int
    leafs_per_pod: int
    pods: int = 1
    spines: int = 0
    links_per_spine: int = 0
    spine_uplinks: int = 0
    cores: int = 0
    links_per_core: int = 0

    @property
    def core_groups(self) -> int:
        """Return the core groups: one per spine of a pod."""
        return self.spines if self.cores else 0


def divisor_from(number: int, least: int) -> int | None:
    """Return the smallest divisor of `number` that is at least `least`, or None.

    >>> divisor_from(32, 12)
    16
    """
    return next((d for d in range(max(1, least), number + 1) if number % d == 0), None)


def derive_uplinks(host_gbps: int, fabric_speed_gbps: int, oversubscription: float) -> int:
    """Return the uplinks of a leaf: host bandwidth over the allowed oversubscription, in links of the fabric's speed."""
    return max(1, ceil(Fraction(host_gbps) / (Fraction(str(oversubscription)) * fabric_speed_gbps)))


def bound_spines(uplinks: int, leafs: int, usual_spines: int) -> int:
    """Return how many spines are derived at least: as many as usual for as many leafs or more, where the uplinks divide by them.

    >>> bound_spines(16, 4, 4), bound_spines(16, 2, 4), bound_spines(6, 8, 4)
    (4, 2, 2)
    """
    return usual_spines if leafs >= usual_spines and uplinks % usual_spines == 0 else LEAST_SPINES


def round_uplinks(uplinks: int, leafs: int, spine_ports: int, usual_spines: int, most: int) -> int:
    """Return the uplinks of a leaf, raised where their number has no divisor near the spines needed.

    31 uplinks on 8 leafs need 4 spines of 64 ports, and only 31 divide them; with 32 uplinks it is 4. Numbers whose smallest
    fitting divisor is at most twice what is needed are left alone, so the published tables hold.

    Args:
        uplinks: uplinks by bandwidth.
        leafs: leafs under the same spines.
        spine_ports: ports of a spine towards its leafs.
        usual_spines: see `bound_spines`.
        most: uplinks that the leaf has ports for.
    """
    for raised in range(uplinks, most + 1):
        needed = max(ceil(leafs * raised / spine_ports), min(bound_spines(raised, leafs, usual_spines), raised))
        found = divisor_from(raised, needed)
        if found is not None and found <= 2 * needed:
            return raised
    return uplinks


def size_clos(
    *,
    leafs: int,
    leafs_per_unit: int,
    uplinks: int,
    spine_ports: int,
    core_ports: int,
    tiers: int | None,
    spines: int | None,
    cores: int | None,
    usual_spines: int,
) -> Clos:
    """Return the dimensions of one plane.

    Args:
        leafs: planned leafs.
        leafs_per_unit: leafs that must share a pod.
        uplinks: uplinks per leaf.
        spine_ports: ports of a spine at the fabric's speed.
        core_ports: ports of a core at the fabric's speed.
        tiers: tiers asked for; None takes the fewest.
        spines: spines per pod chosen by hand.
        cores: cores per group chosen by hand.
        usual_spines: see `bound_spines`.

    Raises:
        Refused: NET001, NET005, NET006, without a place.
    """
    if tiers == 1 or (tiers is None and leafs <= 1):
        return Clos(1, leafs, 0, max(leafs, 1))
    if tiers == 2 or (tiers is None and leafs <= spine_ports):
        return _two_tiers(leafs, uplinks, spine_ports, spines, usual_spines)
    return _three_tiers(leafs, leafs_per_unit, uplinks, spine_ports, core_ports, spines, cores, usual_spines)


def _pick(total: int, least: int, chosen: int | None, tier: str, bound: int) -> int:
    if chosen is None:
        found = divisor_from(total, max(least, min(bound, total)))
        if found is None:
            raise Refused(
                "NET005",
                f"no {tier} count joins this many switches",
                expected=f"at most {total} {tier}s, one per uplink",
                actual=f"{least} needed",
                fix="choose switches of a higher radix, another tier, or more uplinks",
            )
        return found
    if total % chosen:
        near = sorted({d for d in (divisor_from(total, chosen), max(d for d in range(1, chosen + 1) if total % d == 0)) if d})
        raise Refused(
            "NET006",
            f"{chosen} {tier}s do not divide {total} uplinks, so some would get fewer links than others",
            expected=f"a divisor of {total}",
            actual=str(chosen),
            fix=f"set it to {' or '.join(map(str, near))}, or set uplinks to {total + chosen - total % chosen}",
        )
    if chosen < least:
        raise Refused(
            "NET001",
            f"1 {tier} has too few ports" if chosen == 1 else f"{chosen} {tier}s have too few ports",
            expected=f"at least {least} {tier}s",
            actual=str(chosen),
            fix=f"set it to {divisor_from(total, least) or least}, or leave it out",
        )
    return chosen


def _two_tiers(leafs: int, uplinks: int, spine_ports: int, chosen: int | None, usual_spines: int) -> Clos:
    if leafs > spine_ports:
        raise Refused(
            "NET005",
            f"two tiers cannot join {leafs} leafs",
            expected=f"at most {spine_ports} leafs, one port of each spine",
            actual=f"{leafs} leafs",
            fix="set tiers to 3 or auto, or choose a spine of a higher radix",
        )
    bound = bound_spines(uplinks, leafs, usual_spines)
    spines = _pick(uplinks, ceil(leafs * uplinks / spine_ports), chosen, "spine", bound)
    return Clos(2, leafs, uplinks, leafs, 1, spines, uplinks // spines)


def _three_tiers(
    leafs: int,
    leafs_per_unit: int,
    uplinks: int,
    spine_ports: int,
    core_ports: int,
    chosen_spines: int | None,
    chosen_cores: int | None,
    usual_spines: int,
) -> Clos:
    down = spine_ports // 2
    units_per_pod = down // leafs_per_unit
    if units_per_pod == 0:
        raise Refused(
            "NET005",
            "the leafs of one unit do not fit under the spines of a pod",
            expected=f"at most {down} leafs per unit, half the spine's ports",
            actual=f"{leafs_per_unit} leafs per unit",
            fix="choose a spine of a higher radix, or more rails per leaf",
        )
    per_pod = min(units_per_pod * leafs_per_unit, leafs)
    pods = ceil(leafs / per_pod)
    bound = bound_spines(uplinks, per_pod, usual_spines)
    spines = _pick(uplinks, ceil(per_pod * uplinks / down), chosen_spines, "spine", bound)
    links = uplinks // spines
    spine_uplinks = per_pod * links
    if pods > core_ports:
        raise Refused(
            "NET005",
            f"three tiers cannot join {pods} pods",
            expected=f"at most {core_ports} pods, one port of each core",
            actual=f"{pods} pods of {per_pod} leafs",
            fix="choose switches of a higher radix, or more planes",
        )
    cores = _pick(spine_uplinks, ceil(pods * spine_uplinks / core_ports), chosen_cores, "core", 1)
    return Clos(3, leafs, uplinks, per_pod, pods, spines, links, spine_uplinks, cores, spine_uplinks // cores)
