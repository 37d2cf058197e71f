"""Plain data from an intent's YAML, with the place of every value and every mistake that YAML itself can hold."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

import yaml

from cluster_model.diagnostic import Diagnostic, has_errors
from cluster_model.intent.source.places import Mark, Source, split_lines
from cluster_model.intent.source.yaml_errors import explain_yaml_error

Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

MAX_BYTES = 8_000_000
"""A cluster of 16,384 hosts has an intent of some kB; anything this large is a mistake."""
MAX_DEPTH = 64
"""Levels of nesting; an intent has seven."""
MAX_VALUES = 200_000
"""Values once every alias is expanded: the bound that stops an alias bomb."""

_NEW = "gpuyard new NAME writes one to start from"
_MARKS = {b"\xff\xfe\0\0": "UTF-32", b"\0\0\xfe\xff": "UTF-32", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
"""Byte order marks, the longer first: that of UTF-32 begins with that of UTF-16."""
_TAG = "tag:yaml.org,2002:"
_KNOWN_TAGS = {_TAG + kind for kind in ("str", "int", "float", "bool", "null", "seq", "map", "timestamp", "merge", "value")}
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_EXPANDED = "aliases expand to more values than any intent has"
_OCTAL = re.compile(r"[-+]?0[0-7_]+")
_SEXAGESIMAL = re.compile(r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?")


class _TooMuchError(Exception):
    """Raised with the intent path at which aliases expand to more values than any intent has."""


class _Builder:
    """Turn composed nodes into data, marks and findings."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.findings: list[Diagnostic] = []
        self._constructor = yaml.constructor.SafeConstructor()
        self._count = 0

    def build(self, node: yaml.Node, path: str, depth: int, key: Mark | None = None) -> Any:
        """Return the value of a node and note its mark under `path`."""
        self._count += 1
        if self._count > MAX_VALUES or depth > MAX_DEPTH:
            raise _TooMuchError(path)
        mark = _mark(node)
        is_block = isinstance(node, yaml.CollectionNode) and not node.flow_style
        self.source.values[path] = key if is_block and key is not None else mark
        may_be_secret = path.endswith(".password")  # then the model refuses it, and shows nothing of it
        if node.tag not in _KNOWN_TAGS:
            self._report(
                "YML008",
                path,
                mark,
                f"the tag {'!…' if may_be_secret else node.tag.replace(_TAG, '!!')} is not used in an intent",
                expected="plain text, numbers, lists and mappings",
                fix="take the tag away",
            )
            return None
        if isinstance(node, yaml.MappingNode):
            return self._build_mapping(node, path, depth)
        if isinstance(node, yaml.SequenceNode):
            return [self.build(item, _join(path, index), depth + 1) for index, item in enumerate(node.value)]
        return self._construct(node) if may_be_secret else self._build_scalar(node, path, mark)

    def _report(self, id_: str, path: str, mark: Mark, summary: str, expected: str, *, fix: str = "") -> None:
        finding = Diagnostic(id_, "error", path, summary, expected, fix=fix)
        self.findings.append(finding.located(self.source.file, mark.line, mark.column))

    def _build_scalar(self, node: yaml.Node, path: str, mark: Mark) -> Any:
        value = self._construct(node)
        if mark.plain and isinstance(value, int | float) and (_OCTAL.fullmatch(mark.raw) or _SEXAGESIMAL.fullmatch(mark.raw)):
            kind = "base 60" if ":" in mark.raw else "octal"
            self._report(
                "YML010",
                path,
                mark,
                f"{mark.raw} is read as {value}: YAML takes it for a number in {kind}",
                expected="a decimal number, or a text in quotes",
                fix=f'write "{mark.raw}" for the text'
                + ("" if ":" in mark.raw else f", or {mark.raw.replace('_', '').lstrip('+-0') or '0'} for the number"),
            )
        return value

    def _construct(self, node: yaml.Node) -> Any:
        try:
            value = self._constructor.construct_object(node)
            # Python writes no integer of more than 4300 digits, and nothing in an intent needs more than 64 bits.
            return node.value if isinstance(value, int) and value.bit_length() > 64 else value
        except (ValueError, KeyError, IndexError, OverflowError, yaml.constructor.ConstructorError):
            return node.value  # looks like a number or a date and is none: the model says what it wants instead

    def _build_mapping(self, node: yaml.MappingNode, path: str, depth: int) -> dict[Any, Any]:
        merged: dict[Any, tuple[yaml.Node, yaml.Node]] = {}
        own: dict[Any, tuple[yaml.Node, yaml.Node]] = {}
        for key_node, value_node in node.value:
            mark = _mark(key_node)
            if key_node.tag == _TAG + "merge":
                for key, pair in self._merged_pairs(value_node, path, depth).items():
                    merged.setdefault(key, pair)
                continue
            if not isinstance(key_node, yaml.ScalarNode):
                self._report(
                    "YML008", path, mark, "a list or mapping is used as a key", expected="a plain word", fix="use a word"
                )
                continue
            key = self._build_key(key_node, path, mark)
            if key in own:
                first = own[key][0].start_mark.line + 1
                self._report(
                    "YML002",
                    _join(path, key),
                    mark,
                    f"duplicate key {key}",
                    expected=f"one {key}; the first is in line {first}",
                    fix="keep one of the two",
                )
                continue
            own[key] = (key_node, value_node)
        data = {}
        for key, (key_node, value_node) in {**merged, **own}.items():
            child = _join(path, key)
            mark = self.source.keys[child] = _mark(key_node)
            data[key] = self.build(value_node, child, depth + 1, mark)
        return data

    def _build_key(self, node: yaml.ScalarNode, path: str, mark: Mark) -> str | int:
        value = self._construct(node)
        if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
            return value
        self._report(
            "YML010",
            _join(path, node.value) + "@key",
            mark,
            f"the key {node.value or '(empty)'} is read as {describe_value(value)}",
            expected="a text",
            fix=f'write "{node.value}" in quotes',
        )
        return str(node.value)

    def _merged_pairs(self, node: yaml.Node, path: str, depth: int) -> dict[Any, tuple[yaml.Node, yaml.Node]]:
        """Return the pairs that a merge key brings in, the first mapping of a list winning."""
        if depth > MAX_DEPTH:
            raise _TooMuchError(path)
        found: dict[Any, tuple[yaml.Node, yaml.Node]] = {}
        for mapping in node.value if isinstance(node, yaml.SequenceNode) else [node]:
            if not isinstance(mapping, yaml.MappingNode):
                self._report(
                    "YML008",
                    path,
                    _mark(node),
                    "the merge key << does not name a mapping",
                    expected="<<: *anchor of a mapping",
                    fix="name an anchor that stands on a mapping, or delete the line",
                )
                continue
            inherited: dict[Any, tuple[yaml.Node, yaml.Node]] = {}
            for key_node, value_node in mapping.value:
                self._count += 1
                if self._count > MAX_VALUES:
                    raise _TooMuchError(path)
                if key_node.tag == _TAG + "merge":
                    inherited |= self._merged_pairs(value_node, path, depth + 1)
                elif isinstance(key_node, yaml.ScalarNode):
                    found.setdefault(self._construct(key_node), (key_node, value_node))
            found = {**inherited, **found}
        return found


