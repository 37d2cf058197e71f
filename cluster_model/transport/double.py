"""Doubles: sessions to gear that is not there, for tests of what reads gear."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cluster_model.transport.session import Answer, Login, Target, UnreachableError


class DoubleSession:
    """A double that answers from a table by the longest key that a command holds; what is not in it fails."""

    def __init__(self, answers: Mapping[str, str]) -> None:
        self._answers = answers
        self.asked: list[str] = []

    def ask(self, commands: Sequence[str]) -> list[Answer]:
        """Return what the table holds."""
        self.asked += commands
        return [self._answer(command) for command in commands]

    def _answer(self, command: str) -> Answer:
        keys = sorted((key for key in self._answers if key in command), key=len)
        return Answer(self._answers[keys[-1]]) if keys else Answer("command not found", ok=False)

    def close(self) -> None:
        """Nothing is open."""


class DoubleOpener:
    """A double of a fleet: devices by name with what each answers; the rest is unreachable."""

    def __init__(self, devices: Mapping[str, Mapping[str, str]]) -> None:
        self._devices = devices

    def __call__(self, target: Target, login: Login) -> DoubleSession:
        """Return the double of a device."""
        if target.name not in self._devices:
            raise UnreachableError("timed out")
        return DoubleSession(self._devices[target.name])
