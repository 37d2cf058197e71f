"""The Python parser, which stands in where PyYAML has no C parser, gives the same findings."""

from __future__ import annotations

import pytest
import yaml
from cases import list_cases, write_cluster

from cluster_model.intent.source import yaml_source

CASES = [case for case in list_cases() if case.parent.name == "YML" and not case.stem.startswith("YML005")]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_python_parser_says_the_same(case, tmp_path, monkeypatch):
    write_cluster(case.read_bytes(), tmp_path)
    raw = (tmp_path / "cluster.yml").read_bytes()
    with_c = yaml_source.read_yaml("x.yml", raw)
    monkeypatch.setattr(yaml_source, "Loader", yaml.SafeLoader)
    without_c = yaml_source.read_yaml("x.yml", raw)
    assert [(f.id, f.line, f.summary) for f in without_c[2]] == [(f.id, f.line, f.summary) for f in with_c[2]]
