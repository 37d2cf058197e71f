"""Judge a config_db.json by SONiC's own YANG modules.

ConfigDB is translated to XML, which carries no types of its own, so that libyang types every value by the schema. Needs the
modules (src/sonic-yang-models of sonic-net/sonic-buildimage, templates rendered) and the PyPI package libyang. What it cannot
know: ASIC limits, buffer arithmetic, and whether lanes and names fit the hardware.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

SECRET = re.compile(r"\{\{gpuyard-secret:[a-z0-9-]+\}\}")
DUMMY = "dummy-secret"


@dataclass(frozen=True)
class _Node:
    """A node of the schema in Python's own types: libyang's own, asked for each row, took most of the time."""

    name: str
    kind: int
    keys: tuple[str, ...]
    children: dict[str, _Node]

    @classmethod
    def read(cls, node: Any) -> _Node:
        kind = node.nodetype()
        keys = node.keys() if kind == node.LIST else ()
        inner = node.children() if kind in {node.CONTAINER, node.LIST} else ()
        return cls(node.name(), kind, tuple(key.name() for key in keys), {child.name(): cls.read(child) for child in inner})

    def list_children(self, kind: int) -> list[_Node]:
        return [child for child in self.children.values() if child.kind == kind]


class Validator:
    """The modules of one folder, loaded once."""

    def __init__(self, folder: Path) -> None:
        import libyang

        self._libyang = libyang
        self._context = libyang.Context(str(folder))
        self._tables: dict[str, tuple[_Node, str, str]] = {}
        modules = []
        for path in sorted(folder.glob("*.yang")):
            with path.open() as stream:
                modules.append(self._context.parse_module_file(stream, "yang"))
        # Only now: each module that is loaded compiles the earlier ones anew, and nodes taken from them would dangle.
        for module in modules:
            namespace = next(line.split('"')[1] for line in module.print_mem("yang").splitlines() if "namespace" in line)
            for top in module.children(types=(libyang.SNode.CONTAINER,)):
                for table in top.children(types=(libyang.SNode.CONTAINER,)):
                    self._tables.setdefault(table.name(), (_Node.read(table), top.name(), namespace))
        if not self._tables:
            raise ValueError(f"no YANG modules in {folder}")

    def validate(self, config: dict[str, Any]) -> list[str]:
        """Return what is wrong with a ConfigDB; empty where it is valid."""
        faults = list(_find_other_than_text(config))
        trees: dict[tuple[str, str], list[str]] = {}
        for name, rows in config.items():
            if name not in self._tables:
                faults.append(f"{name}: unknown table")
                continue
            table, top, namespace = self._tables[name]
            trees.setdefault((top, namespace), []).append(f"<{name}>{self._format_rows(name, table, rows, faults)}</{name}>")
        xml = "".join(f'<{top} xmlns="{namespace}">{"".join(parts)}</{top}>' for (top, namespace), parts in trees.items())
        try:
            self._context.parse_data_mem(xml, "xml", strict=True, no_state=True).free()
        except self._libyang.LibyangError as error:
            faults.append(str(error))
        return faults

    def _format_rows(self, name: str, table: _Node, rows: dict[str, Any], faults: list[str]) -> str:
        lists = table.list_children(self._libyang.SNode.LIST)
        containers = {node.name: node for node in table.list_children(self._libyang.SNode.CONTAINER)}
        parts: list[str] = []
        for key, fields in rows.items():
            if key in containers:
                parts.append(f"<{key}>{self._format_fields(containers[key], fields, faults, f'{name}|{key}')}</{key}>")
                continue
            values = key.split("|")
            fitting = [node for node in lists if len(node.keys) == len(values)]
            if not fitting:
                faults.append(f"{name}|{key}: no list with {len(values)} keys")
                continue
            best = max(fitting, key=lambda node: len(node.children.keys() & fields.keys()))
            keys = "".join(_format_leaf(leaf, value) for leaf, value in zip(best.keys, values, strict=True))
            parts.append(f"<{best.name}>{keys}{self._format_fields(best, fields, faults, f'{name}|{key}')}</{best.name}>")
        return "".join(parts)

    def _format_fields(self, node: _Node, fields: dict[str, Any], faults: list[str], place: str) -> str:
        inner = next(iter(node.list_children(self._libyang.SNode.LIST)), None)
        parts: list[str] = []
        for field, value in fields.items():
            child = node.children.get(field)
            if child is None and inner is None:
                faults.append(f"{place}: unknown field {field!r}")
            elif child is None:  # a map, e.g. DSCP_TO_TC_MAP: its fields are the rows of an inner list
                first, second = list(inner.children)[:2]
                parts.append(f"<{inner.name}>{_format_leaf(first, field)}{_format_leaf(second, value)}</{inner.name}>")
            elif child.kind == self._libyang.SNode.LEAFLIST:
                values = value if isinstance(value, list) else value.split(",")
                parts += [_format_leaf(field, item) for item in values]
            else:
                parts.append(_format_leaf(field, value))
        return "".join(parts)


def reveal(text: str) -> str:
    """Return a rendered file with a dummy in place of every secret."""
    return SECRET.sub(DUMMY, text)


def _format_leaf(name: str, value: object) -> str:
    return f"<{name}>{escape(str(value))}</{name}>"


def _find_other_than_text(config: dict[str, Any]) -> list[str]:
    faults = []
    for table, rows in config.items():
        for key, fields in rows.items():
            for field, value in fields.items():
                items = value if isinstance(value, list) else [value]
                if not all(isinstance(item, str) for item in items):
                    faults.append(f"{table}|{key}: {field} is not text: {value!r}")
    return faults
