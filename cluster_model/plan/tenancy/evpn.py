"""The overlay of each switch of the business network: what of every tenant it has, and nothing more."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Network

from cluster_model.intent.model.business import BusinessNetwork
from cluster_model.plan.draft import SwitchDraft
from cluster_model.plan.fabric.addressing import Cut, text
from cluster_model.plan.model import SwitchPort
from cluster_model.plan.model.overlay import (
    Bond,
    BorderPeer,
    External,
    ExternalPort,
    Filter,
    Homing,
    Import,
    Mlag,
    NatRule,
    Overlay,
    OverlayVlan,
    Subnet,
    SwitchVrf,
    Tenant,
)
from cluster_model.plan.tenancy.meetings import Encounter
from cluster_model.plan.tenancy.membership import Membership, SubnetKey
from cluster_model.plan.tenancy.tenants import TENANT_BASE

MLAG_VLAN = 4094
MLAG_BOND = 1000  # above every server's: a unit has fewer seats on a leaf
MLAG_PART = 1  # of the pool's service addresses; part 0 has the shared tunnel addresses
MARKS_PER_TENANT = 256  # more than there are border peers


@dataclass(slots=True)
class Links:
    """What the VRFs of one switch take from each other, in the order in which meetings are asked for."""

    imports: defaultdict[str, dict[str, dict[Filter, None]]] = field(default_factory=lambda: defaultdict(dict))
    announced: defaultdict[str, dict[Filter, None]] = field(default_factory=lambda: defaultdict(dict))
    vrfs: dict[str, Tenant] = field(default_factory=dict)

    def take(self, into: str, vrf: str, prefixes: Iterable[Filter]) -> None:
        """Let the VRF of `into`, a tenant or border peer by its key, import prefixes from another VRF."""
        lines = dict.fromkeys(prefixes)
        if lines:
            self.imports[into].setdefault(vrf, {}).update(lines)

    def freeze(self, key: str) -> tuple[Import, ...]:
        """Return what one VRF imports."""
        return tuple(Import(vrf, tuple(lines)) for vrf, lines in self.imports[key].items())


@dataclass(slots=True)
class Overlays:
    """Makes the overlays of a business network from its wired switches."""

    network: BusinessNetwork
    cut: Cut
    homing: Homing
    switches: Sequence[SwitchDraft]
    tenants: tuple[Tenant, ...]
    peers: tuple[BorderPeer, ...]
    membership: Membership
    subnets: dict[SubnetKey, Subnet] = field(init=False)
    by_name: dict[str, Tenant] = field(init=False)
    served: defaultdict[str, list[Encounter]] = field(init=False)  # by name of the tenant that provides
    leaving: defaultdict[str, list[Encounter]] = field(init=False)  # by name of the border peer

    def __post_init__(self) -> None:
        self.by_name = {tenant.name: tenant for tenant in self.tenants}
        self.subnets = {(tenant.name, subnet.name): subnet for tenant in self.tenants for subnet in tenant.subnets}
        self.served, self.leaving = defaultdict(list), defaultdict(list)

    def plan(self, encounters: Iterable[Encounter]) -> None:
        """Give every built switch its overlay."""
        for met in encounters:
            found = self.leaving if isinstance(met.provider, BorderPeer) else self.served
            found[met.provider.name].append(met)
        built = [switch for switch in self.switches if switch.built]
        borders = sum(switch.role == "border" for switch in built)
        pairs: defaultdict[int, list[SwitchDraft]] = defaultdict(list)
        for switch in built:
            if switch.role == "leaf":
                pairs[switch.unit].append(switch)
            elif switch.role == "border":
                switch.overlay = self._plan_border(switch, borders)
            else:
                switch.overlay = Overlay("", False, "", self.homing)
        for leafs in pairs.values():
            present = [self._find_present([leaf]) for leaf in leafs]
            if self.homing == "mlag":  # traffic for a shared tunnel address may reach either of the two
                present = [self._find_present(leafs)] * len(leafs)
            for leaf, subnets in zip(leafs, present, strict=True):
                leaf.overlay = self._plan_leaf(leaf, subnets)

    def _find_present(self, leafs: Iterable[SwitchDraft]) -> tuple[Subnet, ...]:
        """Return the subnets that some server on these leafs is in, by tenant and subnet id."""
        servers = {port.peer for leaf in leafs for port in leaf.ports if port.bond}
        keys = {key for server in servers for key in self.membership.subnets.get(server, ())}
        return tuple(sorted((self.subnets[key] for key in keys), key=self._rank))

    def _rank(self, subnet: Subnet) -> tuple[int, str, int, str]:
        return self.by_name[subnet.tenant].id, subnet.tenant, subnet.id, subnet.name

    # --- leafs --------------------------------------------------------------------------------------------------------

    def _plan_leaf(self, leaf: SwitchDraft, subnets: tuple[Subnet, ...]) -> Overlay:
        shared = self.homing == "mlag"
        loopback = _bare(leaf.loopback)
        return Overlay(
            vtep=text(self.cut.service(0, leaf.unit - 1, 0)) if shared else loopback,
            shared_vtep=shared,
            anycast_mac=self.network.anycast_mac,
            homing=self.homing,
            vlans=tuple(self._plan_vlan(loopback, subnet) for subnet in subnets),
            vrfs=self._plan_leaf_vrfs(loopback, subnets),
            bonds=self._plan_bonds(leaf),
            mlag=self._plan_mlag(leaf) if shared else None,
        )

    def _plan_vlan(self, loopback: str, subnet: Subnet) -> OverlayVlan:
        return OverlayVlan(
            vlan=subnet.vlan,
            vni=subnet.vni,
            name=f"{subnet.tenant}-{subnet.name}",
            rd=f"{loopback}:{subnet.vlan}",
            route_target=subnet.route_target,
            vrf=self.by_name[subnet.tenant].vrf,
            address=subnet.gateway,
            dhcp_servers=subnet.dhcp_servers,
        )

    def _plan_leaf_vrfs(self, loopback: str, subnets: tuple[Subnet, ...]) -> tuple[SwitchVrf, ...]:
        links = Links()
        own: defaultdict[str, list[Filter]] = defaultdict(list)
        for subnet in subnets:
            links.vrfs[subnet.tenant] = self.by_name[subnet.tenant]
            own[subnet.tenant].append(Filter(subnet.prefix))
            links.announced[subnet.tenant][Filter(subnet.prefix)] = None
        for name in own:
            for met in self.served[name]:
                here = set(own[name])
                links.vrfs[met.consumer.name] = met.consumer
                links.take(met.consumer.name, met.meeting.provider, met.meeting.offered)
                links.take(name, met.meeting.consumer, met.meeting.returned)
                links.announced[met.consumer.name].update(dict.fromkeys(p for p in met.meeting.offered if p in here))
        return _plan_tenant_vrfs(loopback, links)

    def _plan_bonds(self, leaf: SwitchDraft) -> tuple[Bond, ...]:
        bundles: defaultdict[tuple[int, str], list[SwitchPort]] = defaultdict(list)
        for port in sorted(leaf.ports, key=lambda port: (port.cage, port.sub)):
            if port.bond and port.use == "host":
                bundles[port.bond, port.peer].append(port)
        mac = format_system_mac(leaf.unit)
        bonds = []
        for (number, server), ports in sorted(bundles.items()):
            keys = self.membership.subnets.get(server, ())
            subnets = [self.subnets[key] for key in keys]
            untagged = find_untagged(subnets)
            bonds.append(
                Bond(
                    number=number,
                    server=server,
                    ports=tuple(port.name for port in ports),
                    speed_gbps=sum(port.speed_gbps for port in ports),
                    es_id=number,
                    system_mac=mac,
                    esi=format_esi(mac, number) if self.homing == "esi" else "",
                    vlans=tuple(sorted({subnet.vlan for subnet in subnets if subnet is not untagged})),
                    untagged=untagged.vlan if untagged is not None else 0,
                )
            )
        return tuple(bonds)

    def _plan_mlag(self, leaf: SwitchDraft) -> Mlag:
        ports = sorted((port for port in leaf.ports if port.use == "peer_link"), key=lambda port: (port.cage, port.sub))
        base = self.cut.service_base(MLAG_PART) + 2 * (leaf.unit - 1)
        ends = [text(base), text(base + 1)]
        own = ends.pop(leaf.index - 1)
        return Mlag(
            domain=leaf.unit,
            system_mac=format_system_mac(leaf.unit),
            ports=tuple(port.name for port in ports),
            bond=MLAG_BOND,
            vlan=MLAG_VLAN,
            address=f"{own}/31",
            peer_address=ends[0],
        )

    # --- border -------------------------------------------------------------------------------------------------------

    def _plan_border(self, border: SwitchDraft, borders: int) -> Overlay:
        loopback = _bare(border.loopback)
        ports: defaultdict[str, list[ExternalPort]] = defaultdict(list)
        for port in sorted(border.external_ports, key=lambda port: (port.cage, port.port)):
            ports[port.peer].append(port)
        here = [peer for peer in self.peers if ports[peer.name]]
        links, nat = Links(), []
        originates: defaultdict[str, list[str]] = defaultdict(list)
        for peer in here:
            for met in self.leaving[peer.name]:
                links.vrfs[met.consumer.name] = met.consumer
                links.take(met.consumer.name, peer.vrf, met.meeting.offered)
                links.take(_peer_key(peer), met.meeting.consumer, met.meeting.returned)
                links.announced[met.consumer.name].update(dict.fromkeys(met.meeting.offered))
                rule = _plan_nat(peer, met.consumer, border.index, borders)
                if rule is not None:
                    originates[peer.name].append(rule.outside)
                    nat.append(rule)
        externals = [self._plan_external(peer, port) for peer in here for port in ports[peer.name]]
        return Overlay(
            vtep=loopback,
            shared_vtep=False,
            anycast_mac=self.network.anycast_mac,
            homing="single",
            vrfs=(
                *_plan_tenant_vrfs(loopback, links),
                *(
                    SwitchVrf(
                        name=peer.vrf,
                        kind="external",
                        id=peer.id,
                        table=peer.table,
                        vlan=0,
                        vni=0,
                        rd="",
                        route_target="",
                        imports=links.freeze(_peer_key(peer)),
                        announced=(),
                        ports=tuple(port.port for port in ports[peer.name]),
                        originates=tuple(dict.fromkeys(originates[peer.name])),
                    )
                    for peer in here
                ),
            ),
            externals=tuple(externals),
            nat=tuple(sorted(nat, key=lambda rule: rule.mark)),
        )

    def _plan_external(self, peer: BorderPeer, port: ExternalPort) -> External:
        return External(
            peer=peer.name,
            vrf=peer.vrf,
            port=port.port,
            cage=port.cage,
            speed_gbps=port.speed_gbps,
            mtu_bytes=port.mtu_bytes,
            address=port.address,
            peer_address=port.peer_address,
            asn=peer.asn,
            accept=peer.accept or (),
            announce=peer.announce or (),
            max_routes=peer.max_routes,
            secret=peer.secret,
        )


SYSTEM_MACS = "02:67:79:00:"
"""How the system MACs of all leaf pairs begin; locally administered."""


def find_untagged(subnets: Sequence[Subnet]) -> Subnet | None:
    """Return the subnet that goes without a tag on a server's bond: the first that asks for it, by tenant and subnet id."""
    return next((subnet for subnet in subnets if subnet.untagged), None)


