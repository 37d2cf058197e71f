"""Files that an intent names and that are none of its own: they neither hang a run, fill the memory, nor are shown."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from cluster_model.intent.load import load_cluster
from cluster_model.intent.source.yaml_source import MAX_BYTES
from tests.unit.intent.test_load import BASE

SECRET = "TOKEN=hunter2-very-secret"
ADMIN = "provisioning: {admins: {ops: {key_files: [FILE]}}}\n"
FACTS = "facts: {servers: FILE}\n"


def write(folder: Path, more: str, name: str) -> Path:
    (folder / "cluster.yml").write_text(BASE + more.replace("FILE", name))
    return folder


def check(done: subprocess.CompletedProcess[str], id_: str) -> None:
    assert done.returncode == 1, done.stderr
    assert f" error {id_}: " in done.stderr
    assert "cluster.yml:" in done.stderr
    assert "Traceback" not in done.stderr
    assert "defect" not in done.stderr
    assert "hunter2" not in done.stderr + done.stdout


@pytest.mark.parametrize(("more", "id_"), [(FACTS, "FCT001"), (ADMIN, "PRV001")])
def test_a_fifo_and_an_endless_device_are_refused(more, id_, tmp_path, command):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "zero").symlink_to("/dev/zero")
    for name, word in (("fifo", "a FIFO"), ("zero", "")):
        done = command.run("validate", ".", folder=write(tmp_path, more, name))
        check(done, id_)
        assert word in done.stderr


def test_a_device_in_the_folder(tmp_path, command):
    """Where nothing leads out of the folder, it is still no file."""
    (tmp_path / "cluster.yml").write_text(BASE + FACTS.replace("FILE", "zero"))
    try:
        os.mknod(tmp_path / "zero", 0o20666, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("no right to make a device")
    check(command.run("validate", ".", folder=tmp_path), "FCT001")


@pytest.mark.parametrize("verb", ["validate", "plan", "render"])
def test_an_intent_that_is_a_fifo(verb, tmp_path, command):
    os.mkfifo(tmp_path / "cluster.yml")
    for path in (".", "cluster.yml"):
        done = command.run(verb, path, folder=tmp_path)
        assert (done.returncode, "it is a FIFO, not a file" in done.stderr) == (2, True), done.stderr


def test_an_intent_that_leads_elsewhere_is_not_shown(tmp_path, command):
    (tmp_path / "private.env").write_text(f"{SECRET}\n")
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "cluster.yml").symlink_to("../private.env")
    done = command.run("validate", "lab", folder=tmp_path)
    assert done.returncode == 2
    assert "hunter2" not in done.stderr


@pytest.mark.parametrize(("more", "id_"), [(FACTS, "FCT001"), (ADMIN, "PRV001")])
def test_a_link_out_of_the_folder_is_refused(more, id_, tmp_path, command):
    (tmp_path / "private.env").write_text(f"{SECRET}\n")
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "link").symlink_to("../private.env")
    (tmp_path / "lab" / "round").symlink_to("round")
    for name in ("link", "round"):
        check(command.run("validate", "lab", folder=write(tmp_path / "lab", more, name).parent), id_)
    (tmp_path / "lab" / "own.csv").write_text("name,serial\ngpu-001,S1\n")
    (tmp_path / "lab" / "near").symlink_to("own.csv")
    assert load_cluster(write(tmp_path / "lab", FACTS, "near")).findings == []


@pytest.mark.parametrize("more", [FACTS, ADMIN])
@pytest.mark.parametrize("name", ["../private.env", "/etc/passwd", "./x/../../private.env", ".env"])
def test_a_name_out_of_the_folder_is_refused(more, name, tmp_path, command):
    (tmp_path / "private.env").write_text(f"{SECRET}\n")
    (tmp_path / "lab").mkdir()
    done = command.run("validate", "lab", folder=write(tmp_path / "lab", more, name).parent)
    check(done, "INT006")
    assert "root:" not in done.stderr


@pytest.mark.parametrize(("more", "id_"), [(FACTS, "FCT007"), (ADMIN, "PRV002")])
@pytest.mark.parametrize("form", ["text", "json", "github"])
def test_a_file_of_something_else_is_not_shown(more, id_, form, tmp_path, command):
    """A file in the folder that is no table and holds no key: its place is told, and nothing of what it says."""
    (tmp_path / "private.env").write_text(f"{SECRET}\nOTHER=hunter2,name,b\n")
    done = command.run("validate", ".", "--format", form, folder=write(tmp_path, more, "private.env"))
    assert done.returncode == 1
    assert id_ in done.stderr + done.stdout
    assert "private.env" in done.stderr + done.stdout
    assert "hunter2" not in done.stderr + done.stdout


@pytest.mark.parametrize(("more", "id_"), [(FACTS, "FCT001"), (ADMIN, "PRV001")])
def test_a_file_too_large_is_refused(more, id_, tmp_path, command):
    with (tmp_path / "large").open("wb") as stream:
        stream.truncate(10**10)
    check(command.run("validate", ".", folder=write(tmp_path, more, "large")), id_)


def test_a_table_of_a_million_rows_is_refused(tmp_path, command):
    (tmp_path / "servers.csv").write_text("name,serial\n" + "gpu-001,S1\n" * 10**6)
    check(command.run("validate", ".", folder=write(tmp_path, FACTS, "servers.csv")), "FCT001")


def test_an_intent_too_large_is_refused(tmp_path):
    (tmp_path / "cluster.yml").write_text("#" * (MAX_BYTES + 1))
    assert [f.id for f in load_cluster(tmp_path).findings] == ["YML009"]


def test_a_catalogue_of_foreign_files(tmp_path, command):
    (tmp_path / "lab").mkdir()
    folder = write(tmp_path / "lab", "", "")
    devices = folder / "catalogue" / "device-types" / "acme"
    devices.mkdir(parents=True)
    (tmp_path / "private.yaml").write_text(f"{SECRET}: [\n")
    (devices / "a.yaml").symlink_to("../../../../private.yaml")
    os.mkfifo(devices / "b.yaml")
    lines = ["a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]" for old, new in zip("abcdefghi", "bcdefghij", strict=True)]
    (devices / "c.yaml").write_text("\n".join(lines) + "\n")
    (devices / "d.yaml").write_text("x: " + "[" * 100_000 + "\n")
    done = command.run("validate", "lab", folder=tmp_path)
    assert done.returncode == 1, done.stderr
    assert done.stderr.count("error CAT001") == 4, done.stderr
    assert "hunter2" not in done.stderr
    assert "Traceback" not in done.stderr


def test_a_file_of_keys_names_line_and_what_is_expected(tmp_path):
    (tmp_path / "ops.pub").write_text("# a comment\nssh-dss AAAAB3 me\n")
    found = load_cluster(write(tmp_path, ADMIN, "ops.pub")).findings
    assert [(f.id, f.line, f.summary) for f in found] == [("PRV002", 2, "ssh-dss is no key type that OpenSSH takes")]
