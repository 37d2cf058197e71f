"""One YAML file: its data, and the place of every value for when something is wrong with it."""

from __future__ import annotations

import os
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from cluster_model.diagnostic import Diagnostic, Severity
from cluster_model.intent.source.yaml_source import refuse_yaml
from cluster_model.reading import TooLargeError, read_file

_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
Loc = tuple[int | str, ...]
MOST_BYTES = 4_000_000
"""The largest device file that comes with gpuyard has 25 kB."""


class _Loader(_Base):  # type: ignore[misc]
    """The safe loader, except that a key written twice is an error."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Build a mapping and refuse a second key of the same name."""
        seen: dict[str, yaml.Mark] = {}
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen and key.value != "<<":
                    first = seen[key.value].line + 1
                    raise yaml.constructor.ConstructorError(
                        None, None, f"duplicate key {key.value}, first on line {first}", key.start_mark
                    )
                seen[key.value] = key.start_mark
        mapping: dict[Hashable, Any] = super().construct_mapping(node, deep=deep)
        return mapping


@dataclass(frozen=True, slots=True)
class Document:
    """A YAML file that was read.

    Args:
        path: where it lies.
        data: what it holds.
        text: its text.
    """

    path: Path
    data: Any
    text: str = field(repr=False)

    @property
    def name(self) -> str:
        """Return the path as a person would type it."""
        return display_path(self.path)

    def finding(
        self,
        rule: str,
        loc: Loc,
        summary: str,
        *,
        expected: str = "",
        actual: str = "",
        fix: str = "",
        severity: Severity = "error",
        key: bool = False,
    ) -> Diagnostic:
        """Return a finding about the value at `loc`, or about its key."""
        line, column = self.locate(loc, key=key)
        where = ".".join(str(part) for part in loc)
        return Diagnostic(rule, severity, where, summary, expected, actual, fix, self.name, line, column)

    def locate(self, loc: Loc, key: bool = False) -> tuple[int, int]:
        """Return 1-based line and column of the value at `loc`, of its key, or of the nearest thing around it."""
        node = yaml.compose(self.text, Loader=_Base)
        mark = node.start_mark if node is not None else None
        for index, part in enumerate(loc):
            last = index == len(loc) - 1
            if isinstance(node, yaml.MappingNode):
                pair = next(((k, v) for k, v in node.value if k.value == str(part)), None)
                if pair is None:
                    break
                node = pair[1]
                mark = pair[0].start_mark if last and key else node.start_mark
            elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
                node = node.value[part]
                mark = node.start_mark
            else:
                break
        return (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)


def display_path(path: Path) -> str:
    """Return `path` from the working directory where it lies below it; of a link, that of the link itself."""
    try:
        return Path(os.path.abspath(path)).relative_to(Path.cwd()).as_posix()  # noqa: PTH100 - resolve() follows links
    except ValueError:
        return path.as_posix()


def _parse(text: str) -> Any:
    return yaml.load(text, Loader=_Loader)


_parse_ours = lru_cache(maxsize=256)(_parse)
"""Once for each text, which is read for every cluster that is opened; no reader changes what it holds."""


def refuse_file(path: Path, found: str) -> Diagnostic:
    """Return CAT010 for what stands in place of a file or folder of a cluster's catalogue."""
    fix = "move it out of the catalogue"
    if found.startswith("a link"):
        fix = "put a copy of what it leads to in its place; for a catalogue that clusters share, a git submodule"
    name = display_path(path)
    expected = "folders and files of the cluster's own; a link leads to a file in catalogue/"
    return Diagnostic("CAT010", "error", "", f"{name} is not taken into the catalogue", expected, found, fix, name)


def read_document(path: Path, folder: Path | None = None) -> Document | Diagnostic:
    """Read one YAML file; return CAT001 where that cannot be done.

    Args:
        path: the file.
        folder: the catalogue of a cluster, in which it must lie; None: it came with gpuyard.
    """
    name = display_path(path)
    wanted = "a YAML file holding one mapping"
    try:
        raw = read_file(path, MOST_BYTES, folder)
        refused = None if folder is None else refuse_yaml(name, raw)
        if refused is not None and refused.id == "YML009":
            return replace(refused, id="CAT001")
        text = raw.decode("utf-8-sig")
        data = _parse_ours(text) if folder is None else _parse(text)
    except OSError as error:
        is_large = isinstance(error, TooLargeError)
        fix = "a device file has some kB: move it out of the catalogue" if is_large else "check that it exists and is readable"
        return Diagnostic("CAT001", "error", "", f"{name} cannot be read", wanted, error.strerror or "", fix, name)
    except UnicodeDecodeError:
        return Diagnostic(
            "CAT001", "error", "", f"{name} is not text", wanted, "bytes that are not UTF-8", "save it as UTF-8", name, 1, 1
        )
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line, column = (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)
        problem = getattr(error, "problem", None) or "not YAML"
        return Diagnostic(
            "CAT001", "error", "", f"{name} is not readable YAML", wanted, problem, "mend the line shown", name, line, column
        )
    if not isinstance(data, dict):
        actual = "nothing" if data is None else f"a {type(data).__name__}"
        return Diagnostic(
            "CAT001", "error", "", f"{name} is not a catalogue file", wanted, actual, "see docs/add-a-server.md", name, 1, 1
        )
    return Document(path, data, text)
