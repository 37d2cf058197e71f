"""Mistakes seeded into good intents: each is found by the rule that seeded_mistakes.yml names, or all that are not are listed."""

from __future__ import annotations

import shutil
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster_model.catalogue.load import load_catalogue
from cluster_model.cli.common import inspect_cluster

HERE = Path(__file__).parent
INVENTORY = HERE.parents[2] / "inventory"
SECTIONS: dict[str, list[dict[str, Any]]] = yaml.safe_load((HERE / "seeded_mistakes.yml").read_text("utf-8"))


def set_value(data: Any, path: str, value: Any) -> None:
    """Set what a dotted path names; null takes it away, and what is missing on the way is made."""
    *way, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    for part in way:
        data = data[part] if isinstance(data, list) or part in data else data.setdefault(part, {})
    if value is None:
        data.pop(last, None)
    else:
        data[last] = value


@cache
def read_good(name: str) -> Any:
    """Return an example as data. Its facts are left out: they are of one size of cluster, and hide what else is wrong."""
    data = yaml.safe_load((INVENTORY / name / "cluster.yml").read_text("utf-8"))
    data.pop("facts", None)
    return data


def find_ids(folder: Path, intent: Any) -> dict[str, str]:
    """Return the severity of what is found in an intent, by id; notes are not findings."""
    (folder / "cluster.yml").write_text(yaml.safe_dump(intent, sort_keys=False), "utf-8")
    return {finding.id: finding.severity for finding in inspect_cluster(folder).findings if finding.severity != "info"}


def sow(folder: Path, seed: dict[str, Any]) -> dict[str, str]:
    """Return what is found in a good intent with one mistake."""
    intent = deepcopy(read_good(seed["in"]))
    for path, value in seed["set"].items():
        set_value(intent, path, value)
    return find_ids(folder, intent)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder for intents, with the keys that they name; the catalogue is read once for all of them."""
    monkeypatch.setattr("cluster_model.catalogue.load.load_catalogue", cache(load_catalogue))
    for key in INVENTORY.glob("*/*.pub"):
        shutil.copy(key, tmp_path)
    return tmp_path


@pytest.mark.slow
def test_every_seeded_mistake_is_found(folder):
    good = {name: find_ids(folder, read_good(name)) for name in {seed["in"] for seeds in SECTIONS.values() for seed in seeds}}
    missed = []
    for section, seeds in SECTIONS.items():
        for seed in seeds:
            new = [id_ for id_ in sow(folder, seed) if id_ not in good[seed["in"]]]
            if seed["finds"] not in new:
                found = ", ".join(new) or "nothing"
                missed.append(f"{section}: {seed['in']} {seed['set']}: {seed['finds']} expected, found {found}")
    assert not missed, f"{len(missed)} seeded mistakes are not found:\n" + "\n".join(missed)


def test_examples_have_no_errors(folder):
    names = sorted(path.parent.name for path in INVENTORY.glob("*/cluster.yml"))
    assert [name for name in names if "error" in find_ids(folder, read_good(name)).values()] == []
