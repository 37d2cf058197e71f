"""The site and its racks."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from cluster_model.intent.base import (
    MOST_PHASES,
    MOST_RACKS,
    Address,
    Hardware,
    Id,
    Model,
    Name,
    Number,
    RackName,
    Reason,
    RowName,
    TimeZone,
    split_phases,
)

DOMAIN = r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$"


class Site(Model):
    """Where the cluster stands, and the services that every device is told of."""

    domain: Annotated[str, Field(pattern=DOMAIN, max_length=190)]
    """DNS domain of every name in the cluster, e.g. `pod-a.example.net`."""
    timezone: TimeZone = "UTC"
    """IANA time zone of switches and hosts."""
    dns: list[Address] = []
    """Resolvers, reachable from the out-of-band network."""
    ntp: list[Address] = []
    """Time servers, reachable from the out-of-band network."""
    syslog: list[Address] = []
    """Log collectors; every switch sends to all of them."""
    snmp_managers: list[Address] = []
    """Hosts allowed to poll SNMP; empty leaves SNMP off. The community is the secret `snmp-community`."""


class Row(Model):
    """A row of racks; racks are numbered from 1 at the row's first position."""

    id: Id
    """Physical number of the row: rows stand side by side in this order. Never reuse one."""
    racks: (
        Annotated[int, Field(ge=1, le=MOST_RACKS)]
        | Annotated[list[Annotated[int, Field(ge=0, le=MOST_RACKS)]], Field(min_length=1, max_length=MOST_PHASES)]
    )
    """Rack positions in the row, empty ones included. Racks that come later are a further number, so that nothing that stands
    moves: `[8, 4]` had eight at first, and four more in phase 2; `[0, 8]` is a row that came in phase 2."""

    @property
    def phases(self) -> tuple[int, ...]:
        """Return the racks that each phase brings."""
        return split_phases(self.racks)

    @property
    def final_racks(self) -> int:
        """Return the racks in the end."""
        return sum(self.phases)


class Geometry(Model):
    """Distances on the floor, from which cable lengths follow."""

    rack_pitch_m: Annotated[float, Field(ge=0.5, le=3)] = 0.6
    """Distance between the middles of neighbouring racks in a row. A 19-inch rack is wider than 0.48 m (EIA/ECA-310-E)."""
    row_pitch_m: Annotated[float, Field(ge=1, le=20)] = 3.0
    """Distance between the middles of neighbouring rows, aisle included."""
    tray_height_m: Annotated[float, Field(ge=0, le=5)] = 0.5
    """Height of the cable tray above the rack."""
    slack_m: Annotated[float, Field(ge=0, le=20)] = 1.0
    """Added to every cable for dressing, both ends together."""


class RackGroup(Model):
    """Racks of one kind: what they hold, and what power they have."""

    id: Id
    """Number of the group; never reuse one."""
    rows: Annotated[list[RowName], Field(min_length=1)]
    """Rows that belong to the group, whole."""
    height_u: Annotated[int, Field(ge=10, le=60)] = 48
    """Usable height in rack units."""
    power_kw: Annotated[float, Field(gt=0, le=500)]
    """What one rack may draw and be cooled for, in kW."""
    feed_kw: Annotated[float, Field(gt=0, le=500)]
    """What ONE power feed of the rack can carry after derating, in kW."""
    feeds: Annotated[Literal[1, 2, 3], Number] = 2
    """Power feeds per rack; a server's PSUs are dealt over them in turn."""
    pdu: Hardware | None = None
    """PDU model from the catalogue, one per feed; without it PDUs are not planned."""


class RackException(Model):
    """One rack that differs from its group."""

    reason: Reason
    """Why; printed wherever the exception shows."""
    power_kw: Annotated[float, Field(gt=0, le=500)] | None = None
    """This rack's own limit."""
    feed_kw: Annotated[float, Field(gt=0, le=500)] | None = None
    """This rack's own feed capacity."""
    height_u: Annotated[int, Field(ge=10, le=60)] | None = None
    """This rack's own usable height."""
    blocked: bool = False
    """Nothing may be placed here (a pillar, a foreign owner)."""


class Racks(Model):
    """The floor."""

    rows: Annotated[dict[RowName, Row], Field(min_length=1)]
    """Rows by letter."""
    groups: Annotated[dict[Name, RackGroup], Field(min_length=1)]
    """Rack groups by name; servers and networks refer to them."""
    exceptions: dict[RackName, RackException] = {}
    """Racks that differ from their group, each with a reason."""
    geometry: Geometry = Geometry()
    """Distances for cable lengths."""
