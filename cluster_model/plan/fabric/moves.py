"""Cables that end elsewhere than planned (`cables.exceptions`): links are moved before cables are cut from them.

A near end keeps all it has. A server's addresses and routes stay, and its new leaf announces the link's own prefix, which wins
over the aggregate of the leaf that the plan had. So an exception configures switches anew, and no server.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from cluster_model.catalogue.cages import Cage
from cluster_model.catalogue.types import Mode
from cluster_model.intent.model.cables import CableException
from cluster_model.kinds import OOB
from cluster_model.near import find_near
from cluster_model.plan.cabling.links import HOST_KINDS, Link
from cluster_model.plan.context import Context
from cluster_model.plan.draft import Bench, PduDraft, ServerDraft, SwitchDraft
from cluster_model.plan.fabric.shape import FabricShape
from cluster_model.plan.fabric.upstream import open_cage
from cluster_model.plan.model import ServiceRoute, SwitchPort
from cluster_model.plan.ports import End, Seat, name_port, usable_modes

BMC_PORT = "bmc"  # what the plan calls a BMC's port
LISTED = 8  # names that a finding lists at most


@dataclass(slots=True)
class Move:
    """A cable that ends elsewhere: the number of its exception, its link, and its new far end."""

    number: int
    link: Link
    far: SwitchDraft
    seat: Seat


def move_cables(
    ctx: Context, shape: FabricShape, bench: Bench, switches: list[SwitchDraft], pdus: list[PduDraft], links: list[Link]
) -> None:
    """Let the links of a network end where `cables.exceptions` says. Errors: CAB007, CAB008, CAB009."""
    if not ctx.cluster.cables.exceptions:
        return
    moves = Finder(ctx, shape, {switch.name: switch for switch in switches}, links).find()
    if ctx.failed() or not moves:
        return
    near: dict[str, ServerDraft | SwitchDraft | PduDraft] = {pdu.name: pdu for pdu in pdus}
    near.update((switch.name, switch) for switch in (*bench.switches, *switches))
    near.update((server.name, server) for servers in bench.servers.values() for server in servers)
    pulled = [_pull(move.link) for move in moves]  # all of them before the first is plugged in again: swaps
    for move, (port, routes) in zip(moves, pulled, strict=True):
        if port is not None:
            _plug(move, port, routes, near[move.link.near])
            _repoint(near[move.link.near], shape.name, move)
    _reshape(links, moves)


def report_unknown(ctx: Context, bench: Bench) -> None:
    """Report exceptions of cables that no network has, once all are wired. Errors: CAB007."""
    asked = [(n, e) for n, e in enumerate(ctx.cluster.cables.exceptions) if e.cable not in ctx.known_cables]
    if not asked:
        return
    by_device: dict[str, list[str]] = {}
    for cable in bench.cables:
        by_device.setdefault(cable.a, []).append(cable.label)
    for number, exception in asked:
        device = exception.cable.partition(":")[0]
        labels = by_device.get(device, [])
        near = find_near(exception.cable, labels, 1, 0.6) or [
            f"{name}:{exception.cable.partition(':')[2]}" for name in find_near(device, by_device, 1, 0.6) if not labels
        ]
        ctx.report(
            "CAB007",
            f"cables.exceptions.{number}.cable",
            f"no cable is planned at {exception.cable}" if labels else f"no cable begins at a device {device}",
            expected=f"one of {', '.join(labels[:LISTED])}" if labels else "the label of a cable: its end nearer the hosts",
            actual=exception.cable,
            fix=f"did you mean {near[0]}?" if near else "take a label from cabling/cables.csv",
        )


@dataclass(slots=True)
class Finder:
    """Finds the links and the seats that the exceptions of one network name."""

    ctx: Context
    shape: FabricShape
    switches: dict[str, SwitchDraft]
    links: list[Link]
    owners: dict[tuple[str, str], str] = field(default_factory=dict)  # whose far end is in a port of a switch, by the plan
    kept: dict[tuple[str, str], str] = field(default_factory=dict)  # what else a port is for: no exception frees it
    used: set[tuple[str, int]] = field(default_factory=set)  # cages that run in the mode of a planned link

    def find(self) -> list[Move]:
        """Return what moves; findings where an exception cannot be followed."""
        links: dict[str, Link] = {}
        for link in self.links:
            links[_label(link)] = link
            self.owners[link.far.name, link.seat.name] = _label(link)
            self.kept[link.near, link.near_port] = f"the uplink to {_far_label(link)}"
            self.used |= {(link.far.name, link.seat.cage), (link.near, link.near_cage)}
        for switch in self.switches.values():
            for way in switch.upstreams:
                self.kept[switch.name, way.port] = "the site's router"
                self.used.add((switch.name, way.cage))
        mine = []
        for number, exception in enumerate(self.ctx.cluster.cables.exceptions):
            device, _, port = exception.cable.partition(":")
            owner = self.owners.get((device, port))
            if exception.cable in links:
                mine.append((number, exception, links[exception.cable]))
            elif owner in links:
                self._refuse(
                    "CAB007",
                    number,
                    "cable",
                    f"{exception.cable} is the far end of a cable",
                    "the end nearer the hosts, as on the label",
                    exception.cable,
                    f"set cable to {owner}, and to to the port where it ends",
                )
            else:
                continue
            self.ctx.known_cables.add(exception.cable)
        asked = {exception.cable for _, exception, _ in mine if exception.to != _far_label(links[exception.cable])}
        found = (self._follow(number, exception, link, asked) for number, exception, link in mine)
        return [move for move in found if move is not None]

    def _follow(self, number: int, exception: CableException, link: Link, asked: set[str]) -> Move | None:
        """Return where a cable goes; None with a finding where it cannot go there, or is there by the plan."""
        name, _, port = exception.to.partition(":")
        far = self.switches.get(name)
        if exception.to == _far_label(link):
            self.ctx.report(
                "CAB009",
                f"cables.exceptions.{number}.to",
                f"the plan has {exception.cable} there already",
                expected="another port than the planned one",
                actual=exception.to,
                fix="take the exception away",
                severity="warning",
            )
        elif far is None or far.role != link.far.role:
            what = f"{self.shape.name} {link.far.role}"
            known = [switch.name for switch in self.switches.values() if switch.role == link.far.role]
            near = find_near(name, known, 1, 0.6)
            expected = f"one of {', '.join(known[:LISTED])}{', ...' if len(known) > LISTED else ''}"
            fix = f"did you mean {near[0]}?" if near else f"name the {what} where the cable ends"
            self._refuse("CAB007", number, "to", f"{name} is no {what}", expected, name, fix)
        elif wrong := self._bar(link, far):
            fix = f"re-patch the cable to {self._advise(link, link.far)}"
            self._refuse("CAB008", number, "to", *wrong, exception.to, fix)
        else:
            free = f"name {self._advise(link, far)}"
            seat, owner, kept = self._seat(link, far, port), self.owners.get((name, port)), self.kept.get((name, port))
            if isinstance(seat, str):
                expected = f"a port of {far.model.ref} that runs as {link.seat.end.form_factor} at {link.seat.speed_gbps} Gb/s"
                self._refuse("CAB008" if "Gb/s" in seat else "CAB007", number, "to", seat, expected, exception.to, free)
            elif kept is None and (owner is None or owner in asked):
                return Move(number, link, far, seat)
            else:
                expected = "a port that is free, or that an exception frees"
                fix = free if kept else f"add an exception that says where {owner} ends, or {free}"
                self._refuse(
                    "CAB008", number, "to", f"{exception.to} is planned for {kept or owner}", expected, exception.to, fix
                )
        return None

    def _refuse(self, rule: str, number: int, key: str, summary: str, expected: str, actual: str, fix: str) -> None:
        where = f"cables.exceptions.{number}.{key}"
        self.ctx.report(rule, where, summary, expected=expected, actual=actual, fix=fix)

    def _bar(self, link: Link, far: SwitchDraft) -> tuple[str, str] | None:
        """Return why a cable cannot end on a switch of the right role, and on which it can; None where it can."""
        was, kind = link.far, self.shape.kind
        if link.kind == "peer_link":
            return "a peer link joins the two leafs of a pair", "a cable of a host, or between tiers"
        if far is was:
            return None
        if link.built and not far.built:
            return f"{far.name} is planned, and not built yet", f"a {far.role} that is built"
        if far.plane != was.plane:
            return f"{far.name} is in plane {far.plane}, which no link joins with plane {was.plane}", f"plane {was.plane}"
        if link.kind not in HOST_KINDS:
            block = "pod" if far.role == "spine" else "core group"
            return (f"{far.name} is of {block} {far.pod}", f"a {far.role} of {block} {was.pod}") if far.pod != was.pod else None
        if kind == OOB:
            return (
                f"{_label(link)} has an address in a subnet of {was.name}, which {far.name} does not have",
                f"a port of {was.name}",
            )
        if kind.bridged:
            bond = f"the bond of {link.near} is to the leafs of unit {was.unit}"
            return (bond, f"a leaf of unit {was.unit}") if far.unit != was.unit else None
        if self.shape.clos.tiers == 1:
            return (
                f"no spine joins {far.name} with {was.name}, where the addresses of {_label(link)} are",
                f"a port of {was.name}",
            )
        return None

    def _seat(self, link: Link, far: SwitchDraft, port: str) -> Seat | str:
        """Return a port of a switch, in a cage that is opened where it is free; or what is wrong with it."""
        speed, speeds = link.seat.speed_gbps, []
        for cage, mode, seat in self._list_seats(far):
            if seat.name != port:
                continue
            if seat.speed_gbps == speed and (link.near_cage or seat.end.form_factor == link.seat.end.form_factor):
                if (far.name, cage.number) not in self.used:
                    self.used.add((far.name, cage.number))
                    open_cage(far, cage, mode)
                return seat
            speeds.append(seat.end)
        if not speeds:
            return f"{far.name} has no port {port}"
        ways = ", ".join(sorted({f"{end.form_factor} {end.mode}" for end in speeds}))
        return f"{far.name}:{port} runs as {ways} Gb/s, and the cable as {link.seat.end.form_factor} at {speed} Gb/s"

    def _advise(self, link: Link, far: SwitchDraft) -> str:
        """Return a free port of a switch for a fix."""
        told = {exception.to for exception in self.ctx.cluster.cables.exceptions}
        for _, _, seat in self._list_seats(far):
            fits = seat.speed_gbps == link.seat.speed_gbps and seat.end.form_factor == link.seat.end.form_factor
            end = (far.name, seat.name)
            if fits and end not in self.owners and end not in self.kept and ":".join(end) not in told:
                return f"a free port of {far.name}, e.g. {seat.name}"
        return f"a port of {far.name} that an exception frees, since none is free"

    def _list_seats(self, far: SwitchDraft) -> Iterator[tuple[Cage, Mode, Seat]]:
        """Yield every seat: of a used cage in its mode, of a free one in all of them, the densest first."""
        patterns = (far.model.platform.port_native, far.model.platform.port_split)
        for cage, now in zip(far.model.cages, far.modes, strict=True):
            modes = tuple(sorted(usable_modes(cage), key=lambda mode: -mode.count))
            if (far.name, cage.number) in self.used:
                modes = tuple(mode for mode in cage.modes if (mode.count, mode.speed_gbps) == (now.count, now.speed_gbps))
            for mode in modes:
                end = End(cage.form_factor, mode.count, mode.speed_gbps)
                for sub in range(mode.count):
                    name = name_port(patterns, cage, mode, sub)
                    yield cage, mode, Seat(cage.number, sub, name, mode.speed_gbps, mode.count, end)


def _label(link: Link) -> str:
    return f"{link.near}:{link.near_port}"


def _far_label(link: Link) -> str:
    return f"{link.far.name}:{link.seat.name}"


def _pull(link: Link) -> tuple[SwitchPort | None, list[ServiceRoute]]:
    """Take a cable's far port, and the routes over it, from its switch; no port where the cable is not built."""
    far, name = link.far, link.seat.name
    port = next((port for port in far.ports if port.name == name), None) if link.built else None
    if port is None:
        return None, []
    far.ports.remove(port)
    routes = [route for route in far.routes if route.port == name]
    far.routes = [route for route in far.routes if route.port != name]
    return port, routes


