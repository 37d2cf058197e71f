# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about cables and transceivers: the CAB family."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from cluster_model.catalogue.media_types import CableType, Media
from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.wording import count_things, list_names
from cluster_model.diagnostic import Diagnostic
from cluster_model.plan.model import Cable


class NoMedium(Rule):
    """Join only cages for which a cable or a pair of transceivers exists.

    What it checks:
        For each link, the catalogue has an attached cable or two transceivers that fit both cages in their modes, speak the
        technology and reach the distance.

    Why it matters:
        The link is planned, and nobody sells the part.

    How to fix:
        Bring the racks nearer, choose hardware whose cages meet, or add the part to your own catalogue's media.yaml.

    Source:
        Catalogue, media.yaml.
    """

    id, title, stage = "CAB001", "no cable or transceiver fits", "plan"


def _reach(media: Media, cable: Cable) -> float | None:
    """Return what the medium of a cable reaches, m; None where the catalogue does not know it."""
    if attached := media.cables.get(cable.medium):
        return attached.reach_m
    reaches = [media.transceivers[optic].reach_m for optic in (cable.a_optic, cable.b_optic) if optic in media.transceivers]
    return min(reaches, default=None)


class CableTooLong(Rule):
    """Keep every cable within the reach of its medium.

    What it checks:
        The planned length of each cable against the reach of its cable type or its transceivers.

    Why it matters:
        The part cannot be bought at that length, or the link has errors that grow with temperature.

    How to fix:
        Bring the racks nearer, or report it: the planner chooses media that reach.

    Source:
        `reach_m` in the catalogue's media.yaml.
    """

    id, title, by_intent = "CAB002", "cable longer than its medium reaches", False

    def find(self, design: Design) -> Iterator[Diagnostic]:
        media = design.catalogue.media
        reaches: dict[tuple[str, str, str], float | None] = {}
        long: dict[tuple[str, str, float], list[tuple[float, str]]] = defaultdict(list)
        for cable in design.plan.cables:
            key = (cable.medium, cable.a_optic, cable.b_optic)
            if key not in reaches:
                reaches[key] = _reach(media, cable)
            reach_m = reaches[key]
            if reach_m is not None and cable.length_m > reach_m + 1e-6:
                long[cable.network, cable.medium, reach_m].append((cable.length_m, cable.label))
        for (network, medium, reach_m), cables in long.items():
            cables.sort(reverse=True)
            yield self.finding(
                f"networks.{network}",
                f"{count_things(len(cables), 'cable')} of {network} longer than {medium} reaches",
                f"<= {reach_m:g} m ({medium})",
                f"up to {cables[0][0]:g} m: {list_names((label for _, label in cables), 2)}",
                "bring the racks nearer, or choose hardware with a medium that reaches",
            )


# Electrical lanes of a connector (form factors' own specifications): its speed per lane tells the generation of the copper.
LANES = {"sfp28": 1, "sfp56": 1, "qsfp28": 4, "qsfp56": 4, "qsfp112": 4, "qsfp-dd": 8, "osfp": 8}
COPPER_100G_M = 3.0  # longest passive cable that NVIDIA sells at 100 Gb/s per lane; IEEE 802.3ck promises 2 m
ACTIVE_W = 0.5  # an end that draws more has electronics in it


class LongCopper(Rule):
    """Use passive copper at 100 Gb/s per lane only as far as it is sold.

    What it checks:
        Passive DACs with 100 Gb/s per lane that are longer than 3 m.

    Why it matters:
        Longer ones work with some pairs of NIC and switch, and show rising error counts with others. They are found by jobs
        that slow down, one link at a time.

    How to fix:
        Put the leaf nearer to its servers, or lower the DAC's `reach_m` in your own catalogue so that an active cable or
        optics are taken.

    Source:
        NVIDIA LinkX passive cables at 100 Gb/s per lane end at 3 m; IEEE 802.3ck promises 2 m.
    """

    id, severity, title = "CAB003", "warning", "passive copper longer than it is sold"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        fast = {name for name, cable in design.catalogue.media.cables.items() if _is_passive(cable) and _lane_gbps(cable) >= 100}
        long: dict[tuple[str, str], list[tuple[float, str]]] = defaultdict(list)
        for cable in design.plan.cables:
            if cable.medium in fast and cable.length_m > COPPER_100G_M:
                long[cable.network, cable.medium].append((cable.length_m, cable.label))
        for (network, medium), cables in long.items():
            cables.sort(reverse=True)
            yield self.finding(
                f"networks.{network}",
                f"{count_things(len(cables), 'passive copper cable')} of {network} longer than {COPPER_100G_M:g} m",
                f"<= {COPPER_100G_M:g} m at 100 Gb/s per lane",
                f"up to {cables[0][0]:g} m of {medium}: {list_names((label for _, label in cables), 2)}",
                f"put leafs nearer to their servers, or lower reach_m of {medium} in your own catalogue",
            )