def read_yaml(file: str, raw: bytes) -> tuple[Any, Source, list[Diagnostic]]:
    """Read one YAML document.

    Args:
        file: path to name in findings.
        raw: the file's bytes.

    Returns:
        The data (None when it cannot be read), the source with its marks, and the findings.

    Errors:
        YML001 to YML004 and YML006 to YML010.
    """
    source = Source(file, split_lines(raw.decode("utf-8-sig", "replace")))
    text = "\n".join(source.lines)
    refused = _refuse_text(source, raw) or _refuse_events(text, source)
    if refused is not None:
        return None, source, [refused]
    builder = _Builder(source)
    try:
        root: Any = yaml.compose(text, Loader=Loader)
        data = builder.build(root, "", 0)
    except yaml.MarkedYAMLError as error:
        return None, source, [explain_yaml_error(error, source)]
    except _TooMuchError as error:
        mark = source.keys.get(str(error).partition(".")[0], Mark(1, 1))
        return None, source, [explain_too_much(file, _EXPANDED, mark.line, mark.column)]
    if not isinstance(data, dict) and not has_errors(builder.findings):
        summary, expected = f"the file holds {describe_value(data)}, not a mapping", "keys such as name:, site: and racks:"
        builder.findings.append(Diagnostic("YML003", "error", "", summary, expected, fix=_NEW))
    located = [source.locate(finding) for finding in builder.findings]
    return (data if isinstance(data, dict) else None), source, located


def refuse_yaml(file: str, raw: bytes) -> Diagnostic | None:
    """Return why a file is not worth parsing, such as its encoding, its depth, or more values than a person writes; else None."""
    source = Source(file, split_lines(raw.decode("utf-8-sig", "replace")))
    return _refuse_text(source, raw) or _refuse_events("\n".join(source.lines), source)


