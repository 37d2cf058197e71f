"""The out-of-band network: a leaf per rack or per few neighbours, with VLANs for BMCs and PDUs, switches, and provisioning."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from cluster_model.catalogue.types import ServerPort as PortType
from cluster_model.intent.model.networks import OobNetwork
from cluster_model.intent.phases import count_phases
from cluster_model.kinds import BMC_SPEED_GBPS, OOB
from cluster_model.names import DeviceName, format_name
from cluster_model.plan.cabling.links import Link
from cluster_model.plan.context import Context, SwitchModel
from cluster_model.plan.draft import PduDraft, ServerDraft, SwitchDraft
from cluster_model.plan.fabric.addressing import Cut, PoolTooSmall, cut_pool, pow2, prefix, text
from cluster_model.plan.fabric.clos import Clos
from cluster_model.plan.fabric.legs import ports_for
from cluster_model.plan.fabric.moves import move_cables
from cluster_model.plan.fabric.oob_tiers import tell_of_tiers
from cluster_model.plan.fabric.shape import FabricShape
from cluster_model.plan.fabric.sizing import count_positions, count_slots, size_tiers
from cluster_model.plan.fabric.units import Units
from cluster_model.plan.fabric.upstream import lead_out
from cluster_model.plan.fabric.wanted import Models, Wanted
from cluster_model.plan.fabric.wiring import Wirer
from cluster_model.plan.floor.placement import Floor, reserve_tops
from cluster_model.plan.model import Management, ServerPort, SwitchPort, Tier, Vlan
from cluster_model.plan.ports import Layout, Seat, count_ports, speeds_of
from cluster_model.plan.refusal import Refused
from cluster_model.plan.services.provisioning import choose_boot_servers, find_boot_port

SEGMENTS = ("bmc", "switch", "host")
SWITCH_SEGMENT = 1


@dataclass(slots=True)
class Blocks:
    """Racks by out-of-band leaf. `tops` has the rack unit kept for the leaf; the leaf stands in the block's first rack."""

    racks: list[list[str]] = field(default_factory=list)
    tops: dict[str, int] = field(default_factory=dict)
    numbers: list[int] = field(default_factory=list)  # address position of each block
    positions: int = 0  # one more than the highest number


def plan_blocks(ctx: Context, floor: Floor, leaf: SwitchModel) -> Blocks:
    """Divide the floor in blocks and keep the top of each block's first rack for its leaf.

    Racks of a later phase have blocks of their own, and numbers behind all of earlier phases.
    """
    found = Blocks()
    for number, racks in divide_floor(ctx, floor, ctx.cluster.networks.oob.racks_per_leaf).items():
        found.racks.append(racks)
        found.numbers.append(number)
    found.positions = 1 + max(found.numbers, default=0)
    found.tops = reserve_tops(floor, (racks[0] for racks in found.racks), leaf.height_u)
    return found


