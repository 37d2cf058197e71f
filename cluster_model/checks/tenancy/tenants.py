# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about what belongs to which tenant: numbers and servers. The TEN family; shares.py has its other part."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.wording import count_things, list_names
from cluster_model.diagnostic import Diagnostic
from cluster_model.names import DeviceName, format_name

LAST_VLAN = 4093  # 4094 is MLAG's own, 4095 reserved


class _Number(NamedTuple):
    """A number in use: who has it, where it was said, and whether by hand rather than by id."""

    value: int
    owner: str
    where: str
    by_hand: bool


def _list_numbers(design: Design, field: str) -> Iterator[_Number]:
    """Yield the VLANs or VNIs of the business network, L3 ones before the subnets' of each tenant."""
    for tenant in design.plan.tenants:
        intent = design.cluster.tenants.get(tenant.name)
        by_hand = intent is not None and getattr(intent, field) is not None
        where = f"{tenant.where}.{field}" if by_hand else tenant.where
        yield _Number(getattr(tenant, field), f"the VRF of {tenant.name}", where, by_hand)
        for subnet in tenant.subnets:
            wanted = intent.subnets.get(subnet.name) if intent is not None else None
            by_hand = wanted is not None and getattr(wanted, field) is not None
            where = f"{subnet.where}.{field}" if by_hand else subnet.where
            yield _Number(getattr(subnet, field), f"{tenant.name}'s {subnet.name}", where, by_hand)


def _find_reused(numbers: Iterator[_Number]) -> Iterator[tuple[_Number, _Number]]:
    """Yield each number that an earlier one has, as (the one to change, the other)."""
    owners: dict[int, _Number] = {}
    for number in numbers:
        first = owners.setdefault(number.value, number)
        if first is not number:
            yield (first, number) if first.by_hand and not number.by_hand else (number, first)


class VlanReused(Rule):
    """Give every subnet, and every tenant's VRF, a VLAN of its own.

    What it checks:
        VLAN ids of all subnets and of all VRFs (which a switch needs for their L3 VNI), each used once and within 2 to 4093.
        Without `vlan` they follow from the ids and cannot meet: 16 times the tenant's, plus the subnet's.

    Why it matters:
        A VLAN is one broadcast domain on a switch. Two subnets in it are one network: hosts of two tenants see each other's
        ARP, and answer it.

    How to fix:
        Take `vlan` away, or write one that nothing else has.

    Source:
        IEEE 802.1Q: 12 bits, 0 and 4095 reserved. 1 is the untagged default of most switches; 4094 is kept for MLAG.
    """

    id, title = "TEN001", "VLAN used twice"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        numbers = list(_list_numbers(design, "vlan"))
        taken = {number.value for number in numbers}
        for number in numbers:
            if not 2 <= number.value <= LAST_VLAN:
                summary = f"VLAN {number.value} of {number.owner} cannot be used"
                yield self.finding(number.where, summary, f"2 to {LAST_VLAN}", str(number.value), "give the tenant a lower id")
        for wrong, other in _find_reused(iter(numbers)):
            free = next(value for value in range(LAST_VLAN, 1, -1) if value not in taken)
            yield self.finding(
                wrong.where,
                f"VLAN {wrong.value} of {wrong.owner} is that of {other.owner} already",
                "a VLAN of its own",
                str(wrong.value),
                f"take vlan away, so that it follows from the ids, or set it to {free}",
            )


