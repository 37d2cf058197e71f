"""Faults and planted mistakes of a subnet, one after the other: what dies, what must go on, and that all of it comes back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from cluster_model.plan.model import Cable
from cluster_model.render.drawings.style import format_count
from cluster_model.twin.infiniband.subnet import find_engine
from cluster_model.twin.infiniband.trials import ALIVE, LIMITED, Dead, SubnetTrials
from cluster_model.twin.report import Verdict
from cluster_model.verify.cabling.ibnetdiscover import End

SPINES = 4
"""How many spines and cores of a large subnet lose their power: every time, OpenSM sweeps the whole fabric twice."""
STRANGER = "0x00000000deadbeef"


@dataclass(frozen=True, slots=True)
class Trouble:
    """A fault or a mistake: its name, and what plays it and takes it back."""

    name: str
    play: Callable[[], Verdict]


# faults --------------------------------------------------------------------------------------------------------------


def list_faults(trials: SubnetTrials) -> list[Trouble]:
    """Return the faults: spines and cores, a cable of each class, a leaf, and the master among the managers."""
    running = trials.running
    tops = [switch.name for switch in trials.part.subnet.switches if not switch.is_edge]
    chosen = tops[:: -(-len(tops) // SPINES)] if tops else []
    deaths = {f"{name} without power": _kill(trials, name) for name in chosen}
    for kind, cable in _choose_cables(trials).items():
        name = f"{kind.replace('_', ' to ')} cable cut ({cable.a}:{cable.a_port} to {cable.b}:{cable.b_port})"
        deaths[name] = Dead(frozenset({cable}))
    leaf = _choose_leaf(trials)
    if leaf is not None:
        deaths[f"{leaf} without power"] = _kill(trials, leaf)
    found = [Trouble(name, partial(_play, trials, dead)) for name, dead in deaths.items() if dead.cables]
    if len(running.managers) > 1:
        found.append(Trouble(f"OpenSM killed on {next(iter(running.managers))}", partial(_fail_over, trials)))
    return found


def _kill(trials: SubnetTrials, name: str) -> Dead:
    return Dead(frozenset(cable for cable in trials.plan.cables if name in {cable.a, cable.b}), name)


def _list_needed(trials: SubnetTrials) -> set[str]:
    """Return the leafs of the managers and of the adapter that the tools run on."""
    running = trials.running
    ids = {running.watcher, *(running.ids[running.port_of(name)] for name in running.confs)}
    return {cable.b for cable in trials.plan.cables if running.ids.get((cable.a, cable.a_port)) in ids}


def _choose_leaf(trials: SubnetTrials) -> str | None:
    needed = _list_needed(trials)
    edges = [switch.name for switch in trials.part.subnet.switches if switch.is_edge]
    return next((name for name in reversed(edges) if name not in needed), None)


def _choose_cables(trials: SubnetTrials) -> dict[str, Cable]:
    """Return a cable of each class, the last; the managers' are left out, since a manager without its cable is another fault."""
    watcher = trials.running.watcher
    return {
        cable.kind: cable
        for cable in trials.plan.cables
        if cable.kind != "fabric_manager" and trials.running.ids.get((cable.a, cable.a_port)) != watcher
    }


def _play(trials: SubnetTrials, dead: Dead) -> Verdict:
    """Cut, wait until every leaf reaches every adapter that is left, mend, and wait until all is as it was."""
    running = trials.running
    before = _read_log(trials)
    running.cut(sorted(dead.cables, key=lambda cable: cable.label))
    took = running.wait(lambda: _has_swept(trials, len(before)) and not trials.try_ways(dead).faults)
    ways, cables, engine = trials.try_ways(dead), trials.try_cables(dead), Verdict("")
    log = _read_log(trials)[len(before) :]
    if find_engine(log):
        engine = trials.try_engine(log, is_broken=True)
    middle = len(_read_log(trials))
    running.join([((cable.a, cable.a_port), (cable.b, cable.b_port)) for cable in dead.cables])
    back = running.wait(lambda: _has_swept(trials, middle) and not trials.try_ways().faults and not trials.try_cables().faults)
    faults = [*ways.faults, *cables.faults, *engine.faults]
    if took is None and not faults:
        faults.append("OpenSM did not sweep after it")
    if back is None:
        faults += ["mended, the subnet does not come back", *trials.try_ways().faults, *trials.try_cables().faults]
    gone = len(running.adapters) - len([1 for cable in trials.list_living(dead) if cable.a not in running.heights])
    parts = [ways.found.partition(";")[0]]
    parts += [f"{format_count(gone, 'adapter')} cut off as planned"] if gone else []
    parts += [f"routed by {engine.found}"] if engine.found else []
    parts += [f"right after {took:.1f} s" if took is not None else "never right"]
    parts += [f"whole {back:.1f} s after mending" if back is not None else "not whole again"]
    return Verdict("; ".join(parts), tuple(faults))


def _read_log(trials: SubnetTrials) -> str:
    return trials.running.read_log(next(iter(trials.running.confs)))


def _has_swept(trials: SubnetTrials, begin: int) -> bool:
    return "SUBNET UP" in _read_log(trials)[begin:]


