"""Devices while they are being wired: what the frozen plan is made from in the end."""

from __future__ import annotations

from dataclasses import dataclass, field

from cluster_model.plan.context import ServerModel, SwitchModel
from cluster_model.plan.model import (
    Cable,
    CageMode,
    Management,
    Pdu,
    Server,
    ServerPort,
    Service,
    ServiceRoute,
    Switch,
    SwitchPort,
    Tier,
    Upstream,
    Vlan,
)
from cluster_model.plan.model.overlay import ExternalPort, Overlay, ServerBond


@dataclass(slots=True)
class SwitchDraft:
    """A planned switch; it becomes part of the plan where `built`. `optics` has the watts of each filled cage."""

    name: str
    network: str
    role: Tier
    plane: int
    pod: int
    unit: int
    index: int
    model: SwitchModel
    built: bool
    asn: int
    loopback: str
    mtu_bytes: int
    where: str
    rack: str = ""
    u: int = 0
    rails: tuple[int, ...] = ()
    modes: tuple[CageMode, ...] = ()
    ports: list[SwitchPort] = field(default_factory=list)
    originates: list[str] = field(default_factory=list)
    vlans: tuple[Vlan, ...] = ()
    routes: list[ServiceRoute] = field(default_factory=list)
    management: Management | None = None
    optics: dict[int, float] = field(default_factory=dict)
    mac: str = ""
    serial: str = ""
    guid: str = ""
    upstreams: tuple[Upstream, ...] = ()
    external_ports: list[ExternalPort] = field(default_factory=list)  # border leafs
    overlay: Overlay | None = None

    def freeze(self) -> Switch:
        """Return the planned switch, its ports in panel order."""
        self.ports.sort(key=lambda port: (port.cage, port.sub))
        return Switch(
            name=self.name,
            network=self.network,
            role=self.role,
            plane=self.plane,
            pod=self.pod,
            unit=self.unit,
            index=self.index,
            rails=self.rails,
            model=self.model.ref,
            nos=self.model.nos,
            rack=self.rack,
            u=self.u,
            height_u=self.model.height_u,
            asn=self.asn,
            loopback=self.loopback,
            mtu_bytes=self.mtu_bytes,
            modes=self.modes,
            ports=tuple(self.ports),
            originates=tuple(self.originates),
            vlans=self.vlans,
            service_routes=tuple(self.routes),
            management=self.management,
            power_w=self.model.block.power.maximum_w,
            optics_w=round(sum(self.optics.values()), 1),
            serial=self.serial,
            guid=self.guid,
            where=self.where,
            upstreams=self.upstreams,
            overlay=self.overlay,
        )


@dataclass(slots=True)
class ServerDraft:
    """A planned server; it becomes part of the plan where `built`."""

    name: str
    group: str
    role: str
    number: int
    model: ServerModel
    built: bool
    rack: str
    u: int
    home: str  # the rack that the rule gives it
    turn: int  # for one put by hand, its place in the list of those, from 1
    where: str
    serial: str
    macs: dict[str, str]
    guids: dict[str, str]
    bmc_mac: str
    unit: int = 0
    bmc: Management | None = None
    ports: list[ServerPort] = field(default_factory=list)
    services: list[Service] = field(default_factory=list)
    bonds: list[ServerBond] = field(default_factory=list)
    optics: dict[int, float] = field(default_factory=dict)

    def freeze(self, cap_w: int, cap_lost_w: int) -> Server:
        """Return the planned server with its GPU caps, W."""
        gpus = self.model.block.gpus
        return Server(
            name=self.name,
            group=self.group,
            role=self.role,
            number=self.number,
            unit=self.unit,
            model=self.model.ref,
            rack=self.rack,
            u=self.u,
            height_u=self.model.height_u,
            bmc=self.bmc,
            ports=tuple(self.ports),
            services=tuple(self.services),
            gpus=gpus.count if gpus else 0,
            gpu_model=gpus.model if gpus else "",
            power_w=self.model.block.power.maximum_w,
            optics_w=round(sum(self.optics.values()), 1),
            gpu_cap_w=cap_w if gpus else 0,
            gpu_cap_feed_lost_w=cap_lost_w if gpus else 0,
            serial=self.serial,
            where=self.where,
            bonds=tuple(self.bonds),
        )


@dataclass(slots=True)
class PduDraft:
    """A planned PDU; it becomes part of the plan where `built`."""

    name: str
    rack: str
    feed: int
    model: str
    mac: str
    serial: str
    where: str
    built: bool = False
    turn: int = 0  # as of the first server put by hand, where its rack would be empty without such
    management: Management | None = None

    def freeze(self) -> Pdu:
        """Return the planned PDU."""
        return Pdu(self.name, self.rack, self.feed, self.model, self.management, self.serial, self.where)


@dataclass(slots=True)
class Bench:
    """All drafts and cables of a cluster."""

    servers: dict[str, list[ServerDraft]] = field(default_factory=dict)  # by group, in the order of ids; number 1 first
    switches: list[SwitchDraft] = field(default_factory=list)
    cables: list[Cable] = field(default_factory=list)
