"""Transceivers and cables as the catalogue knows them: catalogue/media.yaml."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from cluster_model.catalogue.ground import FormFactor, Sourced, Strict, Technology

Fec = Literal["none", "fc", "rs-528", "rs-544"]
"""Forward error correction: BASE-R (Fire code, IEEE 802.3 clause 74), or Reed-Solomon with codewords of 528 symbols (clause 91,
NRZ lanes) or 544 (PAM4 lanes)."""


class Transceiver(Sourced):
    """An optical module: fills one cage, offers `modes`, and meets the same `standard` at the far end."""

    form_factor: FormFactor
    modes: Annotated[list[Annotated[str, Field(pattern=r"^[0-9]+x[0-9]+$")]], Field(min_length=1)]
    """Cage modes it can run."""
    standard: str
    """Optical standard of one port, e.g. `400g-dr4`; both ends must have the same."""
    fibre: Literal["mmf", "smf"]
    reach_m: float
    power_w: float
    """Highest draw of the whole module, W."""
    technology: Annotated[list[Technology], Field(min_length=1)]


class CableEnd(Strict):
    """One end of an attached cable."""

    form_factor: FormFactor
    mode: Annotated[str, Field(pattern=r"^[0-9]+x[0-9]+$")]
    """Mode of the cage it fills."""


class CableType(Sourced):
    """A cable with its ends attached: DAC, AOC or twisted pair. Several `b` ends make it a splitter of as many cables."""

    kind: Literal["dac", "aoc", "rj45"]
    a: CableEnd
    b: CableEnd
    reach_m: float
    power_w: float = 0.0
    """Draw of one end, W."""
    technology: Annotated[list[Technology], Field(min_length=1)]


class MediumFec(Sourced):
    """Forward error correction that links over some media need; both ends must run the same."""

    media: Annotated[list[str], Field(min_length=1)]
    """Standards of transceivers, and names of cables."""
    fec: Fec


class Media(Strict):
    """All that joins two cages."""

    lengths_m: list[float]
    """Lengths that fibre and copper are ordered in, ascending."""
    lengths_source: str = ""
    """Where the lengths come from."""
    transceivers: dict[str, Transceiver]
    cables: dict[str, CableType]
    fec: list[MediumFec] = Field(default_factory=list)
    """Of rows that name the same medium, the last one holds."""

    def fec_of(self, medium: str) -> str:
        """Return what a medium needs; empty where the catalogue does not say."""
        return next((row.fec for row in reversed(self.fec) if medium in row.media), "")
