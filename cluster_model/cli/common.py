"""What every verb needs: a cluster taken through intent, catalogue, plan and checks, and its findings printed once."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cluster_model.cli.findings import Format, format_headlines, print_findings, promote_warnings, wants_colour
from cluster_model.cli.interrupt import while_reading
from cluster_model.diagnostic import Diagnostic, has_errors

if TYPE_CHECKING:
    from cluster_model.catalogue.load import Catalogue
    from cluster_model.intent.load import Loaded
    from cluster_model.intent.model.cluster import Cluster
    from cluster_model.plan.model import Plan

Command = TypeVar("Command", bound=Callable[..., Any])

ERRORS, USAGE = 1, 2
"""Exit codes; main.py has them all."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A cluster without errors.

    Args:
        cluster: the intent.
        catalogue: the hardware it may use.
        plan: every choice made.
        findings: warnings and notes, located, in the order of print.
        loaded: the intent's text, facts and digest.
    """

    cluster: Cluster
    catalogue: Catalogue
    plan: Plan
    findings: list[Diagnostic]
    loaded: Loaded


@dataclass(slots=True)
class Inspection:
    """How far a cluster got, and everything found on the way; what a barrier stopped is None."""

    loaded: Loaded
    findings: list[Diagnostic]
    catalogue: Catalogue | None = None
    plan: Plan | None = None


def cluster_argument(command: Command) -> Command:
    """Add the CLUSTER argument: a folder with cluster.yml, or the file."""
    return click.argument("cluster", type=click.Path(path_type=Path))(command)


def finding_options(command: Command) -> Command:
    """Add `--format` (as `form`) and `--strict`."""
    formats = click.Choice(["text", "json", "github"])
    command = click.option("--strict", is_flag=True, help="Treat warnings as errors.")(command)
    return click.option("--format", "form", type=formats, default="text", show_default=True, help="Form of the findings.")(
        command
    )


def inspect_cluster(path: Path) -> Inspection:
    """Take a cluster through intent, catalogue, plan and checks, up to the first stage that finds errors.

    Args:
        path: folder with cluster.yml, or the file.

    Returns:
        What was reached, with findings located and in the order of print.
    """
    with while_reading(click.get_current_context(silent=True) is not None):
        from cluster_model.intent.load import load_cluster

        loaded = load_cluster(path)
        inspection = Inspection(loaded, list(loaded.findings))
        if loaded.cluster is not None and not has_errors(loaded.findings):
            inspection.findings += [loaded.source.locate(finding) for finding in _run_stages(inspection, loaded.cluster)]
        inspection.findings.sort(key=lambda finding: finding.sort_key)
        return inspection


def _run_stages(inspection: Inspection, cluster: Cluster) -> list[Diagnostic]:
    """Run the stages after the intent, each only when those before it found no errors; return what they found."""
    from cluster_model.catalogue.load import load_catalogue
    from cluster_model.checks import check_plan
    from cluster_model.plan.build import build_plan

    loaded = inspection.loaded
    extra = loaded.folder / "catalogue"
    inspection.catalogue, findings = load_catalogue(extra if extra.is_dir() else None)
    if has_errors(findings):
        return findings
    plan, more = build_plan(cluster, inspection.catalogue, loaded.facts, loaded.digest)
    # Our own files are read as the planner asks for them, and one that is broken looks to it like one that is not there.
    findings = inspection.catalogue.findings()
    if has_errors(findings):
        return findings
    findings = [*findings, *more]
    if plan is None or has_errors(findings):
        return findings
    inspection.plan = plan
    return [*findings, *check_plan(plan, cluster, inspection.catalogue, loaded.facts)]


def report_inspection(inspection: Inspection, form: Format, strict: bool) -> None:
    """Print all findings with the line that counts them, and exit with 1 on errors, 2 when there is no such cluster."""
    findings = promote_warnings(inspection.findings) if strict else inspection.findings
    loaded = inspection.loaded
    print_findings(findings, form, {loaded.source.file: loaded.source.lines, **loaded.facts.lines})
    if any(finding.id == "YML005" for finding in findings):
        raise click.exceptions.Exit(USAGE)
    if has_errors(findings):
        raise click.exceptions.Exit(ERRORS)


def open_cluster(path: Path, form: Format = "text", strict: bool = False) -> Opened:
    """Return a cluster that holds no errors, or print its findings and exit.

    Warnings are printed to stderr, in a line each, where the form is text. In a machine form nothing is printed unless there
    are errors: stdout then belongs to the verb, which finds the warnings in `Opened.findings`.

    Args:
        path: folder with cluster.yml, or the file.
        form: form of the findings.
        strict: whether warnings count as errors.
    """
    return accept_inspection(inspect_cluster(path), path, form, strict)


def accept_inspection(inspection: Inspection, path: Path, form: Format, strict: bool) -> Opened:
    """Return what was inspected as `open_cluster` does, for those who have looked at it first."""
    is_bad = has_errors(promote_warnings(inspection.findings) if strict else inspection.findings)
    if is_bad:
        report_inspection(inspection, form, strict)
    elif inspection.findings and form == "text":
        coloured = wants_colour(sys.stderr)
        click.echo(format_headlines(inspection.findings, str(path), coloured), err=True, color=coloured)
    loaded = inspection.loaded
    if loaded.cluster is None or inspection.catalogue is None or inspection.plan is None:
        raise RuntimeError("a stage stopped without an error")
    return Opened(loaded.cluster, inspection.catalogue, inspection.plan, inspection.findings, loaded)
