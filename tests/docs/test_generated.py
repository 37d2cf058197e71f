"""Pages that a command writes are what it writes now. GPUYARD_UPDATE_DOCS=1 writes them again."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from cluster_model.checks.feature_matrix import render_page as render_matrix
from cluster_model.checks.manual import render_page
from cluster_model.cli.schema import command as schema
from cluster_model.pipeline import inspect
from cluster_model.render.tree import render_tree

ROOT = Path(__file__).resolve().parents[2]


def run_schema(*options):
    return CliRunner().invoke(schema, options).output


def draw_superpod():
    opened = inspect(Path("inventory/superpod-roce"))
    return render_tree(opened.plan, opened.catalogue, only={"diagrams"})["diagrams/rails.svg"].decode()


def draw_driving():
    opened = inspect(Path("inventory/driving"))
    return render_tree(opened.plan, opened.catalogue, only={"diagrams"})["diagrams/tenants.svg"].decode()


@pytest.mark.parametrize(
    ("page", "write"),
    [
        ("docs/schema/cluster.schema.json", run_schema),
        ("docs/intent.md", lambda: run_schema("--markdown")),
        ("docs/rules.md", render_page),
        ("docs/feature-matrix.md", render_matrix),
        ("docs/images/superpod-roce.svg", draw_superpod),
        ("docs/images/driving-tenants.svg", draw_driving),
    ],
)
def test_page_is_fresh(page, write):
    text = write()
    if os.environ.get("GPUYARD_UPDATE_DOCS"):
        (ROOT / page).write_text(text)
    assert (ROOT / page).read_text() == text, "run make docs"
