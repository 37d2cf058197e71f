"""How findings say lists, sizes and quantities."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches


def list_names(names: Iterable[str], limit: int = 4) -> str:
    """Return names joined by commas, the first `limit` of them and a count of the others.

    >>> list_names(["A01", "A02", "A03"], 2)
    'A01, A02 and 1 more'
    """
    rows = list(names)
    shown = ", ".join(rows[:limit])
    return f"{shown} and {len(rows) - limit} more" if len(rows) > limit else shown


def count_things(count: int, thing: str, things: str = "") -> str:
    """Return a count with its noun in the right number.

    >>> count_things(1, "rack"), count_things(2, "leaf", "leafs")
    ('1 rack', '2 leafs')
    """
    return f"{count} {thing if count == 1 else things or thing + 's'}"


def format_kw(power_w: float) -> str:
    """Return a power in kW with one decimal.

    >>> format_kw(10_200)
    '10.2 kW'
    """
    return f"{power_w / 1000:.1f} kW"


def suggest(name: str, known: Collection[str]) -> str:
    """Return a question that offers the nearest known name; empty where none is near.

    >>> suggest("gpu-0O1", ["gpu-001", "gpu-002"])
    'did you mean gpu-001?'
    """
    near = get_close_matches(name, known, 1, 0.6)
    return f"did you mean {near[0]}?" if near else ""