def _is_passive(cable: CableType) -> bool:
    return cable.kind == "dac" and cable.power_w < ACTIVE_W


def _lane_gbps(cable: CableType) -> float:
    return max(_count(end.mode) * _speed(end.mode) / LANES.get(end.form_factor, 1_000) for end in (cable.a, cable.b))


def _count(mode: str) -> int:
    return int(mode.partition("x")[0])


def _speed(mode: str) -> int:
    return int(mode.partition("x")[2])


class AssemblyEnds(Rule):
    """Plug each connector of an attached cable into one cage.

    What it checks:
        The cables of one assembly (a splitter, a twin cable) end in as many cages as the part has connectors.

    Why it matters:
        One connector cannot be in two cages. The part does not fit the plan, and the links that were to share it have none.

    How to fix:
        Report it with your cluster.yml.

    Source:
        `a` and `b` of the cable in the catalogue's media.yaml.
    """

    id, title, by_intent = "CAB004", "assembly that ends in more cages than it has connectors", False

    def find(self, design: Design) -> Iterator[Diagnostic]:
        types = design.catalogue.media.cables
        groups: dict[tuple[str, str], list[Cable]] = defaultdict(list)
        for cable in design.plan.cables:
            if cable.assembly and cable.medium in types:
                groups[cable.assembly, cable.medium].append(cable)
        wrong: dict[tuple[str, str], list[str]] = defaultdict(list)
        for (assembly, medium), cables in groups.items():
            if len(cables) == 1:
                continue
            cages = sorted(len({_cage(design, *end) for end in ends}) for ends in _ends(cables))
            a, b = _count(types[medium].a.mode), _count(types[medium].b.mode)
            connectors = sorted((max(1, b // a), max(1, a // b)))
            if any(have > limit for have, limit in zip(cages, connectors, strict=True)):
                wrong[cables[0].network, medium].append(assembly)
        for (network, medium), assemblies in wrong.items():
            yield self.finding(
                f"networks.{network}",
                f"{count_things(len(assemblies), 'assembly', 'assemblies')} of {network} with more ends than {medium} has",
                "one cage per connector",
                list_names(assemblies),
                "report this with your cluster.yml",
            )


def _ends(cables: list[Cable]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    return [(cable.a, cable.a_port) for cable in cables], [(cable.b, cable.b_port) for cable in cables]


def _cage(design: Design, device: str, name: str) -> tuple[str, object]:
    port = design.ports.get((device, name))
    return (device, port.cage if port else name)


class OpticsDiffer(Rule):
    """Put transceivers of the same optical standard at both ends.

    What it checks:
        `a_optic` and `b_optic` of each cable have the same standard and kind of fibre.

    Why it matters:
        Different wavelengths or fibre: the link has light and no signal.

    How to fix:
        Report it with your cluster.yml.

    Source:
        `standard` and `fibre` in the catalogue's media.yaml.
    """

    id, title, by_intent = "CAB005", "transceivers that do not meet", False

    def find(self, design: Design) -> Iterator[Diagnostic]:
        optics = design.catalogue.media.transceivers
        counts: dict[tuple[str, str, str], int] = defaultdict(int)
        for cable in design.plan.cables:
            if cable.a_optic or cable.b_optic:
                counts[cable.network, cable.a_optic, cable.b_optic] += 1
        for (network, a, b), count in counts.items():
            left, right = optics.get(a), optics.get(b)
            if left and right and (left.standard, left.fibre) == (right.standard, right.fibre):
                continue
            yield self.finding(
                f"networks.{network}",
                f"{count_things(count, 'cable')} of {network} with ends that do not meet",
                "one optical standard at both ends",
                " and ".join(
                    f"{name or 'none'} ({optic.standard if optic else 'unknown'})" for name, optic in ((a, left), (b, right))
                ),
                "report this with your cluster.yml",
            )
