from __future__ import annotations

import pytest
from click.testing import CliRunner

from cluster_model.cli.group import cli


@pytest.fixture(scope="package")
def tree(tmp_path_factory):
    """Return the lab's rendered tree."""
    folder = tmp_path_factory.mktemp("tree") / "lab"
    assert CliRunner().invoke(cli, ["render", "inventory/lab", "-o", str(folder)]).exit_code == 0
    return folder
