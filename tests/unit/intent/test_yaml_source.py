"""Where every value stands, and what YAML may hold."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster_model.diagnostic import Diagnostic
from cluster_model.intent.source.places import Mark, Source
from cluster_model.intent.source.yaml_source import read_yaml

TEXT = """\
# a comment
site: {domain: lab.example.net, dns: [10.0.0.1, 10.0.0.2]}
servers:
  gpu:
    id: 1
    "model": 'x/y'
  list:
    - a
    - b: 2
"""


def read(text: str):
    return read_yaml("lab.yml", text.encode())


@pytest.mark.parametrize(
    ("where", "place"),
    [
        ("", (2, 1)),
        ("site.domain", (2, 16)),
        ("site.domain@key", (2, 8)),
        ("site.dns.1", (2, 49)),
        ("site", (2, 7)),  # a mapping in one line: at its brace
        ("servers.gpu", (4, 3)),  # a mapping over lines: at its key
        ("servers.gpu.id", (5, 9)),
        ("servers.gpu.model", (6, 14)),
        ("servers.gpu.model@key", (6, 5)),
        ("servers.list.1.b", (9, 10)),
        ("servers.gpu.count", (4, 3)),  # not written: at the nearest ancestor's key
        ("servers.gpu.count@key", (4, 3)),
        ("networks.compute.mtu_bytes", (2, 1)),
    ],
)
def test_locate(where, place):
    _, source, findings = read(TEXT)
    located = source.locate(Diagnostic("X", "error", where, "x"))
    assert not findings
    assert (located.file, located.line, located.column) == ("lab.yml", *place)


def test_locate_leaves_what_names_a_file():
    _, source, _ = read(TEXT)
    finding = Diagnostic("X", "error", "site", "x", file="facts.csv", line=3)
    assert source.locate(finding) == finding


def test_locate_without_text():
    assert Source("gone.yml").locate(Diagnostic("X", "error", "site", "x")).file == "gone.yml"


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\r\nb: 2\r\n",
        "\ufeffa: 1\nb: 2\n",
        "---\na: 1\nb: 2\n...\n",
        "%YAML 1.1\n---\na: 1\nb: 2\n",
        "a: &one 1\nb: 2\n",
    ],
)
def test_forms_of_a_file(text):
    data, source, findings = read(text)
    assert (data, findings) == ({"a": 1, "b": 2}, [])
    assert source.lines[source.values["b"].line - 1].startswith("b:")


def test_merge_keys():
    data, source, findings = read("a: &a {x: 1, y: 2}\nb: &b {<<: *a, y: 3}\nc:\n  <<: [*b, *a]\n  z: 4\n")
    assert not findings
    assert data["b"] == {"x": 1, "y": 3}
    assert data["c"] == {"x": 1, "y": 3, "z": 4}
    assert source.values["c.x"] == Mark(1, 11, "1", True)


def test_aliases_are_expanded():
    data, _, findings = read("a: &a [1, 2]\nb: *a\n")
    assert (data, findings) == ({"a": [1, 2], "b": [1, 2]}, [])


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ("1_000", 1000),
        ("0x10", 16),
        ("1e3", "1e3"),  # YAML 1.1 wants a dot and a sign
        ("1.36", 1.36),
        ("4+2", "4+2"),
        ("08", "08"),
        ("2026-13-40", "2026-13-40"),  # looks like a date and is none
        ("=", "="),
        ("1" * 5000, "1" * 5000),  # more digits than Python reads
        ("~", None),
    ],
)
def test_scalars(raw, value):
    data, _, findings = read(f"a: {raw}\n")
    assert (data, findings) == ({"a": value}, [])


@given(st.text(alphabet=list("abc:-[]{}&*!|>'\"%@#?,<\t\n 019_.~="), max_size=80))
@settings(max_examples=400, deadline=None)
def test_any_text_gives_data_or_a_finding(text):
    data, _, findings = read(text)
    assert isinstance(data, dict) or findings


@given(st.binary(max_size=60))
@settings(max_examples=200, deadline=None)
def test_any_bytes_give_data_or_a_finding(raw):
    data, _, findings = read_yaml("x.yml", raw)
    assert isinstance(data, dict) or findings
