"""Completion as bash does it: the script that click makes, and what it offers for words that were begun."""

import os
import shutil
import subprocess
import sys

import pytest

SCRIPT = """
eval "$(_GPUYARD_COMPLETE=bash_source gpuyard)"
compopt() { printf 'compopt %s\\n' "$2"; }
COMP_WORDS=(gpuyard "$@"); COMP_CWORD=$#; COMPREPLY=()
_gpuyard_completion gpuyard
printf '%s\\n' "${COMPREPLY[@]}"
"""

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")


@pytest.fixture
def complete(tmp_path):
    """Return what bash offers for the last of some words, with this code as the program `gpuyard`."""
    program = tmp_path / "gpuyard"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m cluster_model.cli "$@"\n')
    program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}

    def ask(*words):
        done = subprocess.run(
            ["bash", "-c", SCRIPT, "bash", *words], capture_output=True, text=True, check=False, env=environment
        )
        assert done.stderr == ""
        return done.stdout.splitlines()

    return ask


def test_verbs_and_options_are_completed(complete):
    assert complete("val") == ["validate"]
    assert complete("bmc", "p") == ["power"]
    assert complete("verify", "cabling", "--lim") == ["--limit"]
    assert complete("render", "inventory/lab", "--format", "j") == ["json"]


def test_folders_are_completed_by_the_shell(complete):
    assert complete("render", "inv")[0] == "compopt default"


def test_an_unknown_verb_offers_nothing_and_says_nothing(complete):
    assert complete("validat", "inv") == [""]
