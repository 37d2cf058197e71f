"""The plan's word on a network with VRFs: what each VRF forwards by, and which tenants' machines meet.

A VRF's routes are computed by the rules that plan/model/overlay.py gives in words: what starts on a switch, what other
switches announce of the same VRF (type 5), and what the VRF takes from another one of the same switch.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Network, ip_interface

from cluster_model.plan.model import Plan
from cluster_model.plan.model.overlay import Filter, Overlay, SwitchVrf, Tenant
from cluster_model.plan.tenancy.meetings import passes
from cluster_model.twin.ethernet.outside import Peer, list_peers
from cluster_model.twin.ethernet.routes import LOCAL, Dead, Endpoint, Expectations, Pair, Table, name_route
from cluster_model.twin.ethernet.scope import Link, Scope

_Ways = dict[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class Place:
    """Where an endpoint is: its tenant and subnet; of an external peer: the peer's name, and no subnet."""

    tenant: str
    prefix: str
    peer: str = ""


class TenantExpectations(Expectations):
    """The plan's word on a network whose switches have VRFs.

    Args:
        scope: what is booted.
        network: its name.
        plan: the plan.
    """

    def __init__(self, scope: Scope, network: str, plan: Plan) -> None:
        self.plan = plan
        self.tenants: dict[str, Tenant] = {tenant.name: tenant for tenant in plan.tenants}
        self.places: dict[Endpoint, Place] = {}
        members = scope.members(network)
        self.peers: dict[str, Peer] = {peer.machine: peer for peer in list_peers(plan, members)}
        self.overlays: dict[str, Overlay] = {switch.name: switch.overlay for switch in members if switch.overlay is not None}
        super().__init__(scope, network)

    # routes ----------------------------------------------------------------------------------------------------------

    def _compute_tables(self, dead: Dead) -> dict[str, Table]:
        tables = super()._compute_tables(dead)
        own = {
            name: {vrf.name: self._list_starting(name, vrf, dead) for vrf in self.overlays[name].vrfs}
            for name in tables
            if name in self.overlays
        }
        announced = {name: self._list_announced(name, vrfs) for name, vrfs in own.items()}
        for name, vrfs in own.items():
            heard = self._list_heard(name, tables[name], announced)
            for vrf in self.overlays[name].vrfs:
                starting = vrfs[vrf.name]
                ways: _Ways = {prefix: ways for prefix, ways in starting.items() if ways}
                taken = self._take(vrf, vrfs, heard)
                for prefix, hops in (*heard[vrf.name].items(), *taken.items()):
                    if prefix not in starting:
                        ways[prefix] = hops
                tables[name].update({name_route(prefix, vrf.name): hops for prefix, hops in ways.items()})
        return tables

    def _list_starting(self, name: str, vrf: SwitchVrf, dead: Dead) -> _Ways:
        """Return what is a VRF's own on a switch, with the next hops; none for what it is connected to."""
        overlay = self.overlays[name]
        found: _Ways = {
            str(ip_interface(vlan.address).network): frozenset()
            for vlan in overlay.vlans
            if vlan.vrf == vrf.name and vlan.address
        }
        found |= {
            str(ip_interface(port.address).network): frozenset()
            for port in self.switches[name].ports
            if port.vrf == vrf.name and port.address and self._is_alive(name, port.name, dead)
        }
        for external in overlay.externals:
            if external.vrf == vrf.name and self._is_alive(name, external.port, dead):
                found[str(ip_interface(external.address).network)] = frozenset()
                for peer in self.peers.values():
                    if peer.name == external.peer:
                        for prefix in peer.announces:
                            found[prefix] = found.get(prefix, frozenset()) | {external.peer_address}
        return found

    def _is_alive(self, name: str, port: str, dead: Dead) -> bool:
        link = self._by_end.get((name, port))
        return link is not None and not dead.has(link)

    def _list_announced(self, name: str, own: dict[str, _Ways]) -> dict[str, set[str]]:
        """Return what a switch tells other switches of each VRF."""
        announced = {}
        for vrf in self.overlays[name].vrfs:
            if vrf.vni:
                known = set(own[vrf.name])
                for item in vrf.imports:
                    known |= {prefix for prefix in own.get(item.vrf, {}) if passes(prefix, item.prefixes)}
                announced[vrf.name] = {prefix for prefix in known if passes(prefix, vrf.announced)}
        return announced

    def _list_heard(self, name: str, table: Table, announced: dict[str, dict[str, set[str]]]) -> dict[str, _Ways]:
        """Return what a switch hears of each of its VRFs from the others that it reaches."""
        mine = self.overlays[name]
        heard: dict[str, _Ways] = {vrf.name: {} for vrf in mine.vrfs}
        for far, told in announced.items():
            vtep = self.overlays[far].vtep
            if far == name or vtep == mine.vtep or f"{vtep}/32" not in table:
                continue
            for vrf in mine.vrfs:
                for prefix in told.get(vrf.name, ()) if vrf.vni else ():
                    heard[vrf.name][prefix] = heard[vrf.name].get(prefix, frozenset()) | {vtep}
        return heard

    @staticmethod
    def _take(vrf: SwitchVrf, own: dict[str, _Ways], heard: dict[str, _Ways]) -> _Ways:
        """Return what a VRF takes from others of the same switch."""
        taken: _Ways = {}
        for item in vrf.imports:
            for prefix, hops in (*heard.get(item.vrf, {}).items(), *own.get(item.vrf, {}).items()):
                if passes(prefix, item.prefixes):
                    taken[prefix] = hops or frozenset({LOCAL})
        return taken

    def owner_of(self, prefix: str) -> str:
        """Return the switch that shall announce a prefix, also one of a VRF; empty where several do."""
        bare, _, vrf = prefix.partition(" in VRF ")
        if not vrf:
            return super().owner_of(prefix)
        owners = [name for name in self.overlays if bare in self.announced(name).get(vrf, ())]
        return owners[0] if len(owners) == 1 else ""

    def announced(self, name: str) -> dict[str, set[str]]:
        """Return what a switch tells other switches of each VRF while all is well."""
        dead = Dead()
        own = {vrf.name: self._list_starting(name, vrf, dead) for vrf in self.overlays[name].vrfs}
        return self._list_announced(name, own)

    # hosts -----------------------------------------------------------------------------------------------------------

    def _list_endpoints(self) -> Iterator[Endpoint]:
        yield from super()._list_endpoints()
        subnets = {(tenant.name, subnet.name): subnet for tenant in self.tenants.values() for subnet in tenant.subnets}
        for server in self.scope.servers.values():
            for bond in server.bonds:
                links = tuple(link for port in bond.ports if (link := self._by_end.get((server.name, port))) is not None)
                for vlan in bond.vlans:
                    if vlan.address and links:
                        made = Endpoint(
                            server.name, self.network, 1, vlan.address.partition("/")[0], "0.0.0.0/0", links, vlan.name
                        )
                        self.places[made] = Place(vlan.tenant, subnets[vlan.tenant, vlan.subnet].prefix)
                        yield made

    @property
    def tenants_ends(self) -> list[Endpoint]:
        """Return the endpoints in tenants' subnets."""
        return [end for end in self.endpoints if end in self.places]

    def list_outside(self) -> list[tuple[Endpoint, Peer]]:
        """Return an endpoint for each address behind an external peer."""
        found = []
        for machine, peer in self.peers.items():
            links = tuple(link for link in self.links if link.a == machine)
            found += [(Endpoint(machine, self.network, 1, address, "", links), peer) for address in peer.addresses if links]
        return found

    def list_pairs(self) -> list[Pair]:
        """Return who shall reach whom: hosts of one tenant, of tenants that meet, and what lies behind external peers."""
        pairs = [pair for pair in self._list_routed() if self._shares_vrf(pair)]
        ends = self.tenants_ends
        for source in ends:
            pairs += [
                Pair(source, target)
                for target in ends
                if source.server != target.server and self.meet(source, target) and not self._is_ambiguous(source, target)
            ]
            pairs += [Pair(source, target) for target, peer in self.list_outside() if self._leaves(source, target, peer)]
        return pairs

    def _list_routed(self) -> list[Pair]:
        """Return pairs of hosts on routed ports, as if there were no VRFs; none where hosts have bonds."""
        return super().list_pairs() if not self.places else []

    def _shares_vrf(self, pair: Pair) -> bool:
        return self._find_vrf(pair.source) == self._find_vrf(pair.target)

    def _find_vrf(self, end: Endpoint) -> str:
        """Return the VRF of the leaf's port that a routed endpoint hangs on; empty for the default one."""
        leaf, port = end.links[0].ends[1]
        return next(item.vrf for item in self.switches[leaf].ports if item.name == port)

    def meet(self, source: Endpoint, target: Endpoint) -> bool:
        """Return whether two endpoints of tenants shall reach each other."""
        here, there = self.places[source], self.places[target]
        if here.tenant == there.tenant:
            return True
        return any(
            self._cross(meeting.provider, meeting.offered, there, here, meeting.consumer, meeting.returned)
            or self._cross(meeting.provider, meeting.offered, here, there, meeting.consumer, meeting.returned)
            for meeting in self.plan.meetings
            if meeting.kind != "egress"
        )

    def _cross(
        self, provider: str, offered: tuple[Filter, ...], a: Place, b: Place, consumer: str, returned: tuple[Filter, ...]
    ) -> bool:
        return (
            self.tenants[a.tenant].vrf == provider
            and self.tenants[b.tenant].vrf == consumer
            and passes(a.prefix, offered)
            and passes(b.prefix, returned)
        )

    def _is_ambiguous(self, source: Endpoint, target: Endpoint) -> bool:
        """Return whether the target's address is another machine's, as the source sees it: one of a subnet of its own."""
        here, there = self.places[source], self.places[target]
        address = IPv4Network(target.address)
        return here.tenant != there.tenant and any(
            address.subnet_of(IPv4Network(subnet.prefix)) for subnet in self.tenants[here.tenant].subnets
        )

    def _leaves(self, source: Endpoint, target: Endpoint, peer: Peer) -> bool:
        """Return whether an endpoint shall reach an address behind an external peer, and be answered."""
        tenant = self.tenants[self.places[source].tenant]
        prefix = self.places[source].prefix
        for meeting in self.plan.meetings:
            if meeting.kind == "egress" and (meeting.provider, meeting.consumer) == (peer.vrf, tenant.vrf):
                inside = any(IPv4Network(target.address).subnet_of(IPv4Network(line.prefix)) for line in meeting.offered)
                return inside and (any(nat.peer == peer.name for nat in tenant.nat) or passes(prefix, meeting.returned))
        return False

    def list_strangers(self) -> tuple[list[Pair], list[Pair]]:
        """Return who must not reach whom: an endpoint of each subnet, and one of each subnet that it shall not meet.

        Of hosts on routed ports: one of each VRF, rail and plane, and one of each other VRF there.

        Returns:
            Those whose traffic gets nowhere; and those that are only not answered, because their own subnet is not visible.
        """
        routed: dict[tuple[str, str, str], Pair] = {}
        for pair in self._list_routed():
            if not self._shares_vrf(pair):
                routed[pair.source.route, self._find_vrf(pair.source), self._find_vrf(pair.target)] = pair
        pairs = list(routed.values())
        for source in self._first_of_each():
            tenant = self.tenants[self.places[source].tenant]
            inside = [IPv4Network(subnet.prefix) for subnet in tenant.subnets]
            taken = {end.address for end in self.tenants_ends if self.places[end].tenant == tenant.name}
            for target in self._last_of_each(taken):
                if source.server == target.server or self.meet(source, target):
                    continue
                if any(IPv4Network(target.address).subnet_of(prefix) for prefix in inside) and target.address in taken:
                    continue
                pairs.append(Pair(source, target))
            pairs += [Pair(source, target) for target, peer in self.list_outside() if not self._leaves(source, target, peer)]
        known = {pair for pair in pairs if pair.source in self.places and self._is_known(pair)}
        return [pair for pair in pairs if pair not in known], [pair for pair in pairs if pair in known]

    def _is_known(self, pair: Pair) -> bool:
        """Return whether the source's VRF has a route to the target, be there one back or not."""
        vrf, address = self.tenants[self.places[pair.source].tenant].vrf, IPv4Network(pair.target.address)
        place = self.places.get(pair.target)
        far = self.tenants[place.tenant].vrf if place else self.peers[pair.target.server].vrf
        return any(
            address.subnet_of(IPv4Network(line.prefix))
            for meeting in self.plan.meetings
            for lines in (
                meeting.offered if (meeting.consumer, meeting.provider) == (vrf, far) else (),
                meeting.returned if (meeting.provider, meeting.consumer) == (vrf, far) else (),
            )
            for line in lines
        )

    def _first_of_each(self) -> list[Endpoint]:
        found: dict[Place, Endpoint] = {}
        for end in self.tenants_ends:
            found.setdefault(self.places[end], end)
        return list(found.values())

    def _last_of_each(self, taken: Iterable[str]) -> list[Endpoint]:
        """Return an endpoint of each subnet, one whose address is not among `taken` where there is one."""
        known = set(taken)
        found: dict[Place, Endpoint] = {}
        for end in self.tenants_ends:
            place = self.places[end]
            if place not in found or end.address not in known:
                found[place] = end
        return list(found.values())

    def list_shared(self) -> list[Pair]:
        """Return who sends to an address that several tenants have, and whose machine it shall be: its own tenant's."""
        owners: dict[str, set[str]] = defaultdict(set)
        for end in self.tenants_ends:
            owners[end.address].add(self.places[end].tenant)
        several = [end for end in self.tenants_ends if len(owners[end.address]) > 1]
        return [
            Pair(source, target)
            for target in several
            for source in self.tenants_ends
            if self.places[source].tenant == self.places[target].tenant and source.server != target.server
        ]

    def list_gateways(self) -> list[tuple[Endpoint, str, Link]]:
        """Return (endpoint, its gateway's address, a cable of its) of every host in a subnet, and of routed ports."""
        found = super().list_gateways() if not self.places else []
        gateways = {
            (server.name, vlan.name): vlan.gateway
            for server in self.scope.servers.values()
            for bond in server.bonds
            for vlan in bond.vlans
        }
        return [*found, *((end, gateways[end.server, end.purpose], end.links[0]) for end in self.tenants_ends)]

    def _joins(self, a: Link, b: Link, dead: Dead) -> bool:
        if a.b == b.b:
            return True
        tables = self.tables(dead)
        there, back = self.overlays[b.b].vtep, self.overlays[a.b].vtep
        return there == back or (f"{there}/32" in tables[a.b] and f"{back}/32" in tables[b.b])


def has_overlay(scope: Scope, network: str) -> bool:
    """Return whether switches of a network have VRFs."""
    return any(switch.overlay is not None and switch.overlay.vrfs for switch in scope.members(network))


def expect(scope: Scope, network: str, plan: Plan) -> Expectations:
    """Return the plan's word on one network."""
    return TenantExpectations(scope, network, plan) if has_overlay(scope, network) else Expectations(scope, network)