def _plug(move: Move, port: SwitchPort, routes: list[ServiceRoute], near: ServerDraft | SwitchDraft | PduDraft) -> None:
    """Give the new switch the port, its routes, and the prefix of a host link that is no part of its own aggregates."""
    seat = move.seat
    move.far.ports.append(replace(port, name=seat.name, cage=seat.cage, sub=seat.sub))
    move.far.routes += [replace(route, port=seat.name) for route in routes]
    if isinstance(near, ServerDraft) and port.address and move.far is not move.link.far:
        move.far.originates.append(port.address)  # a switch has the even address of a /31, which is its prefix


def _repoint(near: ServerDraft | SwitchDraft | PduDraft, network: str, move: Move) -> None:
    """Tell the near end who is at the other one."""
    link, peer, port = move.link, move.far.name, move.seat.name
    if isinstance(near, ServerDraft):
        if near.bmc is not None and (network, link.near_port) == (OOB.name, BMC_PORT):
            near.bmc = replace(near.bmc, peer=peer, peer_port=port)
        for index, own in enumerate(near.ports):
            if (own.network, own.name) == (network, link.near_port):
                near.ports[index] = replace(own, peer=peer, peer_port=port)
        return
    if near.management is not None and link.kind in HOST_KINDS:
        near.management = replace(near.management, peer=peer, peer_port=port)
    elif isinstance(near, SwitchDraft):
        for index, up in enumerate(near.ports):
            if up.name == link.near_port:
                near.ports[index] = replace(up, peer=peer, peer_port=port, peer_asn=move.far.asn)


