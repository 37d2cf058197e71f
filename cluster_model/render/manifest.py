"""The manifest: which files of a tree are ours, what they hold, and which intent they come from."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

MANIFEST = "manifest.json"
FORMAT = "gpuyard-tree-1"
_ROOT_FAMILIES = {"index.html": "page", "plan.json": "plan"}


def family_of(path: str) -> str:
    """Return the family of a file: its top folder's name, or for files at the root the name that `--only` takes."""
    return _ROOT_FAMILIES.get(path) or path.split("/", 1)[0]


def sum_files(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return the sha256 of every file but the manifest itself, by path."""
    return {path: hashlib.sha256(content).hexdigest() for path, content in files.items() if path != MANIFEST}


def build_manifest(
    cluster: str, version: str, digest: str, files: Mapping[str, bytes], references: Mapping[str, Sequence[str]]
) -> bytes:
    """Return the manifest of a tree.

    `older` stays empty here: it names, with their digest, the families that a partial render left from another intent.
    `references` has the files whose templates wrote references, and which: nothing else is filled in at delivery.
    """
    head = {"format": FORMAT, "cluster": cluster, "version": version, "digest": digest, "older": {}}
    return format_manifest(head, sum_files(files), references)


def format_manifest(head: Mapping[str, Any], sums: Mapping[str, str], references: Mapping[str, Sequence[str]]) -> bytes:
    """Return manifest bytes: `head` with its files replaced by `sums`, one line per file."""
    body = {**head, "files": dict(sorted(sums.items())), "references": dict(sorted(references.items()))}
    return orjson.dumps(body, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def read_manifest(content: bytes) -> dict[str, Any] | None:
    """Return a manifest as data, None where the bytes are not one of ours."""
    try:
        found = orjson.loads(content)
    except ValueError:
        return None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        return None
    parts = (
        (found.get("digest"), str),
        (found.get("files"), dict),
        (found.get("older"), dict),
        (found.get("references", {}), dict),
    )
    if not all(isinstance(value, kind) for value, kind in parts):
        return None
    inside = all(not path.startswith("/") and ".." not in path.split("/") for path in found["files"])
    return found if inside else None
