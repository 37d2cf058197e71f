"""What the API server refuses of a custom resource: by schemas in crds/, by their rules in CEL, and a key that is there twice."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cel
import jsonschema
import yaml

CRDS = {
    (crd["apiVersion"], crd["kind"]): crd
    for crd in map(yaml.safe_load, (p.read_text() for p in sorted(Path(__file__, "../crds").resolve().glob("*.yaml"))))
}
"""By apiVersion and kind; crds/ says for each from where its fields and its rules are."""
NAME = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
NAME_LENGTH = 253
"""Source: Kubernetes documentation, Object Names and IDs: DNS subdomain names, which those of custom resources are."""


def judge(found: dict[str, Any], old: dict[str, Any] | None = None) -> str:
    """Return what is wrong with a custom resource, which takes the place of an older one; empty where nothing is."""
    crd = CRDS[found["apiVersion"], found["kind"]]
    metadata = found["metadata"]
    if set(found) != {"apiVersion", "kind", "metadata", "spec"} or ("namespace" in metadata) != (crd["scope"] != "Cluster"):
        return f"keys {sorted(found)}, metadata {metadata}"
    if not re.fullmatch(NAME, metadata["name"]) or len(metadata["name"]) > NAME_LENGTH:
        return f"name {metadata['name']}"
    wrong = [error.message for error in jsonschema.Draft202012Validator(crd["spec"]).iter_errors(found["spec"])]
    if not wrong:  # the API server asks no rule about a value that is not of its type
        before = None if old is None else add_defaults(crd["spec"], old["spec"])
        wrong = list(list_refusals(crd["spec"], add_defaults(crd["spec"], found["spec"]), before, "spec"))
    return "; ".join(wrong)


def add_defaults(schema: dict[str, Any], value: Any) -> Any:
    """Return a value with the defaults that the API server puts in before it asks the rules."""
    if isinstance(value, list):
        return [add_defaults(schema.get("items", {}), inner) for inner in value]
    if not isinstance(value, dict):
        return value
    known = schema.get("properties", {})
    filled = {key: inner["default"] for key, inner in known.items() if "default" in inner} | value
    return {key: add_defaults(known.get(key, {}), inner) for key, inner in filled.items()}


def list_refusals(schema: dict[str, Any], value: Any, old: Any, place: str) -> Iterator[str]:
    """Yield what the rules of a schema, and of all that is in it, refuse of a value; `old` is what was there, or None."""
    for rule in schema.get("x-kubernetes-validations", ()):
        # A rule about a change is asked where there is something that changes.
        if ("oldSelf" not in rule["rule"] or old is not None) and not holds(rule["rule"], value, old):
            yield f"{place}{rule.get('fieldPath', '')}: {rule['message']}"
    if "contentSchema" in schema:
        content = jsonschema.Draft202012Validator(schema["contentSchema"]).iter_errors(json.loads(value))
        yield from (f"{place}: {error.message}" for error in content)
    if isinstance(value, dict):
        for key, inner in schema.get("properties", {}).items():
            if key in value:
                yield from list_refusals(inner, value[key], (old or {}).get(key), f"{place}.{key}")
    elif isinstance(value, list):
        named = schema.get("x-kubernetes-list-type") in ("map", "set")
        before = {identify(schema, item): item for item in old or ()} if named else {}  # items of other lists have no past
        seen = set()
        for number, item in enumerate(value):
            key = identify(schema, item) if named else ""
            if key in seen:
                yield f"{place}[{number}]: Duplicate value: {key}"
            if named:
                seen.add(key)
            yield from list_refusals(schema.get("items", {}), item, before.get(key), f"{place}[{number}]")


def identify(schema: dict[str, Any], item: Any) -> str:
    """Return what an item of a list may share with no other: its keys in a map, all of it in a set."""
    keys = schema.get("x-kubernetes-list-map-keys")
    return json.dumps({key: item.get(key) for key in keys} if keys else item, sort_keys=True)


def holds(rule: str, value: Any, old: Any) -> bool:
    """Return whether a rule is true. One that asks for a field that is not there is not, and is refused in the same way."""
    try:
        return cel.evaluate(rule, {"self": value, "oldSelf": old}) is True
    except KeyError:
        return False


def list_rules(schema: dict[str, Any]) -> Iterator[str]:
    """Yield the messages of all rules of a schema."""
    yield from (rule["message"] for rule in schema.get("x-kubernetes-validations", ()))
    for inner in (*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])):
        yield from list_rules(inner)
