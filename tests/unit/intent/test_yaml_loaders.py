"""The Python parser, which stands in where PyYAML has no C parser, gives the same findings."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from cluster_model.intent.source import yaml_source

ERRORS = Path(__file__).parents[2] / "errors"
CASES = sorted(path.parent.name for path in ERRORS.glob("YML*/cluster.yml"))


@pytest.mark.parametrize("case", CASES)
def test_python_parser_says_the_same(case, monkeypatch):
    raw = (ERRORS / case / "cluster.yml").read_bytes()
    with_c = yaml_source.read_yaml("x.yml", raw)
    monkeypatch.setattr(yaml_source, "Loader", yaml.SafeLoader)
    without_c = yaml_source.read_yaml("x.yml", raw)
    assert [(f.id, f.line, f.summary) for f in without_c[2]] == [(f.id, f.line, f.summary) for f in with_c[2]]
