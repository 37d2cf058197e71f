"""Tables of the page."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field

from markupsafe import Markup, escape

MAX_ROWS = 600
"""Rows of a table; a browser lays out tens of thousands of them in seconds, and a person reads none."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of text.

    Args:
        title: what stands above it.
        columns: their names.
        rows: the cells.
        numeric: columns that are set to the right.
        more: where the rows left out are; empty where there are none.
        anchor: the kind of what the first column names, `device` for one: a row is the place that links to its name lead to.
        links: by column, the kind of what it names.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[int]
    more: str = ""
    anchor: str = ""
    links: Mapping[int, str] = field(default_factory=dict)


def make_table(
    title: str,
    columns: tuple[str, ...],
    rows: Sequence[tuple[str, ...]],
    numeric: Set[int] = frozenset(),
    where: str = "",
    *,
    anchor: str = "",
    links: Mapping[int, str] | None = None,
) -> Table:
    """Return a table with its first MAX_ROWS rows; `where` names the file that has all of them."""
    left_out = len(rows) - MAX_ROWS
    more = f"{left_out:,} more in {where}" if left_out > 0 else ""
    return Table(title, columns, tuple(rows[:MAX_ROWS]), frozenset(numeric), more, anchor, links or {})


def name_anchor(cell: str) -> str:
    """Return the name in a first cell: `services` of `services (shared)`."""
    return cell.partition(" ")[0]


def make_linker(tables: Iterable[Table]) -> Callable[[str, str | None], Markup]:
    """Return a function of a cell and the kind of what it names; each name in it that has a row becomes a link to that."""
    known: dict[str, set[str]] = defaultdict(set)
    for table in tables:
        known[table.anchor] |= {name_anchor(row[0]) for row in table.rows}

    def link(cell: str, kind: str | None) -> Markup:
        if kind is None:
            return escape(cell)
        words = re.split(r"([\w.-]+)", cell)
        made = [Markup('<a href="#{}-{}">{}</a>').format(kind, word, word) if word in known[kind] else word for word in words]
        return Markup("").join(made)

    return link
