"""The strictest profile of ansible-lint finds nothing; by hand: `ansible-lint`."""

import subprocess

from roles import ROOT


def test_production_profile_is_clean(collection):
    command = ["ansible-lint", "--offline", "--nocolor", "-q", "--format", "pep8"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
