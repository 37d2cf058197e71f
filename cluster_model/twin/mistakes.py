"""Planted mistakes: cables swapped, a wrong ASN, prefix or VNI, an open filter. A trial must catch each and name the device."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from ipaddress import IPv4Network

from cluster_model.twin.ethernet.routes import ALIVE
from cluster_model.twin.ethernet.scope import Link
from cluster_model.twin.ethernet.trials import NetworkTrials
from cluster_model.twin.report import Verdict
from cluster_model.twin.tenancy.overlay_trials import try_vnis
from cluster_model.twin.tenancy.tenants import TenantExpectations

PATIENCE_S = 40.0
_FILTER = re.compile(r"^(route-map NODES-IN permit 10\n)(?: match .*\n)+", re.MULTILINE)
"""What a leaf asks of nodes' prefixes, in its frr.conf."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """A mistake: how to plant it and take it back, which trial must see it, and what that trial must say.

    `restarts`: whether a switch starts anew for it, which takes long.
    """

    name: str
    plant: Callable[[], None]
    mend: Callable[[], None]
    trial: Callable[[], Verdict]
    culprit: str
    words: tuple[str, ...]
    restarts: bool = False


def plan_swap(trials: NetworkTrials) -> Mistake | None:
    """Return two cables of a leaf swapped: of hosts on compute, where a rail goes wrong, else of spines."""
    expectations = trials.expectations
    kinds = ("host_leaf", "leaf_spine") if trials.network == "compute" else ("leaf_spine", "host_leaf")
    for kind in kinds:
        links = [link for link in expectations.links if link.kind == kind]
        for first in links:
            near = first.b if kind == "host_leaf" else first.a
            others = [link for link in links if near in {link.a, link.b} and {link.a, link.b} != {first.a, first.b}]
            if others:
                return _swap(trials, near, first, others[0])
    return None


def _swap(trials: NetworkTrials, near: str, first: Link, second: Link) -> Mistake:
    if near == first.a:
        new = (replace(first, b=second.b, b_port=second.b_port), replace(second, b=first.b, b_port=first.b_port))
        ports = (first.a_port, second.a_port)
    else:
        new = (replace(first, a=second.a, a_port=second.a_port), replace(second, a=first.a, a_port=first.a_port))
        ports = (first.b_port, second.b_port)
    old, fabric = (first, second), trials.fabric
    return Mistake(
        f"cables {near}:{ports[0]} and {ports[1]} swapped",
        lambda: fabric.replug(old, new),
        lambda: fabric.replug(new, old),
        trials.try_cables,
        near,
        ("swapped:", f"{near}:{ports[0]}", f"{near}:{ports[1]}"),
    )


def plan_wrong_asn(trials: NetworkTrials) -> Mistake | None:
    """Return a leaf whose frr.conf has another ASN."""
    leafs = [switch for switch in trials.expectations.switches.values() if switch.is_edge]
    if not leafs:
        return None
    leaf = leafs[-1]
    text = trials.fabric.files(leaf.name).files["frr.conf"]
    wrong = leaf.asn + 7
    return _rewrite(
        trials,
        f"{leaf.name} as AS {wrong}",
        leaf.name,
        re.sub(rf"^router bgp {leaf.asn}$", f"router bgp {wrong}", text, flags=re.MULTILINE),
        trials.try_sessions,
        (f"{leaf.name} runs as AS {wrong}", str(leaf.asn)),
    )


def plan_wrong_prefix(trials: NetworkTrials) -> Mistake | None:
    """Return a leaf that announces a network that is nobody's instead of its own; with tenants wrong VNIs are tried."""
    if isinstance(trials.expectations, TenantExpectations):
        return None
    leafs = [switch for switch in trials.expectations.switches.values() if switch.is_edge and switch.originates]
    if not leafs:
        return None
    leaf = leafs[-1]
    right = IPv4Network(leaf.originates[0])
    taken = [IPv4Network(prefix) for s in trials.expectations.switches.values() for prefix in (*s.originates, s.loopback)]
    wrong = right
    while any(wrong.overlaps(other) for other in taken):
        wrong = IPv4Network((int(wrong.broadcast_address) + 1, right.prefixlen))
    text = trials.fabric.files(leaf.name).files["frr.conf"]
    return _rewrite(
        trials,
        f"{leaf.name} announces {wrong}",
        leaf.name,
        re.sub(rf"(?<![\d.]){re.escape(str(right))}(?!\d)", str(wrong), text),
        trials.try_routes,
        (f"{leaf.name} announces {wrong}",),
    )


