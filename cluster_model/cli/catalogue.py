"""`gpuyard catalogue`: the hardware known, with its facts and their sources."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from cluster_model.near import find_near

if TYPE_CHECKING:
    from pydantic import BaseModel

    from cluster_model.catalogue.load import Catalogue

KINDS = frozenset({"switch", "server", "pdu", "gpu", "nic"})
FORMS = {"U": "{}U", "kW": "{} kW", "GB": "{} GB", "W": "{} W", "Gb/s": "{} Gb/s", "PCIe": "PCIe {}"}
"""Facts in a line, by the heads of their columns."""
UNCONFIRMED = (
    "* holds numbers that were not read in the maker's own text; gpuyard catalogue MODEL shows which, with their sources"
)


class Entry(NamedTuple):
    """One model: kind, name, facts to choose by, the whole, whether all numbers are its maker's, its file, and what finds it."""

    kind: str
    name: str
    facts: dict[str, str]
    value: BaseModel
    is_confirmed: bool
    path: Path
    text: str

    def fits(self, word: str) -> bool:
        """Return whether `word` is its kind, or part of what it is found by; the name of a kind is nothing else."""
        return word == self.kind if word in KINDS else word in self.text


@click.command()
@click.argument("words", nargs=-1, metavar="[WORD]...")
@click.option("--cluster", type=click.Path(exists=True, path_type=Path), help="Add the catalogue/ folder of this cluster.")
@click.option("--yaml", "as_yaml", is_flag=True, help="Print the file of one model, to be changed for a cluster of your own.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Form of the output."
)
def command(words: tuple[str, ...], cluster: Path | None, as_yaml: bool, form: str) -> None:
    """List the hardware known, or show one model with its sources.

    A WORD is a kind (switch, server, pdu, gpu, nic), part of a name, a maker, the GPU of a server, a speed as 400g, or hgx for
    servers with NVSwitch; several narrow the list. One match is shown whole. A star marks numbers that were not read in the
    maker's own text.

    --yaml prints a file that loads as it is from a cluster's catalogue/device-types/MAKER/MODEL.yaml, and from gpus/ or nics/
    likewise; its folder and file name the model there.
    """
    from cluster_model.catalogue.load import load_catalogue
    from cluster_model.cli.findings import print_findings

    if as_yaml and form == "json":
        raise click.UsageError("--yaml and --format json are two forms; give one")
    folder = cluster if cluster is None or cluster.is_dir() else cluster.parent
    catalogue, findings = load_catalogue(folder / "catalogue" if folder is not None else None)
    if findings:
        print_findings(findings, "text")
    entries = list(_list_entries(catalogue))
    chosen = _choose(entries, [word.lower() for word in words], catalogue)
    if as_yaml:
        click.echo(_choose_one(chosen, words).path.read_text("utf-8-sig"), nl=False)
    elif form == "json":
        click.echo(json.dumps([_dump_entry(entry) for entry in chosen], indent=2, ensure_ascii=False))
    elif len(chosen) == 1:
        _show_entry(chosen[0])
    else:
        _list_tables(chosen)


def _choose(entries: list[Entry], words: list[str], catalogue: Catalogue) -> list[Entry]:
    """Return what fits every word; a whole name is that model alone."""
    exact = [entry for entry in entries if [entry.name] == words]
    chosen = exact or [entry for entry in entries if all(entry.fits(word) for word in words)]
    if chosen or not entries:
        return chosen
    counts = {word: sum(entry.fits(word) for entry in entries) for word in words}
    if all(counts.values()):
        alone = ", ".join(f"{word} {count}" for word, count in counts.items())
        raise click.UsageError(f"nothing fits {' '.join(words)}; alone they find: {alone}; leave one out")
    terms = {*KINDS, *(term for entry in entries for term in re.split(r"[\s/,()]+", entry.text) if len(term) > 1)}
    texts = []
    for word in (word for word, count in counts.items() if not count):
        near = list(dict.fromkeys([*catalogue.suggest(word), *find_near(word, sorted(terms), 3, 0.7)]))[:3]
        texts.append(f"nothing is called {word}" + (f"; did you mean {', '.join(near)}?" if near else ""))
    raise click.UsageError("\n".join(texts))


def _choose_one(chosen: list[Entry], words: tuple[str, ...]) -> Entry:
    """Return the one model whose file is asked for: the only one, or the only one of exactly that name after its maker's."""
    called = [entry for entry in chosen if [entry.name.partition("/")[2]] == [word.lower() for word in words]]
    if len(chosen) != 1 and len(called) != 1:
        names = ", ".join(entry.name for entry in chosen[:4]) + (", …" if len(chosen) > 4 else "")
        raise click.UsageError(f"--yaml prints the file of one model, and {len(chosen)} fit: {names}; give a whole name")
    return chosen[0] if len(chosen) == 1 else called[0]


