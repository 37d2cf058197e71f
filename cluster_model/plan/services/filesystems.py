"""Plan file systems of Ceph: the pool that each has for its metadata, and the hosts that serve it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log2
from typing import NamedTuple

from cluster_model.intent.services.ceph import Ceph, CephFilesystem
from cluster_model.plan.model import Server
from cluster_model.plan.model.ceph import CephFiles, DaemonHost, PlacedPool

CLIENTS = "files-"
"""What names of users begin with that may mount all of a file system, whose own name follows."""
LEAST_PGS = 32
"""Source: Ceph, src/pybind/mgr/pg_autoscaler/module.py, PG_NUM_MIN."""
SHARE = 0.005
"""Part of all OSDs' placement groups that a pool of metadata is dealt, before the next. Our own choice."""
BIAS = 4
"""How many times as many groups a pool of metadata is dealt as its bytes say. Source: Ceph, mon/FSCommands.cc, which sets
pg_autoscale_bias, and for what is in which bucket its option rgw_rados_pool_autoscale_bias."""


class Place(NamedTuple):
    """Where pools of metadata lie: a class of drives, and the placement groups that all pools there should have, with copies."""

    device_class: str
    groups: int


def plan_files(ceph: Ceph, hosts: Sequence[DaemonHost], place: Place, servers: Sequence[Server]) -> Iterator[CephFiles]:
    """Yield the file systems, each with its metadata servers on the hosts after those of the one before.

    Args:
        ceph: what the intent says.
        hosts: servers that metadata servers may be on, in order.
        place: where their metadata lies.
        servers: all servers that are built.
    """
    after = 0
    for name, each in ceph.filesystems.items():
        count = min(each.active + 1, len(hosts))
        placed = tuple(hosts[(after + place) % len(hosts)] for place in range(count))
        after += count
        yield CephFiles(
            name,
            _plan_metadata(name, each, place),
            tuple(each.pools),
            each.active,
            placed,
            each.cache_gib or 0.0,
            tuple(server.name for server in servers if server.group in each.clients),
            each.mount or f"/mnt/{name}",
            each.driver,
        )


def _plan_metadata(name: str, files: CephFilesystem, place: Place) -> PlacedPool:
    size = files.metadata_replicas
    return PlacedPool(name_metadata(name), size, 0, 0, 0.0, deal_metadata(place.groups, size), "cephfs", place.device_class)


def deal_metadata(groups: int, size: int) -> int:
    """Return the placement groups of a pool of metadata.

    Args:
        groups: those that all pools together should have, copies counted.
        size: its copies.
    """
    return round_pgs(groups * SHARE * BIAS / size)


def name_metadata(name: str) -> str:
    """Return the name of a file system's pool of metadata, as `ceph fs volume create` has it."""
    return f"cephfs.{name}.meta"


def round_pgs(wanted: float) -> int:
    """Return the power of two that is nearest, as Ceph's pg_autoscaler does, and no less than its least."""
    lower: int = 2 ** int(log2(max(wanted, LEAST_PGS)))
    return lower if wanted - lower < 2 * lower - wanted else 2 * lower
