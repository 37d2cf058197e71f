"""Ctrl-C at any moment of a start ends the command with one line and exit code 130, and never with a traceback."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.slowness import stretch

ROOT = Path(__file__).parents[3]
# Tells the test of every module that is looked for, from when Ctrl-C is ours.
START = """
import importlib.abc, os, sys
from cluster_model.cli import main
class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        os.write(1, b"!")
def begin(leave=main.leave_at_once):
    leave()
    os.write(1, b"!")
    sys.meta_path.insert(0, Finder())
main.leave_at_once = begin
main.main()
"""
LIMIT_S = 120
MOMENTS = 12


def start(arguments: list[str]) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", START, *arguments]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def interrupt(arguments: list[str], after: int) -> tuple[int, str]:
    """Send SIGINT once so many modules were looked for; return the exit code, and what stderr says."""
    running = start(arguments)
    assert running.stdout is not None
    running.stdout.read(after)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=stretch(LIMIT_S))
    return running.returncode, said


@pytest.mark.usefixtures("machine_tier")  # what is hit depends on how fast the machine is
@pytest.mark.parametrize("verb", [["validate"], ["plan"], ["render", "--check"]])
def test_interrupted_in_its_imports(verb):
    told = start([*verb, "inventory/lab"]).communicate(timeout=stretch(LIMIT_S))[0]
    count = len(told) - len(told.lstrip("!"))
    assert count > 10 * MOMENTS
    seen = 0
    for moment in range(MOMENTS):
        code, said = interrupt([*verb, "inventory/lab"], 1 + moment * count // MOMENTS)
        assert "Traceback" not in said
        assert "Exception ignored" not in said
        if code == 130:
            seen += 1
            assert said.endswith("Interrupted.\n")
        else:
            assert code in {0, 1}, said  # it was done before the signal came
    assert seen > 3


def test_a_signal_after_the_work_keeps_the_exit_code():
    """Python puts the default action back before it ends, unless the signal is ignored."""
    code = """
import os, signal, sys
from cluster_model.cli.main import main
class Late:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
sys.late = Late()
main()
"""
    done = subprocess.run([sys.executable, "-c", code, "--version"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_import_of_a_start_may_be_interrupted():
    """A signal sent by the process itself as each of our modules is looked for: no timing, every place."""
    hook = """
import importlib.abc, os, signal, sys
class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == WANTED:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
"""
    listing = "import sys; from cluster_model.cli.main import run; run(['validate', 'inventory/lab']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", listing], cwd=ROOT, capture_output=True, text=True, check=True)
    ours = re.compile(r"(cluster_model\.(?!cli(\.(main|interrupt))?$)|click|pydantic|yaml)")
    names = [name for name in done.stdout.split() if ours.match(name)]
    for name in names[:: max(1, len(names) // 25)]:
        code = hook.replace("WANTED", repr(name)) + "from cluster_model.cli.main import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", code, "validate", "inventory/lab"], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (130, "Interrupted.\n"), name
