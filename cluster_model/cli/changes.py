"""What changes between two clusters, in words: what moves of what stands, then all else."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from cluster_model.plan.compare.cables import word_item
from cluster_model.plan.compare.moves import count_changes, count_moves, count_taken, name_device, name_kind

if TYPE_CHECKING:
    from cluster_model.plan.compare.cables import CableChange
    from cluster_model.plan.compare.plans import Comparison, DeviceChange
    from cluster_model.plan.compare.tenants import ValueChange

SHOWN = 12
"""Changes of one section that are listed before the rest is counted."""
ALL = "--all lists them"
NOUNS = {"server": ("server", "servers"), "switch": ("switch", "switches"), "pdu": ("PDU", "PDUs")}
_NOUNS = {**NOUNS, "cable": ("cable", "cables"), "crossing": ("crossing of tenants", "crossings of tenants")}
_MOVES = {
    "servers": ("server", "servers"),
    "switches": ("switch", "switches"),
    "pdus": ("PDU", "PDUs"),
    "cables": ("cable", "cables"),
    "replaced_cables": ("cable replaced", "cables replaced"),
    "addresses": ("address", "addresses"),
}
Row = tuple[str, str]
"""A line, and its kind in words that follow a number: `of compute`, `to add`; empty where the section is of one kind."""


def word_moves(changes: Comparison) -> str:
    """Return what moves of what stands, as `moves what stands: 48 switches, 12 addresses; 2 switches taken away`."""
    moves = count_moves(changes)
    other = moves.pop("cables_with_another_item")
    parts = {kind: _count(number, *_MOVES[kind]) for kind, number in moves.items() if number}
    if other:
        some = "" if other == moves["cables"] == 1 else "all " if other == moves["cables"] else f"{other:,} of them "
        parts["cables"] += f"{',' if some else ''} {some}with another item"
    told = f"moves what stands: {', '.join(parts.values())}" if parts else "moves nothing that stands"
    gone = [_count(number, *_MOVES[kind]) for kind, number in count_taken(changes).items() if number]
    return f"{told}; {', '.join(gone)} taken away" if gone else told


def summarize(changes: Comparison, configs: Iterable[str] = ()) -> str:
    """Return what changes besides, as `Plan: 8 servers, 64 cables to add; 1 subnet to change.`, in one line."""
    if not changes:
        return "No changes."
    parts = []
    for action, numbers in count_changes(changes, configs).items():
        kinds = [_count(number, *_NOUNS.get(kind, (kind, f"{kind}s"))) for kind, number in numbers.items()]
        parts += [f"{', '.join(kinds)} to {action}"] if kinds else []
    return f"Plan: {'; '.join(parts) or 'nothing else'}."


def describe(changes: Comparison, configs: dict[str, tuple[int, int]], *, show_all: bool = False) -> Iterator[str]:
    """Yield everything that changes, section by section; what moves of what stands comes first.

    Args:
        changes: the changes.
        configs: lines added and removed by path `SWITCH/FILE`.
        show_all: whether every change is listed; else a section has SHOWN lines, and the rest is counted by kind.
    """
    if changes:
        yield word_moves(changes)
    yield summarize(changes, configs)
    limit = sys.maxsize if show_all else SHOWN
    yield from list_moves(changes, limit)
    for kind, (_, many) in NOUNS.items():
        devices = [change for change in changes.devices if change.kind == kind and change.action != "move"]
        yield from _list_section(many, [(_word_device(change), f"to {change.action}") for change in devices], limit)
    for action in ("remove", "add"):
        yield from _list_section(f"cables to {action}", _list_cables(changes, action), limit)
    yield from _list_section("addresses and AS numbers", _word_values(changes.addresses), limit)
    yield from _list_section("tenants", _word_values(changes.tenants), limit)
    yield from _list_section("tenants on switches and servers", _word_values(changes.overlays), limit)
    yield from _list_section("settings", _word_values(changes.settings), limit)
    words = [(f"~ {path}  +{added:,} -{removed:,}", "") for path, (added, removed) in configs.items()]
    yield from _list_section("config lines of switches that stay", words, limit)


def list_moves(changes: Comparison, limit: int = SHOWN, way: str = ALL) -> Iterator[str]:
    """Yield the devices, addresses and cables that move, and cables that are replaced, section by section.

    Args:
        changes: the changes.
        limit: lines of a section that are listed.
        way: how to see the rest.
    """
    for kind, (_, many) in NOUNS.items():
        devices = [change for change in changes.devices if (change.kind, change.action) == (kind, "move")]
        yield from _list_section(f"{many} to move", [(_word_device(change), "") for change in devices], limit, way)
    kinds = {name: NOUNS[kind][1] for kind, names in changes.changed.items() for name in names}
    addresses = [
        (f"> {_word_address(change)}", f"of {kinds.get(name_device(change)) or f'{name_kind(change)}s'}")
        for change in changes.moved_addresses
    ]
    yield from _list_section("addresses to move", addresses, limit, way)
    for action in ("move", "replace"):
        yield from _list_section(f"cables to {action}", _list_cables(changes, action), limit, way)


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _list_section(title: str, rows: Sequence[Row], limit: int, way: str = ALL) -> Iterator[str]:
    if rows:
        yield f"\n{title}"
        yield from (f"  {line}" for line, _ in rows[:limit])
        if len(rows) > limit:
            yield f"  and {_count_folded([kind for _, kind in rows[limit:]])} ({way})"


def _count_folded(kinds: Collection[str]) -> str:
    """Return `60 more`, with their kinds: `60 more of compute`, `60 more: 48 of compute, 12 of storage`."""
    numbers = Counter(kinds)
    if len(numbers) == 1:
        return f"{len(kinds):,} more {next(iter(numbers))}".rstrip()
    return f"{len(kinds):,} more: {', '.join(f'{number:,} {kind}' for kind, number in numbers.items())}"


def _list_cables(changes: Comparison, action: str) -> list[Row]:
    return [(_word_cable(change), f"of {change.network}") for change in changes.cables if change.action == action]


def _word_device(change: DeviceChange) -> str:
    if change.action == "add":
        return f"+ {change.name}  {change.model}  {change.new}"
    if change.action == "remove":
        return f"- {change.name}  {change.model}  {change.old}"
    if change.action == "rename":
        return f"~ {change.old} becomes {change.new}"
    return f"> {change.name}  {change.old} to {change.new}"


def _word_cable(change: CableChange) -> str:
    what = word_item(change.medium, change.length_m)
    if change.action == "add":
        return f"+ {change.near} to {change.new}  {what}"
    if change.action == "remove":
        return f"- {change.near} to {change.old}"
    if change.action == "move":
        was = word_item(change.old_medium, change.old_length_m)
        if change.is_moved_and_replaced:
            what = f"{was} becomes {what}" if was != what else f"{what} with other optics"
        return f"> {change.near} from {change.old} to {change.new}  {what}"
    return f"~ {change.near}  {change.old} becomes {change.new}"


def _word_address(change: ValueChange) -> str:
    """Return an address that moves in words, as `control-001 bmc: 10.76.0.2/26 to 10.76.0.3/26`."""
    return f"{change.subject}: {'' if change.key == 'address' else f'{change.key} '}{change.old} to {change.new}"


def _word_values(changes: Sequence[ValueChange]) -> list[Row]:
    """Return changes in words; the same change of many devices shares a line."""
    same: dict[tuple[str, str, str], list[str]] = {}
    for change in changes:
        same.setdefault((change.key, change.old, change.new), []).append(change.subject)
    rows = []
    for (key, old, new), subjects in same.items():
        names = ", ".join(subjects[:3]) + (f" and {len(subjects) - 3:,} more" if len(subjects) > 3 else "")
        if key == "exists":
            rows.append((f"+ {names}", "to add") if new == "yes" else (f"- {names}", "to remove"))
        elif old and new:
            rows.append((f"~ {names}: {key} {old} becomes {new}", "to change"))
        else:
            rows.append(
                (f"{'-' if old else '+'} {names}: {f'{key} ' if key else ''}{old or new}", f"to {'remove' if old else 'add'}")
            )
    return rows