def describe_value(value: Any) -> str:
    """Return what YAML made of a value, in words: `the boolean false`, `the number 1.36`, `a list`."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return f"the boolean {str(value).lower()}"
    if isinstance(value, int | float):
        return f"the number {value}"
    if isinstance(value, date):
        return f"the date {value.isoformat()}"
    if isinstance(value, dict):
        return "a mapping" if value else "an empty mapping"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    return f'the text "{value}"'


def _refuse_text(source: Source, raw: bytes) -> Diagnostic | None:
    """Return why these bytes are not worth parsing, or None."""
    form = next((form for mark, form in _MARKS.items() if raw.startswith(mark)), "")
    if form:
        found = Diagnostic("YML006", "error", "", f"the file is {form}", "a UTF-8 file", fix="save the file as UTF-8")
        return found.located(source.file, 0, 0)
    try:
        raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return Diagnostic(
            "YML006",
            "error",
            "",
            f"the byte 0x{raw[error.start]:02x} is not UTF-8",
            "a UTF-8 file",
            fix="save the file as UTF-8",
        ).located(source.file, *_place_in(raw[: error.start].decode("utf-8-sig", "replace")))
    for number, line in enumerate(source.lines, 1):
        bad = _UNPRINTABLE.search(line)
        if bad:
            summary = f"the character U+{ord(bad.group()):04X} cannot stand in YAML"
            found = Diagnostic("YML001", "error", "", summary, "printable characters", fix="delete it")
            return found.located(source.file, number, bad.start() + 1)
    return None


def _refuse_events(text: str, source: Source) -> Diagnostic | None:
    """Return why this text is not one sane document, or None; walks the parser's events, so depth costs nothing."""
    depth = documents = written = expanded = 0
    is_empty = True
    sizes: dict[str | None, int] = {}  # values below each anchor, aliases expanded
    opened: list[tuple[str | None, int]] = []
    try:
        for event in yaml.parse(text, Loader=Loader):
            mark: Any = event.start_mark
            if isinstance(event, yaml.AliasEvent):
                holds_itself = any(event.anchor == anchor for anchor, _ in opened)
                expanded += MAX_VALUES if holds_itself else sizes.get(event.anchor, 0)
            elif isinstance(event, yaml.NodeEvent):
                written, expanded = written + 1, expanded + 1
                if isinstance(event, yaml.CollectionStartEvent):
                    opened.append((event.anchor, expanded - 1))
                elif event.anchor:
                    sizes[event.anchor] = 1
            elif isinstance(event, yaml.CollectionEndEvent):
                anchor, before = opened.pop()
                if anchor:
                    sizes[anchor] = expanded - before
            if max(written, expanded) > MAX_VALUES:
                summary = "the file has more values than any intent" if written > MAX_VALUES else _EXPANDED
                return explain_too_much(source.file, summary, mark.line + 1, mark.column + 1)
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    fix = "delete the ---, or put what follows into a file of its own"
                    second = Diagnostic("YML007", "error", "", "a second document begins here", "one cluster per file", fix=fix)
                    return second.located(source.file, mark.line + 1, mark.column + 1)
            elif isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > MAX_DEPTH:
                    return explain_too_much(
                        source.file, f"more than {MAX_DEPTH} levels of nesting", mark.line + 1, mark.column + 1
                    )
                is_empty = False
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            elif isinstance(event, yaml.AliasEvent) or (isinstance(event, yaml.ScalarEvent) and (event.value or event.style)):
                is_empty = False
    except yaml.MarkedYAMLError as error:
        return explain_yaml_error(error, source)
    if is_empty:
        return Diagnostic("YML004", "error", "", "the file is empty", "a cluster", fix=_NEW).located(source.file, 0, 0)
    return None


def explain_too_much(file: str, summary: str, line: int, column: int) -> Diagnostic:
    """Return YML009 at a place."""
    expected = f"at most {MAX_BYTES} bytes, {MAX_DEPTH} levels and {MAX_VALUES} values"
    return Diagnostic("YML009", "error", "", summary, expected, fix="write the values out plainly").located(file, line, column)


def _mark(node: yaml.Node) -> Mark:
    line, column = node.start_mark.line + 1, node.start_mark.column + 1
    if isinstance(node, yaml.ScalarNode):
        return Mark(line, column, str(node.value), node.style is None or node.style == "")
    return Mark(line, column)


def _join(path: str, part: object) -> str:
    return f"{path}.{part}" if path else str(part)


def _place_in(text: str) -> tuple[int, int]:
    lines = split_lines(text)
    return len(lines), len(lines[-1]) + 1
