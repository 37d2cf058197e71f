"""Prefix lists in words, the same wherever they are told."""

from __future__ import annotations

from collections.abc import Iterable

from cluster_model.plan.model.overlay import Filter, Import


def word_filters(filters: Iterable[Filter] | None) -> list[str]:
    """Return a prefix list in words, one for each line; nothing passes where there is none."""
    return [word_filter(line) for line in filters or ()] or ["nothing"]


def word_filter(line: Filter) -> str:
    """Return `10.200.0.0/14 up to /24`, or that it is the default route."""
    if line.prefix == "0.0.0.0/0":
        return f"everything up to /{line.up_to}" if line.up_to else "the default route"
    return f"{line.prefix} up to /{line.up_to}" if line.up_to else line.prefix


def word_import(taken: Import) -> str:
    """Return what a VRF takes from another one."""
    return f"{taken.vrf}: {', '.join(word_filters(taken.prefixes))}"
