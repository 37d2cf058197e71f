"""Server groups."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from cluster_model.intent.base import (
    MOST_PHASES,
    MOST_SERVERS,
    Hardware,
    Id,
    Model,
    Name,
    PortName,
    RackName,
    Reason,
    split_phases,
)

Role = Literal["gpu", "storage", "control", "login", "gateway", "fabric-manager"]
NetworkName = Literal["compute", "storage", "business", "oob"]


class Placement(Model):
    """One server put by hand."""

    number: Annotated[int, Field(ge=1, le=99_999)]
    """The server's number in its group."""
    rack: RackName
    """Rack it stands in."""
    u: Annotated[int, Field(ge=1, le=60)]
    """Lowest rack unit it fills, counted from the floor."""
    reason: Reason
    """Why it does not stand where the rule would put it; `gpuyard show` tells it with the server."""


class ServerGroup(Model):
    """Servers of one model and one purpose."""

    id: Id
    """Number of the group; addresses and ports follow from it. Never reuse one."""
    model: Hardware
    """Hardware from the catalogue, e.g. `nvidia/dgx-h100`."""
    role: Role | None = None
    """Purpose; default: the group's own name where that is a role."""
    count: Annotated[int, Field(ge=1, le=MOST_SERVERS)]
    """Servers built now."""
    planned: (
        Annotated[int, Field(ge=1, le=MOST_SERVERS)]
        | Annotated[list[Annotated[int, Field(ge=0, le=MOST_SERVERS)]], Field(min_length=1, max_length=MOST_PHASES)]
        | None
    ) = None
    """Servers in the end; default: `count`. Space, ports and addresses are kept for all: growing up to here moves nothing. What
    is planned later is a further number: `[32, 16]` plans 16 more in phase 2, and `[0, 16]` is a group that came in phase 2."""
    unit: Annotated[int, Field(ge=1, le=4096)] | None = None
    """Servers per scalable unit of the compute network: one set of leafs serves them; default: `planned`."""
    racks: Name
    """Rack group they stand in."""
    per_rack: Annotated[int, Field(ge=1, le=60)] | None = None
    """Servers per rack, racks filled one after the other; default: dealt over all racks of the group in turn."""
    place: list[Placement] = []
    """Servers that stand elsewhere, by hand, each with a reason; add new ones at the end. Place and ports that one leaves
    stay empty, so that nobody else moves; choose a free place, or whoever stands there moves on."""
    nics: dict[NetworkName, list[PortName]] = {}
    """Port names of the model by network, as `compute: [PORT, PORT]`; default: as the catalogue says. An empty list leaves the
    network out."""
    manages: Literal["compute", "storage"] | None = None
    """For fabric managers: the InfiniBand network they run."""

    @property
    def final_count(self) -> int:
        """Return the servers in the end."""
        return sum(self.phases)

    @property
    def phases(self) -> tuple[int, ...]:
        """Return the servers that each phase plans."""
        return split_phases(self.planned or self.count)

    @property
    def joined(self) -> int:
        """Return the phase, from 1, that the group came in."""
        return next((number for number, planned in enumerate(self.phases, 1) if planned), 1)
