"""`gpuyard render`: write build/<cluster>/, only what changed, all or nothing."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cluster_model import pipeline
from cluster_model.cli.changes import list_moves, word_moves
from cluster_model.cli.common import ERRORS, cluster_argument, finding_options, open_cluster, refuse
from cluster_model.cli.findings import FOLD_AFTER, Format
from cluster_model.pipeline import RefusedError, UnknownNameError, check_families

if TYPE_CHECKING:
    from cluster_model.plan.compare.plans import Comparison
    from cluster_model.plan.model import Plan
    from cluster_model.render.write import Written

DIFF_MAX_LINES = 4000
"""Lines of one file's difference; what is longer is a new design, and nobody reads it as a difference."""

FIRST = ("switches", "fabric-manager", "boot", "dns", "inventory")
"""Families that a difference shows first."""
UNSHOWN = ("manifest.json", "plan.json", "index.html")


@click.command()
@cluster_argument
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Folder to write; default: build/NAME.")
@click.option("--only", metavar="FAMILY", multiple=True, help="Write only this family of files (may be repeated).")
@click.option("--diff", "with_diff", is_flag=True, help="Show what changes in the files, configurations first.")
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 if anything would change.")
@finding_options
def command(
    cluster: Path, output: Path | None, only: tuple[str, ...], with_diff: bool, check: bool, form: Format, strict: bool
) -> None:
    """Write every file that follows from an intent: switch configurations, inventory, cabling, drawings.

    Files that did not change are not touched; readers see the old tree or the new one, never a mixture. Files in the folder that
    are not gpuyard's are kept. What moves of what the tree before had, devices, cables or addresses, is told in a warning. Open
    index.html first.
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
            for line in _format_diff(target, files, done, opened.loaded.inputs):
                click.echo(line, nl=False)
        done = pipeline.write(opened, files, target, families, dry_run=check)
    except WriteError as error:
        raise click.ClickException(str(error)) from None
    if unread:
        told = f"what moves was not compared with {target}: its plan.json cannot be read by this version"
        click.echo(f"warning: {told}", err=True)
    _report(target, done, moved, check, form, "index.html" in files)
    missing = list_unrendered(opened.plan) if families is None or "switches" in families else {}
    if missing and form == "text":
        parts = [f"{count} {nos}" for nos, count in sorted(missing.items())]
        click.echo(f"note: no configuration files yet for {', '.join(parts)} switches: their templates come later", err=True)
    if form == "text" and (families is None or "cabling" in families) and lacks_workbook(opened.plan):
        click.echo("note: cabling/cables.xlsx is left out: it needs xlsxwriter, pip install 'gpuyard[xlsx]'", err=True)
    if check and (done.written or done.removed):
        raise click.exceptions.Exit(ERRORS)


def _find_moved(target: Path, files: Mapping[str, bytes], plan: Plan) -> tuple[Comparison | None, bool]:
    """Return what changes from the plan of the tree that stands to this one, and whether that cannot be read.

    Whatever is rendered: switches alone have the addresses of the new plan, too. A tree of another cluster is refused elsewhere.
    """
    from cluster_model.plan.compare.plans import compare_plans
    from cluster_model.twin.plan_file import TreeError, load_plan

    path = target / "plan.json"
    if not path.is_file():  # a FIFO would be waited for
        return None, os.path.lexists(path)
    try:
        if path.read_bytes() == files.get("plan.json"):
            return None, False
        old = load_plan(target)
    except (OSError, TreeError, ValueError):
        return None, True  # of another version, or broken: nothing is known of what stood
    return compare_plans(old, plan) if old.name == plan.name else None, False


def _report(target: Path, done: Written, moved: Comparison | None, check: bool, form: Format, has_page: bool) -> None:
    from cluster_model.plan.compare.moves import count_moves
    from cluster_model.plan.compare.plans import Comparison
    from cluster_model.render.drawings.style import format_count

    moved = moved or Comparison()
    moves = count_moves(moved)
    if any(moves.values()) and form == "text":
        click.echo(f"warning: against what {target} was rendered from, this {word_moves(moved)}", err=True)
        for line in list_moves(moved, FOLD_AFTER, "gpuyard diff OLD NEW lists them"):
            click.echo(line, err=True)
    if form == "json":
        import json

        body = {
            "target": str(target),
            "written": done.written,
            "removed": done.removed,
            "unchanged": len(done.unchanged),
            "foreign": done.foreign,
            "moves": moves,
            "moved_addresses": [asdict(change) for change in moved.moved_addresses],
            "checked_only": check,
        }
        click.echo(json.dumps(body, indent=2))
        return
    if check:
        for sign, paths in (("write", done.written), ("remove", done.removed)):
            for path in paths:
                click.echo(f"would {sign} {target / path}")
    would = "would be " if check else ""
    parts = [f"{format_count(len(done.written), 'file')} {would}written", f"{len(done.unchanged)} unchanged"]
    parts += [f"{len(done.removed)} {would}removed"] if done.removed else []
    click.echo(f"{target}: {', '.join(parts)}.")
    if done.foreign:
        names = ", ".join(done.foreign[:3]) + (f" and {len(done.foreign) - 3} more" if len(done.foreign) > 3 else "")
        click.echo(f"note: kept what is not gpuyard's: {names}", err=True)
    if has_page and not check:
        click.echo(f"Open {target / 'index.html'}")


def _format_diff(target: Path, files: Mapping[str, bytes], done: Written, inputs: Collection[str]) -> Iterator[str]:
    """Yield unified differences of text files, configurations first, a word about others, and how many are not shown.

    Not shown is what follows from the rest and nobody reads as a difference: drawings, the page, the plan, the manifest, and
    files where only digests of the intent differ.
    """
    from difflib import unified_diff

    hidden = 0
    for path in sorted((*done.written, *done.removed), key=_rank):
        old = (target / path).read_bytes() if (target / path).is_file() else b""
        new = files.get(path, b"")
        if path in UNSHOWN or path.endswith(".svg"):
            hidden += 1
            continue
        try:
            texts = old.decode(), new.decode()
        except UnicodeDecodeError:
            yield f"{path} differs (not text)\n"
            continue
        if len({_mask_digests(text, inputs) for text in texts}) == 1:
            hidden += 1
            continue
        before, after = (text.splitlines(keepends=True) for text in texts)
        names = f"{target / path}" if old else "/dev/null", f"{target / path}" if path in files else "/dev/null"
        if old and new and len(before) + len(after) > 20 * DIFF_MAX_LINES:
            yield f"{path} differs ({len(before)} lines before, {len(after)} after)\n"
            continue
        for number, line in enumerate(unified_diff(before, after, *names)):
            if number == DIFF_MAX_LINES:
                yield f"... {path}: more than {DIFF_MAX_LINES} lines differ\n"
                break
            yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
    if hidden:
        differ = "differs" if hidden == 1 else "differ"
        yield f"{hidden} more {differ}, not shown: plan, manifest, page, drawings, or digests alone\n"


def _rank(path: str) -> tuple[int, str]:
    """Return where a file comes: what gear is given, then what programs and people read."""
    family = path.partition("/")[0]
    return (FIRST.index(family) if family in FIRST else len(FIRST)), path


def _mask_digests(text: str, inputs: Collection[str]) -> str:
    """Return a text without the digests of the intent and of the files that it was made from."""
    import re

    names = "|".join(map(re.escape, ("digest", *inputs)))
    return re.sub(rf'("(?:{names})": ")[0-9a-f]{{64}}"', r"\1", text)
