"""Pages that a command writes are what it writes now. GPUYARD_UPDATE_DOCS=1 writes them again."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from cluster_model.cli.schema import command as schema

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("page", "options"), [("docs/schema/cluster.schema.json", []), ("docs/intent.md", ["--markdown"])], ids=["schema", "intent"]
)
def test_page_is_fresh(page, options):
    text = CliRunner().invoke(schema, options).output
    if os.environ.get("GPUYARD_UPDATE_DOCS"):
        (ROOT / page).write_text(text)
    assert (ROOT / page).read_text() == text, "run make docs"