def plan_wrong_vni(trials: NetworkTrials) -> Mistake | None:
    """Return a leaf of a network with tenants that puts a subnet into a VXLAN which is nobody's."""
    expectations, fabric = trials.expectations, trials.fabric
    if not isinstance(expectations, TenantExpectations):
        return None
    taken = {vlan.vni for overlay in expectations.overlays.values() for vlan in overlay.vlans}
    for name, overlay in reversed(expectations.overlays.items()):
        devices = {item.vni: item for item in fabric.files(name).plane.interfaces.values() if item.kind == "vxlan"}
        for vlan in overlay.vlans:
            right = devices.get(vlan.vni)
            if right is None:
                continue
            vni = next(vni for vni in range(vlan.vni + 1000, 1 << 24) if vni not in taken)
            wrong = replace(right, vni=vni)
            return Mistake(
                f"{name} puts {vlan.name} into VNI {vni}",
                partial(fabric.exchange, name, right, wrong),
                partial(fabric.exchange, name, wrong, right),
                partial(try_vnis, trials),
                name,
                (f"{name} lacks VNI {vlan.vni}", str(vni)),
            )
    return None


def _rewrite(
    trials: NetworkTrials, name: str, leaf: str, text: str, trial: Callable[[], Verdict], words: tuple[str, ...]
) -> Mistake:
    def restart(conf: str | None) -> None:
        trials.fabric.kill_switch(leaf)
        trials.fabric.start_switch(leaf, conf)

    return Mistake(name, lambda: restart(text), lambda: restart(None), trial, leaf, words, restarts=True)


def plan_open_filter(trials: NetworkTrials) -> Mistake | None:
    """Return a leaf that takes whatever nodes tell it."""
    speaker = next((speaker for speaker in trials.expectations.speakers.values() if not speaker.is_control), None)
    if speaker is None:  # control servers have a filter of their own
        return None
    leaf = speaker.links[0].b
    return _rewrite(
        trials,
        f"{leaf} takes all that nodes tell it",
        leaf,
        _FILTER.sub(r"\1", trials.fabric.files(leaf).files["frr.conf"]),
        trials.try_routes,
        (f"{leaf} takes {speaker.refused[0]} from AS {speaker.asn}",),
    )


PLANS: tuple[Callable[[NetworkTrials], Mistake | None], ...] = (
    plan_swap,
    plan_wrong_asn,
    plan_wrong_prefix,
    plan_wrong_vni,
    plan_open_filter,
)


def choose_mistakes(every: list[NetworkTrials]) -> dict[str, list[Mistake]]:
    """Return what to plant in which network: each mistake in one, the next in the next, so that none waits for another.

    Within a network restarts come last: the last mistake is not taken back.
    """
    chosen: dict[str, list[Mistake]] = {}
    for number, plan in enumerate(PLANS):
        turn = number % len(every)
        for trials in (*every[turn:], *every[:turn]):
            mistake = plan(trials)
            if mistake is not None:
                chosen.setdefault(trials.network, []).append(mistake)
                break
    return {network: sorted(mine, key=lambda mistake: mistake.restarts) for network, mine in chosen.items()}


def play_mistake(trials: NetworkTrials, mistake: Mistake, mend: bool) -> tuple[str, tuple[str, ...]]:
    """Plant a mistake, and wait until its trial names it.

    Args:
        trials: of the network.
        mistake: what to plant.
        mend: whether to take it back afterwards, and wait until the network is whole.

    Returns:
        What the trial said about it, empty where it did not catch or name it; and what else is wrong.
    """
    mistake.plant()
    deadline = time.monotonic() + PATIENCE_S * trials.slowness
    caught, last = "", Verdict("")
    while not caught and time.monotonic() < deadline:
        time.sleep(0.5)
        last = mistake.trial()
        sentence = next((text for text in last.faults if all(word in text for word in mistake.words)), "")
        caught = sentence if mistake.culprit in last.culprits else ""
    wrong: list[str] = [] if caught else ["it was not named; the trial said:", *(last.faults or ("nothing",))]
    if mend:
        mistake.mend()
        if trials.wait_for_routes(ALIVE) is None:
            wrong += ["taken back, the network does not come back", *trials.try_routes().faults]
    return caught, tuple(wrong)
