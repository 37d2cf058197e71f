"""Plan an object store of Ceph: the pools that its gateways keep beside what is in objects, and the hosts that have them."""

from __future__ import annotations

from collections.abc import Sequence

from cluster_model.intent.services.ceph import Ceph
from cluster_model.plan.model.ceph import DaemonHost, ObjectStore, PlacedPool
from cluster_model.plan.services.filesystems import deal_metadata

ROOT = ".rgw.root"
"""Pool in which realms, zone groups and zones are kept. Source: Ceph's option rgw_realm_root_pool."""
INDEX = "buckets.index"
"""What the pool of a zone is called that says what is in which bucket."""
SMALL = ("control", "meta", "log", "buckets.non-ec")
"""What others are called: messages between gateways, users, logs, and parts of objects that come in parts. Source of all names:
Ceph, rgw_zone.cc, RGWZoneParams::init_default and fix_pool_names."""
SMALL_PGS = 8
"""Source: Ceph's option rgw_rados_pool_pg_num_min."""


def plan_store(name: str, domain: str, ceph: Ceph, hosts: Sequence[DaemonHost], groups: int) -> ObjectStore | None:
    """Return the object store; None where the intent has none.

    Args:
        name: the cluster's, which the realm is called by default.
        domain: the site's.
        ceph: what the intent says.
        hosts: servers that gateways may be on, in order.
        groups: placement groups that all pools together should have, copies counted.
    """
    store = ceph.object
    if store is None:
        return None
    realm = store.realm or name
    zone, size = store.zone or realm, store.metadata_replicas
    index = PlacedPool(f"{zone}.rgw.{INDEX}", size, 0, 0, 0.0, deal_metadata(groups, size), "rgw")
    small = [PlacedPool(pool, size, 0, 0, 0.0, SMALL_PGS, "rgw") for pool in (ROOT, *(f"{zone}.rgw.{what}" for what in SMALL))]
    servers = tuple(hosts[: store.count])
    zonegroup = store.zonegroup or realm
    return ObjectStore(realm, zonegroup, zone, store.pool, (*small, index), servers, store.port, f"s3.{domain}")
