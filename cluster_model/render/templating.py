"""Jinja as all templates want it: a missing name is an error, and a block's line leaves no blank one."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined


@cache
def open_templates(folder: Path, *, markup: bool = False) -> Environment:
    """Return the templates below a folder, compiled once.

    Args:
        folder: the folder that names are relative to.
        markup: escape what is put in, for HTML and SVG.
    """
    return Environment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        autoescape=markup,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
    )
