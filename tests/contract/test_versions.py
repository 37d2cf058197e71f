"""Versions of Python and ansible-core are said in pyproject.toml; every other place has the same ones."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PYTHON = PROJECT["project"]["requires-python"].removeprefix(">=")
ANSIBLE = re.match(r"ansible-core>=([0-9.]+),", PROJECT["project"]["optional-dependencies"]["ansible"][0])[1]
PAGES = ["README.md", "CONTRIBUTING.md", "Makefile", "requirements.lock", "docs/*.md", "playbooks/*.yml", "roles/*/README.md"]
SAID = [
    (PYTHON, re.compile(r"(?:[Pp]ython ?(?:>=)? ?|python)(3\.\d+)")),
    (PYTHON.replace(".", ", "), re.compile(r"\((3, \d+)\)")),
    (ANSIBLE, re.compile(r"[Aa]nsible(?:-core)?[ >=]*(2\.\d+)")),
]


def find_others(text):
    """Return the versions in a text that are not the ones of pyproject.toml."""
    return [found for version, pattern in SAID for found in pattern.findall(text) if found != version]


def list_pages():
    tracked = subprocess.run(["git", "ls-files", "--", *PAGES], cwd=ROOT, capture_output=True, text=True, check=True)
    return tracked.stdout.splitlines()


@pytest.mark.parametrize("page", list_pages())
def test_page_names_no_other_version(page):
    assert find_others((ROOT / page).read_text()) == []


@pytest.mark.parametrize(
    "text", ["Python 3.9", "python3.12", "(3, 12)", "ansible-core 2.17", "ansible-core>=2.20", "Ansible 2.16"]
)
def test_another_version_is_seen(text):
    assert find_others(text)


def test_collection_and_roles_want_the_oldest_ansible():
    runtime = yaml.safe_load((ROOT / "meta/runtime.yml").read_text())["requires_ansible"]
    assert runtime == f">={ANSIBLE}.0"
    wanted = {
        path.parts[-3]: yaml.safe_load(path.read_text())["galaxy_info"]["min_ansible_version"]
        for path in ROOT.glob("roles/*/meta/main.yml")
    }
    assert {role: version for role, version in wanted.items() if version != ANSIBLE} == {}


def test_mypy_reads_the_oldest_python():
    assert PROJECT["tool"]["mypy"]["python_version"] == PYTHON


def test_ruff_reads_the_oldest_python():
    shown = subprocess.run(["ruff", "check", "--show-settings", "tests"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert f"unresolved_target_version = {PYTHON}" in shown.stdout
