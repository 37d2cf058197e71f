"""See past a mistake: a stand-in for each refused value, so that the rest of the file can still be checked in the same run."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from cluster_model.intent.model.cluster import Cluster
from cluster_model.intent.model.json_schema import find_schema
from cluster_model.intent.model.patterns import list_patterns
from cluster_model.intent.source.fitting import fit_key

_ROUNDS = 6
"""A stand-in for a mapping needs its own required keys in the next round; no mapping lies deeper than this."""
_FORMATS = {"ipv4-network": "192.0.2.0/24", "ipv4": "192.0.2.1"}  # documentation range, RFC 5737


def salvage(data: Any) -> tuple[Cluster | None, set[str]]:
    """Return a cluster made of what is right in `data`, and the paths that a stand-in was put at.

    Args:
        data: the intent as YAML gave it, refused by the model at least once.

    Returns:
        The cluster, or None where too much is wrong to tell; only findings clear of the paths say anything about the file.
    """
    copy, paths = _copy(data), set[str]()
    for _ in range(_ROUNDS):
        try:
            return Cluster.model_validate(copy), paths
        except ValidationError as error:
            done = {_mend(copy, details, paths) for details in error.errors(include_url=False)}
            if True not in done:
                break
    return None, paths


def touches(where: str, paths: set[str]) -> bool:
    """Return whether a finding at `where` may be about a stand-in: at its path, below or above it."""
    own = where.removesuffix("@key").rstrip(".") + "."
    return any(own.startswith(f"{path}.") or f"{path}.".startswith(own) for path in paths)


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value


def _mend(data: Any, details: ErrorDetails, paths: set[str]) -> bool:
    """Put right one refusal in place; return whether anything changed."""
    holder, path = data, list[str]()
    location = [part for part in details["loc"] if part != "[key]"]
    for part in location[:-1]:
        inside = _step(holder, part)
        if inside is not None:  # else a union's branch, which the file does not spell
            holder = inside
            path.append(str(part))
    if not location:
        return False
    last = location[-1]
    at = ".".join([*path, str(last)])
    if isinstance(holder, dict):
        if details["type"] != "missing" and last in holder:
            value = holder.pop(last)
            near = fit_key(str(last), tuple(path)) if details["loc"][-1] == "[key]" else ""
            if near and near not in holder:  # as it is told to be renamed, so that what names it leads somewhere
                holder[near] = value
                paths.add(".".join([*path, near]))
        elif details["type"] == "missing":
            holder[last] = _stand_in(tuple(at.split(".")))
        else:
            return False
    elif isinstance(holder, list) and isinstance(last, int) and last < len(holder):
        holder[last] = _stand_in(tuple(at.split(".")))
    else:
        return False
    paths.add(at)
    return True


def _step(holder: Any, part: int | str) -> Any:
    if isinstance(holder, dict):
        return holder.get(part)
    return holder[part] if isinstance(holder, list) and isinstance(part, int) and part < len(holder) else None


def _stand_in(path: tuple[str, ...]) -> Any:
    for schema in find_schema(path):
        if "const" in schema or "enum" in schema:
            return schema.get("const", schema.get("enum", [None])[0])
        kind = schema.get("type")
        if kind in {"number", "integer"}:
            return schema.get("minimum", schema.get("exclusiveMinimum", 0) + 1)
        if kind == "string":
            known = list_patterns().get(schema.get("pattern", ""))
            return _FORMATS.get(schema.get("format", "")) or (known.stand_in if known else "stand-in")
        if kind == "array":
            return [_stand_in((*path, "0"))] if schema.get("minItems") else []
        if kind == "boolean":
            return False
        if kind == "object":
            return {}
    return None
