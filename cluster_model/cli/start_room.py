"""The room to grow that a start keeps: what the switches that it needs anyway take, or nearly so."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click
from pydantic import ValidationError

from cluster_model.cli.start import Choices, choose_leaf, choose_values, full_unit, share_leafs, usual_unit
from cluster_model.intent.base import MOST_SERVERS
from cluster_model.intent.model.cluster import Cluster
from cluster_model.intent.source.facts_csv import FactTables
from cluster_model.plan.build import SERVING
from cluster_model.plan.context import Context, resolve_server
from cluster_model.plan.fabric.shape import FabricShape, shape_fabric

if TYPE_CHECKING:
    from cluster_model.catalogue.load import Catalogue

PAIR, PART = 2, 1 / 8
"""Switches that room to grow may add: two, or this part of those that are needed without it."""


def keep_room(name: str, wanted: Mapping[str, Any], choices: Choices, catalogue: Catalogue) -> None:
    """Plan as many servers as nearly the same switches take, at most twice those that are built, or the rest of their unit.

    Nothing of it is built now but uplinks of the leafs and the spines for them, and of these two more at most, or an eighth.
    """
    least = count_switches(choose_values(name, wanted, choices, catalogue), catalogue)
    for planned in _list_sizes(wanted, choices, catalogue) if least is not None else ():
        try:
            built = count_switches(choose_values(name, wanted, replace(choices, planned=planned), catalogue), catalogue)
        except click.UsageError:  # more racks or addresses than there can be
            continue
        if least is None or built is None:
            continue
        switches, cables = built[0] - least[0], built[1] - least[1]
        if switches <= max(PAIR, least[0] * PART):
            choices.planned, choices.added, choices.offer = planned, (max(0, switches), max(0, cables)), None
            return
        choices.offer = planned, switches
    choices.added = 0, 0


def _list_sizes(wanted: Mapping[str, Any], choices: Choices, catalogue: Catalogue) -> Iterator[int]:
    """Return numbers of servers to plan, largest first: in whole units where there are several, or up to what leafs take."""
    count, leaf, server = choices.servers, choose_leaf(wanted, catalogue), catalogue.server(wanted["server"])
    usual = usual_unit(wanted, leaf, catalogue)
    unit = wanted["unit"] or usual
    sizes = {2 * count // unit * unit, math.ceil(count / unit) * unit + unit, min(2 * count, math.ceil(count / unit) * unit)}
    if wanted["unit"]:
        sizes.add(math.ceil(count / unit) * unit)  # its leafs are there from the first server on
    elif server is not None and count <= usual and wanted["technology"] == "roce":
        rails = share_leafs(server, choices, leaf, catalogue)
        sizes.add(full_unit(leaf, catalogue) // (rails or 1))
    most = math.ceil(count / unit) * unit if wanted["unit"] else 0
    for size in sorted(sizes, reverse=True):
        if count < size <= min(max(2 * count, most), MOST_SERVERS):
            yield size


def count_switches(values: Mapping[str, Any], catalogue: Catalogue) -> tuple[int, int] | None:
    """Return the leafs, spines and cores that are built of an intent, and the cables between them; None where nothing fits.

    Fabric managers and pools are left out: where they find no port, or are too small, another choice gives way.

    Args:
        values: an intent as `choose_values` returns it.
        catalogue: hardware it may use.
    """
    servers = {name: _say(group) for name, group in values["servers"].items() if "manages" not in group}
    networks = {name: _say(network, "pool") for name, network in values["networks"].items()}
    try:
        cluster = Cluster.model_validate({**values, "servers": servers, "networks": networks})
    except ValidationError:  # the inspection of what is written tells of it
        return None
    ctx = Context(cluster, catalogue, FactTables())
    for name, group in cluster.servers.items():
        model = resolve_server(ctx, group.model, f"servers.{name}.model")
        if model is not None:
            ctx.servers[name] = model
    if ctx.failed():
        return None
    shapes = [shape for kind in SERVING if (shape := shape_fabric(ctx, kind))]
    if ctx.failed():
        return None
    counts = [_count(shape, cluster) for shape in shapes]
    return sum(switches for switches, _ in counts), sum(cables for _, cables in counts)


def _say(values: Mapping[str, Any], but: str = "") -> dict[str, Any]:
    """Return what a part of an intent says, as the file will have it: without keys that are left open."""
    return {key: value for key, value in values.items() if value is not None and key != but}


def _count(shape: FabricShape, cluster: Cluster) -> tuple[int, int]:
    """Return the switches of a fabric that are built, and their cables: of units and pods that have a server, and every core."""
    built = [
        unit
        for unit, seats in enumerate(shape.units.seats)
        if any(number <= cluster.servers[group].count for group, number in seats)
    ]
    pods = {unit // shape.units_per_pod for unit in built}
    clos = shape.clos
    leafs, spines = len(built) * shape.wanted.leafs_per_unit, len(pods) * clos.spines
    cables = leafs * clos.uplinks + spines * clos.spine_uplinks
    return shape.planes * (leafs + spines + clos.core_groups * clos.cores), shape.planes * cables
