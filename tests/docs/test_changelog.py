"""Fragments of the changelog are sentences for users; `scripts/lint changelog` holds their names."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FRAGMENTS = [path for path in sorted((ROOT / "changelog.d").glob("*.md")) if path.name != "README.md"]
SENTENCES = re.compile(r"[A-Z`].{10,300}\.\n", re.DOTALL)


def find_faults(text):
    """Return what is wrong with a fragment's text."""
    faults = [] if SENTENCES.fullmatch(text) else ["not one or two sentences that begin with a capital and end with a full stop"]
    if re.search(r"^\s*([#*|-]|\d+\.)", text, re.MULTILINE):
        faults.append("a heading, list or table: the release makes it an item of its list")
    return faults


@pytest.mark.parametrize("path", FRAGMENTS, ids=lambda path: path.name)
def test_fragment_is_well_formed(path):
    assert find_faults(path.read_text()) == []


@pytest.mark.parametrize(
    "text", ["added a rule.\n", "Adds a rule\n", "", "- Adds a rule that judges.\n", "Adds rules:\n\n* one.\n"]
)
def test_malformed_fragment_is_seen(text):
    assert find_faults(text)


def test_fragment_of_another_name_is_refused(tmp_path):
    (tmp_path / "changelog.d").mkdir()
    (tmp_path / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    (tmp_path / "changelog.d/+verify.added.md").write_text("`gpuyard verify` compares.\n")

    def draft():
        command = [Path(sys.executable).parent / "towncrier", "build", "--draft", "--version", "next"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert draft().returncode == 0 and "- `gpuyard verify` compares." in draft().stdout
    (tmp_path / "changelog.d/verify.new.md").write_text("Compares.\n")
    assert draft().returncode == 1 and "verify.new.md" in draft().stderr
