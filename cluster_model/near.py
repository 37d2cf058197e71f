"""Names that were probably meant: what every "did you mean" says."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

_PARTS = re.compile(r"\d+|[^\W\d_]+")


def find_near(name: str, known: Iterable[str], most: int = 1, cutoff: float = 0.6) -> list[str]:
    """Return the known names that look like `name`, the likeliest first.

    Those that differ by the padding of numbers, by case or by hyphens alone stand for themselves: only where there are none do
    letters count, by how many are exchanged.

    Args:
        name: what was written.
        known: the names there are.
        most: how many to return at most.
        cutoff: how like a name must be, from 0 to 1, where letters count.

    >>> find_near("gpu-01", ["gpu-010", "gpu-001"]), find_near("leaf01", ["leaf-10", "leaf-01"]), find_near("a1", ["A01", "A11"])
    (['gpu-001'], ['leaf-01'], ['A01'])
    """
    names = list(known)
    spoken = _speak(name)
    same = [other for other in names if _speak(other) == spoken] if spoken else []
    if same:
        return same[:most]
    lower: dict[str, str] = {}
    for other in names:
        lower.setdefault(other.lower(), other)
    return [lower[near] for near in get_close_matches(name.lower(), lower, most, cutoff)]


def suggest(name: str, known: Iterable[str], otherwise: str = "", most: int = 1, cutoff: float = 0.6) -> str:
    """Return a question that offers the nearest known names, or `otherwise` where none is near.

    >>> suggest("gpu-0O1", ["gpu-001", "gpu-002"])
    'did you mean gpu-001?'
    """
    near = find_near(name, known, most, cutoff)
    return f"did you mean {', '.join(near)}?" if near else otherwise


def _speak(name: str) -> tuple[str, ...]:
    """Return a name as it is spoken: letters without case and hyphens, numbers without the zeros before them."""
    spoken: list[str] = []
    for part in _PARTS.findall(name.lower()):
        if part.isdecimal():
            spoken.append(str(int(part)) if len(part) < 100 else part)  # Python reads no number of thousands of digits
        elif spoken and not spoken[-1].isdecimal():
            spoken[-1] += part
        else:
            spoken.append(part)
    return tuple(spoken)