def divide_floor(ctx: Context, floor: Floor, racks_per_leaf: int) -> dict[int, list[str]]:
    """Return the racks that share a leaf, by the number of their block."""
    starts = _number_rows(ctx)
    blocks: dict[int, list[str]] = {}
    for spaces in floor.groups.values():
        for space in spaces:
            number, position = starts[space.phase, space.rack.row]
            blocks.setdefault(number + (space.rack.position - position) // racks_per_leaf, []).append(space.rack.name)
    return dict(sorted(blocks.items()))


def _number_rows(ctx: Context) -> dict[tuple[int, str], tuple[int, int]]:
    """Return, by phase and row, the number of the first block there and the position of its first rack.

    Rows of the first phase are numbered by their ids, so that any row finds its numbers free; rows of a later one in their order.
    """
    rows = sorted(ctx.cluster.racks.rows.items(), key=lambda item: item[1].id)
    found, base = {}, 0
    for phase in range(1, count_phases(ctx.cluster) + 1):
        come = [(name, row) for name, row in rows if len(row.phases) >= phase and row.phases[phase - 1]]
        width = pow2(max((row.phases[phase - 1] for _, row in come), default=1))
        for order, (name, row) in enumerate(come):
            place = row.id - 1 if phase == 1 else order
            found[phase, name] = (base + place * width, 1 + sum(row.phases[: phase - 1]))
        base += width * (max((row.id for _, row in come), default=0) if phase == 1 else len(come))
    return found


def shape_oob(ctx: Context, models: Models, blocks: Blocks) -> FabricShape | None:
    """Return the shape of the out-of-band network, or None with findings (NET001, NET004, NET005, NET006, ADR001)."""
    intent = ctx.cluster.networks.oob
    wanted = Wanted(OOB, intent, "ethernet", models, {})
    try:
        speed_gbps = _choose_speed(intent, models)
        clos = size_tiers(wanted, len(blocks.racks), intent.uplinks, speed_gbps)
        ports = count_ports(models.leaf.cages, BMC_SPEED_GBPS)
        cut = _cut(intent, ports, clos, blocks)
    except Refused as refused:
        ctx.refuse(refused)
        return None
    units = Units(tuple(() for _ in blocks.racks), ports, ports * BMC_SPEED_GBPS, phases=(len(blocks.racks),))
    return FabricShape(wanted, units, 1, 1, BMC_SPEED_GBPS, speed_gbps, clos, cut)


def _choose_speed(intent: OobNetwork, models: Models) -> int:
    leaf, spine = models.leaf, models.spine
    common = speeds_of(leaf.cages) & speeds_of(spine.cages) & speeds_of(models.core.cages) - {BMC_SPEED_GBPS}
    asked = intent.fabric_speed_gbps
    if common and (asked is None or asked in common):
        return asked or max(common)
    known = ", ".join(str(speed) for speed in sorted(common, reverse=True))
    raise Refused(
        "NET004",
        f"leaf {leaf.ref} and spine {spine.ref} share no uplink speed" + (f" of {asked} Gb/s" if asked else ""),
        expected=f"one of {known} Gb/s" if common else "a speed above 1 Gb/s that both have",
        actual=f"{asked} Gb/s" if asked else "none",
        fix=f"set fabric_speed_gbps to {max(common)}, or leave it out" if common else "choose another spine",
        where="networks.oob.fabric_speed_gbps" if asked and common else "networks.oob.spine",
    )


def _cut(intent: OobNetwork, ports: int, clos: Clos, blocks: Blocks) -> Cut | None:
    if intent.pool is None:
        return None
    try:
        return cut_pool(
            intent.pool,
            planes=1,
            lanes=len(SEGMENTS),
            units=blocks.positions,
            leafs=1,
            seats=pow2(ports + 3) // 2,  # network, gateway and broadcast beside the ports
            switches=(pow2(blocks.positions), *count_positions(clos)),
            slots=count_slots(clos) if intent.underlay == "numbered" else (0, 0),
        )
    except PoolTooSmall as small:
        small.where = "networks.oob.pool"
        small.expected = f"a prefix of length {small.needed} or shorter: {blocks.positions} rack positions of three subnets each"
        raise


@dataclass(slots=True)
class Plug:
    """A device's port on the out-of-band network."""

    device: ServerDraft | SwitchDraft | PduDraft
    name: str
    port: str
    segment: int
    speed_gbps: int
    built: bool
    rack: str
    u: int
    attach: Callable[[Management], None]
    among: str  # the rack whose devices its port is counted with
    phase: int  # of building, that the device came in
    turn: int = 0  # among those put by hand, which come behind all others; 0: by rule
    away: bool = False  # it stands at another leaf, and its port here stays empty


@dataclass
class OobWirer(Wirer):
    """Wires the out-of-band network, after all others."""

    blocks: Blocks = field(default_factory=Blocks)
    pdus: list[PduDraft] = field(default_factory=list)
    plugs: list[list[Plug]] = field(default_factory=list)

    def place(self) -> set[str]:
        """Make the switches; return the racks of spines and cores, which may stand there alone and want PDUs all the same."""
        super().make_switches()
        return {switch.rack for switch in (*self.wired.spines.values(), *self.wired.cores.values())}

    def make_switches(self) -> None:
        """Tell which of the placed switches are built, now that it is known what is plugged into them."""
        units = self._built_units()
        pods = {unit // self.shape.units_per_pod for unit in units}
        for (_, unit, _), leaf in self.wired.leafs.items():
            leaf.built = unit in units
        for (_, pod, _), spine in self.wired.spines.items():
            spine.built = pod in pods

    def wire(self) -> None:
        """Make access links and links between switches, which stand already (`place`)."""
        by_rack: dict[str, list[Plug]] = {}
        for plug in self._plugs():
            by_rack.setdefault(plug.among, []).append(plug)
        self.plugs = [
            sorted((plug for rack in racks for plug in by_rack.get(rack, [])), key=lambda plug: (plug.phase, plug.turn))
            for racks in self.blocks.racks
        ]
        super().wire()
        if not self.ctx.failed():
            self._add_vlans()
            plugged = ((plug.among, plug.built) for plugs in self.plugs for plug in plugs)
            tell_of_tiers(self.ctx, self.shape, self.wired.switches, plugged, self._divide, len(self._whole_layout().down))

    def _move_cables(self) -> None:
        """Move cables once the site's router has its ports, so that it has the planned ones."""
        if not self.ctx.failed():
            lead_out(self.ctx, self.shape, self.wired.switches, self.links)
        move_cables(self.ctx, self.shape, self.bench, self.wired.switches, self.pdus, self.links)

    def _divide(self, racks_per_leaf: int) -> Iterable[list[str]]:
        return divide_floor(self.ctx, self.floor, racks_per_leaf).values()

    def _whole_layout(self) -> Layout:
        """Return the seats of a leaf that has nothing but ports of the BMCs' speed and its uplinks."""
        uplinks = (self.shape.fabric_speed_gbps, self.shape.clos.uplinks)
        return self.ctx.layout(self.shape.models.leaf, ((BMC_SPEED_GBPS, self.shape.units.hosts_per_leaf),), uplinks)

    def _plugs(self) -> Iterator[Plug]:
        """Yield every plug: PDUs, then servers, then switches.

        A leaf takes the first two from its first port up, in this order, and switches from its last port down, so that either may
        grow past its plan without moving the other. Ports of a server that was put at another leaf by hand stay empty where the
        rule has them, and are found behind all others where it stands, so that nobody else moves.
        """
        phase_of = self.ctx.phase_of
        block_of = {rack: block for block, racks in enumerate(self.blocks.racks) for rack in racks}
        for pdu in self.pdus:
            attach = _setter(pdu, "management")
            yield Plug(pdu, pdu.name, "net", 0, 1, pdu.built, pdu.rack, 1, attach, pdu.rack, phase_of(pdu.name), pdu.turn)
        for group, servers in self.bench.servers.items():
            ports = ports_for(self.ctx, group, self.shape.kind.name)
            for server in servers:
                plugs = [self._host_plug(server, port) for port in ports]
                if server.model.block.bmc:
                    plugs.insert(0, self._plug(server, "bmc", 0, 1, _setter(server, "bmc")))
                if block_of[server.home] == block_of[server.rack]:
                    yield from plugs
                else:
                    yield from (replace(plug, away=True) for plug in plugs)
                    yield from (replace(plug, among=server.rack, turn=server.turn) for plug in plugs)
        for switch in self.bench.switches:
            if switch.model.block.management:
                yield self._plug(switch, "mgmt", SWITCH_SEGMENT, 1, _setter(switch, "management"))

    def _plug(
        self, device: ServerDraft | SwitchDraft, port: str, segment: int, speed_gbps: int, attach: Callable[[Management], None]
    ) -> Plug:
        phase = self.ctx.phase_of(device.name)
        among = device.home if isinstance(device, ServerDraft) else device.rack
        return Plug(device, device.name, port, segment, speed_gbps, device.built, device.rack, device.u, attach, among, phase)

    def _host_plug(self, server: ServerDraft, port: PortType) -> Plug:
        speeds = {port.speed_gbps, *port.speeds_gbps} & speeds_of(self.shape.models.leaf.cages)

        def attach(at: Management) -> None:
            server.ports.append(
                ServerPort(
                    name=port.name,
                    network=self.shape.name,
                    cage=port.cage,
                    sub=0,
                    rail=-1,
                    plane=1,
                    speed_gbps=max(speeds, default=1),
                    mtu_bytes=self.host_mtu_bytes,
                    nic=port.nic,
                    rdma="",
                    pci=port.pci or "",
                    gpu=-1,
                    numa=-1 if port.numa is None else port.numa,
                    mac=server.macs.get(port.name, ""),
                    guid="",
                    address=at.address,
                    gateway=at.gateway,
                    route="0.0.0.0/0",
                    table=0,
                    peer=at.peer,
                    peer_port=at.peer_port,
                )
            )

        return self._plug(server, port.name, 2, max(speeds, default=1), attach)

    def _built_units(self) -> set[int]:
        return {unit for unit, plugs in enumerate(self.plugs) if any(plug.built for plug in plugs)}

    def _stand(
        self, role: Tier, model: SwitchModel, plane: int, block: int, index: int, home: list[str] | None
    ) -> tuple[str, str, int]:
        if role != "leaf":
            return super()._stand(role, model, plane, block, index, home)
        rack = self.blocks.racks[block - 1][0]
        return format_name(DeviceName("switch", self.shape.name, "leaf", rack=rack)), rack, self.blocks.tops.get(rack, 0)

    def _position(self, unit: int) -> int:
        return self.blocks.numbers[unit]

    def _advise(self) -> str:
        fewer = "lower racks_per_leaf, " if self.ctx.cluster.networks.oob.racks_per_leaf > 1 else ""
        return f"{fewer}place fewer servers per rack, or choose a leaf with more ports of 1 Gb/s"

    def _wire_unit(self, unit: int) -> None:
        leaf = self.wired.leafs[0, unit, 0]
        seated = self._seat(leaf, self.plugs[unit])
        if not leaf.built:
            return
        vlans = self._vlan_ids()
        for plug, seat, order in seated:
            if plug.away:
                continue
            self._note_plug(leaf, seat, plug)
            if plug.built:
                self._plug_in(leaf, seat, plug, unit, order, vlans[plug.segment])

    def _vlan_ids(self) -> tuple[int, int, int]:
        """Return the VLAN id of each segment, in the order of `SEGMENTS`."""
        vlans = self.ctx.cluster.networks.oob.vlans
        return vlans.bmc, vlans.switch, vlans.host

    def _seat(self, leaf: SwitchDraft, plugs: list[Plug]) -> list[tuple[Plug, Seat, int]]:
        """Return each plug with its seat and the seat's number from 0, and set the leaf's modes. Errors: NET001."""
        low = [plug for plug in plugs if plug.segment != SWITCH_SEGMENT]
        high = [plug for plug in plugs if plug.segment == SWITCH_SEGMENT]
        layout = self._leaf_layout(leaf, tuple(plug.speed_gbps for plug in low))
        whole = self._whole_layout()
        seats = whole.down
        missing = len(low) + len(high) - len(seats)
        if missing > 0:
            self._exhausted("leaf", leaf.model, len(plugs) + self.shape.clos.uplinks, missing)
            return []
        top = seats[len(seats) - len(high) :]
        taken = {seat.cage for seat in top}
        leaf.modes = tuple(b if b.cage in taken else a for a, b in zip(layout.modes, whole.modes, strict=True))
        seated = [(plug, seat, order) for order, (plug, seat) in enumerate(zip(low, layout.down, strict=False))]
        return seated + [(plug, seats[-order], len(seats) - order) for order, plug in enumerate(high, 1)]

    def _plug_in(self, leaf: SwitchDraft, seat: Seat, plug: Plug, unit: int, order: int, vlan: int) -> None:
        address = gateway = ""
        if self.shape.cut:
            first = self.shape.cut.leaf(0, plug.segment, self._position(unit), 0)
            address = f"{text(first + 2 + order)}/{prefix(first, self.shape.cut.leaf_size).rpartition('/')[2]}"
            gateway = text(first + 1)
        plug.attach(Management(address, gateway, "", leaf.name, seat.name))
        leaf.ports.append(
            SwitchPort(
                seat.name,
                seat.cage,
                seat.sub,
                seat.speed_gbps,
                "host",
                plug.name,
                plug.port,
                0,
                "",
                address.partition("/")[0],
                vlan=vlan,
            )
        )

    def _note_plug(self, leaf: SwitchDraft, seat: Seat, plug: Plug) -> None:
        self.links.append(
            Link(
                kind="host_leaf",
                way="single",
                near=plug.name,
                near_port=plug.port,
                near_rack=plug.rack,
                near_u=plug.u,
                near_cage=0,
                near_end=seat.end,
                near_optics={},
                far=leaf,
                seat=seat,
                built=plug.built,
            )
        )

    def _add_vlans(self) -> None:
        intent, cut = self.ctx.cluster.networks.oob, self.shape.cut
        if cut is None:
            return
        relays = tuple(map(str, intent.dhcp_servers)) or self._boot_addresses()
        ids = self._vlan_ids()
        for unit in range(len(self.blocks.racks)):
            leaf = self.wired.leafs[0, unit, 0]
            made = []
            for segment, name in enumerate(SEGMENTS):
                first = cut.leaf(0, segment, self._position(unit), 0)
                whole = prefix(first, cut.leaf_size)
                made.append(Vlan(ids[segment], name, f"{text(first + 1)}/{whole.rpartition('/')[2]}", whole, relays))
                leaf.originates.append(whole)
            leaf.vlans = tuple(made)

    def _boot_addresses(self) -> tuple[str, ...]:
        """Return the provisioning addresses of the servers that answer DHCP, one of each."""
        ports = (find_boot_port(server.ports) for server in choose_boot_servers(self.ctx.cluster, self.bench))
        return tuple(port.address.partition("/")[0] for port in ports if port is not None)


def _setter(draft: ServerDraft | SwitchDraft | PduDraft, name: str) -> Callable[[Management], None]:
    def attach(at: Management) -> None:
        mac = draft.bmc_mac if isinstance(draft, ServerDraft) else draft.mac
        setattr(draft, name, replace(at, mac=mac))

    return attach
