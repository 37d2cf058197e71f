"""Programs that are read to a limit: their end, their time, and what they may say."""

import os
import subprocess

import pytest

from cluster_model.transport.program import run_program


def test_what_it_says_and_how_it_ended():
    done = run_program(
        ["sh", "-c", "cat; echo $A; echo no >&2; exit 3"], 60, told="told\n" * 50_000, environment={**os.environ, "A": "b"}
    )
    assert (done.code, done.output, done.errors) == (3, "told\n" * 50_000 + "b\n", "no\n")


@pytest.mark.parametrize("script", ["cat /dev/zero", "cat /dev/zero >&2"])
def test_one_that_speaks_without_end_is_killed(script):
    done = run_program(["sh", "-c", f"exec {script}"], 60, most=1_000_000)
    assert done.code != 0 and len(done.output) + len(done.errors) == 1_000_000


@pytest.mark.parametrize("script", ["exec sleep 3600", "exec >&- 2>&-; exec sleep 3600", "while echo; do sleep 0.1; done"])
def test_one_that_does_not_end_is_killed(script):
    with pytest.raises(subprocess.TimeoutExpired):
        run_program(["sh", "-c", script], 0.5)


def test_one_that_is_not_there():
    with pytest.raises(FileNotFoundError):
        run_program(["/no/such/program"], 1)
