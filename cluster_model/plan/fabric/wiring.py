"""Wire a fabric: its switches, where they stand, and the links between them. What hangs on the leafs, hosts.py and oob.py say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

from cluster_model.intent.base import MOST_PHASES
from cluster_model.names import DeviceName, format_name
from cluster_model.plan.cabling.links import Link, cut_cables
from cluster_model.plan.cabling.media import Cabler, Shape
from cluster_model.plan.context import Context, SwitchModel
from cluster_model.plan.draft import Bench, ServerDraft, SwitchDraft
from cluster_model.plan.fabric.addressing import pow2, text
from cluster_model.plan.fabric.moves import move_cables
from cluster_model.plan.fabric.numbers import border_asn, core_asn, leaf_asn, spine_asn
from cluster_model.plan.fabric.shape import FabricShape, fit_rails, fit_units
from cluster_model.plan.fabric.sizing import uplink_room
from cluster_model.plan.floor.placement import Floor, place_switch
from cluster_model.plan.model import CableKind, SwitchPort, Tier
from cluster_model.plan.ports import Layout, Seat

MOST_BORDERS = 2


@dataclass(slots=True)
class Wired:
    """The switches of a fabric by position, and the layouts they share."""

    leafs: dict[tuple[int, int, int], SwitchDraft] = field(default_factory=dict)  # plane, unit, leaf; border leafs with them
    spines: dict[tuple[int, int, int], SwitchDraft] = field(default_factory=dict)  # plane, pod, index
    cores: dict[tuple[int, int, int], SwitchDraft] = field(default_factory=dict)  # plane, group, index

    @property
    def switches(self) -> list[SwitchDraft]:
        """Return all of them, leafs first; border leafs last, so that a border moves nothing that counts switches."""
        leafs = [leaf for leaf in self.leafs.values() if leaf.role == "leaf"]
        borders = [leaf for leaf in self.leafs.values() if leaf.role == "border"]
        return [*leafs, *self.spines.values(), *self.cores.values(), *borders]


@dataclass
class Wirer:
    """Wires one fabric. Planned switches are all placed; ports and cables are made for what is built.

    A subclass says in `_wire_unit` what hangs on its leafs.
    """

    ctx: Context
    floor: Floor
    cabler: Cabler
    bench: Bench
    shape: FabricShape
    wired: Wired = field(default_factory=Wired)
    links: list[Link] = field(default_factory=list)
    mtu_bytes: int = field(init=False)
    host_mtu_bytes: int = field(init=False)

    def __post_init__(self) -> None:
        self.mtu_bytes, self.host_mtu_bytes = self.shape.mtus(self.ctx.cluster.lossless)

    def wire(self) -> None:
        """Make switches, host links, fabric manager links and links between switches, in this order."""
        self.make_switches()
        if self.ctx.failed():
            return
        for unit in range(len(self.shape.units.seats)):
            self._wire_unit(unit)
        for leaf in self.wired.leafs.values():
            if not leaf.modes:  # a leaf that none of its unit's servers needs
                leaf.modes = self._leaf_layout(leaf, ()).modes
        if self.shape.clos.tiers > 1:
            self._wire_uplinks()
        if self.shape.clos.tiers > 2:
            self._wire_cores()
        self._move_cables()
        away = {server.name for group in self.bench.servers.values() for server in group if server.rack != server.home}
        phases: dict[str, int] = {}
        if away or self.ctx.phase > 1:
            phases = {link.near: MOST_PHASES + 1 if link.near in away else self.ctx.phase_of(link.near) for link in self.links}
            phases |= {link.far.name: self.ctx.phase_of(link.far.name) for link in self.links}
        name, technology = self.shape.name, self.shape.wanted.technology
        self.bench.cables += cut_cables(self.floor, self.cabler, name, technology, self.links, phases)
        self.bench.switches += self.wired.switches

    def _move_cables(self) -> None:
        """Let cables end where the intent says that they were plugged in."""
        move_cables(self.ctx, self.shape, self.bench, self.wired.switches, [], self.links)

    # --- switches -----------------------------------------------------------------------------------------------------

    def make_switches(self) -> None:
        """Place all planned switches."""
        shape, clos = self.shape, self.shape.clos
        built_units = self._built_units()
        built_pods = {shape.pod(unit) for unit in built_units}
        for plane in range(shape.planes):
            for unit, seats in enumerate(shape.units.seats):
                home = self._home_racks(seats)
                pod = shape.pod(unit)
                for leaf in range(shape.wanted.leafs_per_unit):
                    name, rack, u = self._stand("leaf", shape.models.leaf, plane, unit + 1, leaf, home)
                    built = unit in built_units
                    draft = self._switch("leaf", shape.models.leaf, name, rack, u, plane, pod, unit, leaf, built)
                    self.wired.leafs[plane, unit, leaf] = draft
            if clos.tiers < 2:
                continue
            for pod in range(clos.pods):
                for index in range(clos.spines):
                    block = pod + 1 if clos.tiers == 3 else 0
                    name, rack, u = self._stand("spine", shape.models.spine, plane, block, index, None)
                    draft = self._switch("spine", shape.models.spine, name, rack, u, plane, pod, -1, index, pod in built_pods)
                    self.wired.spines[plane, pod, index] = draft
            for group in range(clos.core_groups):
                for index in range(clos.cores):
                    name, rack, u = self._stand("core", shape.models.core, plane, group + 1, index, None)
                    self.wired.cores[plane, group, index] = self._switch(
                        "core", shape.models.core, name, rack, u, plane, group, -1, index, True
                    )

    def _built_units(self) -> set[int]:
        return {unit for unit, seats in enumerate(self.shape.units.seats) if any(self._server(seat).built for seat in seats)}

    def _stand(
        self, role: Tier, model: SwitchModel, plane: int, block: int, index: int, home: list[str] | None
    ) -> tuple[str, str, int]:
        """Return (name, rack, lowest unit) of a switch."""
        shape = self.shape
        name = format_name(DeviceName("switch", shape.name, role, plane + 1 if shape.planes > 1 else 0, block, number=index + 1))
        where = f"{shape.where}.{'border.' if role == 'border' else ''}racks"
        rack, u = place_switch(self.ctx, self.floor, name, self._rack_group(role), model.height_u, where, home)
        return name, rack, u

    def _position(self, unit: int) -> int:
        """Return a unit's number for addresses and ASNs."""
        return unit

    def _leaf_number(self, plane: int, unit: int, index: int) -> int:
        """Return a leaf's number among all leafs, by which its loopback and its uplinks' addresses are cut.

        Border leafs count back from the slice's end, so that their numbers do not follow from how many units there are.
        """
        if unit >= len(self.shape.units.seats):
            return index - MOST_BORDERS
        number = self.shape.units.number(plane, self.shape.planes, self._position(unit))
        return number * pow2(self.shape.wanted.leafs_per_unit) + index

    def _spine_number(self, plane: int, pod: int, index: int) -> int:
        """Return a spine's number among all spines, by which its loopback and its uplinks' addresses are cut."""
        clos = self.shape.clos
        return (plane * pow2(clos.pods) + pod) * pow2(max(1, clos.uplinks)) + index

    def _home_racks(self, seats: Sequence[tuple[str, int]]) -> list[str] | None:
        """Return the racks of a unit's servers where its leafs stand among them (top of rack)."""
        group = self._rack_group("leaf")
        racks = list(dict.fromkeys(self._server(seat).home for seat in seats))
        among = all(rack and self.floor.racks[rack].rack.group == group for rack in racks)
        return racks if racks and among else None

    def _rack_group(self, tier: str) -> str:
        racks, border = self.shape.intent.racks, getattr(self.shape.intent, "border", None)
        if tier == "border" and border and border.racks:
            return str(border.racks)
        if isinstance(racks, str):
            return racks
        return racks.leaf if tier in {"leaf", "border"} else racks.spine if tier == "spine" else racks.core or racks.spine

    def _switch(
        self,
        role: Tier,
        model: SwitchModel,
        name: str,
        rack: str,
        u: int,
        plane: int,
        pod: int,
        unit: int,
        index: int,
        built: bool,
    ) -> SwitchDraft:
        shape, clos, cut = self.shape, self.shape.clos, self.shape.cut
        base = self.ctx.cluster.asn_base
        if role == "leaf":
            tier, number = 0, self._leaf_number(plane, unit, index)
            asn = leaf_asn(base, shape.kind, plane, self._position(unit) * pow2(shape.wanted.leafs_per_unit) + index)
        elif role == "border":
            tier, number = 0, self._leaf_number(plane, len(shape.units.seats), index)
            asn = border_asn(base, shape.kind, index)
        elif role == "spine":
            tier, number = 1, self._spine_number(plane, pod, index)
            asn = spine_asn(base, shape.kind, plane, pod)
        else:
            tier, number = 2, (plane * pow2(clos.core_groups) + pod) * pow2(clos.cores) + index
            asn = core_asn(base, shape.kind, plane)
        fact = self.ctx.facts.switches.get(name)
        return SwitchDraft(
            name=name,
            network=shape.name,
            role=role,
            plane=plane + 1,
            pod=pod + 1,
            unit=unit + 1,
            index=index + 1,
            model=model,
            built=built,
            asn=asn if cut else 0,
            loopback=f"{text(cut.loopback(tier, number))}/32" if cut else "",
            mtu_bytes=self.mtu_bytes,
            where=f"{shape.where}.{role}",
            rack=rack,
            u=u,
            mac=fact.mgmt_mac if fact else "",
            serial=fact.serial if fact else "",
            guid=fact.guid if fact else "",
        )

    # --- what stands below the leafs ----------------------------------------------------------------------------------

    def _wire_unit(self, unit: int) -> None:
        """Wire what hangs on the leafs of a unit."""
        raise NotImplementedError

    def _server(self, seat: tuple[str, int]) -> ServerDraft:
        return self.bench.servers[seat[0]][seat[1] - 1]

    def _leaf_layout(self, draft: SwitchDraft, speeds: tuple[int, ...], phases: tuple[int, ...] = ()) -> Layout:
        """Return the seats of a leaf whose hosts have these speeds, and came in these phases.

        A later phase begins in a cage of its own while there are cages enough: one transceiver serves a cage, so its cables would
        be replaced where the newcomer's stands further away.
        """
        shape = self.shape
        speed, uplinks = shape.fabric_speed_gbps, shape.clos.uplinks
        peers = shape.wanted.peer_links if draft.role == "leaf" else 0
        for last in sorted(set(phases), reverse=True) or [1]:
            parts = [min(phase, last) for phase in phases] or [1] * len(speeds)
            runs = tuple((s, len(list(run))) for (_, s), run in groupby(zip(parts, speeds, strict=True)))
            layout = self.ctx.layout(draft.model, runs, (speed, uplinks), (speed, peers))
            if not layout.missing:
                break
        if layout.missing:
            self._exhausted(draft.role, draft.model, len(speeds) + uplinks + peers, layout.missing)
        return layout

    def _exhausted(self, tier: str, model: SwitchModel, need: int, missing: int) -> None:
        where = f"{self.shape.where}.{'border.leaf' if tier == 'border' else tier}"
        if where in self.floor.full:
            return
        self.floor.full.add(where)
        self.ctx.report(
            "NET001",
            where,
            f"a {tier} needs {need} ports, and {model.ref} runs out of cages",
            expected=f"<= {need - missing} ports at these speeds ({model.ref})",
            actual=f"{need} ports",
            fix=self._advise() if tier == "leaf" else f"choose a {tier} with more ports",
        )

    def _advise(self) -> str:
        """Return what to do where a leaf runs out of ports: the largest numbers that fit, and where none does, another leaf."""
        shape = self.shape
        ways = [self._name_units(units)] if (units := fit_units(self.ctx, shape)) else []
        ways += [f"set {key} to {number}" for key, number in fit_rails(self.ctx, shape).items()]
        if shape.intent.uplinks and (most := uplink_room(shape.wanted, shape.units, shape.fabric_speed_gbps)) > 0:
            ways.append(f"set {shape.where}.uplinks to {most}")
        elif ways:
            ways.append("allow oversubscription")
        return ", ".join([*ways, "or choose a leaf with more ports" if ways else "choose a leaf with more ports"])

    def _name_units(self, units: dict[str, int]) -> str:
        """Return the advice on units; where they follow from what is planned, it says so."""
        unset = [key for key in units if key.startswith("servers.") and self.ctx.cluster.servers[key.split(".")[1]].unit is None]
        why = " (unset, it follows planned)" if unset else ""
        return f"set {' and '.join(units)} to {min(units.values())}{why}"

    # --- links between switches ---------------------------------------------------------------------------------------

    def _wire_uplinks(self) -> None:
        shape, clos = self.shape, self.shape.clos
        speed = shape.fabric_speed_gbps
        down = ((speed, clos.leafs_per_pod * clos.links_per_spine),)
        layout = self.ctx.layout(shape.models.spine, down, (speed, clos.spine_uplinks))
        if layout.missing:
            self._exhausted("spine", shape.models.spine, down[0][1] + clos.spine_uplinks, layout.missing)
        for spine in self.wired.spines.values():
            spine.modes = layout.modes
        for (plane, unit, index), leaf in self.wired.leafs.items():
            pod, slot = divmod(shape.slot(unit), shape.units_per_pod)
            position = slot * shape.wanted.leafs_per_unit + index
            seats = self.ctx.layout(leaf.model, (), (speed, clos.uplinks)).up
            for link, seat in enumerate(seats):
                spine = self.wired.spines[plane, pod, link // clos.links_per_spine]
                far = position * clos.links_per_spine + link % clos.links_per_spine
                if far < len(layout.down):
                    address = self._link_address(False, self._leaf_number(plane, unit, index), clos.uplinks, link)
                    self._join("leaf_spine", leaf, seat, spine, layout.down[far], clos.links_per_spine, address)

    def _wire_cores(self) -> None:
        shape, clos = self.shape, self.shape.clos
        speed = shape.fabric_speed_gbps
        layout = self.ctx.layout(shape.models.core, ((speed, clos.pods * clos.links_per_core),), (speed, 0))
        if layout.missing:
            self._exhausted("core", shape.models.core, clos.pods * clos.links_per_core, layout.missing)
        for core in self.wired.cores.values():
            core.modes = layout.modes
        down = ((speed, clos.leafs_per_pod * clos.links_per_spine),)
        seats = self.ctx.layout(shape.models.spine, down, (speed, clos.spine_uplinks)).up
        for (plane, pod, index), spine in self.wired.spines.items():
            for link, seat in enumerate(seats):
                core = self.wired.cores[plane, index, link // clos.links_per_core]
                far = pod * clos.links_per_core + link % clos.links_per_core
                if far < len(layout.down):
                    address = self._link_address(True, self._spine_number(plane, pod, index), clos.spine_uplinks, link)
                    self._join("spine_core", spine, seat, core, layout.down[far], clos.links_per_core, address)

    def _link_address(self, upper: bool, number: int, uplinks: int, link: int) -> int:
        """Return the first address of an uplink of the n-th leaf, or with `upper` spine; 0 where links have none."""
        cut = self.shape.cut
        return cut.link(upper, number, pow2(uplinks), link) if cut and self.shape.intent.underlay == "numbered" else 0

    def _join(
        self, kind: CableKind, low: SwitchDraft, seat: Seat, high: SwitchDraft, far: Seat, links: int, address: int
    ) -> None:
        if low.built and high.built:
            upper, lower = (f"{text(address)}/31", f"{text(address + 1)}/31") if address else ("", "")
            low.ports.append(_fabric_port(seat, high, far.name, lower, upper))
            high.ports.append(_fabric_port(far, low, seat.name, upper, lower))
        if seat.count == far.count == 1:
            way: Shape = "single"
        elif seat.count == far.count and links % seat.count == 0:
            way = "twin"
        elif 1 in {seat.count, far.count} and links % max(seat.count, far.count) == 0:
            way = "fan"
        else:
            way = "apart"
        self._note(kind, way, low, seat, high, far)

    def _note(self, kind: CableKind, way: Shape, low: SwitchDraft, seat: Seat, high: SwitchDraft, far: Seat) -> None:
        """Note a link between switches for cabling."""
        self.links.append(
            Link(
                kind=kind,
                way=way,
                near=low.name,
                near_port=seat.name,
                near_rack=low.rack,
                near_u=low.u,
                near_cage=seat.cage,
                near_end=seat.end,
                near_optics=low.optics,
                far=high,
                seat=far,
                built=low.built and high.built,
            )
        )


def _fabric_port(seat: Seat, peer: SwitchDraft, peer_port: str, address: str, peer_address: str) -> SwitchPort:
    return SwitchPort(
        seat.name, seat.cage, seat.sub, seat.speed_gbps, "fabric", peer.name, peer_port, peer.asn, address, peer_address[:-3]
    )
