"""What all files of the catalogue have in common: strict keys, and the source of every number."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Technology = Literal["ethernet", "infiniband"]
FormFactor = Literal["rj45", "sfp28", "sfp56", "qsfp28", "qsfp56", "qsfp112", "qsfp-dd", "osfp"]


class Strict(BaseModel):
    """Frozen, unknown keys refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Sourced(Strict):
    """A group of numbers with where they come from."""

    source: Annotated[str, Field(min_length=5)]
    """Document and section, or the derivation."""
    confirmed: bool = True
    """False: not read in the maker's own text; override it in your own catalogue file if it matters."""
