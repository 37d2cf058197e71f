"""What a rule is, and the table of all rules by id."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

from cluster_model.checks.design import Design
from cluster_model.diagnostic import Diagnostic, Severity

SECTIONS = ("What it checks", "Why it matters", "How to fix", "Source")
"""The sections of every manual, in this order."""

RULES: dict[str, type[Rule]] = {}
"""Every rule by its id, sorted. A class enters when its module is imported, which `cluster_model.checks` does for all."""


@dataclass(frozen=True, slots=True)
class Manual:
    """A rule's manual, taken from its docstring: the law in one sentence, and the text of each section."""

    law: str
    sections: dict[str, str]


class Rule:
    """A design rule. A subclass sets `id`, `severity` and `title`, writes its manual as docstring, and yields findings.

    `stage` is `plan` for what the planner finds by itself while it builds: such a class carries the manual alone.
    `by_intent` is False where no intent breaks the rule with the hardware and platforms that come with gpuyard: it guards
    against faults of the planner and against data that users add. `asks` are the features of a platform that it asks for.
    """

    id: ClassVar[str] = ""
    severity: ClassVar[Severity] = "error"
    title: ClassVar[str] = ""
    stage: ClassVar[Literal["checks", "plan"]] = "checks"
    by_intent: ClassVar[bool] = True
    asks: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        if not re.fullmatch(r"[A-Z0-9]{3}[0-9]{3}", cls.id):
            raise TypeError(f"{cls.__name__}: the id of a rule is three letters and three digits, not {cls.id!r}")
        if cls.id in RULES:
            raise TypeError(f"{cls.__name__}: {cls.id} is already {RULES[cls.id].__name__}; take the next free number")
        RULES[cls.id] = cls

    def find(self, design: Design) -> Iterator[Diagnostic]:
        """Yield what breaks the rule; read nothing but `design`, and change nothing."""
        return iter(())

    def finding(self, where: str, summary: str, expected: str = "", actual: str = "", fix: str = "") -> Diagnostic:
        """Return a finding of this rule.

        Args:
            where: intent path of the value to change.
            summary: the fact in one sentence, without a full stop.
            expected: what would be right, with its unit and where the limit comes from.
            actual: what stands there.
            fix: what to type or do, in the imperative.
        """
        return Diagnostic(self.id, self.severity, where, summary, expected, actual, fix)

    @classmethod
    def manual(cls) -> Manual:
        """Return the manual."""
        text = inspect.cleandoc(cls.__doc__ or "")
        law, *parts = re.split(rf"^({'|'.join(SECTIONS)}):\n", text, flags=re.MULTILINE)
        bodies = [inspect.cleandoc("    " + body.strip("\n").lstrip()) for body in parts[1::2]]
        return Manual(" ".join(law.split()), dict(zip(parts[::2], bodies, strict=True)))
