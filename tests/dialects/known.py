"""Nothing that is rendered goes unread: what a reader has not looked for must be among the known lines of its dialect.

known.yml has them: whole lines of frr.conf and EOS that no fact of a record hangs on, options of ifupdown2, fields of SONiC's
tables, paths of NVUE. A line that is new there is a line that somebody has decided to leave unread.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.dialects.blocks import Block

_AFTER = {
    "as-path-list", "backup", "congestion-control", "match", "neighbor", "prefix-list", "route-map", "rule", "server", "static",
    "user", "via", "vni", "vrf",
}  # fmt: skip
"""Keys of NVUE below which names stand that a plan chooses."""
_NUMBER = re.compile(r"[\d.:/]*\d[\w.:/,-]*")


USED: dict[str, set[str]] = defaultdict(set)
"""Patterns that have known a line, by dialect."""


@cache
def load_known() -> dict[str, Any]:
    """Return known.yml."""
    return yaml.safe_load(Path(__file__).with_name("known.yml").read_text("utf-8"))


def refuse_unread(dialect: str, root: Block) -> None:
    """Refuse a file in lines that has one which was neither read nor is known."""
    strange = [line for line in root.list_unread() if not find_pattern(dialect, line)]
    assert not strange, f"{dialect}: nobody reads {strange[:5]}"


@cache
def find_pattern(dialect: str, line: str) -> str:
    """Return the pattern that knows a line, and note that it does; empty where none does."""
    found = next((pattern for pattern in load_known()[dialect] if re.fullmatch(pattern, line)), "")
    USED[dialect].add(found)
    return found


def refuse_options(stanzas: dict[str, dict[str, list[str]]]) -> None:
    """Refuse an ifupdown2 file with an option that is not known."""
    strange = {option for stanza in stanzas.values() for option in stanza} - set(load_known()["interfaces"])
    assert not strange, f"interfaces: nobody reads {sorted(strange)}"


def refuse_fields(tables: dict[str, dict[str, dict[str, Any]]]) -> None:
    """Refuse a config_db.json with a table or a field that is not known."""
    known = load_known()["sonic tables"]
    found = {
        f"{table} {_NUMBER.sub('N', field)}".strip() for table, rows in tables.items() for row in rows.values() for field in row
    }
    strange = {each for each in found if each.partition(" ")[2] not in known.get(each.partition(" ")[0], ())}
    strange |= set(tables) - set(known)
    assert not strange, f"config_db.json: nobody reads {sorted(strange)}"


def refuse_paths(tree: Any) -> None:
    """Refuse a startup.yaml with a path that is not known."""
    strange = set(list_paths(tree)) - set(load_known()["cumulus"])
    assert not strange, f"startup.yaml: nobody reads {sorted(strange)[:5]}"


def list_paths(tree: Any, above: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield every path of an NVUE tree, with `*` where a plan chooses the name, and N for numbers."""
    if isinstance(tree, dict) and tree:
        for key, value in tree.items():
            name = "*" if above and above[-1] in _AFTER else _NUMBER.sub("N", str(key))
            yield from list_paths(value, (*above, name))
    else:
        yield " ".join(above)
