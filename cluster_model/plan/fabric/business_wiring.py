"""Wire the business network: bonds to leaf pairs, peer links where pairs are MLAG, and the border behind all units."""

from __future__ import annotations

from dataclasses import dataclass, field

from cluster_model.plan.draft import ServerDraft, SwitchDraft
from cluster_model.plan.fabric.addressing import Cut, text
from cluster_model.plan.fabric.border import plug_peers
from cluster_model.plan.fabric.hosts import HostWirer
from cluster_model.plan.model import SwitchPort
from cluster_model.plan.ports import Seat


@dataclass
class BusinessWirer(HostWirer):
    """Wires the business network. Hosts have no addresses of its pool: what they have is their tenants'."""

    bonds: dict[str, int] = field(default_factory=dict)  # bond number by server: its seat in its unit, from 1

    @property
    def _host_cut(self) -> Cut | None:
        return None

    def _bond(self, server: ServerDraft) -> int:
        return self.bonds[server.name]

    def wire(self) -> None:
        """Make switches, host and peer links, links between switches, and the border's ports to its peers."""
        super().wire()
        if not self.ctx.failed():
            plug_peers(self.ctx, self.shape, [d for d in self.wired.switches if d.role == "border"])

    def make_switches(self) -> None:
        """Make the border after all others, so that it takes no other switch's rack units."""
        super().make_switches()
        shape = self.shape
        if shape.models.border is None:
            return
        unit = len(shape.units.seats)
        pod, built = shape.pod(unit), bool(self._built_units())
        for index in range(shape.wanted.borders):
            name, rack, u = self._stand("border", shape.models.border, 0, 0, index, None)
            draft = self._switch("border", shape.models.border, name, rack, u, 0, pod, -1, index, built)
            self.wired.leafs[0, unit, index] = draft
        for (_, in_pod, _), spine in self.wired.spines.items():
            spine.built = spine.built or (built and in_pod == pod)

    def _wire_unit(self, unit: int) -> None:
        for number, seat in enumerate(self.shape.units.seats[unit], 1):
            self.bonds[self._server(seat).name] = number
        super()._wire_unit(unit)
        if self.shape.wanted.peer_links:
            self._wire_pair(unit)

    def _wire_pair(self, unit: int) -> None:
        """Join the two leafs of a unit, and give them the address that their tunnels share."""
        shape, cut = self.shape, self.shape.cut
        low, high = self._leafs_of(unit)
        speed = shape.fabric_speed_gbps
        seats = self.ctx.layout(low.model, (), (speed, shape.clos.uplinks), (speed, shape.wanted.peer_links)).peer
        for seat in seats:
            if low.built and high.built:
                low.ports.append(_peer_port(seat, high))
                high.ports.append(_peer_port(seat, low))
            self._note("peer_link", "single" if seat.count == 1 else "twin", low, seat, high, seat)
        if cut:
            for leaf in (low, high):
                leaf.originates.append(f"{text(cut.service(0, unit, 0))}/32")


def _peer_port(seat: Seat, peer: SwitchDraft) -> SwitchPort:
    return SwitchPort(seat.name, seat.cage, seat.sub, seat.speed_gbps, "peer_link", peer.name, seat.name)