def _list_entries(catalogue: Catalogue) -> Iterator[Entry]:
    for shelf_kind, shelf in (("device", catalogue.devices), ("gpu", catalogue.gpus), ("nic", catalogue.nics)):
        for name in shelf:
            value = shelf.get(name)
            if value is not None:
                kind = value.gpuyard.kind if shelf_kind == "device" else shelf_kind
                facts = _tell_device(value) if shelf_kind == "device" else _tell_part(value)
                confirmed = '"confirmed": false' not in json.dumps(value.model_dump(mode="json"))
                found_by = [name, *_list_terms(value, catalogue), *facts.values()]
                yield Entry(kind, name, facts, value, confirmed, shelf.files[name], " ".join(found_by).lower())


def _list_terms(value: Any, catalogue: Catalogue) -> list[str]:
    """Return what a model is found by beside its name and its facts."""
    if not hasattr(value, "gpuyard"):
        return [value.name, f"{value.speed_gbps}g"] if hasattr(value, "speed_gbps") else [value.name]
    terms = [value.manufacturer, value.model, value.part_number]
    board = getattr(value.gpuyard, "gpus", None)
    if board is not None:
        gpu = catalogue.gpus.get(board.model)
        terms += ["hgx"] if board.interconnect == "nvswitch" else []
        terms += [gpu.generation] if gpu is not None else []
    return terms


def _tell_device(device: Any) -> dict[str, str]:
    """Return the facts of a device, by the heads of their columns."""
    block = device.gpuyard
    facts = {"U": f"{device.u_height:g}"}
    if block.kind == "pdu":
        return {**facts, "kW": f"{block.capacity_w / 1000:g}"}
    facts["kW"] = f"{block.power.maximum_w / 1000:g}"
    if block.kind == "switch":
        return {**facts, "ports": " + ".join(map(_tell_cages, block.cages)), "speaks": "/".join(block.technology)}
    from cluster_model.render.drawings.style import format_count

    parts = [f"{block.gpus.count} {block.gpus.model}"] if block.gpus else []
    parts += [f"{format_count(block.drives.count, 'drive')} of {block.drives.capacity_tb:g} TB"] if block.drives else []
    ports = Counter(f"{port.speed_gbps}G {port.network}" for port in block.network.ports)
    return {**facts, "GPUs or drives": ", ".join(parts), "ports": ", ".join(f"{count}x{port}" for port, count in ports.items())}


def _tell_cages(group: Any) -> str:
    from cluster_model.catalogue.cages import parse_mode

    mode = parse_mode(group.modes[0])
    return f"{group.count * mode.count}x{mode.speed_gbps}G {group.form_factor}"


def _tell_part(part: Any) -> dict[str, str]:
    if hasattr(part, "memory_gb"):
        return {"GB": f"{part.memory_gb:g}", "W": f"{part.power_min_w:g} to {part.power_max_w:g}", "generation": part.generation}
    return {"Gb/s": str(part.speed_gbps), "PCIe": str(part.pcie_gen), "speaks": "/".join(part.technology)}


def _dump_entry(entry: Entry) -> dict[str, Any]:
    """Return a model for programs: `name` is what files call it by, `model` what its maker does."""
    dump = entry.value.model_dump(mode="json", exclude_none=True)
    called = {"model": dump.pop("name")} if "name" in dump else {}
    return {"kind": entry.kind, "name": entry.name, **called, **dump}


def _list_tables(entries: list[Entry]) -> None:
    from cluster_model.cli.console import print_table

    for index, kind in enumerate(dict.fromkeys(entry.kind for entry in entries)):
        shown = [entry for entry in entries if entry.kind == kind]
        rows = [(entry.name + ("" if entry.is_confirmed else " *"), *entry.facts.values()) for entry in shown]
        if index:
            click.echo()
        print_table((kind, *shown[0].facts), rows)
    if not all(entry.is_confirmed for entry in entries):
        click.echo(UNCONFIRMED)


def _show_entry(entry: Entry) -> None:
    """Print a model's file: it holds every fact beside its source."""
    from cluster_model.paths import PACKAGE

    is_ours = entry.path.is_relative_to(PACKAGE)
    path = entry.path.relative_to(PACKAGE.parent) if is_ours else entry.path
    facts = ", ".join(FORMS.get(head, "{}").format(text) for head, text in entry.facts.items() if text)
    click.echo(f"{entry.kind} {entry.name}: {facts}\n{path.as_posix()}")
    if not entry.is_confirmed:
        click.echo("Numbers under `confirmed: false` were not read in the maker's own text.")
    click.echo()
    click.echo(entry.path.read_text("utf-8-sig"), nl=False)
