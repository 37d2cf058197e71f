"""Wire servers to the leafs of their unit: addresses, cables, and the service addresses of storage hosts."""

from __future__ import annotations

from dataclasses import dataclass, field

from cluster_model.plan.cabling.links import Link
from cluster_model.plan.cabling.media import Shape
from cluster_model.plan.context import ServerModel
from cluster_model.plan.draft import ServerDraft, SwitchDraft
from cluster_model.plan.fabric.addressing import Cut, host_address, prefix, text
from cluster_model.plan.fabric.legs import Leg
from cluster_model.plan.fabric.wiring import Wirer
from cluster_model.plan.model import CableKind, ServerPort, Service, ServiceRoute, SwitchPort
from cluster_model.plan.ports import End, Seat, seat_managers

TABLE_BASE = 100  # policy-routing tables of compute ports: 100 + port; 0 to 255 are the kernel's and common use's


@dataclass
class HostWirer(Wirer):
    """Wires a network whose servers have addresses of its pool; business_wiring.py builds on it."""

    ends: dict[tuple[str, int, int, int], End] = field(default_factory=dict)  # cages of servers as ends

    @property
    def _host_cut(self) -> Cut | None:
        """Return the pool that host links have addresses from; None where they have none."""
        return self.shape.cut

    def _bond(self, server: ServerDraft) -> int:
        """Return the LACP bond that a server's ports are part of; 0 for none."""
        return 0

    def _wire_unit(self, unit: int) -> None:
        shape = self.shape
        order: dict[tuple[int, int], list[tuple[ServerDraft, Leg]]] = {}
        for seat in shape.units.seats[unit]:
            server = self._server(seat)
            for leg in shape.wanted.legs[seat[0]]:
                order.setdefault((leg.plane, leg.leaf), []).append((server, leg))
        if unit == 0:
            for seat, leg in shape.units.managers:
                if leg.reserved < 0:
                    order.setdefault((leg.plane, leg.leaf), []).append((self._server(seat), leg))
        for key, links in order.items():
            links.sort(key=lambda link: self.ctx.phase_of(link[0].name))
            self._wire_leaf(unit, *key, links)
        for seat, leg in shape.units.managers if unit == 0 else ():
            if leg.reserved >= 0:
                self._wire_manager(self.wired.leafs[leg.plane, unit, leg.leaf], self._server(seat), leg)
        for number, seat in enumerate(shape.units.seats[unit]):
            server = self._server(seat)
            if shape.kind.scalable_units:
                server.unit = unit + 1
            if shape.cut and shape.kind.services and server.built:
                self._serve(shape.cut, unit, number, server)

    def _wire_leaf(self, unit: int, plane: int, leaf: int, links: list[tuple[ServerDraft, Leg]]) -> None:
        shape, cut = self.shape, self._host_cut
        draft = self.wired.leafs[plane, unit, leaf]
        phases = tuple(self.ctx.phase_of(server.name) for server, _ in links)
        layout = self._leaf_layout(draft, tuple(leg.speed_gbps for _, leg in links), phases)
        draft.modes = layout.modes
        draft.rails = tuple(sorted({leg.rail for _, leg in links if leg.rail >= 0}))
        lane_next: dict[int, int] = {}
        for (server, leg), seat in zip(links, layout.down, strict=False):
            ordinal = lane_next.get(leg.lane, 0)
            lane_next[leg.lane] = ordinal + 1
            self._note_host(draft, seat, server, leg)
            if server.built and draft.built:
                base = 0
                if cut:
                    base = cut.leaf(plane, leg.lane, unit, 0 if shape.wanted.railed else leaf) + 2 * ordinal
                self._link_host(draft, seat, server, leg, base)
        if cut and draft.built:
            for lane in sorted(lane_next):
                first = cut.leaf(plane, lane, unit, 0 if shape.wanted.railed else leaf)
                draft.originates.append(prefix(first, cut.leaf_size))

    def _wire_manager(self, draft: SwitchDraft, server: ServerDraft, leg: Leg) -> None:
        """Wire a fabric manager to the port that a leaf has for it alone."""
        platform = draft.model.platform
        seat = seat_managers(draft.model.cages, (platform.port_native, platform.port_split))[leg.reserved]
        self._note_host(draft, seat, server, leg)
        if server.built and draft.built:
            self._link_host(draft, seat, server, leg, 0)

    def _link_host(self, draft: SwitchDraft, seat: Seat, server: ServerDraft, leg: Leg, base: int) -> None:
        shape, cut, name = self.shape, self._host_cut, self._port_name(leg)
        switch_side, host_side, gateway = host_address(base) if cut else ("", "", "")
        route = prefix(cut.lane(leg.plane, leg.lane), cut.lane_size) if cut and shape.kind.scalable_units else ""
        draft.ports.append(
            SwitchPort(
                seat.name,
                seat.cage,
                seat.sub,
                seat.speed_gbps,
                "host",
                server.name,
                name,
                self._speaks_as(server),
                switch_side,
                host_side[:-3],
                leg.rail,
                bond=self._bond(server),
            )
        )
        port = leg.port
        server.ports.append(
            ServerPort(
                name=name,
                network=shape.name,
                cage=port.cage,
                sub=leg.sub,
                rail=leg.rail,
                plane=leg.plane + 1,
                speed_gbps=leg.speed_gbps,
                mtu_bytes=self.host_mtu_bytes,
                nic=port.nic,
                rdma=(port.rdma or "") if leg.split == 1 else "",  # the parts of a divided port have devices of their own
                pci=port.pci or "",
                gpu=-1 if port.gpu is None else port.gpu,
                numa=-1 if port.numa is None else port.numa,
                mac=self._find_fact(server.macs, leg),
                guid=self._find_fact(server.guids, leg),
                address=host_side,
                gateway=gateway,
                route=route,
                table=TABLE_BASE + leg.order if shape.kind.scalable_units and cut else 0,
                peer=draft.name,
                peer_port=seat.name,
            )
        )

    def _speaks_as(self, server: ServerDraft) -> int:
        """Return the AS number that a server has towards its leafs; 0 where it tells them of no pods."""
        asked = self.ctx.cluster.kubernetes
        speaks = self.shape.kind.services and asked and asked.pod_routing == "bgp" and server.group in asked.groups
        return asked.node_asn if asked and speaks else 0

    def _port_name(self, leg: Leg) -> str:
        """Return the interface name: a port has another one where it runs InfiniBand."""
        port = leg.port
        return (port.infiniband_name or leg.name) if self.shape.wanted.technology == "infiniband" else leg.name

    def _find_fact(self, facts: dict[str, str], leg: Leg) -> str:
        """Return a port's MAC or GUID by its own name, or by the catalogue's where the port is whole: parts have their own."""
        return facts.get(self._port_name(leg)) or (facts.get(leg.port.name, "") if leg.split == 1 else "")

    def _note_host(self, draft: SwitchDraft, seat: Seat, server: ServerDraft, leg: Leg) -> None:
        """Note the link of a planned server for cabling."""
        kind: CableKind = "fabric_manager" if server.role == "fabric-manager" else "host_leaf"
        near_end = self._host_end(server.model, leg)
        way: Shape = "apart" if near_end.ports > 1 else "single" if seat.count == 1 else "fan"
        self.links.append(
            Link(
                kind=kind,
                way=way,
                near=server.name,
                near_port=self._port_name(leg),
                near_rack=server.rack,
                near_u=server.u,
                near_cage=leg.port.cage,
                near_end=near_end,
                near_optics=server.optics,
                far=draft,
                seat=seat,
                built=server.built and draft.built,
            )
        )

    def _host_end(self, model: ServerModel, leg: Leg) -> End:
        key = (model.ref, leg.port.cage, leg.split, leg.speed_gbps)
        found = self.ends.get(key)
        if found is None:
            network = model.block.network
            form_factor = next(cage.form_factor for cage in network.cages if cage.number == leg.port.cage)
            sharing = sum(leg.split for other in network.ports if other.cage == leg.port.cage)
            found = self.ends[key] = End(form_factor, sharing, leg.speed_gbps)
        return found

    def _serve(self, cut: Cut, unit: int, number: int, server: ServerDraft) -> None:
        """Give a host its service addresses, and its leafs the routes to them."""
        network = self.shape.name
        ports = [port for port in server.ports if port.network == network]
        if not ports:
            return
        ceph = self.ctx.cluster.ceph
        separate = getattr(self.shape.intent, "ceph_cluster", "shared") == "separate"
        services = self.shape.kind.services
        for part, purpose in enumerate(services if separate and ceph and server.group in ceph.groups else services[:1]):
            address = f"{text(cut.service(part, unit, number))}/32"
            gateways = tuple(port.gateway for port in ports)
            names = tuple(port.name for port in ports)
            route = prefix(cut.service_base(part), cut.service_size)
            beyond = self._list_beyond(cut, server) if part == 0 else ()
            server.services.append(Service(network, purpose, address, route, gateways, names, beyond))
            for port in ports:
                leaf = next(d for d in self._leafs_of(unit) if d.name == port.peer)
                leaf.routes.append(ServiceRoute(address, port.address[:-3], port.peer_port, server.name))

    def _list_beyond(self, cut: Cut, server: ServerDraft) -> tuple[str, ...]:
        """Return what else lies behind a host's leafs: pods, where leafs know them; and where pods are, hosts' ends of links.

        What a node translates, for pods or for itself, has the address of the port that it leaves by: kube-proxy masquerades
        what a host sends to a Service, and network plug-ins what pods send to others than pods.
        """
        asked = self.ctx.cluster.kubernetes
        if asked is None:
            return ()
        pods = (str(asked.pod_pool),) if self._speaks_as(server) else ()
        return (*pods, prefix(cut.base, cut.size // 2))

    def _leafs_of(self, unit: int) -> list[SwitchDraft]:
        return [self.wired.leafs[0, unit, leaf] for leaf in range(self.shape.wanted.leafs_per_unit)]
