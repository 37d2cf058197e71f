"""What a user reads about each mistake, word for word.

A case is a pair of files named after its finding: FAMILY/ID-what-is-wrong.yml, a broken cluster as cases.py takes it, and
ID-what-is-wrong.txt, what `gpuyard validate cluster.yml` prints; `make record` writes it.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import click
import pytest
from cases import BASES, HERE, list_cases, write_cluster

from cluster_model.catalogue import load
from cluster_model.checks.registry import RULES
from cluster_model.cli.common import report_inspection
from cluster_model.cli.manuals import read_manuals
from cluster_model.paths import PACKAGE
from cluster_model.pipeline import Inspection, inspect
from tests import recorded

CASES = list_cases()
MANUALS = read_manuals()
WITHOUT_LINE = {"YML004", "YML005", "YML006", "FCT007", "CAT010"}
"""Findings about a whole file."""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, our_catalogue):
    """Stand in a folder for one cluster; the catalogue is read once for all that add nothing to it."""
    read = load.load_catalogue
    monkeypatch.setattr(load, "load_catalogue", lambda extra=None: read(extra) if extra else our_catalogue)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def our_catalogue():
    return load.load_catalogue()


def validate(capsys) -> tuple[Inspection, int, str]:
    """Return what is found in cluster.yml, the exit code and what is printed; the tests below hold the command to the same."""
    inspection, code = inspect(Path("cluster.yml")), 0
    try:
        report_inspection(inspection, "text", strict=False)
    except click.exceptions.Exit as stop:
        code = stop.exit_code
    captured = capsys.readouterr()
    assert captured.out == ""
    return inspection, code, captured.err


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_error_text(case, folder, capsys):
    write_cluster(case.read_bytes(), folder)
    inspection, code, text = validate(capsys)
    id_ = case.stem.partition("-")[0]
    assert re.fullmatch(r"[A-Z0-9]{3}[0-9]{3}-[a-z0-9-]+", case.stem) and case.parent.name == id_[:3]
    assert id_ in {finding.id for finding in inspection.findings}, "the case is named after a finding that it does not give"
    errors = [finding for finding in inspection.findings if finding.severity == "error"]
    assert code == (2 if id_ == "YML005" else int(bool(errors)))
    for finding in inspection.findings:
        assert finding.id in MANUALS
        assert finding.summary and not finding.summary.endswith(".")
        assert Path(finding.file).is_file() or finding.id == "YML005"
        assert finding.line or finding.id in WITHOUT_LINE
    assert all(finding.expected and finding.fix for finding in errors)
    recorded.check(case.with_suffix(".txt"), text)


@pytest.mark.parametrize("name", ["YML005-no-such-file", "CAB003-long-copper", "FCT004-bad-mac"])
def test_the_command_prints_the_same(name, folder):
    """One case for each exit code, among them one with a catalogue and one with a table."""
    case = HERE / name[:3] / f"{name}.yml"
    write_cluster(case.read_bytes(), folder)
    done = subprocess.run(["gpuyard", "validate", "cluster.yml"], capture_output=True, text=True, check=False)
    assert done.stdout == ""
    assert done.stderr == case.with_suffix(".txt").read_text("utf-8")
    assert done.returncode == {"YML005": 2, "CAB003": 0, "FCT004": 1}[name[:6]]


@pytest.mark.parametrize("base", sorted(path.stem for path in BASES.iterdir()))
def test_base_breaks_no_rule(base, folder, capsys):
    """What a case prints is its own mistake, not that of its base."""
    write_cluster(f"base: {base}\n".encode(), folder)
    inspection, _, text = validate(capsys)
    assert {finding.severity for finding in inspection.findings} == {"info"}, text


def is_reachable(id_: str) -> bool:
    """Return whether an intent can give a finding.

    Guards hold the planner to its word: no intent breaks them, so their cases are plans, in tests/unit/checks. What rendering
    finds is about templates, or left over by the intent's own checks: its cases are in tests/unit/render. What verify finds it
    finds on gear: its cases are observations, in tests/unit/verify.
    """
    return not id_.startswith(("RND", "VER", "BMC", "SEC", "HST")) and (id_ not in RULES or RULES[id_].by_intent)


def test_every_finding_has_a_case():
    given = {case.stem.partition("-")[0] for case in CASES}
    missing = [id_ for id_ in MANUALS if is_reachable(id_) and id_ not in given]
    assert missing == [], f"add tests/errors/{missing[0][:3]}/{missing[0]}-….yml, as docs/add-a-rule.md shows"


def test_how_to_add_a_case_works_when_followed(folder, capsys):
    """The rule of the page finds its case, and prints what the page says."""
    page = PACKAGE.parent / "docs" / "add-a-rule.md"
    whole = page.read_text("utf-8")
    rule, case, said = (re.search(f"```{kind}\n(.*?)```", whole, re.DOTALL)[1] for kind in ("python", "yaml", "text"))
    write_cluster(case.encode(), folder)
    try:
        exec(rule, {})
        text = validate(capsys)[2]
    finally:
        del RULES["RED099"]
    recorded.check(page, whole.replace(f"```text\n{said}", f"```text\n{text}", 1))
