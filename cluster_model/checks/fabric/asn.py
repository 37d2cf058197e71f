# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about AS numbers: the ASN family."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.wording import count_things, list_names
from cluster_model.diagnostic import Diagnostic
from cluster_model.plan.model import Switch

PRIVATE = ((64_512, 65_534), (4_200_000_000, 4_294_967_294))  # RFC 6996, section 5


def _private_range(asn: int) -> tuple[int, int] | None:
    return next((bounds for bounds in PRIVATE if bounds[0] <= asn <= bounds[1]), None)


def _sharers(switch: Switch) -> tuple[str, str, int, int, str]:
    """Return what the switches that share an ASN have in common: a leaf stands alone, spines share by pod, cores by plane."""
    if switch.is_edge:
        return (switch.network, switch.role, switch.plane, switch.unit, switch.name)
    return (switch.network, switch.role, switch.plane, switch.pod if switch.role == "spine" else 0, "")


class AsnReused(Rule):
    """Use an AS number for one leaf, one pod's spines, or one plane's cores only.

    What it checks:
        No two leafs have the same ASN; spines of different pods differ; leafs, spines and cores differ from each other.

    Why it matters:
        BGP drops a route that holds its own ASN. Two leafs with one number never hear of each other's hosts, and with one
        number for all spines the path leaf, spine, core, spine is refused: units are cut off although every session is up.

    How to fix:
        Set `asn_base` so that the numbers do not meet those of another cluster, and report the finding: numbers are derived.

    Source:
        RFC 4271, section 9.1.2 (AS loop); RFC 7938, section 5.2.1.
    """

    id, title, by_intent = "ASN001", "AS number reused where it would loop", False

    def find(self, design: Design) -> Iterator[Diagnostic]:
        owners: dict[int, dict[tuple[str, str, int, int, str], str]] = defaultdict(dict)
        for switch in design.plan.switches:
            if switch.asn:
                owners[switch.asn].setdefault(_sharers(switch), switch.name)
        reused = {asn: names for asn, names in owners.items() if len(names) > 1}
        if reused:
            asn, names = next(iter(reused.items()))
            yield self.finding(
                "asn_base",
                f"AS {asn} belongs to {list_names(names.values(), 3)}"
                + (f", and {count_things(len(reused) - 1, 'other is', 'others are')} reused" * (len(reused) > 1)),
                "one ASN per leaf, per pod's spines and per plane's cores",
                f"{len(reused)} of {len(owners)} numbers reused",
                "report this with your cluster.yml",
            )


class AsnNotShared(Rule):
    """Give the spines of a pod one AS number, and the cores of a plane one.

    What it checks:
        Spines of the same network, plane and pod share an ASN, as do the cores of the same network and plane.

    Why it matters:
        With different numbers a route may climb twice: leaf, spine, other leaf, other spine. After a link failure BGP hunts
        through these paths for seconds before it gives up.

    How to fix:
        Report it: numbers are derived.

    Source:
        RFC 7938, section 5.2.1 (example ASN scheme).
    """

    id, title, by_intent = "ASN002", "switches of one tier with different AS numbers", False

    def find(self, design: Design) -> Iterator[Diagnostic]:
        numbers: dict[tuple[str, str, int, int, str], dict[int, str]] = defaultdict(dict)
        for switch in design.plan.switches:
            if switch.asn and not switch.is_edge:
                numbers[_sharers(switch)].setdefault(switch.asn, switch.name)
        for (network, role, plane, pod, _), found in numbers.items():
            if len(found) > 1:
                place = f"pod {pod}, plane {plane}" if role == "spine" else f"plane {plane}"
                yield self.finding(
                    f"networks.{network}",
                    f"the {network} {role}s of {place} have {len(found)} AS numbers",
                    "one ASN for all of them",
                    list_names(f"{name}: {asn}" for asn, name in found.items()),
                    "report this with your cluster.yml",
                )


class AsnPublic(Rule):
    """Begin AS numbers in a private range.

    What it checks:
        `asn_base` lies in 64512 to 65534 or in 4200000000 to 4294967294.

    Why it matters:
        Other numbers belong to somebody. Where the cluster is ever joined to a backbone, routes from their owner are dropped
        as loops.

    How to fix:
        Leave `asn_base` out, which gives 4200000000.

    Source:
        RFC 6996, section 5.
    """

    id, title = "ASN003", "AS numbers outside the private ranges"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        base = design.cluster.asn_base
        if _private_range(base) is None:
            yield self.finding(
                "asn_base",
                f"AS {base} is not a private number",
                "64512 to 65534, or 4200000000 to 4294967294 (RFC 6996)",
                str(base),
                "leave asn_base out, or set it to 4200000000",
            )


class AsnRangeTooSmall(Rule):
    """Leave room above `asn_base` for every switch that is planned.

    What it checks:
        The highest ASN of the plan lies in the same private range as `asn_base`.

    Why it matters:
        There are 1,023 private numbers of two bytes. The numbers run out in the middle of the floor, and renumbering a live
        fabric resets every session.

    How to fix:
        Set `asn_base` to 4200000000, which leaves 95 million.

    Source:
        RFC 6996, section 5.
    """

    id, title = "ASN004", "private range of AS numbers too small"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        base = design.cluster.asn_base
        bounds = _private_range(base)
        highest = max((switch.asn for switch in design.plan.switches), default=0)
        if bounds and highest > bounds[1]:
            yield self.finding(
                "asn_base",
                f"the plan needs AS numbers up to {highest}",
                f"<= {bounds[1]} (end of the private range that {base} lies in, RFC 6996)",
                f"{highest}",
                "set asn_base to 4200000000",
            )
