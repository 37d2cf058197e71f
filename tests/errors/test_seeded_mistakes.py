"""The mistakes of seeded_mistakes.yml are found, each by the rule that it stands under; those that are not are listed at once."""

from __future__ import annotations

from functools import cache

import pytest
import yaml
from cases import HERE, LOADER, change_base

from cluster_model.catalogue import load
from cluster_model.pipeline import inspect

SOURCE = (HERE / "seeded_mistakes.yml").read_text("utf-8")
SEEDS = [(id_.value, case) for id_, cases in yaml.compose(SOURCE, LOADER).value for case in cases.value]
INVENTORY = HERE.parents[1] / "inventory"


@pytest.fixture(autouse=True)
def one_catalogue(monkeypatch):
    """Read the catalogue once for all: no cluster here adds to it."""
    monkeypatch.setattr(load, "load_catalogue", cache(load.load_catalogue))


def test_every_seeded_mistake_is_found(tmp_path):
    missed = []
    for id_, case in SEEDS:
        change_base(SOURCE, case, tmp_path)
        found = {finding.id for finding in inspect(tmp_path).findings if finding.severity != "info"}
        if id_ not in found:
            line = SOURCE[case.start_mark.index : case.end_mark.index]
            missed.append(f"{id_}: {line} gives {', '.join(sorted(found))}")
    assert not missed, f"{len(missed)} seeded mistakes are not found:\n" + "\n".join(missed)


@pytest.mark.parametrize("name", sorted(path.parent.name for path in INVENTORY.glob("*/cluster.yml")))
def test_example_has_no_errors(name):
    assert [finding for finding in inspect(INVENTORY / name).findings if finding.severity == "error"] == []
