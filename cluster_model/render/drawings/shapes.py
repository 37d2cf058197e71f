"""Shapes that drawings are laid out in, and how what is too much is left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

Item = TypeVar("Item")
LETTER = 0.5
"""Width of a letter of the sans face on the average of names, prefixes and numbers, em; bold ones are a tenth wider."""


@dataclass(frozen=True, slots=True)
class Box:
    """A switch, server or port: place in px, and its words."""

    x: float
    y: float
    width: float
    height: float
    css: str
    label: str
    title: str

    @property
    def middle(self) -> float:
        """Return the middle of the box, px from the left."""
        return self.x + self.width / 2


@dataclass(frozen=True, slots=True)
class Words:
    """A text at a place; `css` has its size and side."""

    x: float
    y: float
    css: str
    text: str


@dataclass(frozen=True, slots=True)
class Path:
    """All links of one colour, as SVG path data."""

    css: str
    data: str


@dataclass(frozen=True, slots=True)
class Dot:
    """A point: place in px, colour, and its words."""

    x: float
    y: float
    css: str
    title: str


@dataclass(frozen=True, slots=True)
class Sheet:
    """A whole drawing, in the order in which its parts lie on each other."""

    width: float
    height: float
    title: str
    note: str
    panels: tuple[Box, ...]
    paths: tuple[Path, ...]
    boxes: tuple[Box, ...]
    dots: tuple[Dot, ...]
    words: tuple[Words, ...]


def sample(items: Sequence[Item], limit: int) -> tuple[list[Item], int]:
    """Return the first items and the last, `limit` in all, and how many are left out."""
    if len(items) <= limit:
        return list(items), 0
    kept = [*items[: limit - 1], items[-1]] if limit > 1 else [items[0]]
    return kept, len(items) - len(kept)


def measure(text: str, size: float, *, is_bold: bool = False) -> float:
    """Return about how wide a text is, px; `size` is that of its letters."""
    return len(text) * size * LETTER * (1.1 if is_bold else 1)


def fit(text: str, width: float, size: float, *, is_bold: bool = False) -> str:
    """Return a text cut to a width in px, with an ellipsis where something is lost."""
    if measure(text, size, is_bold=is_bold) <= width:
        return text
    letters = int(width / (size * LETTER * (1.1 if is_bold else 1))) - 1
    return text[: max(letters, 0)].rstrip(" ,·") + "…"


def wrap(parts: Sequence[str], width: float, size: float, mark: str = ",") -> list[str]:
    """Return parts, with a `mark` behind each but the last, in as many lines as they need for a width in px."""
    lines = [""]
    for number, part in enumerate(parts):
        text = part + (mark if number < len(parts) - 1 else "")
        if lines[-1] and measure(f"{lines[-1]} {text}", size) > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {text}".lstrip()
    return [fit(line, width, size) for line in lines]
