"""Cables that were plugged in elsewhere than planned."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from cluster_model.intent.base import Model, Reason

END = r"^[a-z][a-z0-9-]*:[A-Za-z0-9][A-Za-z0-9_.:/-]{0,30}$"
End = Annotated[str, Field(pattern=END, max_length=95)]


class CableException(Model):
    """One cable that ends at another switch port than planned."""

    cable: End
    """The cable by its label, which names the end nearer the hosts: `gpu-003:enp24s0np0`, `gpu-003:bmc`, a leaf's uplink."""
    to: End
    """Switch port where it ends, as `device:port`; a port that another cable has must be left by an exception of that cable."""
    reason: Reason
    """Why it does not end where the plan would put it; `gpuyard show` tells it with the cable and its devices."""


class Cables(Model):
    """What was cabled differently."""

    exceptions: list[CableException] = []
    """Cables that end at another switch port than planned, each with a reason; the switch's role and network stay. A swap is
    two of them."""
