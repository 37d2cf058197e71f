"""What tests need of a network is fetched before them, by scripts/prepare-tests; with GPUYARD_OFFLINE=1 none fetches anything."""

import os
import runpy
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.contract import cloud_init

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """Lay a double of podman that has no image, and one of each program that fetches, which says so; return what they said."""
    said = tmp_path / "said"
    for name in ("podman", "mmdebstrap", "apt-get"):
        (tmp_path / name).write_text(f'#!/bin/sh\n[ "$1 $2" != "image exists" ] || exit 1\necho {name} "$@" >>{said}\n')
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("GPUYARD_OFFLINE", "1")
    return lambda: said.read_text() if said.exists() else ""


@pytest.mark.parametrize("packages", [(), ("tzdata",)])
def test_no_image_is_built_in_a_test(programs, packages):
    command = [ROOT / "scripts/container-image", *packages]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, programs()) == (1, "", "")
    assert "run make setup" in done.stderr and (packages or ("base",))[0] in done.stderr


def test_cloud_init_is_not_fetched_in_a_test(programs, monkeypatch, tmp_path):
    monkeypatch.setattr(cloud_init, "CACHE", tmp_path / "none")
    monkeypatch.setattr(cloud_init.shutil, "which", {"apt-get": "/usr/bin/apt-get"}.get)
    with pytest.raises(AssertionError, match="run make setup"):
        cloud_init.find_cloud_init()
    assert programs() == ""


@pytest.mark.parametrize("code", [0, 1, 3])
def test_kubernetes_is_built_before_and_left_out_where_it_cannot_be(tmp_path, monkeypatch, capsys, code):
    prepare = runpy.run_path(str(ROOT / "scripts/prepare-tests"))
    build = prepare["build_kubernetes"]
    assert build in prepare["list_steps"](False) and build not in prepare["list_steps"](True)
    capsys.readouterr()
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts/build-kubernetes").write_text(f"#!/bin/sh\nexit {code}\n")
    (tmp_path / "scripts/build-kubernetes").chmod(0o755)
    monkeypatch.setitem(build.__globals__, "ROOT", tmp_path)
    if code == 1:
        with pytest.raises(prepare["PrepareError"], match="scripts/build-kubernetes failed"):
            build()
        return
    build()
    assert capsys.readouterr().out.startswith("left out Kubernetes") == (code == 3)


def test_every_image_of_a_scenario_is_built_before():
    list_images = runpy.run_path(str(ROOT / "scripts/prepare-tests"))["list_images"]
    built = {frozenset(packages) for slow in (False, True) for packages in list_images(slow)}
    for file in ROOT.glob("molecule/*/molecule.yml"):
        for platform in yaml.safe_load(file.read_text())["platforms"]:
            assert frozenset(platform.get("packages", ())) in built, file
    assert not {"netplan.io"} & {name for packages in list_images(False) for name in packages}, "only a slow scenario wants it"
