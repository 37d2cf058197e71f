"""`gpuyard catalogue`: the hardware known, with its facts and their sources."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

if TYPE_CHECKING:
    from pydantic import BaseModel

    from cluster_model.catalogue.load import Catalogue


UNCONFIRMED = (
    "* holds numbers that were not read in the maker's own text; gpuyard catalogue MODEL shows which, with their sources"
)


class Entry(NamedTuple):
    """One model: kind, name, facts in a line, the whole of it, whether all numbers are the maker's own, and its file."""

    kind: str
    name: str
    facts: str
    value: BaseModel
    is_confirmed: bool
    path: Path


@click.command()
@click.argument("word", required=False, default="")
@click.option("--cluster", type=click.Path(exists=True, path_type=Path), help="Add the catalogue/ folder of this cluster.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Form of the output."
)
def command(word: str, cluster: Path | None, form: str) -> None:
    """List the hardware known, or show one model with its sources.

    WORD is part of a name, or a kind: switch, server, pdu, gpu, nic. One match is shown whole. A star marks numbers that were not
    read in the maker's own text.
    """
    from cluster_model.catalogue.load import load_catalogue
    from cluster_model.cli.findings import print_findings

    folder = cluster if cluster is None or cluster.is_dir() else cluster.parent
    catalogue, findings = load_catalogue(folder / "catalogue" if folder is not None else None)
    if findings:
        print_findings(findings, "text")
    entries = list(_list_entries(catalogue))
    chosen = [e for e in entries if word.lower() in e.name or word.lower() == e.kind]
    chosen = [e for e in chosen if e.name == word.lower()] or chosen
    if not chosen:
        near = catalogue.suggest(word)
        raise click.UsageError(f"nothing is called {word}" + (f"; did you mean {', '.join(near)}?" if near else ""))
    if form == "json":
        rows = [{"kind": e.kind, "name": e.name, **e.value.model_dump(mode="json", exclude_none=True)} for e in chosen]
        click.echo(json.dumps(rows, indent=2, ensure_ascii=False))
    elif len(chosen) == 1:
        _show_entry(chosen[0])
    else:
        _list_table(chosen)


def _list_entries(catalogue: Catalogue) -> Iterator[Entry]:
    for kind, shelf in (("device", catalogue.devices), ("gpu", catalogue.gpus), ("nic", catalogue.nics)):
        for name in shelf:
            value = shelf.get(name)
            if value is not None:
                facts = _describe_device(value) if kind == "device" else _describe_part(value)
                confirmed = '"confirmed": false' not in json.dumps(value.model_dump(mode="json"))
                yield Entry(value.gpuyard.kind if kind == "device" else kind, name, facts, value, confirmed, shelf.files[name])


def _describe_device(device: Any) -> str:
    block = device.gpuyard
    size = f"{device.u_height:g}U"
    if block.kind == "pdu":
        return f"{size}, {block.capacity_w / 1000:g} kW"
    power = f"{block.power.maximum_w / 1000:g} kW"
    if block.kind == "switch":
        cages = " + ".join(f"{group.count} {group.form_factor} ({group.modes[0]}G)" for group in block.cages)
        return f"{size}, {power}, {cages}, {'/'.join(block.technology)}"
    parts = [size, power]
    if block.gpus:
        parts.append(f"{block.gpus.count} {block.gpus.model}")
    if block.drives:
        parts.append(f"{block.drives.count} drives of {block.drives.capacity_tb:g} TB")
    counts: dict[str, int] = {}
    for port in block.network.ports:
        label = f"{port.network} {port.speed_gbps}G"
        counts[label] = counts.get(label, 0) + 1
    return ", ".join([*parts, *(f"{count}x {label}" for label, count in counts.items())])


def _describe_part(part: Any) -> str:
    if hasattr(part, "memory_gb"):
        return f"{part.memory_gb:g} GB, {part.power_min_w:g} to {part.power_max_w:g} W, {part.generation}"
    return f"{part.speed_gbps} Gb/s, PCIe {part.pcie_gen}, {'/'.join(part.technology)}"


def _list_table(entries: list[Entry]) -> None:
    width = max(len(entry.name) for entry in entries) + 2
    for kind in dict.fromkeys(entry.kind for entry in entries):
        click.echo(f"{kind}:")
        for entry in entries:
            if entry.kind == kind:
                click.echo(f"  {entry.name + ('' if entry.is_confirmed else ' *'):{width}}  {entry.facts}")
    if not all(entry.is_confirmed for entry in entries):
        click.echo(UNCONFIRMED)


def _show_entry(entry: Entry) -> None:
    """Print a model's file: it holds every fact beside its source."""
    from cluster_model.paths import PACKAGE

    is_ours = entry.path.is_relative_to(PACKAGE)
    path = entry.path.relative_to(PACKAGE.parent) if is_ours else entry.path
    click.echo(f"{entry.kind} {entry.name}: {entry.facts}\n{path.as_posix()}")
    if not entry.is_confirmed:
        click.echo("Numbers under `confirmed: false` were not read in the maker's own text.")
    click.echo()
    click.echo(entry.path.read_text("utf-8"), nl=False)
