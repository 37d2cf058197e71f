"""The strictest profile of ansible-lint finds nothing; by hand: `ansible-lint`.

It starts Ansible anew for the syntax of each playbook and role, which is most of its time. Here a double notes what is asked for,
and Ansible reads all of that at once.
"""

import os
import subprocess

from roles import ROLES, ROOT

DOUBLE = """#!/bin/sh
for playbook; do :; done
case $playbook in
/*) grep -vx -e --- "$playbook" >>"${0%/*}/roles.yml" ;; # one of its own for a role: a play, and gone afterwards
*) echo "$playbook" >>"${0%/*}/playbooks" ;;
esac
"""


def run(command, **environment):
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, check=False)


def test_production_profile_is_clean(collection, tmp_path):
    (tmp_path / "ansible-playbook").write_text(DOUBLE)
    (tmp_path / "ansible-playbook").chmod(0o755)
    command = ["ansible-lint", "--offline", "--nocolor", "-q", "--format", "pep8"]
    done = run(command, PATH=f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    asked = sorted({os.path.normpath(line) for line in (tmp_path / "playbooks").read_text().splitlines()})
    wanted = [file.relative_to(ROOT) for folder in ("playbooks", "molecule/*") for file in ROOT.glob(f"{folder}/*.yml")]
    assert set(asked) == {str(file) for file in wanted if file.name != "molecule.yml"}
    assert (tmp_path / "roles.yml").read_text().count("import_role:") == len(ROLES)
    done = run(["ansible-playbook", "--syntax-check", "-i", "localhost,", *asked, tmp_path / "roles.yml"])
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
