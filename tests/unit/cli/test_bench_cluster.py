"""The cluster of the benchmarks is one that every verb accepts, and a benchmark stops where it is not."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from cluster_model.cli.main import run

BENCH = str(Path(__file__).parents[3] / "bench")


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(BENCH)
    import cluster
    import measure

    yield cluster, measure
    for name in ("cluster", "measure"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("gpus", "about"), [(64, {}), (1024, {}), (1024, {"planned": 4096}), (64, {"storage": 10}), (64, {"storage": 1000})]
)
def test_the_cluster_validates(gpus, about, bench, tmp_path, capsys):
    bench[0].write_cluster(gpus, tmp_path, **about)
    assert run(["validate", str(tmp_path)]) == 0, capsys.readouterr().err


def test_a_benchmark_stops_at_errors(bench, tmp_path):
    data = bench[0].make_document(64)
    data["site"]["dns"] = ["10.200.0.1"]
    (tmp_path / "cluster.yml").write_text(json.dumps(data))
    with pytest.raises(SystemExit, match="ADR003"):
        bench[1].meter_verbs({}, tmp_path, {})
