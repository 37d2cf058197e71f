"""What somebody may put into an intent or a fact file to break whoever validates it.

It always ends in findings with their place, in bounded time and memory, and never in a traceback.
"""

from __future__ import annotations

import json
import subprocess

import pytest

from cluster_model.intent.model.json_schema import build_schema
from tests.unit.intent.test_load import BASE

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMcc03yzvjhn6Nw+dkDmkVyW2r2fZ7Y4FLMROm9Dlj2U"
WIDE = "\n".join(f"  k{number}: 1" for number in range(210_000))
LEVELS = [f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]" for old, new in zip("abcdefgh", "bcdefghi", strict=True)]
BOMB = "\n".join(["a: &a [x, x, x, x, x, x, x, x, x]", *LEVELS])
MERGES = "\n".join(["m0: &m0 {k: 1}", *(f"m{n}: &m{n} {{<<: [*m{n - 1}, *m{n - 1}], k{n}: 1}}" for n in range(1, 40))])
ROWS = "".join(f"Q{number}: {{id: 1, racks: 1}}, " for number in range(5000))
FILES: dict[str, tuple[str | bytes, str]] = {
    "alias bomb": (BOMB + "\n", "aliases expand"),
    "merge bomb": (MERGES + "\n", "error"),
    "alias of itself": ("a: &a [*a]\n", "YML009"),
    "wide without aliases": (f"a:\n{WIDE}\n", "more values than any intent"),
    "wide with a star in a text": (f"b: 'a * b'\na:\n{WIDE}\n", "more values than any intent"),
    "deep flow": ("a: " + "[" * 100_000, "levels of nesting"),
    "deep mappings": ("a: " + "{a: " * 50_000, "levels of nesting"),
    "deep block": ("".join(" " * n + "a:\n" for n in range(1000)), "levels of nesting"),
    "deep sequence": ("- " * 50_000 + "a\n", "levels of nesting"),
    "long line": (f"name: {'x' * 1_000_000}\n", "INT006"),
    "long key": (f"{'x' * 900}: 1\n", "INT001"),
    "very long key": (f"? {'x' * 1_000_000}\n: 1\n", "INT001"),
    "huge hexadecimal": (f"asn_base: 0x{'f' * 100_000}\n", "INT003"),
    "huge binary": (f"asn_base: 0b{'1' * 100_000}\n", "INT003"),
    "huge base 60": ("asn_base: " + ":".join(["59"] * 3000) + "\n", "error"),
    "huge decimal": (f"asn_base: {'9' * 100_000}\n", "asn_base"),
    "huge key": (f"lossless:\n  ecn:\n    ? 0x{'f' * 100_000}\n    : {{min_kb: 1, max_kb: 2}}\n", "ecn"),
    "python object": ("name: !!python/object/apply:os.system ['id']\n", "YML008"),
    "python name": ("name: !!python/name:os.system\n", "YML008"),
    "own tag": ("name: !vault x\n", "YML008"),
    "tag on the root": ("!!set {a, b}\n", "YML008"),
    "binary": ("name: !!binary aGk=\n", "YML008"),
    "null key": ("~: 1\n", "YML010"),
    "float key": ("1.5: 1\n", "YML010"),
    "nan key": (".nan: 1\n.NaN: 2\n", "YML010"),
    "date key": ("2026-11-01: 1\n", "YML010"),
    "mapping key": ("{a: 1}: 2\n", "YML008"),
    "merge into itself": ("a: &a {<<: *a}\n", "error"),
    "duplicate keys by octal": ("lossless: {ecn: {8: {min_kb: 1, max_kb: 2}, 0o10: {min_kb: 1, max_kb: 2}}}\n", "error"),
    "utf-16": (BASE.encode("utf-16"), "UTF-16"),
    "utf-32": (BASE.encode("utf-32"), "UTF-32"),
    "utf-32 big endian": (b"\x00\x00\xfe\xff" + BASE.encode("utf-32-be"), "UTF-32"),
    "utf-16 without a mark": (BASE.encode("utf-16-le"), "U+0000"),
    "not utf-8": (b"name: \xff\xfe\n", "YML006"),
    "overlong utf-8": (b"name: \xc0\xaf\n", "YML006"),
    "surrogate in utf-8": (b"name: \xed\xa0\x80\n", "YML006"),
    "nul": (b"name: a\x00b\n", "U+0000"),
    "escape": (b'name: "\\e[2J"\n', "INT006"),
    "surrogate escape": (b'name: "\\ud800"\n', "YML001"),
    "bom in the middle": ("name: a\n\ufeffsite: {}\n", "error"),
    "tab": ("site:\n\tdomain: a\n", "YML001"),
    "old mac line ends": (BASE.replace("\n", "\r").replace("count: 4", "count: 0"), "INT004"),
    "windows line ends": (BASE.replace("\n", "\r\n").replace("count: 4", "count: 0"), "INT004"),
    "quoted choice": (BASE.replace("10.120.0.0/14", '10.120.0.0/14, tiers: "2"'), "take the quotes away: 2"),
    "date": (BASE.replace("lab.example.net", "2026-11-01"), "INT003"),
    "timestamp": (BASE.replace("lab.example.net", "2026-11-01 12:00:00.5 +24:00"), "error"),
    "endless directive": ("%YAML 9.9\n---\na: 1\n", "error"),
    "many documents": ("---\na: 1\n" * 1000, "YML007"),
    "many errors": ("\n".join(f"unknown{n}: 1" for n in range(20_000)) + "\n", "more like it"),
    "many rows": (BASE.replace("N: {id: 2", ROWS + "N: {id: 2"), "INT006"),
}  # fmt: skip
TABLES: dict[str, tuple[str | bytes, str]] = {
    "many bad rows": ("name,serial\n" + "x\n" * 190_000, "more like it"),
    "many unknown devices": ("name,serial\n" + "".join(f"x{n},S{n}\n" for n in range(50_000)), "more like it"),
    "many columns": ("name," + ",".join(f"c{n}" for n in range(20_000)) + "\n", "more like it"),
    "long cell": (f'name,serial\ngpu-001,"{"x" * 500_000}"\n', "FCT"),
    "long line without dividers": ("name,serial\n" + "x" * 5_000_000 + "\n", "FCT006"),
    "open quote": ('name,serial\n"gpu-001,S1\n', "FCT006"),
    "nul": ("name,serial\ngpu-001,S\x001\n", "FCT"),
    "utf-16": ("name,serial\n".encode("utf-16"), "FCT001"),
    "empty": ("", "FCT007"),
    "escape": ("name,serial\ngpu-\x1b[2J,S1\n", "FCT008"),
    "escape in a column": ("name,serial,\x1b[2J\n", "FCT008"),
    "formula": ('name,serial\ngpu-001,"=cmd|x"\n', "FCT004"),
    "reference": ("name,serial\ngpu-001,{{gpuyard-secret:bmc-password}}\n", "FCT008"),
    "huge port": (f"name,mac.{'x' * 100_000}\ngpu-001,a0:88:c2:00:00:01\n", "FCT100"),
}


