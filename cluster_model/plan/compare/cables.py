"""What changes of cables between two plans, links to the outside among them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from cluster_model.plan.cabling.outside import SITE, SITE_MEDIUM, list_ways
from cluster_model.plan.compare.tenants import ValueChange
from cluster_model.plan.model import Cable, Plan


@dataclass(frozen=True, slots=True)
class CableChange:
    """A cable to pull, to remove, or whose far end goes elsewhere. Ends are `device:port`.

    A link to the outside whose outer end stays is known by that: `site:10.255.255.1`. One that moves, or is replaced, has what
    joined its ends before in `old_medium`, `old_length_m` and `old_optics` too; `optics` are those of the near and the far end.
    """

    action: Literal["add", "remove", "move", "replace"]
    network: str
    near: str
    old: str
    new: str
    medium: str
    length_m: float
    optics: tuple[str, ...] = ()
    old_medium: str = ""
    old_length_m: float = 0.0
    old_optics: tuple[str, ...] = ()

    @property
    def is_moved_and_replaced(self) -> bool:
        """Return whether it ends elsewhere and another item joins its ends."""
        item, was = (self.medium, self.length_m, self.optics), (self.old_medium, self.old_length_m, self.old_optics)
        return self.action == "move" and item != was


@dataclass(frozen=True, slots=True)
class OutsideChanges:
    """What changes of links to the outside: cables, and values of their ports on switches, whether those stay or not."""

    cables: list[CableChange] = field(default_factory=list)
    moved_addresses: list[ValueChange] = field(default_factory=list)
    addresses: list[ValueChange] = field(default_factory=list)
    settings: list[ValueChange] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Link:
    network: str
    near: str
    peer: str
    address: str
    peer_address: str
    speed_gbps: int

    @property
    def far(self) -> str:
        return f"{self.peer}:{self.peer_address}"


def compare_cables(before: Iterable[Cable], after: Iterable[Cable], names: Mapping[str, str]) -> Iterator[CableChange]:
    """Yield cables that come, go, or end elsewhere. A cable is known by its near end, so is one whose device was renamed.

    Args:
        before: the cables as they are.
        after: the cables as they are wanted.
        names: new names of devices by their old ones.
    """
    old = {f"{names.get(cable.a, cable.a)}:{cable.a_port}": cable for cable in before}
    new = {cable.label: cable for cable in after}
    for near, cable in old.items():
        far = f"{names.get(cable.b, cable.b)}:{cable.b_port}"
        other = new.get(near)
        if other is None:
            yield CableChange("remove", cable.network, near, far, "", *_item(cable))
        elif far != f"{other.b}:{other.b_port}":
            yield CableChange("move", other.network, near, far, f"{other.b}:{other.b_port}", *_item(other), *_item(cable))
        elif _item(cable) != _item(other):
            was, now = word_item(cable.medium, cable.length_m), word_item(other.medium, other.length_m)
            if was == now:
                was, now = f"{was}, {_word_optics(cable)}", f"{now}, {_word_optics(other)}"
            yield CableChange("replace", other.network, near, was, now, *_item(other), *_item(cable))
    for near, cable in new.items():
        if near not in old:
            yield CableChange("add", cable.network, near, "", f"{cable.b}:{cable.b_port}", *_item(cable))


def word_item(medium: str, length_m: float) -> str:
    """Return what joins two ends in words, as `DAC 1.5 m`."""
    return f"{medium} {length_m:g} m" if length_m else medium


def compare_outside(before: Plan, after: Plan, names: Mapping[str, str]) -> OutsideChanges:
    """Return what changes of links to the outside.

    The outer end is somebody else's, so a link is known by that and its address first, else by the port here. An address
    moves where its link stays; else a port gets or loses it.

    Args:
        before: the plan as it is.
        after: the plan as it is wanted.
        names: new names of devices by their old ones.
    """
    old, new = _list_links(before, names), _list_links(after, {})
    pairs = _pair_links(old, new)
    found = OutsideChanges()
    item = (SITE_MEDIUM, 0.0)
    kept = {first.near for first, _ in pairs}
    found.cables.extend(CableChange("remove", x.network, x.near, x.far, "", *item) for x in old if x.near not in kept)
    for first, second in pairs:
        if first.near != second.near:
            ends = (second.far, first.near, second.near)
            found.cables.append(CableChange("move", second.network, *ends, *item, (), *item))
        elif first.peer != second.peer:
            ends = (second.near, first.far, second.far)
            found.cables.append(CableChange("move", second.network, *ends, *item, (), *item))
            continue
        if first.address != second.address:
            found.moved_addresses.append(ValueChange(second.near, "address", first.address, second.address))
        if first.peer_address != second.peer_address:
            found.addresses.append(ValueChange(second.near, "peer_address", first.peer_address, second.peer_address))
        if first.speed_gbps != second.speed_gbps and second.peer == SITE:  # a session to a peer is told with its switch
            found.settings.append(ValueChange(second.near, "speed_gbps", str(first.speed_gbps), str(second.speed_gbps)))
    kept = {second.near for _, second in pairs}
    found.cables.extend(CableChange("add", x.network, x.near, "", x.far, *item) for x in new if x.near not in kept)
    same = {second.near for first, second in pairs if (first.near, first.peer) == (second.near, second.peer)}
    was, now = ({link.near: link.address for link in links if link.near not in same} for links in (old, new))
    for near in dict.fromkeys([*was, *now]):
        if was.get(near) != now.get(near):
            found.addresses.append(ValueChange(near, "address", was.get(near, "none"), now.get(near, "none")))
    return found


def _list_links(plan: Plan, names: Mapping[str, str]) -> list[_Link]:
    return [
        _Link(switch.network, f"{names.get(switch.name, switch.name)}:{port}", far, address, far_address, speed_gbps)
        for switch in plan.switches
        for port, far, address, far_address, speed_gbps in list_ways(switch)
    ]


def _pair_links(old: Sequence[_Link], new: Sequence[_Link]) -> list[tuple[_Link, _Link]]:
    """Return links that stay as pairs: those with the same outer end, of the same port and peer, then of the same port."""
    left, right, pairs = list(old), list(new), []
    keys: list[Callable[[_Link], object]] = [lambda link: link.far, lambda link: (link.near, link.peer), lambda link: link.near]
    for key in keys:
        others = {key(link): link for link in right}
        found = [(link, others.pop(key(link))) for link in left if key(link) in others]
        left = [link for link in left if link not in {first for first, _ in found}]
        right = [link for link in right if link not in {second for _, second in found}]
        pairs += found
    return pairs


def _item(cable: Cable) -> tuple[str, float, tuple[str, ...]]:
    return cable.medium, cable.length_m, (cable.a_optic, cable.b_optic)


def _word_optics(cable: Cable) -> str:
    return " and ".join(dict.fromkeys(optic for optic in (cable.a_optic, cable.b_optic) if optic)) or "no optics"
