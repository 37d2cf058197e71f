"""The JSON Schema of an intent: for editors, and for saying what a value should have been."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Any

from cluster_model.intent.base import Model
from cluster_model.intent.model.cluster import Cluster
from cluster_model.intent.model.field_docs import add_field_docs
from cluster_model.intent.model.patterns import list_patterns

_UNITS = {
    "kw": "kW",
    "gb": "GB",
    "m": "m",
    "u": "rack units",
    "bytes": "bytes",
    "gbps": "Gb/s",
    "ms": "ms",
    "kb": "kB",
    "percent": "%",
}
_FORMATS = {"ipv4-network": "an IPv4 prefix such as 10.64.0.0/11", "ipv4": "an IPv4 address such as 10.255.0.53"}


@cache
def build_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of an intent, closed: a key that the model refuses, an editor refuses."""
    schema = Cluster.model_json_schema()
    add_field_docs(schema, Model)
    for part in (schema, *schema["$defs"].values()):
        for prop in part.get("properties", {}).values():
            for choice in (prop, *prop.get("anyOf", ())):
                if "patternProperties" in choice:
                    choice["additionalProperties"] = False
                elif isinstance(choice.get("additionalProperties"), dict):
                    choice["patternProperties"] = {"^[0-9]+$": choice["additionalProperties"]}
                    choice["additionalProperties"] = False
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


@lru_cache(maxsize=1024)
def find_schema(path: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return the schemas that a value at this path may have (several for a union), `null` left out; empty when it has none."""
    choices = _expand(build_schema())
    for part in path:
        choices = [found for choice in choices for found in _step(choice, part)]
    return choices


def list_keys(path: tuple[str, ...]) -> list[str]:
    """Return the keys that a mapping at this path knows, in the model's order."""
    return [key for choice in find_schema(path) for key in choice.get("properties", ())]


def describe_key(path: tuple[str, ...], whole: bool = False) -> str:
    """Return what the key at this path is for: the first sentence without its full stop, or the whole description."""
    for parent in find_schema(path[:-1]):
        prop = parent.get("properties", {}).get(path[-1], {})
        texts = [prop.get("description"), *(choice.get("description") for choice in _expand(prop))]
        text = next((text for text in texts if text), "")
        if text:
            return str(text) if whole else re.split(r"\.(?: (?=[A-Z])|$)", str(text))[0]
    return ""


def describe_schema(path: tuple[str, ...], is_key: bool = False) -> str:
    """Return in words what belongs at this path: `a whole number from 1 to 250`."""
    if is_key:
        patterns = [p for choice in find_schema(path[:-1]) for p in choice.get("patternProperties", ())]
        known = list_patterns()
        return " or ".join(known[p].words if p in known else "a whole number" for p in patterns)
    unit = _UNITS.get(path[-1].rpartition("_")[2], "") if path and "_" in path[-1] else ""
    return " or ".join(dict.fromkeys(_describe(choice, unit) for choice in find_schema(path)))


def _expand(schema: dict[str, Any]) -> list[dict[str, Any]]:
    if "$ref" in schema:
        target = build_schema()["$defs"][schema["$ref"].rpartition("/")[2]]
        return [target]
    if "anyOf" in schema:
        return [found for choice in schema["anyOf"] for found in _expand(choice)]
    return [] if schema.get("type") == "null" else [schema]


def _step(schema: dict[str, Any], part: str) -> list[dict[str, Any]]:
    if part in schema.get("properties", {}):
        return _expand(schema["properties"][part])
    if "patternProperties" in schema:
        return [found for child in schema["patternProperties"].values() for found in _expand(child)]
    if "items" in schema:
        return _expand(schema["items"])
    return []


def _describe(schema: dict[str, Any], unit: str) -> str:
    if "enum" in schema or "const" in schema:
        values = [str(value) for value in schema.get("enum", [schema.get("const")])]
        return values[0] if len(values) == 1 else f"one of {', '.join(values)}"
    kind = schema.get("type", "")
    if kind in {"integer", "number"}:
        return _describe_number(schema, "a whole number" if kind == "integer" else "a number", unit)
    if kind == "boolean":
        return "true or false"
    if kind == "array":
        items = " or ".join(_describe(choice, unit) for choice in _expand(schema.get("items", {})))
        return f"a list, each item {items}" if items else "a list"
    if kind == "object":
        if "properties" not in schema:
            return "a mapping of names to values"
        required = schema.get("required", ())
        return f"a mapping with {', '.join(required)}" if required else f"a mapping with any of {', '.join(schema['properties'])}"
    if "format" in schema:
        return _FORMATS.get(schema["format"], "a text")
    known = list_patterns().get(schema.get("pattern", ""))
    text = known.words if known else f"a text that matches {schema['pattern']}" if "pattern" in schema else "a text"
    bounds = [f"at {word} {schema[key]}" for word, key in (("least", "minLength"), ("most", "maxLength")) if key in schema]
    return f"{text}, {' and '.join(bounds)} characters" if bounds else text


def _describe_number(schema: dict[str, Any], word: str, unit: str) -> str:
    tail = f" {unit}" if unit else ""
    low, high = schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    if low is not None and high is not None:
        return f"{word} from {low:g} to {high:g}{tail}" if isinstance(high, float) else f"{word} from {low} to {high}{tail}"
    parts = []
    if above is not None:
        parts.append(f"above {above:g}")
    if low is not None:
        parts.append(f"at least {low:g}")
    if high is not None:
        parts.append(f"at most {high:g}")
    if below is not None:
        parts.append(f"below {below:g}")
    return f"{word} {' and '.join(parts)}{tail}" if parts else word + tail