class VlanReserved(Rule):
    """Keep tenants out of the VLANs that a switch takes for itself.

    What it checks:
        VLAN ids of subnets and of VRFs against `reserved_vlans` of the business network's platforms, the border's included.

    Why it matters:
        The switch gives these to its routed ports and VRFs. A tenant's VLAN among them is refused, or comes up until the next
        port takes its number.

    How to fix:
        Give the tenant a lower id (its VLANs are 16 times the id and the 15 behind), or write `vlan`.

    Source:
        `reserved_vlans` of templates/switch/NOS/platform.yml: NVUE's reserved range, and what our EOS configuration leaves to
        routed ports.
    """

    id, title = "TEN013", "VLAN that a switch keeps for itself"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        network = design.plan.network("business")
        if network is None:
            return
        for nos in design.systems(network):
            platform = design.catalogue.platforms.get(nos)
            for first, last in platform.reserved_vlans if platform is not None else ():
                for number in _list_numbers(design, "vlan"):
                    if first <= number.value <= last:
                        yield self.finding(
                            number.where,
                            f"VLAN {number.value} of {number.owner} is one that {platform.name if platform else nos} keeps",
                            f"a VLAN outside of {first} to {last}",
                            str(number.value),
                            "give the tenant a lower id, or set vlan",
                        )


class VniReused(Rule):
    """Give every VXLAN a number of its own.

    What it checks:
        VNIs of all subnets (L2) and all VRFs (L3) of the business network, and those of VRFs on the compute network, each used
        once. Without `vni` they follow from the ids: 10000 plus the VLAN, 50000 plus the tenant.

    Why it matters:
        The VNI alone says which tenant a packet belongs to. Two with one number are joined on every switch, and their route
        targets are the same.

    How to fix:
        Take `vni` away, or write one that nothing else has.

    Source:
        RFC 7348, section 4: the VNI, 24 bits, identifies the segment; RFC 8365, section 5.1.
    """

    id, title = "TEN002", "VNI used twice"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        one_vlan = {frozenset((one.owner, two.owner)) for one, two in _find_reused(_list_numbers(design, "vlan"))}
        for wrong, other in _find_reused(_list_numbers(design, "vni")):
            if frozenset((wrong.owner, other.owner)) in one_vlan and not wrong.by_hand:
                continue  # it follows from the VLAN, which TEN001 finds
            yield self.finding(
                wrong.where,
                f"VNI {wrong.value} of {wrong.owner} is that of {other.owner} already",
                "a VNI of its own",
                str(wrong.value),
                "take vni away, so that it follows from the ids, or write one that nothing else has",
            )
        compute = (_Number(t.compute_vni, f"{t.name} on compute", t.where, False) for t in design.plan.tenants if t.compute_vni)
        for wrong, other in _find_reused(compute):
            summary = f"VNI {wrong.value} of {wrong.owner} is that of {other.owner} already"
            yield self.finding(wrong.where, summary, "a VNI of its own", str(wrong.value), "give the tenant another id")


class RouteTargetReused(Rule):
    """Give every VXLAN a route target, and every VRF of a switch a route distinguisher of its own.

    What it checks:
        Two VNIs of one network never have the same route target; no route distinguisher occurs twice in a network, on one
        switch or on two.

    Why it matters:
        Switches take routes by their targets: with one for two VRFs, each holds the other's. With one distinguisher for two
        routes, a reflecting spine passes one on and hides the other.

    How to fix:
        Report it: both follow from the VNI and the loopback.

    Source:
        RFC 4364, sections 4.2 and 4.3.1; RFC 7432, section 7.9.
    """

    id, title, by_intent = "TEN003", "route target or route distinguisher used twice", False

    def find(self, design: Design) -> Iterator[Diagnostic]:
        targets: dict[tuple[str, str], set[int]] = defaultdict(set)
        for tenant in design.plan.tenants:
            targets["business", tenant.route_target].add(tenant.vni)
            for subnet in tenant.subnets:
                targets["business", subnet.route_target].add(subnet.vni)
            if tenant.compute_vni:
                targets["compute", tenant.compute_route_target].add(tenant.compute_vni)
        for (network, target), vnis in targets.items():
            if len(vnis) > 1:
                yield self._report(network, f"route target {target} stands for VNIs {list_names(map(str, sorted(vnis)))}")
        owners: dict[tuple[str, str], dict[tuple[str, int], str]] = defaultdict(dict)
        for switch in design.plan.switches:
            if switch.overlay is not None:
                used = [(vlan.rd, vlan.vlan, vlan.name) for vlan in switch.overlay.vlans]
                used += [(vrf.rd, vrf.vlan, vrf.name) for vrf in switch.overlay.vrfs if vrf.rd]
                for rd, number, name in used:  # two with one VLAN are TEN001's
                    owners[switch.network, rd].setdefault((switch.name, number), f"{name} on {switch.name}")
        for (network, rd), names in owners.items():
            if len(names) > 1:
                yield self._report(network, f"route distinguisher {rd} belongs to {list_names(names.values(), 3)}")

    def _report(self, network: str, summary: str) -> Diagnostic:
        return self.finding(f"networks.{network}", summary, "one each", "", "report this with your cluster.yml")


