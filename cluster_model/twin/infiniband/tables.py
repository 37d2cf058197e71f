"""Forwarding tables as switches have them, walked: which adapter is reached from where, over how many switches."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from cluster_model.verify.cabling.ibnetdiscover import End, Names, Node

_SWITCH = re.compile(r"Unicast lids .* guid 0x([0-9a-f]+)")
_ENTRY = re.compile(r"0x([0-9a-f]{4}) (\d{3})\b")
_LID = re.compile(r"# lid (\d+)")
HEIGHT = {"leaf": 0, "spine": 1, "core": 2}


def read_tables(text: str) -> dict[int, dict[int, int]]:
    """Return the tables that `dump_fts -n` prints: switch GUID → LID → port."""
    tables: dict[int, dict[int, int]] = {}
    table: dict[int, int] = {}
    for line in text.splitlines():
        if found := _ENTRY.match(line):
            table[int(found[1], 16)] = int(found[2])
        elif found := _SWITCH.match(line):
            table = tables[int(found[1], 16)] = {}
    return tables


def read_lids(text: str) -> dict[str, int]:
    """Return the LID of every adapter, by its id, as ibnetdiscover prints it behind the adapter's port."""
    lids: dict[str, int] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith("Ca"):
            name = line.split('"')[1]
        elif line.startswith("Switch"):
            name = ""
        elif name and line.startswith("[") and (found := _LID.search(line)):
            lids[name] = int(found[1])
    return lids


@dataclass(frozen=True, slots=True)
class Walk:
    """What walking all tables found: pairs of leaf and adapter, how many of them are connected, and what is wrong.

    `loads` counts the adapters behind each port that leads up from a leaf.
    """

    pairs: int
    right: int
    faults: tuple[str, ...]
    loads: Counter[tuple[str, int]]


def walk_tables(
    nodes: dict[str, Node],
    tables: dict[int, dict[int, int]],
    lids: dict[str, int],
    names: Names,
    heights: dict[str, int],
    adapters: Collection[End],
) -> Walk:
    """Follow the way from every leaf to every adapter.

    A way must end at the adapter, and go up, then down, and never up again: that is what keeps credits from waiting in a circle.

    Args:
        nodes: what ibnetdiscover found.
        tables: switch GUID → LID → port.
        lids: LIDs of adapters, by node id.
        names: the plan's names.
        heights: the tier of every switch, by name; leafs are 0.
        adapters: who must be reached, by the plan's names.
    """
    called = {node.id: names.find_end(node, 1)[0] for node in nodes.values() if node.kind == "Switch"}
    leafs = [node for node in nodes.values() if heights.get(called.get(node.id, "")) == 0]
    target = {names.find_end(node, 1): node.id for node in nodes.values() if node.kind == "Ca"}
    faults: dict[str, int] = {}
    loads: Counter[tuple[str, int]] = Counter()
    right = 0
    for end in adapters:
        adapter = target.get(end, "")
        lid = lids.get(adapter, 0)
        for leaf in leafs:
            why = _follow(leaf, adapter, lid, nodes, tables, called, heights) if lid else "has no LID"
            if why:
                text = f"{end[0]}:{end[1]} {why}" if not lid else f"{called[leaf.id]} does not reach {end[0]}:{end[1]}: {why}"
                faults[text] = 1
                continue
            right += 1
            port = tables[leaf.guid][lid]
            if leaf.ports[port].node != adapter:
                loads[called[leaf.id], port] += 1
    return Walk(len(leafs) * len(adapters), right, tuple(faults), loads)


def _follow(
    leaf: Node,
    adapter: str,
    lid: int,
    nodes: dict[str, Node],
    tables: dict[int, dict[int, int]],
    called: dict[str, str],
    heights: dict[str, int],
) -> str:
    """Return why a leaf does not reach an adapter; empty where it does."""
    at, is_down = leaf, False
    for _ in range(2 * max(heights.values(), default=0) + 1):
        port = tables.get(at.guid, {}).get(lid)
        peer = at.ports.get(port) if port is not None else None
        if peer is None:
            return f"{called[at.id]} has {'no entry' if port is None else f'port {port}, which is dark,'} for it"
        if peer.node == adapter:
            return ""
        if peer.node not in called:
            return f"{called[at.id]} sends it to another adapter"
        descends = heights.get(called[peer.node], 0) < heights.get(called[at.id], 0)
        if is_down and not descends:
            return f"the way goes up again at {called[at.id]}"
        at, is_down = nodes[peer.node], is_down or descends
    return "the way has too many switches"
