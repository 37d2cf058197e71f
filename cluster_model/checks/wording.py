"""How findings say lists, sizes and quantities."""

from __future__ import annotations

from collections.abc import Iterable


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