class ServerOfTwoTenants(Rule):
    """Let a server belong to one tenant.

    What it checks:
        No server is named by the `servers` of two tenants. Subnets may name any server; owning is what counts.

    Why it matters:
        Whose GPUs are they, whose VRF do its compute ports lie in, whose Ceph key is on its disk? One of the two would have
        what belongs to the other.

    How to fix:
        Take the server away from one, or name it under the `servers` of the one subnet that it needs.

    Source:
        The compute network puts a port into one VRF, or into one partition as full member.
    """

    id, title = "TEN004", "server of two tenants"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        owners: dict[str, str] = {}
        shared: dict[tuple[str, str], list[str]] = defaultdict(list)
        for tenant in design.plan.tenants:
            for server in tenant.servers:
                first = owners.setdefault(server, tenant.name)
                if first != tenant.name:
                    shared[first, tenant.name].append(server)
        for (first, second), names in shared.items():
            yield self.finding(
                f"tenants.{second}.servers",
                f"{count_things(len(names), 'server')} of {second} {'is' if len(names) == 1 else 'are'} {first}'s already",
                "each server in one tenant",
                list_names(names),
                f"take {'it' if len(names) == 1 else 'them'} away here, or from tenants.{first}.servers",
            )


class NoBusinessPort(Rule):
    """Put only servers with business ports into tenants' subnets.

    What it checks:
        Every server that a subnet reaches, by its own `servers` or by the tenant's, has a port on the business network.

    Why it matters:
        The server is counted as a member, its address is kept, and no packet ever reaches it.

    How to fix:
        Name a port under `servers.GROUP.nics.business`, or take the servers out.

    Source:
        Tenants' subnets live on the business network alone.
    """

    id, title = "TEN008", "server in a subnet without a business port"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        reached = {server.name for server in design.plan.servers if any(port.network == "business" for port in server.ports)}
        said: set[str] = set()
        for tenant in design.plan.tenants:
            intent = design.cluster.tenants[tenant.name]
            for subnet in tenant.subnets:
                own = intent.subnets[subnet.name].servers is not None
                where = f"{subnet.where}.servers" if own else f"{tenant.where}.servers"
                if where in said:
                    continue
                said.add(where)
                names = [name_server(seat) for seat in design.planned_legs[tenant.name, subnet.name]]
                bare = [name for name in names if name in design.servers and name not in reached]
                if bare:
                    groups = list(dict.fromkeys(design.servers[name].group for name in bare))
                    yield self.finding(
                        where,
                        f"{count_things(len(bare), 'server')} of {tenant.name} without a port on the business network",
                        "a business port on each server of a tenant's subnet",
                        list_names(bare),
                        f"name a port under servers.{groups[0]}.nics.business, or take the servers out",
                    )


def name_server(seat: tuple[str, int]) -> str:
    """Return a server's name from its group and number."""
    return format_name(DeviceName("server", group=seat[0], number=seat[1]))


