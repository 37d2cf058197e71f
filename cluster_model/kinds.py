"""Kinds of networks: what a network is for, and what follows from that whatever its name is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

KindName = Literal["compute", "storage", "business", "oob"]
BMC_SPEED_GBPS = 1
"""What BMCs, PDUs and management ports of switches speak, and an out-of-band leaf must."""


@dataclass(frozen=True, slots=True)
class NetworkKind:
    """What every network of a kind has in common.

    Args:
        name: as an intent and the ports of the catalogue say it.
        slice: number of its slice of AS numbers, from 0.
        usual_spines: spines of a fabric of as many leafs or more, where the uplinks divide by them and no more are needed. The
            loss of one of two halves what GPUs send each other; the smallest published compute fabric has four (DGX SuperPOD
            reference architecture H100, table 4).
        scalable_units: whether servers come in scalable units: a group's own leafs, and one route per rail on each host.
        bridged: whether hosts hang on bridged ports in tenants' subnets, with bonds, and have no address of its pool.
        services: service addresses that a host may have beside those of its ports, in the order of their slices.
        mtu_bytes: usual MTU of switch ports; None: the lossless profile's.
        host_mtu_bytes: usual MTU of host interfaces; None: the lossless profile's.
    """

    name: KindName
    slice: int
    usual_spines: int = 2
    scalable_units: bool = False
    bridged: bool = False
    services: tuple[str, ...] = ()
    mtu_bytes: int | None = None
    host_mtu_bytes: int | None = None


COMPUTE = NetworkKind("compute", 0, usual_spines=4, scalable_units=True)
STORAGE = NetworkKind("storage", 1, services=("storage", "ceph-cluster"))
# Routers beyond the border take no more than 1500 bytes, so tenants' interfaces have that where nobody says otherwise.
BUSINESS = NetworkKind("business", 2, bridged=True, host_mtu_bytes=1500)
OOB = NetworkKind("oob", 3, mtu_bytes=1500, host_mtu_bytes=1500)

KINDS: dict[str, NetworkKind] = {kind.name: kind for kind in (COMPUTE, STORAGE, BUSINESS, OOB)}
"""Every kind by its name, in the order in which networks are planned."""
