"""How a change can be written so that less moves: numbers that grew, by phase. A hint is tried before it is given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from cluster_model.intent.base import MOST_PHASES
from cluster_model.intent.phases import count_phases
from cluster_model.plan.compare.moves import weigh

if TYPE_CHECKING:
    from cluster_model.intent.model.cluster import Cluster
    from cluster_model.plan.compare.plans import Comparison


@dataclass(frozen=True, slots=True)
class Hint:
    """A number of the wanted intent, by phase: eight at first and one more later are `[8, 1]`; `instead` is what it says."""

    part: Literal["rows", "servers"]
    name: str
    wanted: tuple[int, ...]
    instead: int | list[int] | None

    def __str__(self) -> str:
        where = f"racks.rows.{self.name}.racks" if self.part == "rows" else f"servers.{self.name}.planned"
        return f"{where}: write {list(self.wanted)}" + (f" instead of {self.instead}" if self.instead is not None else "")


def list_hints(old: Cluster, new: Cluster) -> list[Hint]:
    """Return every row and server group that grew in a phase that stands, written so that what is new comes in a later one.

    New rows and groups are among them where they share a rack group with what there was: they are dealt with its servers.

    Args:
        old: the intent as it stands.
        new: the intent as it is wanted.
    """
    phases = count_phases(old)
    if phases == MOST_PHASES:
        return []
    shared = {row for name, group in new.racks.groups.items() if name in old.racks.groups for row in group.rows}
    found = []
    for name, row in new.racks.rows.items():
        before = old.racks.rows.get(name)
        wanted = _write(before.phases if before else (), row.phases, phases)
        if wanted and (before or name in shared):
            found.append(Hint("rows", name, wanted, row.racks))
    for name, group in new.servers.items():
        stood = old.servers.get(name)
        wanted = _write(stood.phases if stood else (), group.phases, phases)
        if wanted and (stood or group.racks in old.racks.groups):
            found.append(Hint("servers", name, wanted, group.planned))
    return found


def apply_hints(cluster: Cluster, hints: Sequence[Hint]) -> Cluster:
    """Return the intent with hints followed."""
    rows, servers = dict(cluster.racks.rows), dict(cluster.servers)
    for hint in hints:
        if hint.part == "rows":
            rows[hint.name] = rows[hint.name].model_copy(update={"racks": list(hint.wanted)})
        else:
            servers[hint.name] = servers[hint.name].model_copy(update={"planned": list(hint.wanted)})
    return cluster.model_copy(update={"racks": cluster.racks.model_copy(update={"rows": rows}), "servers": servers})


def choose_hints(
    hints: Sequence[Hint], found: Comparison, try_out: Callable[[Sequence[Hint]], Comparison | None]
) -> tuple[Sequence[Hint], Comparison] | None:
    """Return the hints that help most, and what changes with them; None where none does.

    Rows and servers are tried apart too where there are hints for both: a hint that changes nothing is not given.

    Args:
        hints: what `list_hints` returned.
        found: what changes without them.
        try_out: returns what changes with hints; None where the intent with them is refused.
    """
    parts = [[hint for hint in hints if hint.part == part] for part in ("rows", "servers")]
    ways = [way for way in parts if way] + ([list(hints)] if all(parts) else [])
    best, least = None, weigh(found)
    for way in ways if least else []:
        changes = try_out(way)
        if changes is not None and weigh(changes) < least:
            best, least = (way, changes), weigh(changes)
    return best


def _write(before: tuple[int, ...], now: tuple[int, ...], phases: int) -> tuple[int, ...]:
    """Return a number by phase, what is new behind the phases that stand; empty where it did not grow or is so written."""
    stood = before + (0,) * (phases - len(before))
    more = sum(now) - sum(before)
    return (*stood, more) if more > 0 and now[:phases] != stood else ()
