# ruff: noqa: D102  (what `find` does stands in Rule)
"""The rule about lists that name one thing twice: the LST family."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.diagnostic import Diagnostic


class NamedTwice(Rule):
    """Name each thing once.

    What it checks:
        No list of the intent holds the same entry twice; numbers by phase may be equal, and ROC001 reads those of PFC.

    Why it matters:
        The second entry does nothing; mostly another one was meant, and is missing: the second resolver, the second DHCP server,
        the other tenant.

    How to fix:
        Write the one that was meant, or take it away.

    Source:
        Derived: resolvers, filters and members are sets.
    """

    id, severity, title = "LST001", "warning", "named twice in one list"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for where, value in _find_doubles(design.cluster, ""):
            text = value if len(value) <= 60 else f"{value[:60]}..."
            yield self.finding(
                where, f"{text} is listed twice", "each entry once", text, "write the one that was meant, or take it away"
            )


def _find_doubles(value: object, path: str) -> Iterator[tuple[str, str]]:
    """Yield (intent path, text) of every entry of a list that stands before it as well."""
    if isinstance(value, BaseModel):
        for name in value.model_fields_set:
            yield from _find_doubles(getattr(value, name), f"{path}.{name}" if path else name)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _find_doubles(item, f"{path}.{key}")
    elif isinstance(value, list):
        seen: list[str] = []
        for index, item in enumerate(value):
            text = item.model_dump_json(exclude_unset=True) if isinstance(item, BaseModel) else str(item)
            if text in seen and not isinstance(item, int) and not _is_told(path):
                yield f"{path}.{index}", _say(item, text)
            seen.append(text)
            if isinstance(item, BaseModel):
                yield from _find_doubles(item, f"{path}.{index}")


def _is_told(path: str) -> bool:
    """Return whether another rule says so of this list: rows (INT012), places (INT016), links (BRD013), ports."""
    return path.endswith((".rows", ".place", ".links", ".upstreams")) or ".nics." in path


def _say(item: object, text: str) -> str:
    return str(getattr(item, "prefix", text))
