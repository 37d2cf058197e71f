"""Kubernetes objects as YAML files."""

from __future__ import annotations

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


def write_objects(about: str, objects: Iterable[Json]) -> bytes:
    """Return a file of objects, one document each.

    Args:
        about: what they are, for the comment in the first line.
        objects: the objects, keys in the order to write.
    """
    documents = yaml.dump_all(objects, Dumper=_Dumper, explicit_start=True, sort_keys=False, default_flow_style=False, width=120)
    return f"# {about}\n{documents}".encode()


def make_object(api: str, kind: str, name: str, namespace: str = "", labels: Labels = (), **parts: Any) -> Json:
    """Return an object; `parts` are its keys beside apiVersion, kind and metadata."""
    metadata: Json = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    if labels:
        metadata["labels"] = dict(labels)
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **parts}
