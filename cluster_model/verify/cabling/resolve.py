"""Who is at the other end: what a port hears, translated into a port of the plan."""

from __future__ import annotations

from dataclasses import dataclass, field

from cluster_model.plan.model import Cable, Plan
from cluster_model.verify.observed import MANAGEMENT, Neighbour, Observed, ObservedPort

End = tuple[str, str]
"""Device and port. A device that the plan does not know begins with `?`."""
UNKNOWN = "?"


@dataclass(slots=True)
class Directory:
    """All that identifies an end: the plan's cables, names as devices report them, and MAC addresses from facts and devices.

    A MAC address that several ends of one device share names the device alone, with an empty port; one that several devices
    share names nothing.
    """

    partners: dict[End, tuple[Cable, End]] = field(default_factory=dict)
    names: dict[str, dict[str, str]] = field(default_factory=dict)  # device, any name of a port, its name
    macs: dict[str, End | None] = field(default_factory=dict)

    def add_mac(self, mac: str, end: End) -> None:
        """Enter whose a MAC address is."""
        known = self.macs.get(mac, end) if mac else end
        if mac:
            same_device = known is not None and known[0] == end[0]
            self.macs[mac] = end if known == end else ((end[0], "") if same_device else None)


def make_directory(plan: Plan, observed: Observed) -> Directory:
    """Return the directory of a plan and of what its devices report of themselves."""
    book = Directory()
    for cable in plan.cables:
        a, b = (cable.a, cable.a_port), (cable.b, cable.b_port)
        book.partners[a], book.partners[b] = (cable, b), (cable, a)
    for name, port_name in book.partners:
        book.names.setdefault(name, {})[port_name] = port_name
    for switch in plan.switches:
        names = book.names.setdefault(switch.name, {})
        names.update({way.port: way.port for way in switch.upstreams})
        names.update({way.port: way.port for way in switch.overlay.externals} if switch.overlay else {})
        names.update(MANAGEMENT)
        if switch.management:
            book.add_mac(switch.management.mac, (switch.name, "mgmt"))
    for server in plan.servers:
        book.names.setdefault(server.name, {})
        for nic in server.ports:
            book.add_mac(nic.mac, (server.name, nic.name))
        if server.bmc:
            book.add_mac(server.bmc.mac, (server.name, "bmc"))
    for pdu in plan.pdus:
        book.names.setdefault(pdu.name, {})
        if pdu.management:
            book.add_mac(pdu.management.mac, (pdu.name, "net"))
    for device in observed.devices.values():
        if device.name not in book.names or not device.reached:
            continue
        names = book.names[device.name]
        for port in device.ports.values():
            names.setdefault(port.name, port.name)
            book.add_mac(port.mac, (device.name, port.name))
        for port in device.ports.values():
            if port.alias:
                names.setdefault(port.alias, port.name)
    return book


def resolve_port(book: Directory, near: End, port: ObservedPort) -> tuple[End, ...]:
    """Return the ends that a port hears, LLDP first; the forwarding table only where LLDP is silent, and only if it is clear."""
    heard = tuple(dict.fromkeys(resolve_neighbour(book, neighbour) for neighbour in port.neighbours))
    if heard:
        return heard
    ends = {end for mac in port.learned if (end := book.macs.get(mac)) is not None and end[0] != near[0]}
    full = {end for end in ends if end[1]}
    return tuple(full) if len(full) == 1 and len({end[0] for end in ends}) == 1 else ()


def resolve_neighbour(book: Directory, neighbour: Neighbour) -> End:
    """Return the end that a neighbour is: by its port's name, then by its description, then by its MAC address.

    A description is a port's name, or what we render there: the end that the plan leads to (`gpu-001:enp24s0np0`). A port that
    cannot be told keeps the name it gave; a device that is not in the plan begins with `?`.
    """
    by_mac = book.macs.get(neighbour.mac) if neighbour.mac else None
    device = neighbour.system.partition(".")[0].lower()
    if device not in book.names:
        chassis = book.macs.get(neighbour.chassis) if neighbour.chassis else None
        if by_mac is not None and by_mac[1]:
            return by_mac
        known = by_mac or chassis
        if known is None:
            return f"{UNKNOWN}{neighbour.system or neighbour.chassis or neighbour.mac}", neighbour.port or neighbour.mac
        device = known[0]
    names = book.names[device]
    if neighbour.port in names:
        return device, names[neighbour.port]
    if neighbour.description in names:
        return device, names[neighbour.description]
    far, colon, far_port = neighbour.description.partition(":")
    planned = book.partners.get((far, far_port)) if colon else None
    if planned is not None and planned[1][0] == device:
        return planned[1]
    if by_mac is not None and by_mac[0] == device and by_mac[1]:
        return by_mac
    return device, neighbour.port or neighbour.description or neighbour.mac
