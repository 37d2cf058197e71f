"""Findings on paper: for people, for programs, and for a code review."""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, TextIO
from unicodedata import east_asian_width

import click

from cluster_model.diagnostic import ORDER, Diagnostic
from cluster_model.reading import read_file
from cluster_model.texts import UNPRINTABLE, drop_surrogates, show_text

Format = Literal["text", "json", "github"]
FOLD_AFTER = 3
"""Findings of one kind that are printed in full; the rest are counted."""
_UNSHOWN = re.compile(f"[{UNPRINTABLE}]")
WIDTH = 120
"""Longest source line shown whole, in characters."""
_READ = ("CAT", "RND")
"""Findings about files that are read again to show a line; what others are about may be anything, a private key for one."""
_MOST_BYTES = 4_000_000
_COLOURS = {"error": "red", "warning": "yellow", "info": "blue"}


def count_findings(findings: Sequence[Diagnostic]) -> str:
    """Return the last line, such as `2 errors, 1 warning.`; without any it is `No findings.`."""
    counts = Counter(finding.severity for finding in findings)
    words = {"error": "error", "warning": "warning", "info": "note"}
    parts = [f"{counts[kind]} {words[kind]}{'' if counts[kind] == 1 else 's'}" for kind in ORDER if counts[kind]]  # type: ignore[index]
    return f"{', '.join(parts)}." if parts else "No findings."


def print_findings(findings: Sequence[Diagnostic], form: Format, lines: Mapping[str, Sequence[str]] | None = None) -> None:
    """Print findings: text to stderr, machine formats to stdout.

    Args:
        findings: what to print, in order.
        form: `text` for people, `json` for programs, `github` for annotations in a code review.
        lines: text by file, as far as it is in memory; files of the catalogue and templates are read, and no others.
    """
    if form == "json":
        click.echo(format_json(findings))
    elif form == "github":
        if findings:
            click.echo(format_github(findings))
    else:
        click.echo(
            format_text(findings, lines or {}, is_coloured=wants_colour(sys.stderr)), err=True, color=wants_colour(sys.stderr)
        )


def wants_colour(stream: TextIO) -> bool:
    """Return whether to colour what goes to `stream`: a terminal, and no NO_COLOR (https://no-color.org)."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and stream.isatty()


def format_text(findings: Sequence[Diagnostic], lines: Mapping[str, Sequence[str]], is_coloured: bool = False) -> str:
    """Return findings for people, the last line counting them; the fourth and later of one kind are folded."""
    kinds: dict[tuple[str, str], list[Diagnostic]] = defaultdict(list)
    for finding in findings:
        kinds[_kind(finding)].append(finding)
    blocks: list[str] = []
    shown: Counter[tuple[str, str]] = Counter()
    for finding in findings:
        kind = _kind(finding)
        shown[kind] += 1
        if shown[kind] > FOLD_AFTER:
            continue
        blocks.append(_format_one(finding, lines, is_coloured))
        more = len(kinds[kind]) - FOLD_AFTER
        if shown[kind] == FOLD_AFTER and more > 0:
            blocks.append(f"  and {more} more like it")
    return "\n".join([*blocks, count_findings(findings)])


def format_headlines(findings: Sequence[Diagnostic], path: str, is_coloured: bool = False) -> str:
    """Return the warnings in a line each, for verbs whose own output matters more; the last line says where the rest is."""
    rows: list[str] = []
    shown: Counter[tuple[str, str]] = Counter()
    for finding in findings:
        shown[_kind(finding)] += 1
        if finding.severity != "info" and shown[_kind(finding)] <= FOLD_AFTER:
            rows.append(_format_one(finding, {}, is_coloured).splitlines()[0])
    rows.append(f"{count_findings(findings)} See gpuyard validate {path}")
    return "\n".join(rows)


def list_details(finding: Diagnostic) -> Iterator[str]:
    """Yield what was planned, what was found and what to do, as `verify` tells it below a finding's summary."""
    for word, text in (("planned", finding.expected), ("found", finding.actual), ("do", finding.fix)):
        if text:
            yield f"{word:<8}{text}"


