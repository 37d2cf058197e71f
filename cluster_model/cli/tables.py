"""Tables for people, in plain columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from cluster_model.render.tables import Table


def format_parts(parts: Iterable[str | Table]) -> Iterator[str]:
    """Yield the lines of what a service says of itself: lines as they are, and tables set in columns."""
    for part in parts:
        if isinstance(part, str):
            yield part
        else:
            yield from format_table(part.heads, list(part.rows), right=set(part.right))


def format_table(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]], right: set[int]) -> Iterator[str]:
    """Yield an empty line, the head and the rows; columns without any value are left out."""
    if not rows:
        return
    kept = [index for index in range(len(columns)) if any(row[index] for row in rows)]
    widths = {index: max(len(row[index]) for row in (columns, *rows)) for index in kept}
    yield ""
    for number, row in enumerate((columns, *rows)):
        cells = [row[index].rjust(widths[index]) if index in right else row[index].ljust(widths[index]) for index in kept]
        line = "  ".join(cells).rstrip()
        yield click.style(line, dim=True) if number == 0 else line
