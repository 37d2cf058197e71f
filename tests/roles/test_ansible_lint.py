"""The strictest profile of ansible-lint finds nothing; by hand: `ansible-lint`."""

import os
import subprocess
import sys
from pathlib import Path

from roles import ROOT


def test_production_profile_is_clean(collection):
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    command = ["ansible-lint", "--offline", "--nocolor", "-q", "--format", "pep8"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
