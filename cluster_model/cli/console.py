"""What verbs that visit many machines show: columns, a bar, a list of names that is cut."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import click

from cluster_model.cli.findings import Format


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print columns as wide as their widest cell; the last one is as long as it is."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head) - 1)]
    for row in [head, *rows]:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        click.echo("  ".join([*cells, row[-1]]).rstrip())


@contextmanager
def show_progress(total: int, word: str, form: Format) -> Iterator[Callable[[], None]]:
    """Show a bar on a terminal, and nothing elsewhere."""
    if form != "text" or not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(word, total=total)
        yield lambda: bar.advance(task)


def shorten_names(names: Sequence[str]) -> str:
    """Return the first names in a line, and how many more there are; `none` where there are none."""
    return (", ".join(names[:4]) + (f" and {len(names) - 4:,} more" if len(names) > 4 else "")) or "none"