class NotIsolated(Rule):
    """Know that tenants meet on the compute network.

    What it checks:
        Where two tenants or more have GPU servers of their own, `isolation` of the compute network is not none.

    Why it matters:
        The business network keeps tenants apart, the compute network does not: who is root on one server can send to every
        GPU of the cluster. Many clusters are run so, with tenants that trust each other.

    How to fix:
        Set `isolation` to vrf (RoCE) or pkeys (InfiniBand), or leave it where tenants are trusted.

    Source:
        InfiniBand Architecture Specification, volume 1, section 10.9 (partitions); RFC 8365 (VRFs over VXLAN).
    """

    id, severity, title = "TEN009", "info", "tenants that are not kept apart on compute"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        compute = design.plan.network("compute")
        if compute is None or compute.isolation not in {"", "none"}:
            return
        own = [t.name for t in design.plan.tenants if any(_is_on_compute(design, name) for name in t.servers)]
        if len(own) > 1:
            way = "pkeys" if compute.technology == "infiniband" else "vrf"
            yield self.finding(
                "networks.compute",
                f"{list_names(own)} have servers on one compute network, and isolation is none",
                "",
                "",
                f"set networks.compute.isolation to {way}, or leave it where tenants trust each other",
            )


def _is_on_compute(design: Design, name: str) -> bool:
    server = design.servers.get(name)
    return server is not None and any(port.network == "compute" for port in server.ports)


class TwoUntagged(Rule):
    """Put one subnet at most on a bond without a tag.

    What it checks:
        Of the subnets that a server is in, one at most is `untagged`.

    Why it matters:
        Frames without a tag belong to one VLAN of the port. The second subnet would have to be tagged after all, on these
        servers alone.

    How to fix:
        Take `untagged` away from one of the subnets.

    Source:
        IEEE 802.1Q: a port has one PVID.
    """

    id, title = "TEN010", "two subnets without a tag on one bond"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        bare = {(t.name, s.name): s for t in design.plan.tenants for s in t.subnets if s.untagged}
        reached: dict[tuple[str, int], list[tuple[str, str]]] = defaultdict(list)
        for key in bare:
            for seat in design.planned_legs[key]:
                reached[seat].append(key)
        found: dict[tuple[tuple[str, str], tuple[str, str]], list[str]] = defaultdict(list)
        for seat, keys in reached.items():
            for key in keys[1:]:
                found[keys[0], key].append(name_server(seat))
        for (first, second), names in found.items():
            yield self.finding(
                f"{bare[second].where}.untagged",
                f"{' of '.join(reversed(first))} and {' of '.join(reversed(second))} are both untagged on "
                f"{count_things(len(names), 'server')}",
                "one untagged subnet per server",
                list_names(names),
                "take untagged away from one of the two",
            )


class ProviderWithoutServers(Rule):
    """Give a tenant that others meet servers on the business network.

    What it checks:
        A shared tenant that somebody uses, and of two tenants that peer the one with the lower id, has a server in a visible
        subnet.

    Why it matters:
        Two VRFs meet on the leafs where the provider's servers hang. Without any there is no such leaf: nothing crosses, and
        nothing says so.

    How to fix:
        Name the servers that offer the service under `servers` of the tenant.

    Source:
        cluster_model/plan/model/overlay.py: VRFs meet on their provider's leafs.
    """

    id, severity, title = "TEN011", "warning", "tenant that others meet has no servers"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        ids = {tenant.name: tenant.id for tenant in design.plan.tenants}
        for tenant in design.plan.tenants:
            users = [other.name for other in design.plan.tenants if tenant.shared and tenant.name in other.uses]
            users += [peer for peer in tenant.peers if ids.get(peer, 0) > tenant.id]
            if users and not any(design.planned_legs[tenant.name, s.name] for s in tenant.subnets if s.visible):
                yield self.finding(
                    f"tenants.{tenant.name}",
                    f"{list_names(users)} cannot reach {tenant.name}: no server is in a visible subnet of it",
                    "a server of its own on the business network",
                    "none",
                    f"name its servers under tenants.{tenant.name}.servers, and leave one subnet visible",
                )
