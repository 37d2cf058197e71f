"""What gear says of itself: one record for all systems, which can be kept in a file and compared later.

Speeds are Gb/s, MTU bytes; 0, "" and None mean that the device did not say. A switch's management port is called `mgmt`, as in
the plan; every other port as its system calls it. MAC addresses are lower case with colons.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from typing import Any

FORMAT = "gpuyard-observed-1"
ESTABLISHED = "Established"
"""The state of a BGP session that is up (RFC 4271, section 8.2.2)."""
_HEX = re.compile(r"[^0-9a-f]")
MAC_DIGITS = 12
MANAGEMENT = {"eth0": "mgmt", "Management1": "mgmt"}
"""What switches call their management port, in LLDP too, and what the plan calls it."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """What a port hears by LLDP. `port` is the far port's id where that is a name; `mac` where it is a MAC address."""

    system: str = ""
    port: str = ""
    description: str = ""
    mac: str = ""
    chassis: str = ""


@dataclass(frozen=True, slots=True)
class ObservedPort:
    """A port. `learned` are MAC addresses behind it by the forwarding and neighbour tables; `alias` its other name."""

    name: str
    carrier: bool | None = None
    enabled: bool | None = None
    speed_gbps: float = 0
    mtu_bytes: int = 0
    fec: str = ""
    mac: str = ""
    alias: str = ""
    neighbours: tuple[Neighbour, ...] = ()
    learned: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ObservedSession:
    """A BGP session: `peer` is the neighbour's address, or the port where it is unnumbered; `evpn` None where not asked."""

    peer: str
    state: str
    asn: int = 0
    vrf: str = "default"
    evpn: bool | None = None


@dataclass(frozen=True, slots=True)
class ObservedPfc:
    """Priority flow control of a port: lossless priorities, frames by priority, the watchdog and the storms it saw."""

    port: str
    priorities: tuple[int, ...] | None = None
    received: tuple[int, ...] = ()
    sent: tuple[int, ...] = ()
    watchdog: bool | None = None
    storms: int = 0


@dataclass(frozen=True, slots=True)
class ObservedDevice:
    """A device. `reason` says why it was not reached; `gaps` what it would not tell, in words.

    `widths` is the number of ways to a prefix, for those that were asked for; `asn` its own. `stand_in` is the system that it was
    read as where that is not the planned one.
    """

    name: str
    reached: bool = True
    reason: str = ""
    hostname: str = ""
    stand_in: str = ""
    asn: int = 0
    ports: dict[str, ObservedPort] = field(default_factory=dict)
    sessions: tuple[ObservedSession, ...] | None = None
    pfc: dict[str, ObservedPfc] = field(default_factory=dict)
    widths: dict[str, int] = field(default_factory=dict)
    gaps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Observed:
    """Everything that was read, by device name. A device that is not in it was not asked."""

    devices: dict[str, ObservedDevice] = field(default_factory=dict)

    def reached(self, name: str) -> bool:
        """Return whether a device was asked and answered."""
        device = self.devices.get(name)
        return device is not None and device.reached

    def port(self, device: str, port: str) -> ObservedPort | None:
        """Return a port, or None where its device did not answer or has none of that name."""
        found = self.devices.get(device)
        return found.ports.get(port) if found is not None and found.reached else None


def normalize_mac(text: str) -> str:
    """Return a MAC address as 02:00:5e:00:00:01, whatever separators it came with; empty where it is none."""
    digits = _HEX.sub("", text.lower())
    return ":".join(digits[i : i + 2] for i in range(0, MAC_DIGITS, 2)) if len(digits) == MAC_DIGITS else ""


def dump_observed(observed: Observed) -> bytes:
    """Return an observation as JSON, one line per device."""
    import orjson

    lines = b",\n".join(orjson.dumps(_trim(device)) for device in observed.devices.values())
    return b'{"format":' + orjson.dumps(FORMAT) + b',"devices":[\n' + lines + b"\n]}\n"


def _trim(value: Any) -> Any:
    """Return a record as plain data, without the fields that say nothing."""
    if is_dataclass(value):
        return {part.name: _trim(held) for part in fields(value) if (held := getattr(value, part.name)) != _default(part)}
    if isinstance(value, dict):
        return {key: _trim(held) for key, held in value.items()}
    return [_trim(held) for held in value] if isinstance(value, tuple) else value


def _default(part: Field[Any]) -> Any:
    """Return what a field holds when nothing is said; a field that must be given equals nothing."""
    if part.default_factory is not MISSING:
        return part.default_factory()
    return part.default


def load_observed(text: bytes) -> Observed:
    """Return the observation that `dump_observed` wrote; ValueError, in one line, where it is something else."""
    import orjson
    from pydantic import TypeAdapter, ValidationError

    from cluster_model.transport.gear_text import clean_data

    try:
        raw = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error}") from None
    if not isinstance(raw, dict) or raw.get("format") != FORMAT:
        raise ValueError(f"not an observation: format is not {FORMAT}")
    try:
        return collect(TypeAdapter(list[ObservedDevice]).validate_python(clean_data(raw.get("devices"), 500)))
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}") from None


def collect(devices: Iterable[ObservedDevice]) -> Observed:
    """Return devices as one observation, by name."""
    return Observed({device.name: device for device in devices})
