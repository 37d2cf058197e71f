"""The one grammar of device names.

    rack      A01                      row, position
    server    gpu-007                  group, number
    leaf      compute-leaf-u02-03      network, role, unit, index (with planes: compute-leaf-p1-u02-03)
    spine     compute-spine-04         network, role, index (three tiers: compute-spine-g02-04, g is the pod)
    core      compute-core-g03-01      network, role, core group, index
    border    business-border-01       network, role, index
    oob leaf  oob-leaf-a01             its (first) rack
    PDU       pdu-a01-2                rack, feed

Numbers start at 1. Padding grows with the number, so growth renames nothing. ``parse_name(format_name(x)) == x``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["server", "switch", "pdu"]
SWITCH_ROLES = ("leaf", "border", "spine", "core")
NETWORKS = ("compute", "storage", "business", "oob")


@dataclass(frozen=True, slots=True)
class DeviceName:
    """A name taken apart. Fields that a kind lacks are empty or 0."""

    kind: Kind
    network: str = ""
    role: str = ""
    plane: int = 0  # 0: the network has one plane, and the name leaves it out
    block: int = 0  # unit of a leaf, pod of a spine, group of a core; 0 is left out
    rack: str = ""
    group: str = ""
    number: int = 0  # server number, switch index, or feed


_SWITCH = re.compile(
    rf"^(?P<network>{'|'.join(NETWORKS)})-(?P<role>{'|'.join(SWITCH_ROLES)})"
    r"(?:-p(?P<plane>[1-9]\d*))?(?:-(?:u|g)(?P<block>\d{2,}))?-(?:(?P<number>\d{2,})|(?P<rack>[a-z]{1,2}\d{2,}))$"
)
_PDU = re.compile(r"^pdu-(?P<rack>[a-z]{1,2}\d{2,})-(?P<number>\d)$")
_SERVER = re.compile(r"^(?P<group>[a-z][a-z0-9-]*)-(?P<number>\d{3,})$")


def format_rack(row: str, position: int) -> str:
    """Return a rack's name: row letter and two-digit position."""
    return f"{row}{position:02d}"


def format_server(group: str, number: int) -> str:
    """Return a server's name."""
    return f"{group}-{number:03d}"


def format_name(name: DeviceName) -> str:
    """Return a device's name."""
    if name.kind == "server":
        return format_server(name.group, name.number)
    if name.kind == "pdu":
        return f"pdu-{name.rack.lower()}-{name.number}"
    plane = f"-p{name.plane}" if name.plane else ""
    block = f"-{'u' if name.role == 'leaf' else 'g'}{name.block:02d}" if name.block else ""
    last = name.rack.lower() if name.rack else f"{name.number:02d}"
    return f"{name.network}-{name.role}{plane}{block}-{last}"


def parse_name(text: str) -> DeviceName | None:
    """Return the parts of a device name, or None where it is not one."""
    if match := _PDU.match(text):
        return DeviceName("pdu", rack=match["rack"].upper(), number=int(match["number"]))
    if match := _SWITCH.match(text):
        return DeviceName(
            "switch",
            network=match["network"],
            role=match["role"],
            plane=int(match["plane"] or 0),
            block=int(match["block"] or 0),
            rack=(match["rack"] or "").upper(),
            number=int(match["number"] or 0),
        )
    if match := _SERVER.match(text):
        return DeviceName("server", group=match["group"], number=int(match["number"]))
    return None


def natural_key(text: str) -> tuple[tuple[int, int | str], ...]:
    """Return a sort key in which ``gpu-1000`` follows ``gpu-999``."""
    return tuple((0, int(part)) if part.isdigit() else (1, part) for part in re.split(r"(\d+)", text) if part)
