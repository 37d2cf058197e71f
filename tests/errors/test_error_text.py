"""What a user reads about each mistake, word for word.

A case is a folder named after the finding, ID-what-is-wrong: cluster.yml (with CSV files or a catalogue/ where it needs them) and
expected.txt, the output of `gpuyard validate tests/errors/CASE/cluster.yml`. GPUYARD_UPDATE_GOLDEN=1 writes expected.txt anew.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import click
import pytest

from cluster_model.checks.registry import RULES
from cluster_model.cli.common import inspect_cluster, report_inspection
from cluster_model.cli.manuals import read_manuals

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
CASES = sorted(path.name for path in HERE.iterdir() if path.is_dir() and not path.name.startswith("__"))
UPDATE = os.environ.get("GPUYARD_UPDATE_GOLDEN") == "1"


def validate(case: str, form: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    try:
        report_inspection(inspect_cluster(Path("tests/errors") / case / "cluster.yml"), form, strict=False)
        code = 0
    except click.exceptions.Exit as stop:
        code = stop.exit_code
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.parametrize("case", CASES)
def test_error_text(case, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("NO_COLOR", "1")
    code, out, err = validate(case, "text", capsys)
    golden = HERE / case / "expected.txt"
    if UPDATE:
        golden.write_text(err, "utf-8")
    assert out == ""
    assert err == golden.read_text("utf-8")
    assert code == (2 if case.startswith("YML005") else int(" error " in err))
    assert f" {case[:6]}: " in err, "the folder is named after a finding that the case does not give"


@pytest.mark.parametrize("case", CASES)
def test_error_is_located_and_known(case, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    rows = json.loads(validate(case, "json", capsys)[1])["findings"]
    for row in rows:
        assert row["id"] in read_manuals()
        assert row["summary"] and not row["summary"].endswith(".")
        assert Path(row["file"]).is_file() or row["id"] == "YML005"
        assert row["line"] or row["id"] in {"YML004", "YML005", "YML006", "FCT007"}
        assert row["severity"] != "error" or (row["expected"] and row["fix"])


@pytest.mark.parametrize("case", CASES)
def test_case_is_complete(case):
    names = {path.name for path in (HERE / case).iterdir()}
    assert re.fullmatch(r"[A-Z0-9]{3}[0-9]{3}-[a-z0-9-]+", case)
    assert "expected.txt" in names
    assert ("cluster.yml" in names) != case.startswith("YML005")


def is_reachable(id_):
    """Guards hold the planner to its word: no intent breaks them, so their cases are plans, in tests/unit/checks.

    What rendering finds is about templates, or left over by the intent's own checks: its cases are in tests/unit/render. What
    verify finds it finds on gear: its cases are observations, in tests/unit/verify.
    """
    return not id_.startswith(("RND", "VER", "BMC", "SEC", "HST")) and (id_ not in RULES or RULES[id_].by_intent)


@pytest.mark.parametrize("id_", [id_ for id_ in read_manuals() if is_reachable(id_)])
def test_every_finding_has_a_case(id_):
    assert any(case.startswith(f"{id_}-") for case in CASES), f"add tests/errors/{id_}-…/cluster.yml"