def _reshape(links: list[Link], moves: list[Move]) -> None:
    """Give the links their new ends, and say anew how the ports of the cages that were touched meet."""
    touched: set[tuple[str, int]] = set()
    for move in moves:
        link = move.link
        touched |= {(link.near, link.near_cage), (link.far.name, link.seat.cage), (move.far.name, move.seat.cage)}
        link.far, link.seat = move.far, move.seat
        if not link.near_cage:  # an out-of-band port has the plug of the leaf's cage
            link.near_end = link.seat.end
        elif link.kind in HOST_KINDS:
            link.way = "apart" if link.near_end.ports > 1 else "single" if link.seat.count == 1 else "fan"
    _part_crossed([link for link in links if link.kind not in HOST_KINDS], touched)


def _part_crossed(links: list[Link], touched: set[tuple[str, int]]) -> None:
    """Set links between switches apart whose cages no longer lead the same way, and all that share a transceiver with them."""
    by_cage: dict[tuple[str, int], list[Link]] = {}
    for link in links:
        for cage in _cages(link):
            by_cage.setdefault(cage, []).append(link)
    ways = {cage: {_cages(link) for link in by_cage.get(cage, ())} for cage in touched}
    crossed = [
        link
        for cage in touched
        for link in by_cage.get(cage, ())
        if len(ways[cage]) > 1 or link.near_end.ports != link.seat.count
    ]
    done: set[tuple[str, int]] = set()
    while crossed:
        link = crossed.pop()
        link.way = "apart" if max(link.near_end.ports, link.seat.count) > 1 else "single"
        for cage in _cages(link):
            if cage not in done:
                done.add(cage)
                crossed += by_cage[cage]


def _cages(link: Link) -> tuple[tuple[str, int], tuple[str, int]]:
    return (link.near, link.near_cage), (link.far.name, link.seat.cage)
