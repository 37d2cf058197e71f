"""Kubernetes objects as YAML files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import yaml

Json = dict[str, Any]
Labels = Iterable[tuple[str, str]]
_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # a fifth of the time, where PyYAML was built with libyaml


class _Dumper(_DUMPER):  # type: ignore[misc]
    """Writes a list that stands in two places twice, as people expect it, and not as an alias."""

    def ignore_aliases(self, _data: Any) -> bool:
        return True


def _write_text(dumper: Any, text: str) -> Any:
    """Return a text of several lines as they stand, for people to read."""
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _write_text)

# What PyYAML takes for text and Kubernetes, by go-yaml, for something else is written in quotes: rack row N, or a rack 1E3.
# Source: go-yaml 2.4, resolve.go: its table of booleans, and its floats, which need no point and lose their underscores.
_Dumper.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"[yYnN]$"), list("yYnN"))
_Dumper.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(\.[0-9_]+|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9_]+)?$"),
    list("-+.0123456789"),
)
_Dumper.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"[-+]?0o[0-7_]+$"), list("-+0"))


def write_objects(about: str, objects: Iterable[Json]) -> bytes:
    """Return a file of objects, one document each.

    Args:
        about: what they are, for the comment in the first line.
        objects: the objects, keys in the order to write.
    """
    documents = yaml.dump_all(objects, Dumper=_Dumper, explicit_start=True, sort_keys=False, default_flow_style=False, width=120)
    return f"# {about}\n{documents}".encode()


def make_object(
    api: str, kind: str, name: str, namespace: str = "", labels: Labels = (), annotations: Labels = (), **parts: Any
) -> Json:
    """Return an object; `parts` are its keys beside apiVersion, kind and metadata."""
    metadata: Json = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    if labels:
        metadata["labels"] = dict(labels)
    if annotations:
        metadata["annotations"] = dict(annotations)
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **parts}
