"""The one form of a finding: what was expected where, what stands there, and the way out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

Severity = Literal["error", "warning", "info"]
ORDER: dict[str, int] = {"error": 0, "warning": 1, "info": 2}


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A finding.

    Args:
        id: rule id, e.g. ``NET003``; ``gpuyard explain NET003`` is its manual.
        severity: ``error`` stops the next stage, ``warning`` and ``info`` do not.
        where: intent path with dots, e.g. ``networks.compute.mtu_bytes``; list items by number.
            A path that ends in ``@key`` means the key itself rather than its value.
        summary: one sentence, no full stop, naming the fact.
        expected: what would have been right, with its unit and where the limit comes from.
        actual: what stands there.
        fix: what to type or do, in the imperative.
        file: file the finding is about; empty means the intent itself.
        line: 1-based line in `file`, 0 when not located yet.
        column: 1-based column in `file`, 0 when not located yet.
    """

    id: str
    severity: Severity
    where: str
    summary: str
    expected: str = ""
    actual: str = ""
    fix: str = ""
    file: str = ""
    line: int = 0
    column: int = 0

    def located(self, file: str, line: int, column: int) -> Diagnostic:
        """Return the same finding, tied to a place in a file."""
        return replace(self, file=file, line=line, column=column)

    @property
    def sort_key(self) -> tuple[int, str, int, int, str, str, str]:
        """Return the order of print: errors first, then by place."""
        return (ORDER[self.severity], self.file, self.line, self.column, self.where, self.id, self.summary)


def has_errors(findings: Sequence[Diagnostic]) -> bool:
    """Return whether any finding is an error."""
    return any(finding.severity == "error" for finding in findings)


def promote_warnings(findings: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Return the findings with every warning made an error, as `--strict` wants."""
    return sorted((replace(f, severity="error") if f.severity == "warning" else f for f in findings), key=lambda f: f.sort_key)
