"""Faults, one after the other: what dies, what must go on, how long it takes, and that all of it comes back."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cluster_model.twin.ethernet.fabric import Fabric
from cluster_model.twin.ethernet.routes import ALIVE, Dead, Expectations, Pair
from cluster_model.twin.ethernet.trials import NetworkTrials, ask_of
from cluster_model.twin.probe import Stream, Streams
from cluster_model.twin.tenancy.overlay_trials import try_standing

FLOWS = 20
OUTAGE_LIMIT_S = 5.0
"""What a flow with another way may lose: BFD needs 1.5 s (3 times 500 ms), the rest is a busy machine."""
SETTLE_S = 0.6


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault: its name, and what is dead while it lasts."""

    name: str
    dead: Dead


def list_faults(expectations: Expectations) -> list[Fault]:
    """Return the faults of a network: each spine, core and border leaf, a cable of each class, a leaf (its rails), each plane."""
    switches = expectations.switches.values()
    faults = [
        Fault(f"{switch.name} without power", Dead(frozenset({switch.name})))
        for switch in switches
        if switch.role in {"spine", "core", "border"}
    ]
    # Of two cables of a kind the one with a session of a node is the better one to cut: more hangs on it.
    told = [link for speaker in expectations.speakers.values() for link in speaker.links]
    kinds = {link.kind: link for link in reversed([*told, *expectations.links])}
    faults += [
        Fault(f"{_name_kind(kind)} cable cut ({link})", Dead(links=frozenset({link}))) for kind, link in sorted(kinds.items())
    ]
    leaf = next((switch for switch in switches if switch.role == "leaf"), None)
    if leaf is not None:
        rails = f", rails {leaf.rails[0]} to {leaf.rails[-1]}" if len(leaf.rails) > 1 else ""
        rails = rails or (f", rail {leaf.rails[0]}" if leaf.rails else "")
        faults.append(Fault(f"{leaf.name} without power{rails}", Dead(frozenset({leaf.name}))))
    planes = sorted({switch.plane for switch in switches})
    if len(planes) > 1:
        faults += [
            Fault(f"plane {plane} without power", Dead(frozenset(s.name for s in switches if s.plane == plane)))
            for plane in planes
        ]
    return faults


def _name_kind(kind: str) -> str:
    return kind.replace("_", " " if kind == "peer_link" else " to ")


def choose_flows(expectations: Expectations, count: int = FLOWS) -> list[Pair]:
    """Return pairs for flows that run during faults: between different leafs first, spread over hosts and rails."""
    pairs = expectations.list_pairs()
    across = [pair for pair in pairs if not {link.b for link in pair.source.links} & {link.b for link in pair.target.links}]
    chosen = across or pairs
    step = max(1, len(chosen) // count)
    return chosen[::step][:count]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a fault went: seconds, None where the network did not get there; sentences about what is wrong."""

    found: str
    faults: tuple[str, ...]


def play_fault(trials: NetworkTrials, fault: Fault, streams: Streams, pairs: Sequence[Pair]) -> Outcome:
    """Let something die, look at what goes on, and mend it.

    Args:
        trials: of the network.
        fault: what dies.
        streams: flows that are running.
        pairs: whose flows they are, in the same order.
    """
    fabric, dead = trials.fabric, fault.dead
    lives = [i for i, pair in enumerate(pairs) if trials.expectations.reaches(pair, dead)]
    begin = streams.sent
    _break(fabric, dead)
    took = trials.wait_for_routes(dead)
    forgotten, told = trials.put_back, trials.try_routes(dead).faults if took is None else ()
    time.sleep(SETTLE_S)
    cut = streams.sent
    verdict, standing = trials.try_reach(dead), try_standing(trials, dead)
    again = streams.sent
    _mend(fabric, dead)
    back = trials.wait_for_routes(ALIVE)
    time.sleep(SETTLE_S)
    end = streams.sent - 2
    faults = [*verdict.faults, *standing.faults]
    if took is None:
        faults += ["the routes did not become in time what the plan says", *told]
    if back is None:
        faults += ["mended, the network does not come back", *trials.try_routes(ALIVE).faults]
    worst, hit = _measure([streams.streams[i] for i in lives], begin, cut)
    worst_back, _ = _measure([streams.streams[i] for i in lives], again, end)
    if worst > OUTAGE_LIMIT_S * trials.slowness and not forgotten:  # else it is Debian's FRR that was silent: router_macs
        faults.append(f"a flow that has another way was silent for {worst:.1f} s")
    parts = [
        verdict.found,
        *([standing.found] if standing.found else []),
        "routes right " + (f"after {took:.1f} s" if took is not None else "never"),
    ]
    if lives:
        parts.append(
            f"{hit} of {len(lives)} flows lost packets, {worst * 1000:.0f} ms at most"
            if hit
            else f"{len(lives)} flows lost nothing"
        )
    if forgotten or trials.put_back:
        parts.append(f"{forgotten + trials.put_back} router MACs put back")
    parts.append(f"whole {back:.1f} s after mending" if back is not None else "not whole again")
    if worst_back > OUTAGE_LIMIT_S * trials.slowness:  # a leaf's ports are up before its routes are: its hosts use it too early
        parts.append(f"a flow was silent for {worst_back:.1f} s as it came back")
    return Outcome("; ".join(parts), tuple(faults))


def _measure(streams: Sequence[Stream], first: int, last: int) -> tuple[float, int]:
    """Return the longest silence of any flow, s, and how many flows lost something."""
    silent = [stream.outage_s(first, last) for stream in streams]
    return max(silent, default=0.0), sum(time_s > 0 for time_s in silent)


def _break(fabric: Fabric, dead: Dead) -> None:
    for link in dead.links:
        fabric.set_link(link, up=False)
    for name in dead.switches:
        fabric.kill_switch(name)


def _mend(fabric: Fabric, dead: Dead) -> None:
    for link in dead.links:
        fabric.set_link(link, up=True)
    for name in dead.switches:
        fabric.start_switch(name)


def run_faults(trials: NetworkTrials, report: Callable[[Fault, Outcome, float], None]) -> None:
    """Play every fault of a network, and report each with its seconds."""
    pairs = choose_flows(trials.expectations)
    streams = Streams(trials.fabric.nodes, [(ask_of(pair), (pair.target.server, *pair.target.others)) for pair in pairs])
    streams.start()
    try:
        time.sleep(SETTLE_S)
        for fault in list_faults(trials.expectations):
            begin = time.monotonic()
            outcome = play_fault(trials, fault, streams, pairs)
            report(fault, outcome, time.monotonic() - begin)
    finally:
        streams.close()
