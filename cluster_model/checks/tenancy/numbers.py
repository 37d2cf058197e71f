# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about numbers that belong to one tenant: VLANs, VNIs, route targets. Of the TEN family."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.wording import list_names
from cluster_model.diagnostic import Diagnostic

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
                f"VLAN {wrong.value} of {wrong.owner} is already used by {other.owner}",
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
                f"VNI {wrong.value} of {wrong.owner} is already used by {other.owner}",
                "a VNI of its own",
                str(wrong.value),
                "take vni away, so that it follows from the ids, or write one that nothing else has",
            )
        compute = (_Number(t.compute_vni, f"{t.name} on compute", t.where, False) for t in design.plan.tenants if t.compute_vni)
        for wrong, other in _find_reused(compute):
            summary = f"VNI {wrong.value} of {wrong.owner} is already used by {other.owner}"
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
