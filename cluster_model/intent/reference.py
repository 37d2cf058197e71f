"""The manual of `cluster.yml`, written from the model itself: docs/intent.md."""

from __future__ import annotations

import re
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from cluster_model.intent.model.cluster import Cluster
from cluster_model.intent.model.field_docs import read_field_docs
from cluster_model.intent.model.json_schema import describe_schema, find_schema

_HEAD = """# cluster.yml, key by key

<!-- Made by `gpuyard schema --markdown`; a test holds it fresh. -->

One file describes a cluster. What is not given has a default; what has none is a choice that only you can make.
`NAME` stands for a name of your own.
"""


def write_reference() -> str:
    """Return the manual as Markdown: one table for every mapping of the intent, in reading order."""
    parts = [_HEAD]
    _describe(Cluster, (), parts)
    return "\n".join(parts)


def _describe(model: type[BaseModel], path: tuple[str, ...], parts: list[str]) -> None:
    title = ".".join("NAME" if part == "name" else part for part in path).replace(".item", ", each item") or "the file"
    text = re.sub(r"\s+", " ", model.__doc__ or "").strip()
    rows = [f"\n## {title}\n", f"{text}\n", "| key | what | takes | default |", "|---|---|---|---|"]
    below: list[tuple[type[BaseModel], tuple[str, ...]]] = []
    docs = read_field_docs(model)
    for name, field in model.model_fields.items():
        here = (*path, name)
        found = _nested(field.annotation)
        if found is not None:
            nested, container = found
            inside = (*here, *_INSIDE.get(container, ()))
            below.append((nested, inside))
            takes = f"{'a list of mappings' if container is list else 'a mapping'}, see [below](#{_anchor(inside)})"
            if any(kind.get("type") == "string" for kind in find_schema(here)):
                takes = f"a name, or {takes}"
        else:
            takes = describe_schema(here) or "text"
        rows.append(f"| `{name}` | {_cell(docs.get(name, ''))} | {_cell(takes)} | {_default(field)} |")
    parts.append("\n".join(rows))
    for nested, inside in below:
        _describe(nested, inside, parts)


_INSIDE: dict[Any, tuple[str, ...]] = {dict: ("name",), list: ("item",)}
"""What stands in a path for an entry of a mapping or a list."""


def _nested(annotation: Any) -> tuple[type[BaseModel], Any] | None:
    """Return the model that a field holds, and dict or list where it holds several; None for plain values."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation, None
    arguments = getattr(annotation, "__args__", ())
    origin = getattr(annotation, "__origin__", None)
    for argument in arguments:
        found = _nested(argument)
        if found is not None:
            return found[0], found[1] or (origin if origin in _INSIDE else None)
    return None


def _anchor(path: tuple[str, ...]) -> str:
    return "".join("-each-item" if part == "item" else part for part in path).lower()


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|")


def _default(field: FieldInfo) -> str:
    if field.default is PydanticUndefined:
        return "**must be given**"
    value = field.default
    if value is None or value in ([], {}):
        return ""
    if isinstance(value, BaseModel):
        return "as below"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"
