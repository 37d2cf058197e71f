"""The command as a shell sees it: start, help, exit codes, and no traceback for anything a user did."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from cluster_model import __version__
from cluster_model.cli import group
from cluster_model.cli.group import VERBS, cli
from cluster_model.cli.main import run

ROOT = Path(__file__).parents[3]
HEAVY = {"pydantic", "jinja2", "yaml", "orjson", "rich", "netmiko", "pyinfra"}
PROBE = "import sys; from cluster_model.cli.main import run; run(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"


def context() -> click.Context:
    return click.Context(cli, info_name="gpuyard")


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], *[[verb, "--help"] for verb in VERBS]])
def test_starts_without_heavy_imports(arguments):
    done = subprocess.run([sys.executable, "-c", PROBE, *arguments], capture_output=True, text=True, check=True)
    assert HEAVY.isdisjoint(done.stderr.split()), f"imported for {arguments}"


def test_version_is_quick():
    times = []
    for _ in range(3):
        before = os.times()
        done = subprocess.run(
            [sys.executable, "-m", "cluster_model.cli", "--version"], capture_output=True, text=True, check=True
        )
        after = os.times()
        times.append(after.children_user + after.children_system - before.children_user - before.children_system)
    assert done.stdout == f"gpuyard {__version__}\n"
    assert min(times) < 0.3  # 0.04 s of CPU when measured; three times that would be a heavy import


@pytest.mark.parametrize("verb", VERBS)
def test_verb_has_help_and_a_page(verb):
    command = cli.get_command(context(), verb)
    assert command is not None, f"cluster_model/cli/{verb}.py is not there"
    assert command.help
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{verb} {parameter.opts}"
    assert f"\n## gpuyard {verb}\n" in (ROOT / "docs" / "commands.md").read_text("utf-8")


def test_page_has_no_other_verbs():
    page = (ROOT / "docs" / "commands.md").read_text("utf-8")
    assert re.findall(r"^## gpuyard ([a-z-]+)$", page, re.MULTILINE) == list(VERBS)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["validat"], "there is no verb validat; did you mean validate?"),
        (["frobnicate"], "gpuyard --help lists them"),
        (["validate"], "Missing argument 'CLUSTER'"),
        (["validate", "x", "--format", "xml"], "'xml' is not one of"),
        (["explain", "NET0003"], "there is no finding NET0003; did you mean NET003"),
    ],
)
def test_wrong_usage(arguments, words, capsys):
    assert run(arguments) == 2
    captured = capsys.readouterr()
    assert words in captured.err
    assert captured.out == ""


def test_a_defect_is_one_line(monkeypatch, capsys):
    def fail(*args, **kwargs):
        raise KeyError("rail")

    monkeypatch.setattr(group.cli, "main", fail)
    monkeypatch.delenv("GPUYARD_DEBUG", raising=False)
    assert run(["validate"]) == 3
    error = capsys.readouterr().err
    assert error.startswith(f"error: gpuyard {__version__} has a defect (KeyError: 'rail')")
    assert len(error.splitlines()) == 1
    monkeypatch.setenv("GPUYARD_DEBUG", "1")
    assert run(["validate"]) == 3
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (PermissionError(13, "Permission denied", "build/lab"), 3, "error: build/lab: Permission denied"),
        (OSError(28, "No space left on device"), 3, "error: system: No space left on device"),
        (click.Abort(), 130, "Interrupted."),
    ],
)
def test_what_is_not_our_fault(error, code, words, monkeypatch, capsys):
    def fail(*args, **kwargs):
        raise error

    monkeypatch.setattr(group.cli, "main", fail)
    assert run([]) == code
    assert capsys.readouterr().err == f"{words}\n"


def test_broken_pipe_is_quiet():
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "cluster_model.cli", "schema"], stdout=writer, stderr=subprocess.PIPE, check=False
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")
