"""What NVIDIA's tools printed on a machine with an H200 (tests/recorded), and a playback of nvidia-smi that answers with it."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import yaml

ROOT = Path(__file__).resolve().parents[2]
RECORDED = ROOT / "tests/recorded/nvidia-h200-580"
COMMANDS = yaml.safe_load((RECORDED / "commands.yml").read_text())

PROGRAM = """
import json, sys
answers = json.load(open({folder!r} + "/answers.json"))
words = " ".join(sys.argv[1:])
if words not in answers:
    open({folder!r} + "/refused", "a").write(words + "\\n")
    sys.exit("playback of nvidia-smi: nobody recorded `nvidia-smi " + words + "`")
out, err, code = answers[words]
sys.stdout.write(out)
sys.stderr.write(err)
sys.exit(code)
"""


class Said(NamedTuple):
    """What a command wrote to its two streams, and its exit code."""

    out: str
    err: str
    code: int


def said(name: str) -> Said:
    """Return what was recorded under this name."""
    code = next(row.get("code", 0) for key, row in COMMANDS.items() if name in {key, row.get("busy")})
    err = RECORDED / f"{name}.err"
    return Said((RECORDED / f"{name}.out").read_text(), err.read_text() if err.exists() else "", code)


def smi_arguments(name: str) -> list[str]:
    """Return the arguments of nvidia-smi that were recorded under this name."""
    program, *arguments = shlex.split(COMMANDS[name]["command"])
    assert program == "nvidia-smi"
    return arguments


class Playback:
    """A program nvidia-smi in `folder` that answers exactly the recorded commands; it fails at every other, and notes it."""

    def __init__(self, folder: Path, *, busy: bool = False) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        (folder / "playback.py").write_text(PROGRAM.format(folder=str(folder)))
        (folder / "nvidia-smi").write_text(f'#!/bin/sh\nexec {sys.executable} -IS {folder}/playback.py "$@"\n')
        (folder / "nvidia-smi").chmod(0o755)
        smi = {name: row for name, row in COMMANDS.items() if row["command"].split()[0] == "nvidia-smi"}
        self.answers = {
            " ".join(smi_arguments(name)): said(row["busy"] if busy and "busy" in row else name) for name, row in smi.items()
        }
        self.write(self.answers)

    def write(self, answers: Mapping[str, Said]) -> None:
        """Let it give these answers."""
        self.answers = dict(answers)
        (self.folder / "answers.json").write_text(json.dumps(self.answers))

    def also(self, arguments: str, name: str) -> None:
        """Answer a command that nobody ran as one of the same kind that was."""
        self.write({**self.answers, arguments: said(name)})

    def change(self, change: Callable[[str], str]) -> None:
        """Let it print another text where the recorded one cannot show what is tried."""
        self.write({words: answer._replace(out=change(answer.out)) for words, answer in self.answers.items()})

    @property
    def refused(self) -> str:
        """Return what it was asked and has no record of, a line each."""
        notes = self.folder / "refused"
        return notes.read_text() if notes.exists() else ""
