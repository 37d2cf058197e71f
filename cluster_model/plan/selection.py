"""Which devices a person means by words: what `--limit` takes, wherever devices are acted on or checked."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Literal

from cluster_model.intent.references.membership import Fault, cut_slice
from cluster_model.names import parse_name
from cluster_model.near import find_near, suggest
from cluster_model.plan.model import Plan, Server
from cluster_model.texts import show_text

Kind = Literal["server", "switch", "pdu"]
KINDS: tuple[Kind, ...] = ("server", "switch", "pdu")
_SERVERS: tuple[Kind, ...] = ("server",)
_SINGULARS: dict[Kind, str] = {"server": "server", "switch": "switch", "pdu": "PDU"}
_PLURALS: dict[Kind, str] = {"server": "servers", "switch": "switches", "pdu": "PDUs"}


class SelectionError(ValueError):
    """Words that mean no device; the text says which, and what was probably meant."""


def choose_devices(plan: Plan, words: Sequence[str], kinds: Collection[Kind] = KINDS) -> frozenset[str]:
    """Return the names of the devices that are meant.

    A word means all that is called so, in whatever case: a device, a rack, a group of servers, `unit-2` (the servers of a compute
    unit), a network (its switches), `compute-leaf` (those of one role). A role alone, such as `spine` or `gpu`, means its devices
    where nothing else is called so. A slice, such as `gpu-001..gpu-004`, means servers of a group from one to another. A pattern
    of the shell, such as `gpu-00*` or `A0[1-4]`, means what fits of devices and racks.

    Args:
        plan: the plan.
        words: what a person wrote; empty means every device.
        kinds: kinds of devices that can be meant.

    Raises:
        SelectionError: a word means no device of these kinds.
    """
    register = _Register(plan, kinds)
    if not words:
        return frozenset(name for name, kind in register.kind_of.items() if kind in kinds)
    chosen, strange = set[str](), dict[str, str]()
    for word in words:
        meant = register.choose(word)
        chosen.update(meant)
        if not meant:
            strange[word] = register.explain(word)
    if strange:
        raise SelectionError(_refuse(strange, kinds))
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
        strange = {word: suggest(word, known, "", 1, 0.7) for word in words if word not in known}
        if strange:
            raise SelectionError(_refuse(strange, _SERVERS, "name servers, each by its whole name"))
        return [server for server in plan.servers if server.name in words]
    names = choose_devices(plan, words, _SERVERS)
    return [server for server in plan.servers if server.name in names]


class _Register:
    """What devices of a plan are called, and what words mean where devices of some kinds are wanted."""

    def __init__(self, plan: Plan, kinds: Collection[Kind]) -> None:
        self.plan = plan
        self.kinds = kinds
        self.kind_of: dict[str, Kind] = {}
        called: dict[str, list[str]] = defaultdict(list)
        roles: dict[str, list[str]] = defaultdict(list)
        for kind, name, titles, role in _list_titles(plan):
            self.kind_of[name] = kind
            for title in {title.lower() for title in (name, *titles)}:
                called[title].append(name)
            roles[role].append(name)
        self.called: Mapping[str, list[str]] = {**roles, **called}  # a role where nothing else is called so

    def choose(self, word: str) -> list[str]:
        """Return the devices of the wanted kinds that a word means."""
        return [name for name in self._find(word) if self.kind_of[name] in self.kinds]

    def explain(self, word: str) -> str:
        """Return what a word that means no device of the wanted kinds is, or may have been meant for; else nothing."""
        if counts := Counter(self.kind_of[name] for name in self._find(word)):
            others = [f"{count} {(_SINGULARS if count == 1 else _PLURALS)[kind]}" for kind, count in counts.items()]
            return f"it means {' and '.join(others)}"
        if word.startswith("!") or ":!" in word:
            return 'there is no "not"; name those that are meant'
        if word.lower() == "all":
            return "leave --limit out to mean all"
        parts = word.split()
        if len(parts) > 1:
            named = f": {','.join(parts)}" if all(map(self.choose, parts)) else ""
            return f"names are parted by commas{named}"
        if ".." in word:
            cut = _cut(self.plan, word)
            return cut if isinstance(cut, str) else ""
        if any(sign in word for sign in "*?["):
            near = next((other for other in (word.lower(), word.upper()) if self.choose(other)), "")
            return f"did you mean {near}? In patterns case counts" if near else ""
        known = dict.fromkeys([*self.kind_of, *(rack.name for rack in self.plan.racks), *self.called])
        return suggest(word, filter(self.choose, known), "", 1, 0.7)

    def _find(self, word: str) -> list[str]:
        found = self.called.get(word.lower())
        if not found and ".." in word:
            cut = _cut(self.plan, word)
            found = cut if isinstance(cut, list) else []
        return found or self._match(word)

    def _match(self, pattern: str) -> list[str]:
        """Return the devices whose name or rack fits a pattern. Case counts: racks are upper case, and names lower case."""
        found = [name for name in self.kind_of if fnmatchcase(name, pattern)]
        racks = [rack.name for rack in self.plan.racks if fnmatchcase(rack.name, pattern)]
        return found + [name for rack in racks for name in self.called.get(rack.lower(), ())]


def _list_titles(plan: Plan) -> Iterator[tuple[Kind, str, tuple[str, ...], str]]:
    """Yield every device: its kind, its name, what else it is called together with others, and its role."""
    for server in plan.servers:
        yield "server", server.name, (server.group, server.rack, f"unit-{server.unit}"), server.role
    for switch in plan.switches:
        yield "switch", switch.name, (switch.network, f"{switch.network}-{switch.role}", switch.rack), switch.role
    for pdu in plan.pdus:
        yield "pdu", pdu.name, (pdu.rack,), "pdu"


def _cut(plan: Plan, word: str) -> list[str] | str:
    """Return the servers of a slice such as `gpu-001..gpu-004`, or what is wrong: as in the intent, but of what is built."""
    servers = {server.name: server for server in plan.servers}
    first, _, last = word.lower().partition("..")
    if first in servers and last in servers:
        seats = cut_slice(word, *((servers[end].group, servers[end].number) for end in (first, last)))
        if isinstance(seats, Fault):
            return f"it{seats.text.removeprefix(word)}: {seats.fix}"
        wanted = set(seats)
        return [server.name for server in plan.servers if (server.group, server.number) in wanted]
    near = [_find_end(servers, end) for end in (first, last)]
    if all(near) and isinstance(_cut(plan, "..".join(near)), list):
        return f"did you mean {'..'.join(near)}?"
    return "a slice runs from server to server of a group"


def _find_end(servers: Mapping[str, Server], end: str) -> str:
    """Return the server that an end of a slice was probably meant for: the last one of its group where it is beyond; else ""."""
    parsed = parse_name(end)
    mates = [server for server in servers.values() if parsed and server.group == parsed.group]
    if parsed and mates and parsed.number > mates[-1].number:
        return mates[-1].name
    return end if end in servers else next(iter(find_near(end, servers, 1, 0.7)), "")


def _refuse(strange: Mapping[str, str], kinds: Collection[Kind], way_out: str = "") -> str:
    """Return what is said of words that mean no device of these kinds, each with what it is, or may have been meant for."""
    what = "device" if len(kinds) == len(KINDS) else " or ".join(_SINGULARS[kind] for kind in KINDS if kind in kinds)
    if len(strange) == 1:
        (word, fix), *_ = strange.items()
        network = "a network, " if "switch" in kinds else ""
        way_out = way_out or (
            f"name a {what}, a rack, a group of servers, unit-N, {network}a role, a slice such as gpu-001..gpu-004 "
            "or a pattern such as gpu-00*"
        )
        return f"no {what} is meant by {show_text(word)}; {fix or way_out}"
    told = [f"{show_text(word)} ({fix})" if fix else show_text(word) for word, fix in strange.items()]
    return f"no {what} is meant by {', '.join(told)}"
