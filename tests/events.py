"""What a test run tells scripts/run-tests: a line of JSON per event, at once, so that a run that is cut off has told all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.tiers import name_unit


class Events:
    """A plugin for the process that hands out the tests.

    Lines: `{"begin": test, "unit": …}`, and for each of a test's setup, call and teardown
    `{"end": test, "unit": …, "when": …, "outcome": …, "seconds": …, "error": first line}`.
    A file that cannot be collected ends with `when` of "collect". Before all tests comes `{"collected": [test, …]}`: a worker
    that dies takes the report of its test along, and pytest may end well all the same.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", encoding="utf-8", buffering=1)

        self._collected = False

    def _tell(self, **event: Any) -> None:
        self._file.write(json.dumps(event) + "\n")

    def _collect(self, tests: list[str]) -> None:
        if not self._collected:
            self._collected = True
            self._tell(collected=tests)

    def pytest_collection_finish(self, session: Any) -> None:
        self._collect([item.nodeid for item in session.items])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        self._collect(ids)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._tell(begin=nodeid, unit=name_unit(nodeid))

    def pytest_runtest_logreport(self, report: Any) -> None:
        error = first_line(report) if report.failed else ""
        unit, seconds = name_unit(report.nodeid), round(report.duration, 3)
        self._tell(end=report.nodeid, unit=unit, when=report.when, outcome=report.outcome, seconds=seconds, error=error)

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            unit = name_unit(report.nodeid)
            self._tell(end=report.nodeid, unit=unit, when="collect", outcome="failed", seconds=0, error=first_line(report))


def first_line(report: Any) -> str:
    """Return the first line of why a test failed; where pytest only has a text, its last line, which is the error's."""
    crash = getattr(report.longrepr, "reprcrash", None)
    lines = [line.strip() for line in (crash.message if crash else str(report.longrepr)).splitlines() if line.strip()]
    line = lines[0] if crash else lines[-1].removeprefix("E   ") if lines else "no reason given"
    return line[:240].encode("utf-8", "replace").decode()  # a lone surrogate could not be printed