def check(done: subprocess.CompletedProcess[str], word: str, file: str) -> None:
    said = done.stderr
    assert done.returncode == 1, said[-2000:]
    assert word in said, said[:2000]
    assert "Traceback" not in said
    assert "has a defect" not in said
    assert f"{file}:" in said
    assert len(said) < 40_000
    assert not any(sign in said for sign in "\x00\x1b\u202e")


@pytest.mark.parametrize("name", FILES)
def test_hostile_intent(name, tmp_path, command):
    text, word = FILES[name]
    (tmp_path / "cluster.yml").write_bytes(text if isinstance(text, bytes) else text.encode())
    check(command.run("validate", ".", folder=tmp_path), word, "cluster.yml")


@pytest.mark.parametrize("name", TABLES)
def test_hostile_table(name, tmp_path, command):
    text, word = TABLES[name]
    (tmp_path / "cluster.yml").write_text(BASE + "facts: {servers: s.csv}\n")
    (tmp_path / "s.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    check(command.run("validate", ".", folder=tmp_path), word, "s.csv" if word != "FCT001" else "cluster.yml")


def list_numbers() -> list[tuple[str, str]]:
    """Return the path of every number of the schema."""
    found: dict[str, str] = {}

    def walk(schema: dict, path: tuple[str, ...]) -> None:
        if "$ref" in schema:
            schema = {**schema, **build_schema()["$defs"][schema["$ref"].rpartition("/")[2]]}
        for choice in schema.get("anyOf", ()):
            walk(choice, path)
        if schema.get("type") in {"integer", "number"}:
            found[".".join(path)] = schema["type"]
        if "items" in schema:
            walk(schema["items"], (*path, "0"))
        for key, value in schema.get("properties", {}).items():
            walk(value, (*path, key))
        for pattern, value in schema.get("patternProperties", {}).items():
            name = {"^[A-Z]{1,2}[0-9]{2,3}$": "ZZ01", "^[A-Z]{1,2}$": "ZZ", "^[0-9]+$": "400"}.get(pattern, "x")
            if isinstance(value, dict):
                walk(value, (*path, name))

    walk(build_schema(), ())
    return sorted(found.items())


@pytest.mark.parametrize(
    "raw", [".nan", ".inf", "-.inf", "-0x" + "f" * 5000, "0x" + "f" * 5000, "1.0e+308", "true", "'1'", "[1]"]
)
def test_no_number_takes_it(raw, tmp_path):
    """Every number of the intent has bounds; what lies beyond is a finding at its place, in all of them at once."""
    from cluster_model.cli.findings import format_json, format_text
    from cluster_model.intent.load import load_cluster

    numbers = dict(list_numbers())
    for path, kind in numbers.items():
        if raw == "[1]" and f"{path}.0" in numbers:
            continue  # a number, or a list of them
        text = raw
        for part in reversed(path.split(".")):
            text = f"[{text}]" if part == "0" else f"{{{part}: {text}}}"
        (tmp_path / "cluster.yml").write_text(text + "\n")
        findings = load_cluster(tmp_path).findings
        assert any(f.where == path and f.severity == "error" and f.line for f in findings), (path, kind)
        format_text(findings, {})
        json.loads(format_json(findings))
