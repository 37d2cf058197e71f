"""Read a device: what is asked of which system, and how its answers become one record."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar, cast

from cluster_model.transport.session import Answer, Session
from cluster_model.verify.observed import MANAGEMENT, ObservedDevice, ObservedPfc, ObservedPort
from cluster_model.verify.read import eos as parse_eos
from cluster_model.verify.read import linux as parse_linux
from cluster_model.verify.read import sonic as parse_sonic

Found = TypeVar("Found")

_ROOT = '$([ "$(id -u)" = 0 ] || echo sudo -n)'
"""What must stand before a command that needs root; never asks for a password."""
_FEC = (
    "for p in /sys/class/net/*; do [ -e $p/device ] && " + _ROOT + " ethtool --show-fec ${p##*/} 2>/dev/null; done; true"
)  # a port without FEC refuses the question


_SLASHED = re.compile(r"(?<=\d)_(?=\d)")


@dataclass(frozen=True, slots=True)
class Wish:
    """What to read beyond ports and neighbours: `fabric` for sessions and PFC, `prefixes` whose ways are counted."""

    fabric: bool = False
    prefixes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Notes:
    """Answers of one device, and what could not be had."""

    session: Session
    gaps: list[str] = field(default_factory=list)

    def ask(self, commands: Sequence[str]) -> list[Answer]:
        return self.session.ask(commands)

    def parse(self, name: str, read: Callable[..., Found], default: Any, *answers: Answer, args: tuple[Any, ...] = ()) -> Found:
        """Return what a parser makes of answers; a gap where a command failed or printed something else."""
        failed = next((answer for answer in answers if not answer.ok), None)
        if failed is not None:
            lines = [line for line in failed.text.splitlines() if line.strip()]
            self.gaps.append(f"{name}: {lines[-1].strip()[:120] if lines else 'failed'}")
            return cast("Found", default)
        if any(answer.altered for answer in answers):
            self.gaps.append(f"{name}: what it printed held control characters or a reference, which were taken out")
        try:
            return read(*(answer.text for answer in answers), *args)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            self.gaps.append(f"{name}: not understood ({str(error)[:120] or type(error).__name__})")
            return cast("Found", default)


HOST = "host"
"""The reader of servers: Linux, and not asked for sessions or routes."""


def read_device(name: str, reader: str, session: Session, wish: Wish) -> ObservedDevice:
    """Return what a device tells of itself.

    Args:
        name: its name in the plan.
        reader: one of READERS, as the platform of a switch names it; `HOST` for a server.
        session: an open session.
        wish: what to read beyond ports.

    Returns:
        The device; what it would not tell stands in its gaps (VER021).
    """
    notes = _Notes(session)
    device = READERS[reader].read(name, notes, wish)
    renamed = MANAGEMENT if reader != HOST else {}
    ports = {
        renamed.get(port.name, port.name): replace(port, name=renamed.get(port.name, port.name)) for port in device.ports.values()
    }
    return replace(device, ports=ports, gaps=tuple(notes.gaps))


def rename_stand_in(device: ObservedDevice, system: str) -> ObservedDevice:
    """Return a device that stands in for one of another system, ports named as there.

    A Linux interface has no slash in its name: `Ethernet1_1` is Arista's Ethernet1/1, and goes by both names.
    """
    names = {name: _SLASHED.sub("/", name) for name in device.ports}
    ports = {
        names[port.name]: replace(port, name=names[port.name], alias=port.alias or port.name) for port in device.ports.values()
    }
    sessions = device.sessions and tuple(replace(one, peer=names.get(one.peer, one.peer)) for one in device.sessions)
    return replace(device, stand_in=system, ports=ports, sessions=sessions)


def _read_linux(name: str, notes: _Notes, wish: Wish, system: str = "linux") -> ObservedDevice:
    inside = f"{_ROOT} docker exec lldp lldpcli" if system == "sonic" else f"{_ROOT} lldpcli"
    hostname, links, lldp, speeds, fec, fdb, neigh = notes.ask(
        [
            "hostname",
            "ip -d -j link show",
            f"{inside} -f json0 show neighbors",
            "grep -H . /sys/class/net/*/speed 2>/dev/null; true",
            _FEC,
            "bridge -j fdb show",
            "ip -j neigh show",
        ]
    )
    ports: dict[str, ObservedPort] = notes.parse("ports (ip link)", parse_linux.parse_links, {}, links)
    pairs = notes.parse("ports (ip link)", parse_linux.list_virtual_pairs, set(), links) if links.ok and ports else set()
    gbps = notes.parse("speeds", parse_linux.parse_speeds, {}, speeds)
    behind = notes.parse("forwarding table", parse_linux.parse_forwarding, {}, fdb, neigh)
    if system == "sonic":
        status, macs = notes.ask(["show interfaces status", "show mac"])
        ports = notes.parse("show interfaces status", parse_sonic.parse_status, ports, status, args=(ports,))
        learned = notes.parse("show mac", parse_sonic.parse_macs, {}, macs)
        behind = {port: (*behind.get(port, ()), *learned.get(port, ())) for port in {*behind, *learned}}
    else:
        fecs = notes.parse("FEC", parse_linux.parse_fec, {}, fec)
        ports = parse_linux.merge(
            ports,
            speed_gbps={
                port: speed for port, speed in gbps.items() if port not in pairs and port in ports and ports[port].carrier
            },
            fec={port: value for port, value in fecs.items() if port in ports and ports[port].carrier},
        )
    heard = notes.parse("LLDP neighbours (lldpcli)", parse_linux.parse_lldp, {}, lldp)
    ports = parse_linux.merge(ports, neighbours=heard, learned=behind)
    device = ObservedDevice(name, hostname=hostname.text.strip().partition(".")[0] if hostname.ok else "", ports=ports)
    if system == HOST or not wish.fabric:
        return device
    bgp, *routes = notes.ask(
        [
            f"{_ROOT} vtysh -c 'show bgp vrf all summary json'",
            *(f"{_ROOT} vtysh -c 'show ip route {prefix} json'" for prefix in wish.prefixes),
        ]
    )
    asn, sessions = notes.parse("BGP summary (vtysh)", parse_linux.parse_bgp, (0, None), bgp)
    widths = _count_ways(notes, wish.prefixes, routes, parse_linux.parse_route_width)
    pfc: dict[str, ObservedPfc] = {}
    if system == "sonic":
        tables = notes.ask(["show pfc priority", "show pfc counters", "show pfcwd config", "show pfcwd stats"])
        pfc = notes.parse("PFC", parse_sonic.parse_pfc, {}, *tables)
    return replace(device, asn=asn, sessions=sessions, widths=widths, pfc=pfc)


def _read_eos(name: str, notes: _Notes, wish: Wish) -> ObservedDevice:
    hostname, interfaces, phy, lldp, macs, arp = notes.ask(
        [
            "show hostname | json",
            "show interfaces | json",
            "show interfaces phy detail | json",
            "show lldp neighbors detail | json",
            "show mac address-table | json",
            "show ip arp vrf all | json",
        ]
    )
    own = notes.parse("hostname", lambda text: str(parse_linux.parse_json(text).get("hostname", "")), "", hostname)
    fecs = notes.parse("FEC", parse_eos.parse_fec, {}, phy)
    ports = notes.parse("show interfaces", parse_eos.parse_interfaces, {}, interfaces)
    ports = parse_linux.merge(
        ports,
        neighbours=notes.parse("show lldp neighbors", parse_eos.parse_lldp, {}, lldp),
        learned=notes.parse("forwarding table", parse_eos.parse_forwarding, {}, macs, arp),
        fec={port: fec for port, fec in fecs.items() if port in ports and ports[port].carrier},
    )
    device = ObservedDevice(name, hostname=own, ports=ports)
    if not wish.fabric:
        return device
    bgp, watchdog, profiles, interfaces, global_lines, *routes = notes.ask(
        [
            "show bgp summary vrf all | json",
            "show priority-flow-control counters watchdog | json",
            "show running-config section qos profile",
            "show running-config section interface Ethernet",
            "show running-config section priority-flow-control",
            *(f"show ip route {prefix} | json" for prefix in wish.prefixes),
        ]
    )
    asn, sessions = notes.parse("show bgp summary", parse_eos.parse_bgp, (0, None), bgp)
    storms = notes.parse("PFC watchdog", parse_eos.parse_watchdog, {}, watchdog)
    pfc: dict[str, ObservedPfc] = notes.parse("PFC (running-config)", parse_eos.parse_pfc, {}, profiles, interfaces, global_lines)
    pfc |= {port: replace(pfc.get(port, seen), storms=seen.storms) for port, seen in storms.items()}
    widths = _count_ways(notes, wish.prefixes, routes, parse_eos.parse_route_width)
    return replace(device, asn=asn, sessions=sessions, widths=widths, pfc=pfc)


def _count_ways(notes: _Notes, prefixes: Iterable[str], answers: Iterable[Answer], read: Callable[[str], int]) -> dict[str, int]:
    """Return the ways to each prefix; -1, which is left out, where an answer was not understood."""
    widths = {prefix: notes.parse(f"route {prefix}", read, -1, answer) for prefix, answer in zip(prefixes, answers, strict=True)}
    return {prefix: width for prefix, width in widths.items() if width >= 0}


@dataclass(frozen=True, slots=True)
class Way:
    """How a kind of system is read, and whether its login is a shell, whose exit codes count, rather than a network CLI."""

    read: Callable[[str, _Notes, Wish], ObservedDevice]
    is_shell: bool = True


READERS: dict[str, Way] = {
    "linux": Way(_read_linux),
    "sonic": Way(partial(_read_linux, system="sonic")),
    "eos": Way(_read_eos, is_shell=False),
    HOST: Way(partial(_read_linux, system=HOST)),
}
"""Every way to read a device, by the name that `reader` of a platform has."""
