"""Every string of an intent, found by walking the schema: hostile text is refused at its place, or is harmless one-line text.

What is let through here is rendered by tests/contract/test_hostile_render.py, which looks at what comes out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from cluster_model.intent.load import load_cluster
from cluster_model.intent.model.json_schema import build_schema

HOSTILE = {
    "newline": "abc\nusername eve privilege 15 role network-admin nopassword",
    "carriage-return": "abc\rdef",
    "line-separator": "abc\u2028def",
    "next-line": "abc\x85def",
    "tab": "abc\tdef",
    "escape": "abc\x1b[2Jdef",
    "null": "abc\x00def",
    "delete": "abc\x7fdef",
    "right-to-left": "abc\u202edef",
    "isolate": "abc\u2067def",
    "not-a-character": "abc\uffffdef",
    "secret": "{{gpuyard-secret:bmc-password}}",
    "image": "{{gpuyard-image:ubuntu-noble}}",
    "expression": "abc{{ 7 * 7 }}def",
    "statement": "abc{% raw %}def",
    "comment": "abc{# def",
}
"""Nothing of these may be in an intent, wherever a string may stand."""
QUOTING = {
    "double-quote": 'abc"def',
    "single-quote": "abc'def",
    "backslash": "abc\\def",
    "semicolon": "abc;def",
    "command": "abc$(reboot)def",
    "backtick": "abc`reboot`def",
    "exclamation": "!abc!def",
    "hash": "abc #def",
    "percent": "abc%def%s",
    "less": "abc<b>def</b>",
    "ampersand": "abc&amp;def",
    "formula": '=HYPERLINK("http://x","y")',
    "comma": "abc,def",
    "colon": "abc: def",
    "alias": "*abc",
    "variable": "abc${def}",
    "slash": "../../abc",
    "outside": "/etc/passwd",
    "option": "-abc",
}
"""Prose may hold these, and then whoever writes it into a file quotes it; everything else refuses them."""
PROSE = {
    "networks.business.border.peers.x.description",
    "provisioning.admins.x.keys.0",
    "provisioning.defaults.disks.wipe.0.consent",
    "provisioning.groups.x.disks.wipe.0.consent",
    "cables.exceptions.0.reason",
    "racks.exceptions.ZZ01.reason",
    "servers.x.place.0.reason",
}
"""Fields that people write sentences into. A new one belongs here, and into the intent that test_hostile_render.py renders."""
HARMLESS = {
    "provisioning.defaults.kernel_arguments.0": {"exclamation", "percent", "comma", "slash"},
    "provisioning.groups.x.kernel_arguments.0": {"exclamation", "percent", "comma", "slash"},
    "provisioning.defaults.disks.system.model": {"alias"},
    "provisioning.defaults.disks.wipe.0.disks.model": {"alias"},
    "provisioning.groups.x.disks.system.model": {"alias"},
    "provisioning.groups.x.disks.wipe.0.disks.model": {"alias"},
    "ceph.filesystems.x.mount": {"outside"},
}
"""Signs that a pattern lets through elsewhere, since the field cannot do without them."""


def list_strings() -> Iterator[tuple[str, bool]]:
    """Yield the path of every string of the schema, and whether it is a key; `x` or `ZZ01` is any name, `0` any item."""

    def walk(schema: dict[str, Any], path: tuple[str, ...]) -> Iterator[tuple[str, bool]]:
        if "$ref" in schema:
            schema = {**schema, **build_schema()["$defs"][schema["$ref"].rpartition("/")[2]]}
        for choice in schema.get("anyOf", ()):
            yield from walk(choice, path)
        if schema.get("type") == "string" and not {"enum", "const", "format"} & schema.keys():
            yield ".".join(path), False
        if "items" in schema:
            yield from walk(schema["items"], (*path, "0"))
        for key, value in schema.get("properties", {}).items():
            yield from walk(value, (*path, key))
        for pattern, value in schema.get("patternProperties", {}).items():
            if pattern != "^[0-9]+$":
                yield ".".join((*path, "@")), True
            name = {"^[A-Z]{1,2}[0-9]{2,3}$": "ZZ01", "^[A-Z]{1,2}$": "ZZ", "^[0-9]+$": "compute"}.get(pattern, "x")
            if isinstance(value, dict):
                yield from walk(value, (*path, name))

    yield from dict.fromkeys(walk(build_schema(), ()))


STRINGS = sorted(path for path, is_key in list_strings() if not is_key)
KEYS = sorted(path.removesuffix(".@") for path, is_key in list_strings() if is_key)


def place(path: str, value: Any) -> dict[str, Any]:
    """Return a document with one value in it, everything around it missing."""
    data: Any = value
    for part in reversed(path.split(".")):
        data = [data] if part == "0" else {part: data}
    return data


def validate(tmp_path, data):
    """Return the findings of a document, written as JSON, which is YAML that can hold every character."""
    (tmp_path / "cluster.yml").write_text(json.dumps(data, indent=1) + "\n", "ascii")
    return load_cluster(tmp_path / "cluster.yml").findings


def is_refused(findings, path):
    """Return whether a finding stands at this path, with its place in the file."""
    return any(f.where.removesuffix("@key") == path and f.severity == "error" and f.line for f in findings)


def test_the_walk_finds_strings_and_keys():
    assert {"site.timezone", "racks.groups.x.rows.0", "tenants.x.subnets.x.servers.0", "servers.x.nics.compute.0"} <= set(STRINGS)
    assert {"servers", "tenants", "racks.exceptions", "provisioning.admins", "bmc.groups"} <= set(KEYS)
    assert set(STRINGS) >= PROSE


@pytest.mark.parametrize("path", STRINGS)
def test_nothing_hostile_in_a_value(path, tmp_path):
    key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMcc03yzvjhn6Nw+dkDmkVyW2r2fZ7Y4FLMROm9Dlj2U "
    for name, text in HOSTILE.items():
        text = key + text if path.endswith(".keys.0") else text
        assert is_refused(validate(tmp_path, place(path, text)), path), f"{path} takes {name}"


@pytest.mark.parametrize("path", sorted(set(STRINGS) - PROSE))
def test_only_prose_needs_quotes(path, tmp_path):
    for name, text in QUOTING.items():
        if name not in HARMLESS.get(path, ()):
            assert is_refused(validate(tmp_path, place(path, text)), path), f"{path} takes {name}"


@pytest.mark.parametrize("path", KEYS)
def test_nothing_hostile_in_a_key(path, tmp_path):
    for name, text in (HOSTILE | QUOTING).items():
        findings = validate(tmp_path, place(path, {text: {"id": 1}}))
        assert any(f.severity == "error" and f.line and f.where.startswith(path) for f in findings), f"{path} takes {name}"


def test_lone_surrogate_is_no_yaml(tmp_path):
    findings = validate(tmp_path, place("site.timezone", "abc\udc80"))
    assert [finding.id for finding in findings] == ["YML001"]
    assert findings[0].line


@pytest.mark.parametrize(
    ("zone", "fix"),
    [
        ("Asia/Shangai", "did you mean Asia/Shanghai?"),
        ("asia/shanghai", "did you mean Asia/Shanghai?"),
        ("CET6", ""),
        ("posix/UTC", ""),
        ("localtime", ""),
    ],
)
def test_unknown_time_zone(zone, fix, tmp_path):
    found = [f for f in validate(tmp_path, {"site": {"timezone": zone, "domain": "a.example"}}) if f.where == "site.timezone"]
    assert [f.id for f in found] == ["INT030"]
    assert found[0].line
    assert fix in found[0].fix


@pytest.mark.parametrize("zone", ["UTC", "Asia/Shanghai", "America/Argentina/Buenos_Aires", "Etc/GMT+8"])
def test_known_time_zone(zone, tmp_path):
    found = validate(tmp_path, {"site": {"timezone": zone, "domain": "a.example"}})
    assert not [f for f in found if f.where == "site.timezone"]


def test_names_of_secrets_stay(tmp_path):
    found = validate(tmp_path, {"bmc": {"password": "bmc-password", "groups": {"gpu": {"password": "gpu-bmc"}}}})
    assert not [f for f in found if f.where.startswith("bmc")]


@pytest.mark.parametrize("name", ["a-", "a--b"])
def test_a_name_that_no_secret_has(name, tmp_path):
    assert is_refused(validate(tmp_path, {"bmc": {"password": name}}), "bmc.password")
    assert is_refused(validate(tmp_path, {"name": name}), "name")
