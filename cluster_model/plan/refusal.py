"""How a step of planning says that it cannot go on."""

from __future__ import annotations


class Refused(Exception):  # noqa: N818 - a finding on its way, not a failure of the program
    """No plan has these dimensions. Whoever knows which value of the intent to change reports it (`Context.refuse`)."""

    def __init__(self, rule: str, summary: str, *, expected: str, actual: str, fix: str, where: str = "") -> None:
        super().__init__(summary)
        self.rule, self.summary, self.expected, self.actual, self.fix, self.where = rule, summary, expected, actual, fix, where
