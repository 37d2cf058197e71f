"""Which devices a person means by words: what `--limit` takes, wherever devices are acted on or checked."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Literal

from cluster_model.near import suggest
from cluster_model.plan.model import Plan, Server
from cluster_model.texts import show_text

Kind = Literal["server", "switch", "pdu"]
KINDS: tuple[Kind, ...] = ("server", "switch", "pdu")
_SERVERS: tuple[Kind, ...] = ("server",)
_PLURALS: dict[Kind, str] = {"server": "servers", "switch": "switches", "pdu": "PDUs"}


class SelectionError(ValueError):
    """Words that mean no device; the text says which, and what was probably meant."""


def choose_devices(plan: Plan, words: Sequence[str], kinds: Collection[Kind] = KINDS) -> frozenset[str]:
    """Return the names of the devices that are meant.

    A word means all that is called so, in whatever case: a device, a rack, a group of servers, `unit-2` (the servers of a compute
    unit), a network (its switches), `compute-leaf` (those of one role). A role alone, such as `spine` or `gpu`, means its devices
    where nothing else is called so. A pattern of the shell, such as `gpu-00*` or `A0[1-4]`, means what fits of devices and racks.

    Args:
        plan: the plan.
        words: what a person wrote; empty means every device.
        kinds: kinds of devices that can be meant.

    Raises:
        SelectionError: a word means no device of these kinds.
    """
    kind_of: dict[str, Kind] = {}
    called: dict[str, list[str]] = defaultdict(list)
    roles: dict[str, list[str]] = defaultdict(list)
    for kind, name, titles, role in _list_titles(plan):
        kind_of[name] = kind
        for title in {title.lower() for title in (name, *titles)}:
            called[title].append(name)
        roles[role].append(name)
    if not words:
        return frozenset(name for name, kind in kind_of.items() if kind in kinds)
    chosen, strange = set[str](), dict[str, list[str]]()
    for word in words:
        found = called.get(word.lower()) or roles.get(word.lower()) or _match(plan, word, kind_of, called)
        meant = [name for name in found if kind_of[name] in kinds]
        chosen.update(meant)
        if not meant:
            strange[word] = found
    if strange:
        known = dict.fromkeys([*kind_of, *(rack.name for rack in plan.racks), *called])
        raise SelectionError(_refuse(strange, kind_of, kinds, list(known)))
    return frozenset(chosen)


def choose_servers(plan: Plan, words: Sequence[str], *, by_name: bool = False) -> list[Server]:
    """Return the servers that are meant, in the order of the plan.

    Args:
        plan: the plan.
        words: what a person wrote; empty means every server.
        by_name: whether they are names of servers and nothing else: a group or rack may have the name of a server.

    Raises:
        SelectionError: a word means no server.
    """
    if by_name:
        known = [server.name for server in plan.servers]
        strange = {word: list[str]() for word in words if word not in known}
        if strange:
            raise SelectionError(_refuse(strange, {}, _SERVERS, known))
        return [server for server in plan.servers if server.name in words]
    names = choose_devices(plan, words, _SERVERS)
    return [server for server in plan.servers if server.name in names]


def _list_titles(plan: Plan) -> Iterator[tuple[Kind, str, tuple[str, ...], str]]:
    """Yield every device: its kind, its name, what else it is called together with others, and its role."""
    for server in plan.servers:
        yield "server", server.name, (server.group, server.rack, f"unit-{server.unit}"), server.role
    for switch in plan.switches:
        yield "switch", switch.name, (switch.network, f"{switch.network}-{switch.role}", switch.rack), switch.role
    for pdu in plan.pdus:
        yield "pdu", pdu.name, (pdu.rack,), "pdu"


def _match(plan: Plan, pattern: str, devices: Iterable[str], called: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the devices whose name or rack fits a pattern. Case counts: racks are upper case, and names lower case."""
    found = [name for name in devices if fnmatchcase(name, pattern)]
    racks = [rack.name for rack in plan.racks if fnmatchcase(rack.name, pattern)]
    return found + [name for rack in racks for name in called.get(rack.lower(), ())]


def _refuse(
    strange: Mapping[str, Sequence[str]], kind_of: Mapping[str, Kind], kinds: Collection[Kind], known: Sequence[str]
) -> str:
    """Return what is said of words that mean no device of these kinds, each with what it is, or may have been meant for."""
    told = []
    for word, found in strange.items():
        counts = Counter(kind_of[name] for name in found)
        others = " and ".join(f"{count} {kind if count == 1 else _PLURALS[kind]}" for kind, count in counts.items())
        fix = f"it means {others}" if others else suggest(word, known, _WAY_OUT if len(strange) == 1 else "", 1, 0.7)
        told.append((show_text(word), fix))
    what = next(iter(kinds)) if len(kinds) == 1 else "device"
    if len(told) == 1:
        return f"no {what} is meant by {told[0][0]}; {told[0][1]}"
    return f"no {what} is meant by {', '.join(f'{word} ({fix})' if fix else word for word, fix in told)}"


_WAY_OUT = "name a device, a rack, a group of servers, unit-N, a network or a role, or a pattern such as gpu-00*"
