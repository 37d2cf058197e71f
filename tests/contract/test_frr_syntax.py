"""Every frr.conf of both dialects, judged by FRR's own parser."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.unit.render.switch import factory
from tests.unit.render.switch.namespaces import require_frr

pytestmark = pytest.mark.frr


@pytest.fixture(autouse=True)
def _frr() -> None:
    require_frr(daemons=False)


def _check(path: Path) -> tuple[int, str]:
    folder = path.parent / "etc"  # vtysh wants a vtysh.conf, and the machine's own is root's
    folder.mkdir(exist_ok=True)
    (folder / "vtysh.conf").touch()
    command = ["vtysh", "--config_dir", str(folder), "-C", "-f", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("cluster", factory.CLUSTERS)
def test_every_frr_conf_parses(cluster: str, tmp_path: Path) -> None:
    texts = {path: text for path, text in factory.files(cluster).items() if path.endswith("/frr.conf")}
    assert texts
    for path, text in texts.items():
        file = tmp_path / path.replace("/", "_")
        file.write_text(text, "utf-8")
        assert _check(file) == (0, ""), path


def test_the_parser_judges(tmp_path: Path) -> None:
    file = tmp_path / "frr.conf"
    file.write_text(factory.file("lab", "storage-leaf-u01-01", "frr.conf").replace("remote-as", "remote-asn"), "utf-8")
    code, said = _check(file)
    assert code != 0
    assert "remote-asn" in said
