"""The first stage: from a folder or file to a checked `Cluster`, with the place of every value."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path

from pydantic import ValidationError

from cluster_model import __version__
from cluster_model.diagnostic import Diagnostic
from cluster_model.intent.model.cluster import Cluster
from cluster_model.intent.references.agreement import check_references
from cluster_model.intent.references.refusals import check_templates
from cluster_model.intent.references.services import list_services
from cluster_model.intent.source.facts_csv import FactTables, read_facts
from cluster_model.intent.source.messages import explain_refusals
from cluster_model.intent.source.places import Source
from cluster_model.intent.source.salvage import salvage, touches
from cluster_model.intent.source.yaml_source import MAX_BYTES, explain_too_much, read_yaml
from cluster_model.reading import TooLargeError, hash_file, list_catalogue, read_file

FILE_NAME = "cluster.yml"
INPUT_BYTES = 64_000_000
"""The largest input that a digest is made of; none that is read may be as large."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """An intent as read.

    Args:
        cluster: the intent; None when it holds errors that leave nothing to go on with.
        source: the text, and the place of every value.
        facts: what the vendor delivered.
        findings: everything found, in the order of print, located.
        digest: SHA-256 over everything that the plan depends on; empty when the intent cannot be read.
        inputs: SHA-256 of each file that the digest is made from, by its name there; `-` for one that is not taken.
        folder: folder of the intent; CSV file names and `catalogue/` are relative to it.
    """

    cluster: Cluster | None
    source: Source
    facts: FactTables = field(default_factory=FactTables)
    findings: list[Diagnostic] = field(default_factory=list)
    digest: str = ""
    folder: Path = Path()
    inputs: dict[str, str] = field(default_factory=dict)


def load_cluster(path: Path) -> Loaded:
    """Read an intent.

    Args:
        path: a folder that holds cluster.yml, or the file itself.

    Returns:
        The intent with its findings; never raises on what a user wrote.

    Errors:
        YML001 to YML010, INT001 to INT032, FCT001 to FCT008, PRV001, PRV002.
    """
    file = path / FILE_NAME if path.is_dir() else path
    folder = file.parent
    try:
        raw = read_file(file, MAX_BYTES, folder)
    except (OSError, ValueError) as error:
        return Loaded(None, Source(str(file)), findings=[_explain_unreadable(file, error)], folder=folder)
    data, source, findings = read_yaml(str(file), raw)
    findings += [source.locate(finding) for finding in check_templates(data)]
    if data is None:
        return Loaded(None, source, findings=sorted(findings, key=attrgetter("sort_key")), folder=folder)
    facts = FactTables()
    cluster = None
    try:
        cluster = Cluster.model_validate(data)
    except ValidationError as error:
        known = {(finding.line, finding.column) for finding in findings}
        refusals = explain_refusals(error.errors(include_url=False), data, source)
        findings += [finding for finding in refusals if (finding.line, finding.column) not in known]
        guess, mended = salvage(data)
        if guess is not None:
            findings += [source.locate(f) for f in check_references(guess) if not touches(f.where, mended)]
    if cluster is not None:
        findings += [source.locate(finding) for finding in check_references(cluster)]
        shown = "" if str(folder) == "." else str(folder)
        facts, more = read_facts(cluster.facts, folder, shown)
        for service in list_services():
            cluster, wrong = service.read(cluster, folder, shown)
            more += wrong
        findings += [source.locate(finding) for finding in more]
    inputs = sum_inputs(file, list_inputs(cluster, folder))
    return Loaded(cluster, source, facts, sorted(findings, key=attrgetter("sort_key")), compute_digest(inputs), folder, inputs)


def compute_digest(inputs: Mapping[str, str]) -> str:
    """Return the digest that ties a render to what it was made from.

    It is SHA-256 over one line per input, each `NAME<tab>SHA-256 of its bytes`: first the version (`gpuyard VERSION`, nothing
    after the tab), then the intent as `cluster.yml`, then the others by name as the intent gives it, sorted.

    Args:
        inputs: what `sum_inputs` returned.
    """
    lines = [f"{name}\t{inputs[name]}\n" for name in sorted(inputs, key=lambda name: (name != FILE_NAME, name))]
    return hashlib.sha256("".join([f"gpuyard {__version__}\t\n", *lines]).encode()).hexdigest()


def sum_inputs(file: Path, others: Iterable[str]) -> dict[str, str]:
    """Return the SHA-256 of every file that the plan depends on, by its name, sorted.

    One that is missing, no regular file, larger than INPUT_BYTES, or not in the intent's folder once links are followed, has `-`.

    Args:
        file: the intent, which stands as `cluster.yml`.
        others: names relative to the intent's folder, with forward slashes.
    """
    paths = {**{name: file.parent / name for name in others}, FILE_NAME: file}
    return {name: hash_file(path, INPUT_BYTES, file.parent) for name, path in sorted(paths.items())}


def list_inputs(cluster: Cluster | None, folder: Path) -> list[str]:
    """Return the files besides the intent that the plan depends on: fact files, SSH keys, and those of the folder's catalogue."""
    tables = [] if cluster is None else [cluster.facts.servers, cluster.facts.switches, cluster.facts.pdus]
    own = [path.relative_to(folder).as_posix() for path in list_catalogue(folder / "catalogue")[0]]
    named = [] if cluster is None else [file for service in list_services() for file in service.list_files(cluster)]
    return sorted({*own, *named, *(name for name in tables if name is not None)})


def _explain_unreadable(file: Path, error: OSError | ValueError) -> Diagnostic:
    if isinstance(error, TooLargeError):
        return explain_too_much(str(file), f"the file has more than {MAX_BYTES} bytes", 1, 1)
    if isinstance(error, FileNotFoundError):
        summary = "there is no such file" if file.name != FILE_NAME else f"there is no {FILE_NAME} here"
        fix = "give the folder or file of a cluster; gpuyard new NAME writes one to start from"
    else:
        summary = f"the file cannot be read: {error.strerror if isinstance(error, OSError) else error}"
        fix = "check what stands there, and that you may read it"
    return Diagnostic("YML005", "error", "", summary, "a folder with cluster.yml, or the file itself", fix=fix, file=str(file))
