"""How the references of an intent say what leads nowhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from cluster_model.diagnostic import Diagnostic
from cluster_model.near import suggest
from cluster_model.references import TEMPLATE


class Numbered(Protocol):
    """An entry with an id of its own."""

    @property
    def id(self) -> int:
        """Return its id."""


def refuse(id_: str, where: str, summary: str, expected: str = "", fix: str = "") -> Diagnostic:
    """Return an error at an intent path."""
    return Diagnostic(id_, "error", where, summary, expected, fix=fix)


def list_known(known: Iterable[str], what: str) -> str:
    """Return `one of …`, or that there is none of `what`."""
    names = ", ".join(known)
    return f"one of {names}" if names else f"{what}, of which there is none yet"


def check_ids(where: str, entries: Mapping[str, Numbered], most: int = 250) -> Iterator[Diagnostic]:
    """Yield INT011 for every entry whose id an earlier one has; ids run from 1 to `most`."""
    owners: dict[int, str] = {}
    taken = {entry.id for entry in entries.values()}
    for name, entry in entries.items():
        first = owners.setdefault(entry.id, name)
        if first == name:
            continue
        free = next((number for number in range(1, most + 1) if number not in taken), None)
        fix = (
            f"set id to {free}, the lowest that is free; what is built keeps its own"
            if free
            else "no id is free: join two entries"
        )
        if free is not None:
            taken.add(free)
        yield refuse(
            "INT011", f"{where}.{name}.id", f"id {entry.id} of {name} is already used by {first}", "an id of its own", fix
        )


def check_group(where: str, name: str, groups: Iterable[str]) -> Iterator[Diagnostic]:
    """Yield INT013 where there is no such server group."""
    known = list(groups)
    if name not in known:
        fix = suggest(name, known, "add it to servers, or name another")
        yield refuse("INT013", where, f"there is no server group {name}", f"one of {', '.join(known)}", fix)


def check_pools(where: str, names: Iterable[str], pools: Iterable[str]) -> Iterator[Diagnostic]:
    """Yield INT027 for each name that is no pool of Ceph; `where` is the list of them."""
    known = list(pools)
    for index, name in enumerate(names):
        yield from check_pool(f"{where}.{index}", name, known)


def check_pool(where: str, name: str, pools: Iterable[str]) -> Iterator[Diagnostic]:
    """Yield INT027 where a name is no pool of Ceph."""
    known = list(pools)
    if name not in known:
        fix = suggest(name, known, "add it to ceph.pools, or name another")
        yield refuse("INT027", where, f"there is no Ceph pool {name}", list_known(known, "a pool of ceph.pools"), fix)


def check_filesystem(where: str, name: str, filesystems: Iterable[str]) -> Iterator[Diagnostic]:
    """Yield INT027 where a name is no file system of Ceph."""
    known = list(filesystems)
    if name not in known:
        fix = suggest(name, known, "add it to ceph.filesystems, or name another")
        expected = list_known(known, "a file system of ceph.filesystems")
        yield refuse("INT027", where, f"there is no file system {name}", expected, fix)


def check_templates(value: Any, where: str = "") -> Iterator[Diagnostic]:
    """Yield INT031 for every text and key below `where` that holds a reference or a template."""
    if isinstance(value, dict):
        for key, inner in value.items():
            path = f"{where}.{key}" if where else str(key)
            if isinstance(key, str) and TEMPLATE.search(key):
                yield _refuse_template(f"{path}@key", key)
            else:
                yield from check_templates(inner, path)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from check_templates(inner, f"{where}.{index}")
    elif isinstance(value, str) and TEMPLATE.search(value):
        yield _refuse_template(where, value)


def _refuse_template(where: str, text: str) -> Diagnostic:
    match = TEMPLATE.search(text)
    start = match.group() if match else ""
    summary = f"{start} begins a reference or a template, which an intent never holds"
    named = "name the secret in the key that asks for one, such as bmc.password"
    return refuse("INT031", where, summary, "plain text", named if "gpuyard-secret" in text else f"write it without {start}")
