"""What a session to gear is. It only asks: nothing in this stage writes to a device."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from cluster_model.transport.gear_text import clean_line, clean_output, holds_hostile

SHELL = "linux"
"""netmiko's device type of everything whose login is a Linux shell: SONiC, Cumulus Linux, FRR on Linux."""
CONNECT_S = 10.0
ANSWER_S = 60.0


class UnreachableError(Exception):
    """A device that could not be logged in to, or went silent; the text is the reason, in one line."""

    def __init__(self, reason: str) -> None:
        super().__init__(clean_line(reason, 500))


@dataclass(frozen=True, slots=True)
class Target:
    """Where a device is reached: `driver` is netmiko's device type, empty for hosts, which OpenSSH's client reaches."""

    name: str
    address: str
    driver: str = ""
    port: int = 22


@dataclass(frozen=True, slots=True)
class Login:
    """How to log in. An empty user is the client's own choice (its configuration, then the local name).

    The password never stands on a command line: it comes from GPUYARD_PASSWORD, and only switches take one. It is sent to nobody
    whose host key is not known, unless `trust_new` or the OpenSSH configuration says that new keys are trusted.
    """

    user: str = ""
    key: Path | None = None
    password: str = ""
    ssh_config: Path | None = None
    connect_s: float = CONNECT_S
    answer_s: float = ANSWER_S
    trust_new: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command printed, standard error included, and whether it succeeded; `altered` where it was not fit to pass on."""

    text: str
    ok: bool = True
    altered: bool = field(default=False, init=False, compare=False)

    def __post_init__(self) -> None:
        """Make the text safe: this is where all that switches and hosts print comes in."""
        object.__setattr__(self, "altered", holds_hostile(self.text))
        object.__setattr__(self, "text", clean_output(self.text))


class Session(Protocol):
    """An open session to one device."""

    def ask(self, commands: Sequence[str]) -> list[Answer]:
        """Return the answers to commands, in their order; UnreachableError where the device goes silent."""
        ...

    def close(self) -> None:
        """End the session; never raises."""
        ...


class Opener(Protocol):
    """Opens sessions of one kind."""

    def __call__(self, target: Target, login: Login) -> Session:
        """Return a session; UnreachableError where there is none to be had."""
        ...


def read_password() -> str:
    """Return the password for switches, from the environment."""
    return os.environ.get("GPUYARD_PASSWORD", "")


def shorten(error: object) -> str:
    """Return the first line that says something of an error's text."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].endswith(":"):
        return lines[1].rstrip(".")
    return lines[0].rstrip(".:") if lines else type(error).__name__
