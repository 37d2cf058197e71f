"""`gpuyard diff`: what changes between two intents, in words."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cluster_model.cli.common import ERRORS, finding_options, open_plan, refuse
from cluster_model.cli.findings import Format
from cluster_model.pipeline import RefusedError, compare

if TYPE_CHECKING:
    from cluster_model.plan.compare.plans import CableChange, Comparison, DeviceChange
    from cluster_model.plan.compare.tenants import ValueChange

SHOWN = 12
"""Changes of one kind that are listed before the rest is counted; addresses and cables that move are always listed."""
NOUNS = {"server": ("server", "servers"), "switch": ("switch", "switches"), "pdu": ("PDU", "PDUs")}


@click.command()
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
@click.option("--exit-code", is_flag=True, help="Exit with 1 when anything differs.")
@click.option("--all", "show_all", is_flag=True, help="List every change.")
@finding_options
def command(old: Path, new: Path, exit_code: bool, show_all: bool, form: Format, strict: bool) -> None:
    """Show what changes from one intent to another: addresses that move, devices, cables to add or move, tenants, config lines.

    OLD and NEW are folders with cluster.yml, or the files. Addresses that move come first, every one of them: whoever knows a
    server by its address loses it. Cables are named by the end nearer the hosts.
    """
    before, after = open_plan(old, form, strict=False), open_plan(new, form, strict)
    try:
        found = compare(before, after)
    except RefusedError as refused:
        refuse(refused.findings, form)
    changes, configs = found.comparison, found.config_lines
    if form == "json":
        import orjson

        told = {"summary": summarize(changes), **asdict(changes), "config_lines": configs}
        click.echo(orjson.dumps(told, option=orjson.OPT_INDENT_2))
    else:
        for line in _describe(changes, show_all):
            click.echo(line)
        words = [f"~ {path}  +{added:,} -{removed:,}" for path, (added, removed) in configs.items()]
        for line in _list_section("config lines of switches that stay", words, len(words) if show_all else SHOWN):
            click.echo(line)
    if exit_code and changes:
        raise click.exceptions.Exit(ERRORS)


def summarize(changes: Comparison) -> str:
    """Return the first line: addresses that move, and servers, other devices and cables to add, remove and move."""
    if not changes:
        return "No changes."
    number = len(changes.moved_addresses)
    parts = [f"{number:,} {'address' if number == 1 else 'addresses'} to move"] if number else []
    for kind, (one, many) in NOUNS.items():
        for action in ("add", "remove", "move", "rename"):
            number = changes.count(changes.devices, action, kind)
            if number:
                parts.append(f"{number:,} {one if number == 1 else many} to {action}")
    numbers = {action: changes.count(changes.cables, action) for action in ("add", "remove", "replace", "move")}
    parts.append(f"{numbers['add']:,} {'cable' if numbers['add'] == 1 else 'cables'} to add")
    parts += [f"{numbers[action]:,} to {action}" for action in ("remove", "replace") if numbers[action]]
    parts.append(f"{numbers['move']:,} to move")
    return f"Plan: {', '.join(parts)}."


def _describe(changes: Comparison, show_all: bool) -> Iterator[str]:
    yield summarize(changes)
    limit = sys.maxsize if show_all else SHOWN
    addresses = [f"> {word_address(change)}" for change in changes.moved_addresses]
    yield from _list_section("addresses to move", addresses, len(addresses))
    for kind, (_, many) in NOUNS.items():
        devices = [change for change in changes.devices if change.kind == kind]
        yield from _list_section(many, [_word_device(change) for change in devices], limit)
    moved = [_word_cable(change) for change in changes.cables if change.action == "move"]
    yield from _list_section("cables to move", moved, len(moved))
    others = (("remove", "cables to remove"), ("replace", "cables to replace"), ("add", "cables to add"))
    for action, title in others:
        yield from _list_section(title, [_word_cable(change) for change in changes.cables if change.action == action], limit)
    yield from _list_section("addresses and AS numbers", _word_values(changes.addresses), limit)
    yield from _list_section("tenants", _word_values(changes.tenants), limit)
    yield from _list_section("tenants on switches and servers", _word_values(changes.overlays), limit)
    yield from _list_section("settings", _word_values(changes.settings), limit)


def _list_section(title: str, lines: Sequence[str], limit: int) -> Iterator[str]:
    if lines:
        yield f"\n{title}"
        yield from (f"  {line}" for line in lines[:limit])
        if len(lines) > limit:
            yield f"  and {len(lines) - limit:,} more (--all lists them)"


def _word_device(change: DeviceChange) -> str:
    if change.action == "add":
        return f"+ {change.name}  {change.model}  {change.new}"
    if change.action == "remove":
        return f"- {change.name}  {change.model}  {change.old}"
    if change.action == "rename":
        return f"~ {change.old} becomes {change.new}"
    return f"> {change.name}  {change.old} to {change.new}"


def _word_cable(change: CableChange) -> str:
    what = f"{change.medium} {change.length_m:g} m"
    if change.action == "add":
        return f"+ {change.near} to {change.new}  {what}"
    if change.action == "remove":
        return f"- {change.near} to {change.old}"
    if change.action == "move":
        return f"> {change.near} from {change.old} to {change.new}  {what}"
    return f"~ {change.near}  {change.old} becomes {change.new}"


def word_address(change: ValueChange) -> str:
    """Return an address that moves in words, as `control-001 bmc: 10.76.0.2/26 to 10.76.0.3/26`."""
    return f"{change.subject}: {'' if change.key == 'address' else f'{change.key} '}{change.old} to {change.new}"


def _word_values(changes: Sequence[ValueChange]) -> list[str]:
    """Return changes in words; the same change of many devices shares a line."""
    same: dict[tuple[str, str, str], list[str]] = {}
    for change in changes:
        same.setdefault((change.key, change.old, change.new), []).append(change.subject)
    lines = []
    for (key, old, new), subjects in same.items():
        names = ", ".join(subjects[:3]) + (f" and {len(subjects) - 3:,} more" if len(subjects) > 3 else "")
        if old and new:
            lines.append(f"~ {names}: {key} {old} becomes {new}")
        else:
            lines.append(f"{'-' if old else '+'} {names}: {f'{key} ' if key else ''}{old or new}")
    return lines
