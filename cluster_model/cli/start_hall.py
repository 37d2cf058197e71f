"""The rows of racks that `gpuyard new` lays out: as many as are needed, or a hall that was named."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

import click

from cluster_model.checks.wording import count_things
from cluster_model.intent.base import MOST_IDS, MOST_RACKS

ROW_RACKS = 20
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LETTERS = [*_ALPHABET, *(a + b for a in _ALPHABET for b in _ALPHABET if f"{a}{b}" not in {"NO", "ON"})]


def choose_racks(
    gpu_racks: int, gpu_kw: int, network_racks: int, network_kw: int, hall: tuple[int, int] | None
) -> tuple[dict[str, Any], int]:
    """Return the rows and groups of racks for GPU servers and for all else, and how many racks these are.

    In a `hall` of (rows, racks in each) whole rows are laid out: all else has as few as will do, GPU servers have the others.
    These may be more rows than the hall has, so that it can be said how many are needed.
    """
    letters = [a for a in _LETTERS if a.startswith("N")]
    least = max(math.ceil(gpu_racks / (MOST_IDS - len(letters))), math.ceil(network_racks / len(letters)))
    length = hall[1] if hall else max(ROW_RACKS, least)
    if max(length, least) > MOST_RACKS:
        raise click.UsageError(f"--gpus: {gpu_racks + network_racks} racks are more than rows have room for; raise --per-rack")
    if hall:
        if length < least:
            usual = max(ROW_RACKS, least)
            rows = max(hall[0], math.ceil(gpu_racks / usual) + math.ceil(network_racks / usual))
            raise click.UsageError(
                f"--rows: rows of {hall[1]} racks are too short for {gpu_racks + network_racks}; give {rows}x{usual}"
            )
        network_racks = math.ceil(network_racks / length) * length
        gpu_racks = max(math.ceil(gpu_racks / length), hall[0] - network_racks // length) * length
    gpu_rows = _cut_rows((a for a in _LETTERS if not a.startswith("N")), gpu_racks, length, 1)
    network_rows = _cut_rows(letters, network_racks, length, len(gpu_rows) + 1)
    groups = {
        "gpu": {"id": 1, "rows": list(gpu_rows), "power_kw": gpu_kw, "feed_kw": gpu_kw},
        "network": {"id": 2, "rows": list(network_rows), "power_kw": network_kw, "feed_kw": network_kw},
    }
    return {"rows": gpu_rows | network_rows, "groups": groups}, gpu_racks + network_racks


def count_rows(values: Mapping[str, Any]) -> int:
    """Return the rows of racks of an intent as `choose_values` returns it."""
    return len(values["racks"]["rows"])


def refuse_hall(gpu_racks: int, network_racks: int, hall: tuple[int, int], oob_length: int) -> NoReturn:
    """Refuse a hall whose racks want more out-of-band addresses than there are beside the other pools.

    Raises:
        click.UsageError: always.
    """
    rows, racks = hall
    enough = math.ceil(gpu_racks / racks) + math.ceil(network_racks / racks)
    raise click.UsageError(
        f"--rows: an out-of-band network of {count_things(rows, 'row')} of {count_things(racks, 'rack')} needs a /{oob_length}, "
        f"for which 10.0.0.0/8 has no room; give fewer: {enough}x{racks} is enough for these servers"
    )


def _cut_rows(letters: Iterable[str], racks: int, most: int, first_id: int) -> dict[str, dict[str, int]]:
    """Return rows of at most `most` racks by letter."""
    lengths = [min(most, racks - start) for start in range(0, racks, most)]
    return {
        row: {"id": first_id + index, "racks": length} for index, (row, length) in enumerate(zip(letters, lengths, strict=False))
    }
