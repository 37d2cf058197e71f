# ruff: noqa: D102  (what `find` does stands in Rule)
"""The rule that holds the plan against itself: the PLN family. What it finds is a fault of gpuyard, not of an intent."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.wording import count_things, list_names
from cluster_model.diagnostic import Diagnostic
from cluster_model.plan.model import Cable, Management


class PlanConsistent(Rule):
    """Contradict nothing in the plan.

    What it checks:
        Names and addresses stand once; every port is cabled once; both ends of a link name each other, have one speed and know
        each other's AS number; every cable has its ports; every device stands in a rack of the plan and shares no rack unit;
        a network's counts are those of its devices and cables.

    Why it matters:
        Two devices with one address, or a switch that waits for a neighbour which is cabled elsewhere, is an outage that shows
        up at the rack.

    How to fix:
        This is a fault of gpuyard: report it with your cluster.yml. Files rendered from this plan are not to be used.

    Source:
        Invariants of cluster_model/plan/model.
    """

    id, title, by_intent = "PLN001", "plan that contradicts itself", False

    def find(self, design: Design) -> Iterator[Diagnostic]:
        faults: dict[str, list[str]] = defaultdict(list)
        for kind, example in _faults(design):
            faults[kind].append(example)
        for kind, examples in faults.items():
            yield self.finding(
                "name",
                f"{kind}: {count_things(len(examples), 'case')}",
                "none",
                list_names(examples, 3),
                "report this with your cluster.yml; do not use the rendered files",
            )


def _faults(design: Design) -> Iterator[tuple[str, str]]:
    """Yield (kind of fault, example)."""
    yield from _repeated("name used twice", (device.name for device in (*design.devices, *design.plan.pdus)))
    yield from _repeated("address used twice", _addresses(design))
    yield from _link_faults(design)
    yield from _cable_faults(design)
    yield from _place_faults(design)
    yield from _count_faults(design)


def _repeated(kind: str, values: Iterator[str]) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    for value in values:
        if value in seen:
            yield kind, value
        seen.add(value)


def _managements(design: Design) -> Iterator[tuple[str, Management]]:
    plan = design.plan
    yield from ((server.name, server.bmc) for server in plan.servers if server.bmc)
    yield from ((switch.name, switch.management) for switch in plan.switches if switch.management)
    yield from ((pdu.name, pdu.management) for pdu in plan.pdus if pdu.management)


def _addresses(design: Design) -> Iterator[str]:
    """Yield every address that a device has, without length."""
    found: list[str] = [management.address for _, management in _managements(design)]
    for switch in design.plan.switches:
        found.append(switch.loopback)
        found += [port.address for port in switch.ports]
        found += [vlan.address for vlan in switch.vlans]
    for server in design.plan.servers:
        found += [port.address for port in server.ports]
        found += [service.address for service in server.services]
    yield from (address.partition("/")[0] for address in found if address)


def _link_faults(design: Design) -> Iterator[tuple[str, str]]:
    """Yield faults of ports: cabled twice, ends that do not name each other, speeds or AS numbers that differ."""
    switches, ports = design.switches, design.ports
    plugged = {(at.peer, at.peer_port): name for name, at in _managements(design)}
    cabled = sum(len(device.ports) for device in design.devices)
    if cabled != len(ports):
        names = Counter((d.name, p.name) for d in design.devices for p in d.ports)
        yield from (("port cabled twice", f"{name}:{port}") for (name, port), count in names.items() if count > 1)
    for device in design.devices:
        for port in device.ports:
            far = ports.get((port.peer, port.peer_port))
            if far is None:
                if plugged.get((device.name, port.name)) != port.peer:
                    yield "port whose far end is unknown", f"{device.name}:{port.name} to {port.peer}:{port.peer_port}"
            elif (far.peer, far.peer_port) != (device.name, port.name):
                yield "ends that do not name each other", f"{device.name}:{port.name} and {port.peer}:{port.peer_port}"
            elif far.speed_gbps != port.speed_gbps:
                yield "ends with different speeds", f"{device.name}:{port.name} and {port.peer}:{port.peer_port}"
    for switch in design.plan.switches:
        for link in switch.ports:
            if link.peer_asn and link.peer in switches and switches[link.peer].asn != link.peer_asn:
                yield "neighbour with another AS number", f"{switch.name}:{link.name} expects {link.peer_asn}"
    for name, at in _managements(design):
        end = ports.get((at.peer, at.peer_port))
        if end is None or end.peer != name:
            yield "out-of-band port not on its leaf", f"{name} on {at.peer}:{at.peer_port}"


def _cable_faults(design: Design) -> Iterator[tuple[str, str]]:
    for cable in design.plan.cables:
        far = design.ports.get((cable.b, cable.b_port))
        if far is None or (far.peer, far.peer_port) != (cable.a, cable.a_port):
            yield "cable without its ports", _ends(cable)
        elif far.speed_gbps != cable.speed_gbps:
            yield "cable of another speed than its ports", _ends(cable)


def _ends(cable: Cable) -> str:
    return f"{cable.a}:{cable.a_port} to {cable.b}:{cable.b_port}"


def _place_faults(design: Design) -> Iterator[tuple[str, str]]:
    used: dict[str, int] = defaultdict(int)
    for device in design.devices:
        rack = design.racks.get(device.rack)
        if rack is None or device.u < 1 or device.u + device.height_u - 1 > rack.height_u:
            yield "device outside the racks", f"{device.name} in {device.rack} U{device.u}"
            continue
        units = ((1 << device.height_u) - 1) << device.u
        if used[rack.name] & units:
            yield "rack unit filled twice", f"{device.name} in {device.rack} U{device.u}"
        used[rack.name] |= units


def _count_faults(design: Design) -> Iterator[tuple[str, str]]:
    tiers: Counter[tuple[str, str]] = Counter((switch.network, switch.role) for switch in design.plan.switches)
    kinds: Counter[tuple[str, str]] = Counter((cable.network, cable.kind) for cable in design.plan.cables)
    for network in design.plan.networks:
        for role, count in (("leaf", network.leafs), ("spine", network.spines), ("core", network.cores)):
            if tiers[network.name, role] != count:
                yield "switches that are not counted", f"{network.name} {role}: {tiers[network.name, role]}, counted {count}"
        for kind, count in network.cables.items():
            if kinds[network.name, kind] != count:
                yield "cables that are not counted", f"{network.name} {kind}: {kinds[network.name, kind]}, counted {count}"