def format_json(findings: Sequence[Diagnostic]) -> str:
    """Return findings for programs: one object with `findings`, all of them, and the counts."""
    counts = Counter(finding.severity for finding in findings)
    rows = [
        {
            "id": f.id,
            "severity": f.severity,
            "file": f.file,
            "line": f.line,
            "column": f.column,
            "where": f.where.removesuffix("@key"),
            "summary": f.summary,
            "expected": f.expected,
            "actual": f.actual,
            "fix": f.fix,
        }
        for f in findings
    ]
    body = {"findings": rows, "errors": counts["error"], "warnings": counts["warning"]}
    return drop_surrogates(json.dumps(body, indent=2, ensure_ascii=False))


def format_github(findings: Sequence[Diagnostic]) -> str:
    """Return findings as GitHub workflow commands (docs.github.com, "Workflow commands for GitHub Actions")."""
    rows = []
    for f in findings:
        place = {
            "file": show_text(f.file),
            "line": str(f.line or ""),
            "col": str(f.column or ""),
            "title": show_text(f"{f.id}: {f.summary}"),
        }
        options = ",".join(f"{key}={_escape(value, ':,')}" for key, value in place.items() if value)
        text = "\n".join(show_text(part) for part in (_explain(f), f"fix: {f.fix}" if f.fix else "") if part)
        rows.append(f"::{'notice' if f.severity == 'info' else f.severity} {options}::{_escape(text or show_text(f.summary))}")
    return "\n".join(rows)


def _kind(finding: Diagnostic) -> tuple[str, str]:
    return finding.id, re.sub(r"\d+", "", finding.summary)


def _escape(text: str, also: str = "") -> str:
    for character in "%\r\n" + also:
        text = text.replace(character, f"%{ord(character):02X}")
    return text


def _explain(finding: Diagnostic) -> str:
    """Return the line that names the path, and what was expected and found there."""
    facts = [f"expected {finding.expected}"] if finding.expected else []
    facts += [f"found {finding.actual}"] if finding.actual else []
    return "   ".join(part for part in (finding.where.removesuffix("@key"), "; ".join(facts)) if part)


def _format_one(finding: Diagnostic, lines: Mapping[str, Sequence[str]], is_coloured: bool) -> str:
    place = ":".join(str(part) for part in (show_text(finding.file), finding.line, finding.column) if part)
    label = f"{finding.severity} {finding.id}:"
    if is_coloured:
        label = click.style(label, fg=_COLOURS[finding.severity], bold=True)
    rows = [" ".join(part for part in (place + ":" if place else "", label, show_text(finding.summary)) if part)]
    if finding.line:
        rows += _quote(_find_line(finding, lines), finding.column)
    explanation = _explain(finding)
    rows += [f"  {show_text(explanation)}"] if explanation else []
    rows += [f"  fix: {show_text(finding.fix)}"] if finding.fix else []
    return "\n".join(rows)


def _find_line(finding: Diagnostic, lines: Mapping[str, Sequence[str]]) -> str:
    text = lines.get(finding.file)
    if text is None and finding.id.startswith(_READ):
        try:
            text = read_file(Path(finding.file), _MOST_BYTES).decode("utf-8-sig", "replace").splitlines()
        except (OSError, ValueError):
            return ""
    if text is None:
        return ""
    return text[finding.line - 1] if finding.line <= len(text) else ""


def _quote(line: str, column: int) -> list[str]:
    """Return the source line without its indentation, and a caret under the column; a long line is cut around it."""
    body = line.lstrip()
    at = column - 1 - (len(line) - len(body))
    if at < 0:  # the indentation itself is at fault
        body, at = line.replace("\t", "→"), column - 1
    body = _UNSHOWN.sub(" ", body).rstrip()
    if len(body) > WIDTH:
        start = max(0, min(at - WIDTH // 2, len(body) - WIDTH))
        left, right = "…" * (start > 0), "…" * (start + WIDTH < len(body))
        body, at = left + body[start + len(left) : start + WIDTH - len(right)] + right, at - start
    if not body:
        return []
    offset = sum(2 if east_asian_width(character) in "WF" else 1 for character in body[:at]) + max(at - len(body), 0)
    return [f"    {body}", f"    {' ' * offset}^"] if column else [f"    {body}"]
