"""`gpuyard render`: write build/<cluster>/, only what changed, all or nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cluster_model.cli.common import ERRORS, Opened, cluster_argument, finding_options, open_cluster
from cluster_model.cli.findings import Format, print_findings

if TYPE_CHECKING:
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
    are not gpuyard's are kept. Open index.html first.
    """
    from cluster_model.render.switch import SwitchTemplateError
    from cluster_model.render.tree import FAMILIES, DataError, list_unrendered, render_tree
    from cluster_model.render.write import WriteError, compare_tree, write_tree

    _check_families(only, list(FAMILIES))
    opened = open_cluster(cluster, form, strict)
    families = set(only) or None
    try:
        files = render_tree(opened.plan, opened.catalogue, families, findings=opened.findings, inputs=hash_inputs(opened))
    except (SwitchTemplateError, DataError) as error:
        print_findings([error.finding], form)
        raise click.exceptions.Exit(ERRORS) from None
    target = output if output is not None else Path("build") / opened.plan.name
    try:
        if with_diff and form == "text":
            done = compare_tree(target, files, families)
            for line in _format_diff(target, files, done):
                click.echo(line, nl=False)
        done = compare_tree(target, files, families) if check else write_tree(target, files, opened.plan.digest, families)
    except WriteError as error:
        raise click.ClickException(str(error)) from None
    _report(target, done, check, form)
    missing = list_unrendered(opened.plan) if families is None or "switches" in families else {}
    if missing and form == "text":
        parts = [f"{count} {nos}" for nos, count in sorted(missing.items())]
        click.echo(f"note: no configuration files yet for {', '.join(parts)} switches: their templates come later", err=True)
    if check and (done.written or done.removed):
        raise click.exceptions.Exit(ERRORS)


def hash_inputs(opened: Opened) -> dict[str, str]:
    """Return the sha256 of every file that the intent's digest is made from, by its name there; `-` for a missing one."""
    from cluster_model.intent.load import list_inputs

    loaded = opened.loaded
    others = list_inputs(opened.cluster, loaded.folder)
    paths = {"cluster.yml": Path(loaded.source.file), **{name: loaded.folder / name for name in others}}
    sums = {}
    for name, path in sorted(paths.items()):
        try:
            sums[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        except (OSError, ValueError):
            sums[name] = "-"
    return sums


def _check_families(only: tuple[str, ...], known: list[str]) -> None:
    from difflib import get_close_matches

    for name in only:
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(known)}"
            raise click.BadParameter(f"there is no family {name}{hint}", param_hint="--only")


def _report(target: Path, done: Written, check: bool, form: Format) -> None:
    if form == "json":
        import json

        body = {
            "target": str(target),
            "written": done.written,
            "removed": done.removed,
            "unchanged": len(done.unchanged),
            "foreign": done.foreign,
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
