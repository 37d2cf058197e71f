from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from cluster_model.cli.group import cli

INVENTORY = Path(__file__).resolve().parents[3] / "inventory"


@pytest.fixture(scope="package")
def tree(tmp_path_factory):
    """Return the lab's rendered tree."""
    folder = tmp_path_factory.mktemp("tree") / "lab"
    assert CliRunner().invoke(cli, ["render", "inventory/lab", "-o", str(folder)]).exit_code == 0
    return folder


@pytest.fixture
def exchanged(tmp_path):
    """Return a function: an example of inventory/, and pairs of texts → the path of a copy with them exchanged in its intent."""

    def exchange(example, *pairs):
        folder = tmp_path / example
        shutil.copytree(INVENTORY / example, folder, dirs_exist_ok=True)
        intent = folder / "cluster.yml"
        text = intent.read_text("utf-8")
        for old, new in pairs:
            assert old in text
            text = text.replace(old, new)
        intent.write_text(text, "utf-8")
        return str(folder)

    return exchange
