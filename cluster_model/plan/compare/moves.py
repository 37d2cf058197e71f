"""What a change moves of what stands, and what else it adds, removes and changes, in numbers; and how to move less."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from cluster_model.plan.compare.plans import KINDS

if TYPE_CHECKING:
    from cluster_model.intent.model.cluster import Cluster
    from cluster_model.plan.compare.plans import Comparison
    from cluster_model.plan.compare.tenants import ValueChange

_NAMED = ("rack", "network", "tenant", "subnet")  # `tenant planning`; a name has no space


def count_moves(found: Comparison) -> dict[str, int]:
    """Return how much moves of what stands; all zero where nothing does.

    Returns:
        `servers`, `switches` and `pdus` that stay and change their place; `cables` that stay at their near end and end elsewhere;
        `replaced_cables`, which have the same ends and another length, medium or optics; `addresses` of what stays.
    """
    moved = Counter(change.kind for change in found.devices if change.action == "move")
    cables = Counter(change.action for change in found.cables)
    numbers = {"servers": moved["server"], "switches": moved["switch"], "pdus": moved["pdu"]}
    numbers |= {"cables": cables["move"], "replaced_cables": cables["replace"]}
    return numbers | {"addresses": len(found.moved_addresses)}


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


def advise(old: Cluster, new: Cluster) -> list[str]:
    """Return how rows of racks can grow so that what stands keeps its racks.

    A row's racks may be written by phase, `[8, 1]`: eight racks at first, one more later. A plain number deals all of them anew.

    Args:
        old: the intent as it stands.
        new: the intent as it is wanted.

    Returns:
        A sentence for each row that grew, and each new row of a rack group that there was, unless it is written by phase.
    """
    before = {name: list(row.phases) for name, row in old.racks.rows.items()}
    phases = max(map(len, before.values()))
    grown = {row for name, group in new.racks.groups.items() if name in old.racks.groups for row in group.rows}
    told = []
    for name, row in new.racks.rows.items():
        now, was = list(row.phases), before.get(name, [])
        is_new = name not in before
        if (is_new and name not in grown) or sum(now) <= sum(was) or now[:phases] == _pad(was, phases):
            continue
        wanted = [*_pad(was, phases), sum(now) - sum(was)]
        told.append(f"racks.rows.{name}.racks: write {wanted} instead of {row.racks}, and what stands keeps its racks")
    return told


def _pad(racks: list[int], phases: int) -> list[int]:
    return racks + [0] * (phases - len(racks))
