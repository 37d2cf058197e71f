"""Clusters taken to their plan by the library, for the tests that begin there."""

from functools import cache
from pathlib import Path

from cluster_model.pipeline import inspect

INVENTORY = Path(__file__).resolve().parents[1] / "inventory"


def open_folder(path):
    """Return a cluster with its plan (`pipeline.Opened`); it must have one. Design rules are not asked."""
    inspection = inspect(path, rules=False)
    assert inspection.opened is not None, inspection.findings
    return inspection.opened


@cache
def open_example(name):
    """Return an example of inventory/ with its plan, which nothing can change."""
    return open_folder(INVENTORY / name)
