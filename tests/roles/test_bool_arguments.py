"""`-e NAME=false` is a text to Ansible, which checks it and leaves it one: each use of a bool of a role converts it."""

import re

import pytest

from roles import ROLES, ROOT, read, read_specs

CONDITIONS = {"when", "that", "failed_when", "changed_when", "until", "break_when"}
BLOCK = re.compile(r"\{\{(.*?)\}\}|\{%(.*?)%\}", re.DOTALL)
TEXT = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")


def list_expressions(value, key=""):
    """Return what Jinja evaluates in a value of YAML, or in a template's text, without the texts in it."""
    if isinstance(value, dict):
        return [each for name, inner in value.items() for each in list_expressions(inner, name)]
    if isinstance(value, list):
        return [each for inner in value for each in list_expressions(inner, key)]
    if not isinstance(value, str):
        return []
    found = [value] if key in CONDITIONS else ["".join(parts) for parts in BLOCK.findall(value)]
    return [TEXT.sub("''", each) for each in found]


@pytest.mark.parametrize("role", ROLES)
def test_bools_are_converted_where_they_are_used(role):
    options = {name: option for entry in read_specs(role).values() for name, option in (entry.get("options") or {}).items()}
    bools = [name for name, option in options.items() if option["type"] == "bool"]
    folder, wrong = ROOT / "roles" / role, []
    for file in sorted(path for part in ("tasks", "handlers", "vars", "templates") for path in (folder / part).rglob("*.*")):
        for expression in list_expressions(file.read_text() if file.suffix == ".j2" else read(file)):
            uses = [name for name in bools if re.search(rf"\b{name}\b(?!\s*\|\s*bool\b)", expression)]
            wrong += [f"{file.relative_to(folder)}: {name}: {expression.strip()}" for name in uses]
    assert wrong == []


def test_a_use_without_conversion_is_found():
    task = {"when": "a_bool and x", "vars": {"y": "{{ 'a_bool' if a_bool else 1 }}"}, "msg": "set a_bool to true"}
    assert list_expressions(task) == ["a_bool and x", " '' if a_bool else 1 "]
