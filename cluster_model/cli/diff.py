"""`gpuyard diff`: what changes between two intents, or since a git revision, in words."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cluster_model.cli.changes import describe, summarize, word_moves
from cluster_model.cli.common import ERRORS, accept_inspection, finding_options, open_plan, refuse
from cluster_model.cli.findings import Format
from cluster_model.pipeline import Inspection, RefusedError, compare, inspect
from cluster_model.plan.compare.moves import count_changes, count_moves
from cluster_model.plan.compare.plans import clear_plan, compare_plans
from cluster_model.texts import show_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cluster_model.pipeline import Changes, Opened
    from cluster_model.plan.compare.hints import Hint
    from cluster_model.plan.compare.plans import Comparison

HEAD = "HEAD"


@click.command()
@click.argument("old", metavar="[OLD] NEW", type=click.Path(path_type=Path))
@click.argument("new", metavar="", required=False, type=click.Path(path_type=Path))
@click.option("--git", "revision", metavar="REV", help="Compare NEW with itself as it was at a git revision; default: HEAD.")
@click.option("--exit-code", is_flag=True, help="Exit with 1 when anything differs.")
@click.option("--all", "show_all", is_flag=True, help="List every change.")
@finding_options
def command(
    old: Path, new: Path | None, revision: str | None, exit_code: bool, show_all: bool, form: Format, strict: bool
) -> None:
    """Show what changes from one intent to another, what moves of what stands before all else.

    OLD and NEW are folders with cluster.yml, or the files. NEW alone is compared with itself as it was at a git revision; nothing
    is checked out. Cables are named by the end nearer the hosts; a link to the outside that moves, by its outer end.
    """
    news = ""
    with ExitStack() as stack:
        if new is not None:
            if revision is not None:
                raise click.UsageError(
                    "--git takes NEW alone, and compares it with itself at a revision: leave OLD out, or --git."
                )
            before, after = open_plan(old, form, strict=False), open_plan(new, form, strict)
        else:
            after = open_plan(old, form, strict)
            revision = HEAD if revision is None else revision
            held = _open_revision(stack, revision, old, form)
            before = held or replace(after, plan=clear_plan(after.plan))
            news = "" if held else f"{show_text(revision)} does not hold {show_text(str(old))}: all of it is new"
        try:
            found = compare(before, after)
        except RefusedError as refused:
            refuse(refused.findings, form)
    _show(found, news, [] if news else _advise(before, after, found.comparison), show_all, form)
    if exit_code and found:
        raise click.exceptions.Exit(ERRORS)


def _open_revision(stack: ExitStack, revision: str, cluster: Path, form: Format) -> Opened | None:
    """Return the cluster as it was, None where the revision holds none; findings name its files `REV:path`."""
    from cluster_model.cli.revision import NotHeldError, RevisionError, take_out

    try:
        taken = stack.enter_context(take_out(revision, cluster))
    except NotHeldError:
        return None
    except RevisionError as error:
        raise click.BadParameter(str(error), param_hint="--git") from None
    path = f"{revision}:{cluster}"
    inspection = inspect(taken)  # where Ctrl-C unwinds, so that what was taken out is removed
    _rename(inspection, str(taken), path)
    return inspection.opened or accept_inspection(inspection, Path(path), form, strict=False)


def _rename(inspection: Inspection, taken: str, shown: str) -> None:
    """Let findings and the lines that they quote have the names that the user knows."""
    parts = ("file", "summary", "expected", "actual", "fix")
    inspection.findings = [
        replace(finding, **{part: getattr(finding, part).replace(taken, shown) for part in parts})
        for finding in inspection.findings
    ]
    loaded = inspection.loaded
    source = replace(loaded.source, file=loaded.source.file.replace(taken, shown))
    facts = replace(loaded.facts, lines={file.replace(taken, shown): lines for file, lines in loaded.facts.lines.items()})
    inspection.loaded = replace(loaded, source=source, facts=facts)


def _advise(before: Opened, after: Opened, found: Comparison) -> list[str]:
    """Return how NEW can be written so that less moves, and what then does: NEW is planned and checked so."""
    from cluster_model.plan.compare.hints import apply_hints, choose_hints, list_hints

    known = {finding.id for finding in after.findings if finding.severity == "error"}

    def try_out(hints: Sequence[Hint]) -> Comparison | None:
        hinted = inspect(replace(after.loaded, cluster=apply_hints(after.cluster, hints)))
        is_refused = any(finding.severity == "error" and finding.id not in known for finding in hinted.findings)
        return None if is_refused or hinted.plan is None else compare_plans(before.plan, hinted.plan)

    chosen = choose_hints(list_hints(before.cluster, after.cluster), found, try_out)
    return [] if chosen is None else ["; ".join([*map(str, chosen[0]), f"it then {word_moves(chosen[1])}"])]


def _show(found: Changes, news: str, hints: list[str], show_all: bool, form: Format) -> None:
    """Print what changes; `news` is said instead of what moves, where there was nothing that could."""
    changes, configs = found.comparison, found.config_lines
    if form == "json":
        import orjson

        told = {
            "is_new": bool(news),
            "summary": summarize(changes, configs),
            "moves": count_moves(changes),
            "counts": count_changes(changes, configs),
            "hints": hints,
        }
        click.echo(orjson.dumps({**told, **asdict(changes), "config_lines": configs}, option=orjson.OPT_INDENT_2))
        return
    lines = describe(changes, configs, show_all=show_all)
    first = next(lines)
    click.echo(news or first)
    for hint in hints:
        click.echo(f"hint: {hint}")
    for line in lines:
        click.echo(line)
