"""Findings on paper: folding, quoting, and the forms for programs."""

from __future__ import annotations

import io
import json
import re

import pytest

from cluster_model.cli.findings import (
    count_findings,
    format_github,
    format_json,
    format_text,
    wants_colour,
)
from cluster_model.diagnostic import Diagnostic, promote_warnings
from cluster_model.texts import UNPRINTABLE

LINES = {"lab/cluster.yml": ("networks:", "  compute:", "    mtu_bytes: 9500", "\tid: 1", "x" * 300, "  名前: 値")}
ERROR = Diagnostic(
    "NET003",
    "error",
    "networks.compute.mtu_bytes",
    "MTU 9500 is above what the leaf can carry",
    "<= 9214 bytes (arista-7060x6-64pe)",
    fix="set mtu_bytes to 9214 or lower, or choose another leaf",
    file="lab/cluster.yml",
    line=3,
    column=16,
)
WARNING = Diagnostic(
    "RED001", "warning", "networks.compute", "one spine", actual="1 spine", file="lab/cluster.yml", line=2, column=3
)


def quote(line: int, column: int) -> list[str]:
    finding = Diagnostic("X", "error", "", "x", file="lab/cluster.yml", line=line, column=column)
    return format_text([finding], LINES).splitlines()[1:-1]


def test_the_form_of_the_design():
    assert format_text([ERROR], LINES) == (
        "lab/cluster.yml:3:16: error NET003: MTU 9500 is above what the leaf can carry\n"
        "    mtu_bytes: 9500\n"
        "               ^\n"
        "  networks.compute.mtu_bytes   expected <= 9214 bytes (arista-7060x6-64pe)\n"
        "  fix: set mtu_bytes to 9214 or lower, or choose another leaf\n"
        "1 error."
    )


@pytest.mark.parametrize(
    ("counts", "line"),
    [
        ((0, 0, 0), "No findings."),
        ((1, 0, 0), "1 error."),
        ((2, 1, 0), "2 errors, 1 warning."),
        ((0, 2, 1), "2 warnings, 1 note."),
        ((0, 0, 3), "3 notes."),
    ],
)
def test_last_line(counts, line):
    findings = [
        Diagnostic("X", kind, "", "x") for kind, n in zip(("error", "warning", "info"), counts, strict=True) for _ in range(n)
    ]
    assert count_findings(findings) == line


def test_many_alike_are_folded_in_text_only():
    many = [Diagnostic("PWR001", "error", f"servers.gpu.{n}", f"rack A{n} draws {n} kW", file="c.yml") for n in range(130)]
    text = format_text([*many, ERROR], LINES)
    assert text.count("PWR001") == 3
    assert "  and 127 more like it\n" in text
    assert text.endswith("\n131 errors.")
    assert len(json.loads(format_json(many))["findings"]) == 130


def test_different_words_are_not_folded():
    many = [Diagnostic("INT001", "error", "", f"unknown key {word}") for word in ("a", "b", "c", "d", "e")]
    assert format_text(many, {}).count("INT001") == 5


def test_caret_under_a_tab():
    assert quote(4, 1) == ["    →id: 1", "    ^"]


def test_long_line_is_cut_around_the_caret():
    line, caret = quote(5, 200)
    assert len(line) == 4 + 120
    assert line.strip()[0] == line[-1] == "…"
    assert caret.index("^") < len(line)


def test_caret_counts_wide_characters():
    assert quote(6, 7) == ["    名前: 値", "          ^"]


def test_line_that_is_gone():
    assert quote(99, 1) == []
    assert format_text([Diagnostic("X", "error", "", "x", file="no/such/file", line=1, column=1)], {}).startswith(
        "no/such/file:1:1:"
    )


def test_findings_without_a_place():
    assert format_text([Diagnostic("X001", "info", "", "so it is")], {}) == "info X001: so it is\n1 note."


def test_json():
    data = json.loads(format_json([ERROR, WARNING]))
    assert (data["errors"], data["warnings"]) == (1, 1)
    assert data["findings"][0] == {
        "id": "NET003",
        "severity": "error",
        "file": "lab/cluster.yml",
        "line": 3,
        "column": 16,
        "where": "networks.compute.mtu_bytes",
        "summary": ERROR.summary,
        "expected": ERROR.expected,
        "actual": "",
        "fix": ERROR.fix,
    }


def test_github():
    rows = format_github([ERROR, WARNING, Diagnostic("X001", "info", "", "50% done\nat last")]).splitlines()
    assert rows[0] == (
        "::error file=lab/cluster.yml,line=3,col=16,title=NET003%3A MTU 9500 is above what the leaf can carry::"
        "networks.compute.mtu_bytes   expected <= 9214 bytes (arista-7060x6-64pe)%0A"
        "fix: set mtu_bytes to 9214 or lower%2C or choose another leaf".replace("%2C", ",")
    )
    assert rows[1] == "::warning file=lab/cluster.yml,line=2,col=3,title=RED001%3A one spine::networks.compute   found 1 spine"
    assert rows[2] == "::notice title=X001%3A 50%25 done\\nat last::50%25 done\\nat last"


def test_strict_makes_warnings_errors():
    assert [f.severity for f in promote_warnings([WARNING, ERROR])] == ["error", "error"]
    assert [f.line for f in promote_warnings([WARNING, ERROR])] == [2, 3]


def test_colour_only_on_a_terminal(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert wants_colour(Terminal())
    assert not wants_colour(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not wants_colour(Terminal())
    assert "\x1b[31m\x1b[1merror NET003:\x1b[0m" in format_text([ERROR], LINES, is_coloured=True)


def test_nothing_of_a_users_text_reaches_the_terminal_as_a_control():
    summary = "\x1b]0;x\x07 \u202egnp \udc80"
    hostile = Diagnostic("X001", "error", "a.\x1b[2J", summary, "\x9b1m", "a\nb", "\u2028", "a\x1b.yml", 1, 1)
    for text in (format_text([hostile], {"a\x1b.yml": ["k: \x1b[31m\u202e"]}), format_github([hostile])):
        assert not re.search(f"[{UNPRINTABLE}\ud800-\udfff]", text.replace("\n", ""))
        text.encode()
    json.loads(format_json([hostile]).encode())


def test_a_long_text_is_cut():
    assert len(format_text([Diagnostic("X001", "error", "", "x" * 100_000)], {})) < 600
