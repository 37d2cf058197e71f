"""AS numbers: fixed slices above `asn_base`, by kind of network, plane, tier and position.

All spines of a pod share one, all cores of a network share one, every leaf has its own (RFC 7938, section 5.2, with one
spine ASN per pod: were it one for all pods, the path leaf, spine, core, spine would repeat it and be dropped).
"""

from __future__ import annotations

from cluster_model.kinds import KINDS, NetworkKind

NETWORK_STEP = 20_000_000
PLANE_STEP = 2_000_000
BORDER_OFFSET = 1_400_000
SPINE_OFFSET = 1_500_000
CORE_OFFSET = 1_900_000


def list_reserved(base: int) -> tuple[int, int]:
    """Return the first and the last AS number that switches of any network have, or may have as it grows."""
    return base, base + len(KINDS) * NETWORK_STEP - 1


def leaf_asn(base: int, kind: NetworkKind, plane: int, position: int) -> int:
    """Return a leaf's ASN; `plane` and `position` from 0."""
    return base + kind.slice * NETWORK_STEP + plane * PLANE_STEP + position + 1


def border_asn(base: int, kind: NetworkKind, index: int) -> int:
    """Return a border leaf's ASN; `index` from 0. It lies above all leafs', so it does not follow from their number."""
    return base + kind.slice * NETWORK_STEP + BORDER_OFFSET + index + 1


def spine_asn(base: int, kind: NetworkKind, plane: int, pod: int) -> int:
    """Return the ASN that the spines of a pod share; `plane` and `pod` from 0."""
    return base + kind.slice * NETWORK_STEP + plane * PLANE_STEP + SPINE_OFFSET + pod + 1


def core_asn(base: int, kind: NetworkKind, plane: int) -> int:
    """Return the ASN that all cores of a plane share; `plane` from 0."""
    return base + kind.slice * NETWORK_STEP + plane * PLANE_STEP + CORE_OFFSET + 1