def format_system_mac(unit: int) -> str:
    """Return the system MAC that the leafs of a unit share, for LACP and MLAG.

    >>> format_system_mac(258)
    '02:67:79:00:01:02'
    """
    return f"{SYSTEM_MACS}{unit >> 8 & 255:02x}:{unit & 255:02x}"


def format_esi(system_mac: str, number: int) -> str:
    """Return a type 3 Ethernet segment identifier: a MAC and a number of three bytes (RFC 7432, section 5).

    >>> format_esi("02:67:79:00:00:01", 7)
    '03:02:67:79:00:00:01:00:00:07'
    """
    return f"03:{system_mac}:{number >> 16 & 255:02x}:{number >> 8 & 255:02x}:{number & 255:02x}"


def _plan_tenant_vrfs(loopback: str, links: Links) -> tuple[SwitchVrf, ...]:
    ranked = sorted(links.vrfs.values(), key=lambda tenant: (tenant.id, tenant.name))
    return tuple(
        SwitchVrf(
            name=tenant.vrf,
            kind="tenant",
            id=tenant.id,
            table=tenant.table,
            vlan=tenant.vlan,
            vni=tenant.vni,
            rd=f"{loopback}:{TENANT_BASE + tenant.id}",
            route_target=tenant.route_target,
            imports=links.freeze(tenant.name),
            announced=tuple(links.announced[tenant.name]),
            ports=(),
            originates=(),
        )
        for tenant in ranked
    )


def _plan_nat(peer: BorderPeer, tenant: Tenant, border: int, borders: int) -> NatRule | None:
    """Return the translation on the n-th border leaf; None where the tenant has none, or this border leaf no address of it."""
    outside = next((IPv4Network(nat.prefix) for nat in tenant.nat if nat.peer == peer.name), None)
    if outside is None:
        return None
    halves = list(outside.subnets()) if borders > 1 and outside.prefixlen < 32 else [outside]
    if border > len(halves):
        return None
    return NatRule(
        tenant=tenant.name,
        vrf=tenant.vrf,
        vlan=tenant.vlan,
        peer=peer.name,
        peer_vrf=peer.vrf,
        outside=str(halves[border - 1]),
        mark=MARKS_PER_TENANT * tenant.id + peer.id,
        table=tenant.table,
    )


def _peer_key(peer: BorderPeer) -> str:
    """Return a border peer's key in `Links`, beside tenants that may be called alike."""
    return f"peer {peer.name}"


def _bare(loopback: str) -> str:
    return loopback.partition("/")[0]
