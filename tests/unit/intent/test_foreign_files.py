"""Files that an intent names and that are none of its own: they neither hang a run, fill the memory, nor are shown."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import click
import pytest

from cluster_model.intent.load import load_cluster
from cluster_model.intent.source.yaml_source import MAX_BYTES
from cluster_model.paths import CATALOGUE
from cluster_model.pipeline import inspect
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


def write_catalogue(folder: Path) -> Path:
    """Write a cluster, and beside its folder a maker's device files that hold what nobody may see; return the maker's folder."""
    (folder / "lab").mkdir()
    write(folder / "lab", "", "")
    (folder / "private").mkdir()
    (folder / "private" / "a.yaml").write_text(f"{SECRET}: [\n")
    devices = folder / "lab" / "catalogue" / "device-types" / "acme"
    devices.mkdir(parents=True)
    return devices


def test_a_catalogue_of_foreign_files(tmp_path, command):
    devices = write_catalogue(tmp_path)
    (devices / "a.yaml").symlink_to("../../../../private/a.yaml")
    os.mkfifo(devices / "b.yaml")
    lines = ["a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]" for old, new in zip("abcdefghi", "bcdefghij", strict=True)]
    (devices / "c.yaml").write_text("\n".join(lines) + "\n")
    (devices / "d.yaml").write_text("x: " + "[" * 100_000 + "\n")
    with (devices / "e.yaml").open("wb") as stream:
        stream.truncate(40 * 10**9)
    done = command.run("validate", "lab", folder=tmp_path)
    assert done.returncode == 1, done.stderr
    assert (done.stderr.count("error CAT010"), done.stderr.count("error CAT001")) == (2, 3), done.stderr
    assert "found a FIFO" in done.stderr
    assert "found it has more than 4000000 bytes" in done.stderr
    assert "hunter2" not in done.stderr
    assert "Traceback" not in done.stderr


LINKS = {
    "the catalogue": ("catalogue", "../other"),
    "a catalogue in the catalogue": ("catalogue/device-types/catalogue", "../../../private"),
    "all device types": ("catalogue/device-types", "/tmp"),
    "a maker": ("catalogue/gpus/acme", "../../../private"),
    "the media": ("catalogue/media.yaml", "../../private/a.yaml"),
    "a way through a folder that is a link": ("catalogue/gpus/acme/x.yaml", "way/a.yaml"),
    "a file beside the catalogue": ("catalogue/gpus/acme/x.yaml", "../../../secrets.yml"),
    "a folder of the cluster": ("catalogue", "."),
    "itself": ("catalogue/gpus/acme", "acme"),
    "nothing": ("catalogue/gpus/acme/x.yaml", "nowhere.yaml"),
    "a device": ("catalogue/gpus/acme/x.yaml", "/dev/zero"),
}


@pytest.mark.parametrize("name", LINKS)
def test_a_catalogue_that_leads_elsewhere_is_refused(name, tmp_path, command):
    """What it leads to is neither shown, nor part of the digest; who shares a catalogue is told how."""
    path, target = LINKS[name]
    shutil.rmtree(write_catalogue(tmp_path).parents[1])
    shutil.copytree(tmp_path / "private", tmp_path / "other/device-types/catalogue")
    (tmp_path / "lab/secrets.yml").write_text(f"{SECRET}: [\n")
    link = tmp_path / "lab" / path
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(target)
    if target.startswith("way/"):
        (link.parent / "way").symlink_to(tmp_path / "private")
    done = command.run("validate", "lab", folder=tmp_path)
    assert (done.returncode, done.stderr.count("error CAT010"), done.stderr.count(" error ")) == (1, 1, 1), done.stderr
    assert f"lab/{path}: error CAT010: lab/{path} is not taken into the catalogue" in done.stderr
    assert f"found a link to {target}" in done.stderr
    assert "git submodule" in done.stderr
    assert "hunter2" not in done.stderr
    assert list(load_cluster(tmp_path / "lab").inputs) == ["cluster.yml"]
    done = command.run("catalogue", "nvidia/sn5600", "--cluster", "lab", folder=tmp_path)
    assert "CAT010" in done.stderr
    assert "hunter2" not in done.stderr + done.stdout


def test_a_fifo_in_place_of_the_list_of_servers_that_bmc_inventory_fills(tmp_path):
    from cluster_model.cli.bmc import _fill

    opened = inspect(write(tmp_path, "", "")).opened
    os.mkfifo(tmp_path / "servers.csv")
    with pytest.raises(click.UsageError, match=r"servers\.csv cannot be read: it is a FIFO, not a file"):
        _fill(opened, {}, write=True, replace=False, form="text")
    (tmp_path / "servers.csv").unlink()
    (tmp_path / "servers.csv").symlink_to("/etc/passwd")
    with pytest.raises(click.UsageError, match="leads out of the cluster's folder"):
        _fill(opened, {}, write=True, replace=False, form="text")


def test_a_link_within_the_catalogue_is_followed(tmp_path):
    devices = write_catalogue(tmp_path)
    shutil.copy(CATALOGUE / "device-types/nvidia/sn5600.yaml", devices / "s1.yaml")
    (devices / "s2.yaml").symlink_to("s1.yaml")
    (devices / ".#s1.yaml").symlink_to("ops@host.4711:1")  # Emacs edits it
    (devices / "notes").symlink_to("/etc")
    (devices.parent / "README.md").write_text("no maker\n")
    assert [f for f in inspect(tmp_path / "lab").findings if f.id.startswith("CAT")] == []
    loaded = load_cluster(tmp_path / "lab")
    names = ["catalogue/device-types/acme/s1.yaml", "catalogue/device-types/acme/s2.yaml", "cluster.yml"]
    assert list(loaded.inputs) == names
    assert loaded.inputs[names[0]] == loaded.inputs[names[1]]


def test_a_file_of_keys_names_line_and_what_is_expected(tmp_path):
    (tmp_path / "ops.pub").write_text("# a comment\nssh-dss AAAAB3 me\n")
    found = load_cluster(write(tmp_path, ADMIN, "ops.pub")).findings
    assert [(f.id, f.line, f.summary) for f in found] == [("PRV002", 2, "ssh-dss is no key type that OpenSSH takes")]
