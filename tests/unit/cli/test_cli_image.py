"""`gpuyard image` where it cannot build; tests/system/test_provision.py builds one and installs machines from it."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from cluster_model.cli.group import cli


@pytest.fixture
def build(tree, tmp_path):
    def run(*words):
        places = ["--images", str(tmp_path / "images"), "--deploy", str(tmp_path / "deploy")]
        return CliRunner().invoke(cli, ["image", "inventory/lab", "--tree", str(tree), *places, *words])

    return run


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """Return a folder that is all of PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def lay(folder, name, line):
    (folder / name).write_text(f"#!/bin/sh\n{line}\n")
    (folder / name).chmod(0o755)


def test_an_image_that_nobody_asks_for(build):
    done = build("--only", "debian-sid")
    assert done.exit_code == 2
    assert "no such image: debian-sid; there is ubuntu-noble" in done.output


def test_what_is_missing_is_named_at_once(build, programs):
    lay(programs, "cpio", "exit 0")
    done = build()
    assert done.exit_code == 1
    assert "ubuntu-noble: no mmdebstrap, no zstd here; fix: apt install mmdebstrap zstd" in done.output


def test_packages_whose_signature_nobody_knows(build, programs):
    for name in ("zstd", "cpio"):
        lay(programs, name, "exit 0")
    said = (
        "NO_PUBKEY 871920D1991BC93C",
        "E: The repository is not signed.",
        "E: apt-get update failed",
        "E: mmdebstrap failed to run",
    )
    lay(programs, "mmdebstrap", "\n".join(f'echo "{line}" >&2' for line in said) + "\nexit 25")
    done = build()
    assert done.exit_code == 1
    assert "mmdebstrap failed: E: The repository is not signed.; fix: install the keyring that has its keys" in done.output


def test_a_tree_that_was_cut_off(build, tree):
    whole = (tree / "boot/boot.json").read_bytes()
    (tree / "boot/boot.json").write_bytes(whole[:100])
    try:
        done = build()
    finally:
        (tree / "boot/boot.json").write_bytes(whole)
    assert done.exit_code == 2
    assert f"{tree}/boot/boot.json cannot be read" in done.output
    assert f"gpuyard render inventory/lab -o {tree}" in done.output


def test_a_build_that_fails_leaves_the_former_image(build, programs, tmp_path):
    for name in ("zstd", "cpio"):
        lay(programs, name, "exit 0")
    lay(programs, "mmdebstrap", 'echo "I: reading" >&2; echo "E: unable to find linux-image-generic" >&2; exit 25')
    former = tmp_path / "images/ubuntu-noble"
    former.mkdir(parents=True)
    (former / "image.json").write_text("{}")
    done = build()
    assert done.exit_code == 1
    assert "ubuntu-noble: mmdebstrap failed: E: unable to find linux-image-generic" in done.output
    assert [path.name for path in (tmp_path / "images").iterdir()] == ["ubuntu-noble"]
    assert (former / "image.json").read_text() == "{}"
    assert list((tmp_path / "deploy").iterdir()) == []


def test_installers_are_not_built(build, programs):
    done = build("--only", "ubuntu-noble-installer")
    assert done.exit_code == 2
    assert "there is ubuntu-noble" in done.output
