"""Jobs on paper: lines for a terminal, and a page to print and take along into the cold aisle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby

from cluster_model.verify.cabling.places import Job

_STYLE = """
@page { size: A4 landscape; margin: 12mm }
body { font: 11px/1.35 "DejaVu Sans", Arial, sans-serif; margin: 2em; color: #111 }
h1 { font-size: 18px; margin: 0 0 2px } h2 { font-size: 15px; margin: 16px 0 4px }
table { border-collapse: collapse; width: 100% } th { text-align: left; border-bottom: 2px solid #111 }
td { border-bottom: 1px solid #999; padding: 4px 8px 4px 0; vertical-align: top }
tr { break-inside: avoid } td.box { font-size: 17px; line-height: 1 } td.do { font-weight: bold }
section { break-after: page } section:last-child { break-after: auto }
"""


def format_jobs(jobs: Sequence[Job]) -> Iterator[str]:
    """Yield the lines of jobs, rack by rack: where, what, what is there, what to do."""
    for rack, members in groupby(jobs, key=lambda job: job.rack):
        yield f"\n{rack or 'elsewhere'}"
        for job in members:
            finding = job.finding
            head = f"  U{job.u:<3}" if job.u else "      "
            yield f"{head} {finding.id} {finding.severity}: {finding.summary}"
            if finding.expected:
                yield f"         planned  {finding.expected}"
            if finding.actual:
                yield f"         found    {finding.actual}"
            if finding.fix:
                yield f"         do       {finding.fix}"


def format_sheet(title: str, summary: str, jobs: Sequence[Job]) -> str:
    """Return an HTML page, self-contained, one sheet of paper or more per rack, with a box to tick for every job."""
    parts = [
        f"<!doctype html>\n<html lang=en><head><meta charset=utf-8><title>{escape(title)}</title>",
        f"<style>{_STYLE}</style></head><body>",
        f"<h1>{escape(title)}</h1><p>{escape(summary)}</p>",
    ]
    for rack, members in groupby(jobs, key=lambda job: job.rack):
        parts.append(f"<section><h2>Rack {escape(rack)}</h2>" if rack else "<section><h2>Elsewhere</h2>")
        parts.append("<table><tr><th><th>U<th>device<th>port<th>what<th>found<th>do<th>id</tr>")
        parts += [_format_row(job) for job in members]
        parts.append("</table></section>")
    if not jobs:
        parts.append("<p>Nothing to do.</p>")
    return "\n".join([*parts, "</body></html>\n"])


def _format_row(job: Job) -> str:
    finding = job.finding
    cells = [("", f"{job.u}" if job.u else ""), ("", job.device), ("", job.port), ("", finding.summary), ("", finding.actual)]
    cells += [("do", finding.fix), ("", finding.id)]
    row = "".join(f"<td{f' class={name}' if name else ''}>{escape(text)}</td>" for name, text in cells)
    return f"<tr><td class=box>&#9744;</td>{row}</tr>"
