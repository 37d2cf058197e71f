"""Tables of the page."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

MAX_ROWS = 600
"""Rows of a table; a browser lays out tens of thousands of them in seconds, and a person reads none."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of text. `numeric` columns are set to the right; `more` says where the rows left out are."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[int]
    more: str = ""


def make_table(
    title: str, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]], numeric: Set[int] = frozenset(), where: str = ""
) -> Table:
    """Return a table with its first MAX_ROWS rows; `where` names the file that has all of them."""
    left_out = len(rows) - MAX_ROWS
    more = f"{left_out:,} more in {where}" if left_out > 0 else ""
    return Table(title, columns, tuple(rows[:MAX_ROWS]), frozenset(numeric), more)
