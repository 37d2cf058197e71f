"""`gpuyard render`: write build/<cluster>/, only what changed, all or nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cluster_model import pipeline
from cluster_model.cli.common import ERRORS, cluster_argument, finding_options, open_cluster, refuse
from cluster_model.cli.diff import SHOWN, word_address
from cluster_model.cli.findings import Format
from cluster_model.pipeline import RefusedError, UnknownNameError, check_families

if TYPE_CHECKING:
    from cluster_model.plan.compare.tenants import ValueChange
    from cluster_model.plan.model import Plan
    from cluster_model.render.write import Written

DIFF_MAX_LINES = 4000
"""Lines of one file's difference; what is longer is a new design, and nobody reads it as a difference."""


@click.command()
@cluster_argument
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Folder to write; default: build/NAME.")
@click.option("--only", metavar="FAMILY", multiple=True, help="Write only this family of files (may be repeated).")
@click.option("--diff", "with_diff", is_flag=True, help="Show what changes in the files.")
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 if anything would change.")
@finding_options
def command(
    cluster: Path, output: Path | None, only: tuple[str, ...], with_diff: bool, check: bool, form: Format, strict: bool
) -> None:
    """Write every file that follows from an intent: switch configurations, inventory, cabling, drawings.

    Files that did not change are not touched; readers see the old tree or the new one, never a mixture. Files in the folder that
    are not gpuyard's are kept. A server, switch or gateway that has another address than in the tree before is told in a warning.
    Open index.html first.
    """
    from cluster_model.render.cabling import lacks_workbook
    from cluster_model.render.tree import list_unrendered
    from cluster_model.render.write import WriteError

    try:
        check_families(only)
    except UnknownNameError as error:
        raise click.BadParameter(str(error), param_hint="--only") from None
    opened = open_cluster(cluster, form, strict)
    families = set(only) or None
    try:
        files = pipeline.render(opened, families)
    except RefusedError as refused:
        refuse(refused.findings, form)
    target = output if output is not None else Path("build") / opened.plan.name
    moved, unread = _find_moved(target, files, opened.plan)
    try:
        if with_diff and form == "text":
            done = pipeline.write(opened, files, target, families, dry_run=True)
            for line in _format_diff(target, files, done):
                click.echo(line, nl=False)
        done = pipeline.write(opened, files, target, families, dry_run=check)
    except WriteError as error:
        raise click.ClickException(str(error)) from None
    if unread:
        told = f"addresses were not compared with those of {target}: its plan.json cannot be read by this version"
        click.echo(f"warning: {told}", err=True)
    _report(target, done, moved, check, form)
    missing = list_unrendered(opened.plan) if families is None or "switches" in families else {}
    if missing and form == "text":
        parts = [f"{count} {nos}" for nos, count in sorted(missing.items())]
        click.echo(f"note: no configuration files yet for {', '.join(parts)} switches: their templates come later", err=True)
    if form == "text" and (families is None or "cabling" in families) and lacks_workbook(opened.plan):
        click.echo("note: cabling/cables.xlsx is left out: it needs xlsxwriter, pip install 'gpuyard[xlsx]'", err=True)
    if check and (done.written or done.removed):
        raise click.exceptions.Exit(ERRORS)


def _find_moved(target: Path, files: Mapping[str, bytes], plan: Plan) -> tuple[list[ValueChange], bool]:
    """Return the addresses that move from the plan of the tree that stands to this one, and whether that cannot be read.

    Whatever is rendered: switches alone have the addresses of the new plan, too. A tree of another cluster is refused elsewhere.
    """
    from cluster_model.plan.compare.plans import compare_plans
    from cluster_model.twin.plan_file import TreeError, load_plan

    path = target / "plan.json"
    if not path.is_file():  # a FIFO would be waited for
        return [], os.path.lexists(path)
    try:
        if path.read_bytes() == files.get("plan.json"):
            return [], False
        old = load_plan(target)
    except (OSError, TreeError, ValueError):
        return [], True  # of another version, or broken: nothing is known of what stood
    return compare_plans(old, plan).moved_addresses if old.name == plan.name else [], False


def _report(target: Path, done: Written, moved: list[ValueChange], check: bool, form: Format) -> None:
    if moved and form == "text":
        number = "1 address moves" if len(moved) == 1 else f"{len(moved):,} addresses move"
        click.echo(f"warning: {number} from what {target} was rendered from:", err=True)
        for change in moved[:SHOWN]:
            click.echo(f"  {word_address(change)}", err=True)
        if len(moved) > SHOWN:
            click.echo(f"  and {len(moved) - SHOWN:,} more, which gpuyard diff OLD NEW lists", err=True)
    if form == "json":
        import json

        body = {
            "target": str(target),
            "written": done.written,
            "removed": done.removed,
            "unchanged": len(done.unchanged),
            "foreign": done.foreign,
            "moved_addresses": [asdict(change) for change in moved],
            "checked_only": check,
        }
        click.echo(json.dumps(body, indent=2))
        return
    if check:
        for sign, paths in (("write", done.written), ("remove", done.removed)):
            for path in paths:
                click.echo(f"would {sign} {target / path}")
    would = "would be " if check else ""
    parts = [f"{len(done.written)} files {would}written", f"{len(done.unchanged)} unchanged"]
    parts += [f"{len(done.removed)} {would}removed"] if done.removed else []
    click.echo(f"{target}: {', '.join(parts)}.")
    if done.foreign:
        names = ", ".join(done.foreign[:3]) + (f" and {len(done.foreign) - 3} more" if len(done.foreign) > 3 else "")
        click.echo(f"note: kept what is not gpuyard's: {names}", err=True)
    if not check:
        click.echo(f"Open {target / 'index.html'}")


def _format_diff(target: Path, files: Mapping[str, bytes], done: Written) -> Iterator[str]:
    """Yield unified differences of text files, a word about others."""
    from difflib import unified_diff

    for path in sorted((*done.written, *done.removed)):
        old = (target / path).read_bytes() if (target / path).is_file() else b""
        new = files.get(path, b"")
        try:
            before, after = old.decode().splitlines(keepends=True), new.decode().splitlines(keepends=True)
        except UnicodeDecodeError:
            yield f"{path} differs (not text)\n"
            continue
        names = f"{target / path}" if old else "/dev/null", f"{target / path}" if path in files else "/dev/null"
        if old and new and len(before) + len(after) > 20 * DIFF_MAX_LINES:
            yield f"{path} differs ({len(before)} lines before, {len(after)} after)\n"
            continue
        for number, line in enumerate(unified_diff(before, after, *names)):
            if number == DIFF_MAX_LINES:
                yield f"... {path}: more than {DIFF_MAX_LINES} lines differ\n"
                break
            yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
