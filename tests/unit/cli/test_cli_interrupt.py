"""Ctrl-C at any moment of a start ends the command with one line and exit code 130, and never with a traceback."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
# Python itself starts for some milliseconds before our first line runs; this tells the test when it does.
START = """
import os
from cluster_model.cli.main import main
os.write(1, b"!")
main()
"""


def interrupt(arguments: list[str], after_s: float) -> tuple[int, str, bool]:
    """Send SIGINT a while after the interpreter is up; return the exit code, what stderr says, and whether it came in time."""
    command = [sys.executable, "-c", START, *arguments]
    running = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stdout is not None
    running.stdout.read(1)
    time.sleep(after_s)
    was_running = running.poll() is None
    running.send_signal(signal.SIGINT)
    _, said = running.communicate()
    return running.returncode, said, was_running


@pytest.mark.usefixtures("machine_tier")  # what is hit depends on how fast the machine is
@pytest.mark.parametrize("verb", [["validate"], ["plan"], ["render", "--check"]])
def test_interrupted_in_its_imports(verb):
    seen = 0
    for step in range(12):
        code, said, was_running = interrupt([*verb, "inventory/lab"], 0.03 + step * 0.025)
        assert "Traceback" not in said
        assert "Exception ignored" not in said
        if was_running and code == 130:
            seen += 1
            assert said.endswith("Interrupted.\n")
        else:
            assert not was_running or code in {0, 1}, said  # it was done before the signal came
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
