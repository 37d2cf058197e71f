"""What every verb needs: a cluster taken through intent, catalogue, plan and checks, and its findings printed once."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from cluster_model.cli.findings import Format, format_headlines, print_findings, wants_colour
from cluster_model.cli.interrupt import while_reading
from cluster_model.diagnostic import Diagnostic, has_errors, promote_warnings
from cluster_model.pipeline import Inspection, Opened, inspect

if TYPE_CHECKING:
    from cluster_model.plan.model import Plan, Server

Command = TypeVar("Command", bound=Callable[..., Any])

ERRORS, USAGE, UNREACHED = 1, 2, 3
"""Exit codes; main.py has them all."""
EXISTING = click.Path(exists=True, dir_okay=False, path_type=Path)
"""A file that has to be there."""


def cluster_argument(command: Command) -> Command:
    """Add the CLUSTER argument: a folder with cluster.yml, or the file."""
    return click.argument("cluster", type=click.Path(path_type=Path))(command)


def limit_option(command: Command) -> Command:
    """Add `--limit` (as `limits`): which devices are meant."""
    return click.option(
        "--limit",
        "limits",
        multiple=True,
        metavar="WORDS",
        callback=split_words,
        help="Only these devices: names, slices, racks, groups, unit-N, networks, roles or patterns, by commas; repeatable.",
    )(command)


def host_login_options(command: Command) -> Command:
    """Add the options of a login to hosts."""
    options = [
        click.option(
            "--user", envvar="GPUYARD_HOST_USER", default="", help="User on hosts [env GPUYARD_HOST_USER]; default: yours."
        ),
        click.option(
            "--key", type=EXISTING, envvar="GPUYARD_SSH_KEY", help="Private key [env GPUYARD_SSH_KEY]; default: agent and ~/.ssh."
        ),
        click.option("--ssh-config", type=EXISTING, help="OpenSSH configuration to use, for jump hosts and ports."),
        click.option("--trust-new-keys", is_flag=True, help="Add SSH host keys that are not known to known_hosts."),
        click.option(
            "--timeout", type=click.FloatRange(1, 600), default=60, show_default=True, help="Seconds to wait for an answer."
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def split_words(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of an option that takes them by commas; an empty text means no device, and never all of them."""
    lists = [[word for part in value.split(",") if (word := part.strip())] for value in values]
    if not all(lists):
        raise click.BadParameter("it is empty; name devices, or leave it out to mean all", ctx, param)
    return tuple(word for words in lists for word in words)


def choose_limited(plan: Plan, limits: Sequence[str], *, by_name: bool = False, hint: str = "--limit") -> list[Server]:
    """Return the servers that are meant; a usage error where a word means none.

    Args:
        plan: the plan.
        limits: the words of `--limit`; empty means every server.
        by_name: whether they are names of servers and nothing else.
        hint: the option that the words come from.
    """
    from cluster_model.plan.selection import SelectionError, choose_servers

    try:
        return choose_servers(plan, limits, by_name=by_name)
    except SelectionError as error:
        raise click.BadParameter(str(error), param_hint=hint) from None


def finding_options(command: Command) -> Command:
    """Add `--format` (as `form`) and `--strict`."""
    formats = click.Choice(["text", "json", "github"])
    command = click.option("--strict", is_flag=True, help="Treat warnings as errors.")(command)
    return click.option("--format", "form", type=formats, default="text", show_default=True, help="Form of the findings.")(
        command
    )


def inspect_cluster(path: Path, *, rules: bool = True) -> Inspection:
    """Return how far a cluster gets, and what is found on the way; while it is read, Ctrl-C ends the command at once."""
    with while_reading(click.get_current_context(silent=True) is not None):
        return inspect(path, rules=rules)


def report_inspection(inspection: Inspection, form: Format, strict: bool) -> None:
    """Print all findings with the line that counts them, and exit with 1 on errors, 2 when there is no such cluster."""
    findings = promote_warnings(inspection.findings) if strict else inspection.findings
    loaded = inspection.loaded
    print_findings(findings, form, {loaded.source.file: loaded.source.shown, **loaded.facts.lines})
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


def accept_inspection(inspection: Inspection, path: Path | str, form: Format, strict: bool) -> Opened:
    """Return what was inspected as `open_cluster` does, for those who have looked at it first."""
    is_bad = has_errors(promote_warnings(inspection.findings) if strict else inspection.findings)
    if is_bad:
        report_inspection(inspection, form, strict)
    elif inspection.findings and form == "text":
        coloured = wants_colour(sys.stderr)
        click.echo(format_headlines(inspection.findings, str(path), coloured), err=True, color=coloured)
    return inspection.accept(strict=strict)


def open_plan(path: Path, form: Format, strict: bool) -> Opened:
    """Return a cluster with its plan, whatever the design rules say: their findings are validate's to print.

    Without a plan the findings are printed, and the verb ends.
    """
    inspection = inspect_cluster(path)
    opened = inspection.opened
    return opened if opened is not None and not strict else accept_inspection(inspection, path, form, strict)


def refuse(findings: Sequence[Diagnostic], form: Format) -> NoReturn:
    """Print why there is no result, and exit with 1."""
    print_findings(findings, form)
    raise click.exceptions.Exit(ERRORS)
