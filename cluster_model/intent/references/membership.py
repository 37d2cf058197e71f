"""Which servers an expression means: a group (`gpu`), one server (`gpu-007`), or a slice of a group (`gpu-001..gpu-064`)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from cluster_model.intent.model.cluster import Cluster
from cluster_model.names import DeviceName, format_name, parse_name
from cluster_model.near import find_near, suggest

Seat = tuple[str, int]
"""A server: group and number, from 1."""
_NUMBERED = re.compile(r"(?P<group>.+?)[-_ ]?(?P<number>\d+)")


@dataclass(frozen=True, slots=True)
class Fault:
    """Why an expression means no servers, in words, with what would be right and the way out."""

    kind: Literal["unknown", "two-groups", "descending", "beyond"]
    text: str
    expected: str
    fix: str


def expand(cluster: Cluster, expression: str) -> list[Seat] | Fault:
    """Return the servers that an expression means, by number, or what is wrong with it.

    A group means what is built of it. A server or a slice may name what is only planned: numbers up to `planned` are returned,
    built or not.
    """
    group = cluster.servers.get(expression)
    if group is not None:
        return [(expression, number) for number in range(1, group.count + 1)]
    first, dots, last = expression.partition("..")
    low = _find(cluster, first)
    if isinstance(low, Fault) or not dots:
        return low if isinstance(low, Fault) else [low]
    high = _find(cluster, last)
    if isinstance(high, Fault):
        return high
    return cut_slice(expression, low, high)


def cut_slice(expression: str, low: Seat, high: Seat) -> list[Seat] | Fault:
    """Return the servers that a slice means, from one end to the other, or why there is no such slice."""
    if low[0] != high[0]:
        text = f"{expression} begins in group {low[0]} and ends in {high[0]}"
        return Fault("two-groups", text, "a slice of one group", "write one slice for each group")
    if low[1] > high[1]:
        first, _, last = expression.partition("..")
        fix = f"write {last}..{first}"
        return Fault("descending", f"{expression} runs backwards", "the lower number first", fix)
    return [(low[0], number) for number in range(low[1], high[1] + 1)]


def expand_built(cluster: Cluster, expressions: Iterable[str]) -> list[Seat]:
    """Return the built servers that expressions mean, each once, by group id and number; faults mean none."""
    found: set[Seat] = set()
    for expression in expressions:
        seats = expand(cluster, expression)
        if not isinstance(seats, Fault):
            found.update(seat for seat in seats if seat[1] <= cluster.servers[seat[0]].count)
    return sorted(found, key=lambda seat: (cluster.servers[seat[0]].id, *seat))


def _find(cluster: Cluster, name: str) -> Seat | Fault:
    if name in cluster.servers:  # one end of a slice
        ends = f"{_server(name, 1)}..{_server(name, cluster.servers[name].final_count)}"
        return Fault(
            "unknown", f"{name} is a group, and a slice runs from server to server", ends, f"write {ends}, or {name} alone"
        )
    parsed = parse_name(name)
    if parsed is None or parsed.kind != "server" or parsed.group not in cluster.servers:
        known = f"a group ({', '.join(cluster.servers)}), or a server such as {_server(next(iter(cluster.servers)), 1)}"
        return Fault("unknown", f"there is no server or group {name}", known, _suggest(cluster, name))
    right = _server(parsed.group, parsed.number)
    if right != name:
        return Fault("unknown", f"server {name} is written {right}", "three digits below 1000", f"write {right}")
    most = cluster.servers[parsed.group].final_count
    if not 1 <= parsed.number <= most:
        text = f"there is no {name}: {parsed.group} ends at {_server(parsed.group, most)}"
        fix = f"name one of these, or raise planned of {parsed.group}" if parsed.number else "servers count from 001"
        return Fault("beyond", text, f"{_server(parsed.group, 1)} to {_server(parsed.group, most)}", fix)
    return parsed.group, parsed.number


def _server(group: str, number: int) -> str:
    return format_name(DeviceName("server", group=group, number=number))


def _suggest(cluster: Cluster, name: str) -> str:
    """Return the way out of a name that nothing has: the group may be misspelt, or the number unpadded."""
    numbered = _NUMBERED.fullmatch(name)
    near = find_near(numbered["group"], cluster.servers) if numbered else []
    if numbered and near:
        return f"did you mean {_server(near[0], int(numbered['number']))}?"
    return suggest(name, cluster.servers, "name a group, a server, or a slice of a group")
