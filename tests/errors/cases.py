"""Broken clusters as cases: a base, and the values that break it."""

from __future__ import annotations

import re
from base64 import b64decode
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
BASES = HERE / "bases"
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
IS_CHANGED_BASE = re.compile(rb"(#.*\n)*base: ")


def list_cases() -> list[Path]:
    """Return the YAML file of every case, sorted."""
    return sorted(path for path in HERE.glob("*/*.yml") if path.parent != BASES)


def write_cluster(case: bytes, folder: Path) -> None:
    """Write the cluster of a case into a folder: a base that is changed, or else cluster.yml itself, byte for byte."""
    if IS_CHANGED_BASE.match(case):
        change_base(case.decode(), yaml.compose(case, LOADER), folder)
    else:
        (folder / "cluster.yml").write_bytes(case)


def change_base(source: str, case: yaml.MappingNode, folder: Path) -> None:
    """Write bases/NAME.yml into a folder with the changes of a case.

    Args:
        source: the text that the case is part of.
        case: `base: NAME` and after it changes, see `set_value`; `files: {path: text}` are written beside cluster.yml, and
            `!link TARGET` in place of the text is a link. The base `none` is a folder without cluster.yml.
        folder: where to write.
    """
    (_, base), *changes = case.value
    if base.value == "none":
        return
    text = (BASES / f"{base.value}.yml").read_text("utf-8")
    for key, value in changes:
        if key.value == "files":
            _write_files(folder, value)
        else:
            text = set_value(text, key.value, source[key.end_mark.index : _end(value)])
    (folder / "cluster.yml").write_text(text, "utf-8")


def _write_files(folder: Path, files: Any) -> None:
    for name, content in files.value:
        file = folder / name.value
        file.parent.mkdir(parents=True, exist_ok=True)
        if content.tag == "!link":
            file.symlink_to(content.value)
        else:
            file.write_bytes(b64decode(content.value) if content.tag.endswith(":binary") else content.value.encode())


def set_value(text: str, path: str, value: str) -> str:
    """Return YAML with the value at a dotted path set, and nothing else rewritten: lines keep their numbers where they can.

    Args:
        text: YAML without anchors and tags.
        path: keys, and numbers of list items, with dots between them; what is missing on the way is made.
        value: the new value as it is written behind its key, with the colon; `: null` takes the key away.
    """
    node = yaml.compose(text, LOADER)
    part, *rest = path.split(".")
    while rest and (found := _find(node, part)):
        node, (part, *rest) = found[1], rest
    for name in reversed(rest):
        value = f": {{{name}{value}}}"
    found = _find(node, part)
    if found is None:
        return _insert(text, node, part + value)
    key, old = found
    before, after = text[: key.start_mark.index], text[_end(old) :]
    if value == ": null":
        return before + after[2:] if after.startswith(", ") else before.rstrip(", \n") + after
    if key is old:  # an item of a list
        return before + value[2:] + after
    return before + part + value.replace("\n", "\n" + " " * key.start_mark.column) + after


def _find(node: Any, part: str) -> tuple[Any, Any] | None:
    """Return the nodes of a key and its value, or twice that of a list item."""
    if isinstance(node, yaml.SequenceNode):
        return node.value[int(part)], node.value[int(part)]
    return next((pair for pair in node.value if pair[0].value == part), None)


def _insert(text: str, mapping: Any, entry: str) -> str:
    """Put an entry at the end of a mapping, in its style."""
    end = _end(mapping)
    if mapping.flow_style:
        return text[: end - 1] + (", " if mapping.value else "") + entry + text[end - 1 :]
    pad = "\n" + " " * mapping.start_mark.column
    return text[:end] + pad + entry.replace("\n", pad) + text[end:]


def _end(node: Any) -> int:
    """Return where a node ends; the parser ends a block where the next thing begins."""
    while isinstance(node, yaml.CollectionNode) and not node.flow_style:
        last = node.value[-1]
        node = last[1] if isinstance(node, yaml.MappingNode) else last
    return node.end_mark.index
