"""Cables, and what has to be bought."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

CableKind = Literal["host_leaf", "fabric_manager", "peer_link", "leaf_spine", "spine_core", "upstream"]


@dataclass(frozen=True, slots=True)
class Cable:
    """A cable; `a` is the end nearer the hosts. `medium` is a cable type or an optical standard of the catalogue.

    `a_optic` and `b_optic` name the transceivers (empty for attached cables); a transceiver fills a cage, so it may serve
    several cables. `assembly` is the first end of the assembly that the cable is part of: a splitter or a twin cable has one
    assembly and several cables. `fec` is what its medium needs at both ends (`none`, `fc`, `rs-528`, `rs-544`); empty: nothing is
    planned.
    """

    network: str
    kind: CableKind
    a: str
    a_port: str
    b: str
    b_port: str
    speed_gbps: int
    length_m: float
    medium: str
    a_optic: str
    b_optic: str
    assembly: str
    fec: str = ""

    @property
    def label(self) -> str:
        """Return what is printed on the cable: it names its near end, so it never changes while the cable stands."""
        return f"{self.a}:{self.a_port}"


@dataclass(frozen=True, slots=True)
class BomLine:
    """A line of the bill of materials."""

    kind: str  # server | switch | pdu | transceiver | cable | fibre
    item: str
    length_m: float
    count: int
