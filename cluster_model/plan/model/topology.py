"""How near servers are to each other in the compute network: what schedulers place jobs by."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Domain:
    """A part of the compute network in which servers meet below its switches of one tier: a unit, a pod, or all of it.

    Tiers count from 1, the nearest. A server with a NIC per rail hangs on every leaf of its unit, so the unit is the nearest
    domain, and never a leaf.
    """

    name: str  # compute-u01, compute-g01, compute
    tier: int
    parent: str  # the domain around it; empty for the whole network
    network: str
