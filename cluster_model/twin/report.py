"""What the twin found: rows, as a table, as JSON and as Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from cluster_model.render.drawings.style import format_count

Result = Literal["passed", "failed", "left out", "note"]
SIGNS: dict[Result, str] = {"passed": "ok", "failed": "FAILED", "left out": "left out", "note": "note"}
HERE, SMALL_MACHINE = "namespaces", "small machine"
SHOWN = 6


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a trial found in all (`found`), and what is wrong (`faults`); `culprits` are the devices that it blames."""

    found: str
    faults: tuple[str, ...] = ()
    culprits: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Row:
    """A trial's result. `details` are sentences that name devices; `basis` is empty where the rendered file itself was booted.

    A note says how something was tried, and is no result. `place` is where: in namespaces here, or in the small machine.
    """

    kind: Literal["scope", "trial", "fault", "mistake"]
    network: str
    name: str
    result: Result
    found: str
    details: tuple[str, ...] = ()
    seconds: float = 0.0
    basis: str = ""
    place: str = HERE


@dataclass
class Report:
    """All rows of a run, with what was booted."""

    cluster: str
    digest: str
    place: str
    switches: int = 0
    hosts: int = 0
    cables: int = 0
    sampled: dict[str, str] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    seconds: float = 0.0
    times: dict[str, float] = field(default_factory=dict)

    @property
    def failed(self) -> int:
        """Return how many rows failed."""
        return sum(row.result == "failed" for row in self.rows)

    def summarize(self) -> str:
        """Return the last line of the table."""
        counts = {result: sum(row.result == result for row in self.rows) for result in SIGNS}
        parts = [f"{count} {result}" for result, count in counts.items() if count and result != "note"]
        return f"{', '.join(parts) or 'nothing tried'}, in {self.seconds:.0f} s."


def judge(faults: tuple[str, ...]) -> Result:
    """Return the result of a trial that found these faults."""
    return "failed" if faults else "passed"


def format_row(row: Row) -> list[str]:
    """Return a row as lines of the table, details of what failed or was left out below it."""
    time_text = f"{row.seconds:.1f} s" if row.seconds else ""
    basis = f" ({row.basis})" if row.basis else ""
    if row.kind in {"fault", "mistake"}:
        head = f"{SIGNS[row.result]:<9}{row.network:<10}{row.name}{basis}{'  ' if time_text else ''}{time_text}"
        lines = [head, f"{'':<19}  {row.found}"]
    else:
        lines = [_format_line(row, basis, time_text)]
    if row.result == "failed":
        lines += [f"{'':<21}{detail}" for detail in row.details[:SHOWN]]
        if len(row.details) > SHOWN:
            lines.append(f"{'':<21}and {len(row.details) - SHOWN} more; --report DIR has them all")
    return lines


def _format_line(row: Row, basis: str, time_text: str) -> str:
    return f"{SIGNS[row.result]:<9}{row.network:<10}{row.name:<34}{row.found}{basis}{'  ' if time_text else ''}{time_text}"


def format_json(report: Report) -> str:
    """Return the report as JSON."""
    body: dict[str, Any] = asdict(report)
    body["failed"] = report.failed
    return json.dumps(body, indent=2) + "\n"


def format_markdown(report: Report) -> str:
    """Return the report as a page."""
    lines = [
        f"# The twin of {report.cluster}",
        "",
        f"{format_count(report.switches, 'switch')}, {format_count(report.hosts, 'host')} and "
        f"{format_count(report.cables, 'cable')}, booted {report.place}, "
        f"from the plan with digest `{report.digest[:12]}`.",
        "",
        *(f"- {network} is a sample: {text}." for network, text in report.sampled.items()),
        *([""] if report.sampled else []),
        "| | network | trial | found | time |",
        "|---|---|---|---|---|",
        *(_format_cells(row) for row in report.rows),
        "",
        report.summarize(),
        "",
    ]
    failed = [row for row in report.rows if row.result == "failed"]
    for row in failed:
        lines += [f"## {row.network}: {row.name}", "", *(f"- {detail}" for detail in row.details), ""]
    return "\n".join(lines)


def _format_cells(row: Row) -> str:
    found = f"{row.found} ({row.basis})" if row.basis else row.found
    cells = (SIGNS[row.result], row.network, row.name, found, f"{row.seconds:.1f} s" if row.seconds else "")
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def count_results(rows: Iterable[Row]) -> dict[str, int]:
    """Return rows by result."""
    counted: dict[str, int] = {}
    for row in rows:
        counted[row.result] = counted.get(row.result, 0) + 1
    return counted