def _fail_over(trials: SubnetTrials) -> Verdict:
    """Kill the master; the next manager must take over without a change of the ways, and hand back once the first returns."""
    running = trials.running
    first, second, *_ = running.managers
    guids = {name: running.port_guid(running.managers[name]) for name in (first, second)}
    before = len(running.read_log(second))
    running.kill_manager(first)
    took = running.wait(lambda: "SUBNET UP" in running.read_log(second)[before:] and running.find_master()[0] == guids[second])
    during = trials.try_ways()
    back = running.bring_up(first)
    running.wait(lambda: running.find_master()[0] == guids[first])
    running.wait(lambda: not trials.try_ways().faults)
    after = trials.try_ways()
    faults = [*during.faults, *after.faults]
    faults += [f"{second} does not become master"] if took is None else []
    faults += [f"{first} does not become master again"] if back is None else []
    parts = [f"{second} is master " + (f"after {took:.0f} s" if took is not None else "never"), during.found.partition(";")[0]]
    parts.append(f"{first} is master again {back:.0f} s after its start" if back is not None else f"{first} never again")
    return Verdict("; ".join(parts), tuple(faults))


# mistakes ------------------------------------------------------------------------------------------------------------


def list_mistakes(trials: SubnetTrials) -> list[Trouble]:
    """Return the mistakes: cables swapped, one missing, a switch and an adapter with other GUIDs than the facts say."""
    found = []
    hosts = [cable for cable in trials.plan.cables if cable.kind == "host_leaf"][1:]
    pair = next(((one, two) for one in hosts[:1] for two in hosts if one.a == two.a and one.b != two.b), None)
    if pair is not None:
        one, two = pair
        words = ("swapped:", f"{one.a}:{one.a_port}", f"{two.a}:{two.a_port}")
        new = [((one.a, one.a_port), (two.b, two.b_port)), ((two.a, two.a_port), (one.b, one.b_port))]
        found.append(_mistake(trials, f"cables of {one.a}:{one.a_port} and {two.a_port} swapped", list(pair), new, words))
    kinds = _choose_cables(trials)
    cable = kinds.get("leaf_spine") or kinds.get("host_leaf")
    if cable is not None:
        name = f"{cable.a}:{cable.a_port} to {cable.b}:{cable.b_port}"
        found.append(_mistake(trials, f"no cable {name}", [cable], [], (f"missing: {name}",)))
    switch = next((switch for switch in reversed(trials.part.subnet.switches) if switch.guid), None)
    if switch is not None:
        naming = (f"{switch.name} has the GUID {STRANGER}", switch.guid)
        found.append(
            Trouble(f"planted: {switch.name} has another GUID", partial(_set_guid, trials, switch.name, switch.guid, naming))
        )
    owned = {port for partition in trials.plan.partitions for port in partition.ports}
    tenant = next((end for end in trials.plan_keys() if f"{end[0]}:{end[1]}" in owned), None)
    if tenant is not None:
        found.append(Trouble(f"planted: the adapter at {tenant[0]}:{tenant[1]} replaced", partial(_replace, trials, tenant)))
    return found


def _mistake(trials: SubnetTrials, name: str, old: list[Cable], new: list[tuple[End, End]], words: tuple[str, ...]) -> Trouble:
    def play() -> Verdict:
        running = trials.running
        running.cut(old)
        running.join(new)
        verdict = _judge(trials, trials.try_cables, words)
        running.simulator.command(*(f"Unlink {running.spell(a)}" for a, _ in new))
        running.join([((cable.a, cable.a_port), (cable.b, cable.b_port)) for cable in old])
        return _mend(trials, verdict)

    return Trouble(f"planted: {name}", play)


def _set_guid(trials: SubnetTrials, name: str, guid: str, words: tuple[str, ...]) -> Verdict:
    trials.running.set_guid(name, STRANGER)
    verdict = _judge(trials, trials.try_cables, words)
    trials.running.set_guid(name, guid)
    return _mend(trials, verdict)


def _replace(trials: SubnetTrials, end: End) -> Verdict:
    """Put another adapter in a port's place: it is in nobody's partition until the facts have its GUID."""
    running = trials.running
    cable = next(cable for cable in trials.plan.cables if (cable.a, cable.a_port) == end)
    guid = next(port.guid for port in trials.plan.server(end[0]).ports if port.name == end[1])
    far = (cable.b, cable.b_port)
    for given in (STRANGER, guid):
        begin = len(_read_log(trials))
        running.cut([cable])
        running.set_guid(end, given)
        running.join([(end, far)])
        running.wait(lambda begin=begin: _has_swept(trials, begin))  # type: ignore[misc]
        if given == STRANGER:
            verdict = _judge(trials, partial(trials.try_partitions, [end]), (f"{end[0]}:{end[1]} has the keys 0x{LIMITED:04x};",))
    return _mend(trials, verdict)


def _judge(trials: SubnetTrials, trial: Callable[[], Verdict], words: tuple[str, ...]) -> Verdict:
    """Repeat a trial until it names a mistake; return what it said."""
    said = trial()

    def sees() -> bool:
        nonlocal said
        said = trial()
        return any(all(word in text for word in words) for text in said.faults)

    running = trials.running
    if running.wait(sees) is None:
        return Verdict("not caught", ("it was not named; the trial said:", *(said.faults or ("nothing",))))
    return Verdict("caught: " + next(text for text in said.faults if all(word in text for word in words)))


def _mend(trials: SubnetTrials, verdict: Verdict) -> Verdict:
    back = trials.running.wait(lambda: not trials.try_cables(ALIVE).faults and not trials.try_ways().faults)
    if back is not None:
        return verdict
    wrong = ("taken back, the subnet does not come back", *trials.try_cables().faults, *trials.try_ways().faults)
    return Verdict(verdict.found, (*verdict.faults, *wrong))
