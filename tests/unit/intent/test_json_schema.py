"""The schema that editors use is the model, described in words, and the copy in docs/ is fresh."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster_model.intent.model.json_schema import build_schema, describe_key, describe_schema, list_keys
from cluster_model.intent.model.patterns import list_patterns

ROOT = Path(__file__).parents[3]


def walk(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from walk(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from walk(inner)


def test_committed_schema_is_fresh():
    text = (ROOT / "docs" / "schema" / "cluster.schema.json").read_text("utf-8")
    assert text == json.dumps(build_schema(), indent=2, ensure_ascii=False) + "\n", (
        "run: gpuyard schema > docs/schema/cluster.schema.json"
    )


def test_every_pattern_has_words():
    found = {part["pattern"] for part in walk(build_schema()) if isinstance(part.get("pattern"), str)}
    found |= {key for part in walk(build_schema()) for key in part.get("patternProperties", ()) if key != "^[0-9]+$"}
    assert found == set(list_patterns())


def test_schema_is_closed():
    for part in walk(build_schema()):
        if part.get("type") == "object":
            assert part.get("additionalProperties") is False


def test_every_key_is_described():
    for name, part in build_schema()["$defs"].items():
        for key, prop in part.get("properties", {}).items():
            refs = [build_schema()["$defs"][p["$ref"].rpartition("/")[2]] for p in walk(prop) if "$ref" in p]
            assert prop.get("description") or any(ref.get("description") for ref in refs), f"{name}.{key}"


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("servers.gpu.id", "a whole number from 1 to 250"),
        ("racks.groups.gpu.power_kw", "a number above 0 and at most 500 kW"),
        ("racks.groups.gpu.height_u", "a whole number from 10 to 60 rack units"),
        ("networks.compute.technology", "one of roce, infiniband"),
        ("networks.compute.tiers", "one of auto, 1, 2, 3"),
        ("networks.compute.pool", "an IPv4 prefix such as 10.64.0.0/11"),
        ("lossless.ecn.400.min_kb", "a whole number from 1 to 100000 kB"),
        ("lossless.watchdog.enabled", "true or false"),
        ("lossless.trust", "dscp"),
        ("site.timezone", "a name of the tz database, such as Asia/Shanghai"),
        ("ceph", "a mapping with hosts"),
        ("no.such.path", ""),
    ],
)
def test_describe_schema(path, words):
    assert describe_schema(tuple(path.split("."))) == words


def test_describe_key():
    assert describe_key(("servers", "gpu", "id")) == "Number of the group; addresses and ports follow from it"
    assert describe_key(("nothing",)) == ""


def test_list_keys():
    assert list_keys(("networks",)) == ["compute", "storage", "business", "oob"]
