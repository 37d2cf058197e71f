"""scripts/fetch-schemas against repositories that stand in for SONiC's and Ubuntu's; and how run-tests uses what it made.

The doubles are git repositories that hold as few files as their kinds: a module, a template of one, a JSON Schema. What git does
with them is real: a shallow, filtered fetch of one commit by its id, which is no branch's tip, and a sparse checkout.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULE, TEMPLATE, SCHEMA = "module a {}\n", "{% if yang_model_type == 'py' %}\nmodule b {}\n{% endif %}\n", '{"type": "object"}\n'


def git(*words, folder):
    identity = ["-c", "user.name=Double", "-c", "user.email=double@example.net"]
    return subprocess.run(["git", *identity, *words], cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


def make_repository(folder, files):
    """Return the id of a commit with these files, which a later commit hides."""
    folder.mkdir()
    git("init", "--quiet", folder=folder)
    git("config", "uploadpack.allowFilter", "true", folder=folder)
    git("config", "uploadpack.allowAnySHA1InWant", "true", folder=folder)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git("add", "--all", folder=folder)
    git("commit", "--quiet", "--message=pinned", folder=folder)
    pinned = git("rev-parse", "HEAD", folder=folder)
    git("rm", "--quiet", "-r", ".", folder=folder)
    git("commit", "--quiet", "--message=later", folder=folder)
    return pinned


class Yard:
    """A folder with the script, its pins and the doubles."""

    def __init__(self, folder):
        self.folder, self.made = folder, folder / "schemas"
        shutil.copy(ROOT / "scripts/fetch-schemas", folder)
        models = {"models/a.yang": MODULE, "templates/b.yang.j2": TEMPLATE, "device/large.bin": "x" * 100_000}
        self.pins = {
            "sonic-yang": (make_repository(folder / "sonic", models), ["models/*.yang", "templates/*.yang.j2"]),
            "autoinstall-schema": (
                make_repository(folder / "subiquity", {"schema.json": SCHEMA, "code.py": ""}),
                ["schema.json"],
            ),
        }
        self.digests = {
            "sonic-yang": "21f92eb84dab3ec6a0ba5478b90d77cfb3dfbf3eeac3a4cc9f2874dcf4d46cac",
            "autoinstall-schema": "31d3ae8c11717e4081bc670e43d3092850b3923b56bc4087b4f5927c0ecbbad4",
        }

    def fetch(self, **environment):
        text = "".join(
            f'[{name}]\nrepository = "file://{self.folder}/{folder}"\ncommit = "{commit}"\npaths = {paths}\n'
            f'sha256 = "{self.digests[name]}"\n'
            for (name, (commit, paths)), folder in zip(self.pins.items(), ("sonic", "subiquity"), strict=True)
        )
        (self.folder / "schemas.toml").write_text(text)
        command = [sys.executable, self.folder / "fetch-schemas", self.made]
        return subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)

    def listing(self):
        return {str(path.relative_to(self.made)): path.read_text() for path in sorted(self.made.rglob("*")) if path.is_file()}


WHOLE = {"autoinstall-schema/schema.json": SCHEMA, "sonic-yang/a.yang": MODULE, "sonic-yang/b.yang": "module b {}\n"}


@pytest.fixture
def yard(tmp_path):
    return Yard(tmp_path)


def test_schemas_are_fetched_once(yard):
    done = yard.fetch()
    assert (done.returncode, done.stderr) == (0, "")
    assert yard.listing() == WHOLE
    shutil.rmtree(yard.folder / "sonic")
    again = yard.fetch()
    assert again.returncode == 0 and again.stdout.count("is there already") == 2


def test_other_content_is_refused_and_what_was_there_stays(yard):
    yard.fetch()
    yard.pins["sonic-yang"] = (make_repository(yard.folder / "other", {"models/a.yang": "module z {}\n"}), ["models/*.yang"])
    (yard.made / "sonic-yang/b.yang").write_text("cut off")
    done = yard.fetch(GPUYARD_SONIC_YANG_REPOSITORY=f"file://{yard.folder}/other")
    assert done.returncode == 3
    assert "sonic-yang: what file://" in done.stderr and "expected " + yard.digests["sonic-yang"] in done.stderr
    assert yard.listing() == WHOLE | {"sonic-yang/b.yang": "cut off"}
    assert [path.name for path in yard.made.iterdir() if path.name.startswith(".")] == []


def test_damaged_schema_is_replaced(yard):
    yard.fetch()
    (yard.made / "sonic-yang/a.yang").write_text("cut off")
    assert yard.fetch().returncode == 0
    assert yard.listing() == WHOLE


def test_every_absence_is_told_and_the_rest_is_fetched(yard):
    yard.pins["autoinstall-schema"] = ("0" * 40, ["schema.json"])
    done = yard.fetch(GPUYARD_SONIC_YANG_REPOSITORY=f"file://{yard.folder}/nowhere")
    assert done.returncode == 3
    assert len(done.stderr.splitlines()) == 2 and "Traceback" not in done.stderr
    assert "name a mirror in GPUYARD_SONIC_YANG_REPOSITORY" in done.stderr
    assert "name a mirror in GPUYARD_AUTOINSTALL_SCHEMA_REPOSITORY" in done.stderr
    yard.pins["autoinstall-schema"] = (git("rev-parse", "HEAD~", folder=yard.folder / "subiquity"), ["schema.json"])
    half = yard.fetch(GPUYARD_SONIC_YANG_REPOSITORY=f"file://{yard.folder}/nowhere")
    assert half.returncode == 3 and list(yard.listing()) == ["autoinstall-schema/schema.json"]


@pytest.fixture
def machine(tmp_path):
    """Return a function that runs the slow tier with a Python that only tells what it was given."""
    python = tmp_path / "venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\necho "python $* yang=${GPUYARD_SONIC_YANG:-} subiquity=${GPUYARD_SUBIQUITY_SCHEMA:-}"\n')
    python.chmod(0o755)
    clean = {key: value for key, value in os.environ.items() if not key.startswith("GPUYARD_")}

    def run(**environment):
        more = {"VENV": str(tmp_path / "venv"), **environment}
        command = [ROOT / "scripts/run-tests", "slow"]
        return subprocess.run(command, cwd=tmp_path, env=clean | more, capture_output=True, text=True, check=False).stdout

    return run


def test_run_without_schemas_names_the_command(machine):
    said = machine()
    assert said.count("`make schemas`") == 2, said


def test_run_takes_fetched_schemas_unless_others_are_named(machine, tmp_path):
    for name in ("sonic-yang", "autoinstall-schema"):
        (tmp_path / ".work/schemas" / name).mkdir(parents=True)
    folder = tmp_path / ".work/schemas"
    said = machine()
    assert f"yang={folder}/sonic-yang subiquity={folder}/autoinstall-schema/autoinstall-schema.json" in said
    assert "make schemas" not in said
    assert "yang=/srv/mine " in machine(GPUYARD_SONIC_YANG="/srv/mine")
