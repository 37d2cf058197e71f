"""What a change moves of what stands, and what else it adds, removes and changes, in numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from cluster_model.plan.compare.plans import KINDS

if TYPE_CHECKING:
    from cluster_model.plan.compare.plans import Comparison
    from cluster_model.plan.compare.tenants import ValueChange

_NAMED = ("rack", "network", "tenant", "subnet")  # `tenant planning`; a name has no space


def count_moves(found: Comparison) -> dict[str, int]:
    """Return how much moves of what stands; all zero where nothing does.

    Returns:
        `servers`, `switches` and `pdus` that stay and change their place; `cables` that stay at their near end and end elsewhere,
        and `cables_with_another_item`, which are those of them that need another length, medium or optics; `replaced_cables`,
        which have the same ends and need another; `addresses` of what stays.
    """
    moved = Counter(change.kind for change in found.devices if change.action == "move")
    cables = Counter(change.action for change in found.cables)
    numbers = {"servers": moved["server"], "switches": moved["switch"], "pdus": moved["pdu"]}
    both = sum(change.is_moved_and_replaced for change in found.cables)
    numbers |= {"cables": cables["move"], "cables_with_another_item": both, "replaced_cables": cables["replace"]}
    return numbers | {"addresses": len(found.moved_addresses)}


def count_taken(found: Comparison) -> dict[str, int]:
    """Return how many `servers`, `switches` and `pdus` that stood are taken away; what is renamed stays."""
    gone = Counter(change.kind for change in found.devices if change.action == "remove")
    return {"servers": gone["server"], "switches": gone["switch"], "pdus": gone["pdu"]}


def weigh(found: Comparison) -> int:
    """Return how much is to be done to what stands, in one number: all that moves, is replaced or is taken away."""
    moves = count_moves(found) | {"cables_with_another_item": 0}  # they are counted with the cables
    return sum(moves.values()) + sum(count_taken(found).values())


def count_changes(found: Comparison, configs: Iterable[str] = ()) -> dict[str, dict[str, int]]:
    """Return what changes besides what `count_moves` counts: by action, how many of each kind.

    Args:
        found: the changes.
        configs: paths `SWITCH/FILE` of switches' configurations that differ.

    Returns:
        Numbers by `add`, `remove`, `rename` and `change`, and in these by `server`, `switch`, `pdu`, `cable`, `rack`, `network`,
        `tenant`, `subnet`, `border peer`, `partition`, `crossing` (of two tenants, or a tenant and a border peer) and `setting`;
        what is zero is left out. A device that changes stays and has another value; a switch also one of another configuration.
    """
    numbers: dict[str, Counter[str]] = {action: Counter() for action in ("add", "remove", "rename", "change")}
    for device in found.devices:
        if device.action != "move":
            numbers[device.action][device.kind] += 1
    for cable in found.cables:
        if cable.action in {"add", "remove"}:
            numbers[cable.action]["cable"] += 1
    for kind in KINDS:
        files = {path.partition("/")[0] for path in configs} if kind == "switch" else set()
        numbers["change"][kind] = len({*found.changed[kind], *files})
    devices = {name for names in found.changed.values() for name in names}
    whole: dict[str, tuple[str, str]] = {}  # what becomes of a subject, and its kind
    for change in (*found.moved_addresses, *found.tenants, *found.settings):
        if name_device(change) not in devices:
            kind = name_kind(change)
            subject = f"{change.subject} {change.key}" if kind == "setting" else change.subject
            whole[subject] = _name_action(change), kind
    for action, kind in whole.values():
        numbers[action][kind] += 1
    return {action: {kind: number for kind, number in counts.items() if number} for action, counts in numbers.items()}


def name_device(change: ValueChange) -> str:
    """Return the device of a change: subjects are `DEVICE`, `DEVICE:PORT`, `DEVICE bmc`, and others like `tenant NAME`."""
    return change.subject.partition(" ")[0].partition(":")[0]


def name_kind(change: ValueChange) -> str:
    """Return what a change is of that is not a device's."""
    first, *rest = change.subject.split(" ")
    if first in _NAMED and len(rest) == 1:
        return first
    if change.subject.startswith("border peer "):
        return "border peer"
    if change.subject.startswith("partition of "):
        return "partition"
    return "crossing" if len(rest) > 1 else "setting"  # `site`, `lossless`, `boot servers` against `planning uses services`


def _name_action(change: ValueChange) -> str:
    if change.key == "exists":
        return "add" if change.new == "yes" else "remove"
    if change.key:
        return "change"
    return "remove" if change.old else "add"
