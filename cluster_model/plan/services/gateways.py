"""Plan an object store of Ceph: the pools that its gateways keep beside what is in objects, and the hosts that have them."""

from __future__ import annotations

from collections.abc import Sequence

from cluster_model.intent.services.ceph import Ceph
from cluster_model.plan.model.ceph import DaemonHost, ObjectStore, PlacedPool
from cluster_model.plan.services.filesystems import Place, deal_metadata

ROOT = ".rgw.root"
"""Pool in which realms, zone groups and zones are kept. Source: Ceph's option rgw_realm_root_pool."""
INDEX = "buckets.index"
"""What the pool of a zone is called that says what is in which bucket."""
SMALL = ("control", "meta", "log", "buckets.non-ec")
"""What others are called: messages between gateways, users, logs, and parts of objects that come in parts. Source of all names:
Ceph, rgw_zone.cc, RGWZoneParams::init_default and fix_pool_names."""
SMALL_PGS = 8
"""Source: Ceph's option rgw_rados_pool_pg_num_min."""


def plan_store(name: str, domain: str, ceph: Ceph, hosts: Sequence[DaemonHost], place: Place) -> ObjectStore | None:
    """Return the object store; None where the intent has none.

    Args:
        name: the cluster's, which the realm is called by default.
        domain: the site's.
        ceph: what the intent says.
        hosts: servers that gateways may be on, in order.
        place: where all but what is in objects lies.
    """
    store = ceph.object
    if store is None:
        return None
    realm = store.realm or name
    zone, size = store.zone or realm, store.metadata_replicas
    groups = {ROOT: SMALL_PGS} | {f"{zone}.rgw.{what}": SMALL_PGS for what in SMALL}
    groups[f"{zone}.rgw.{INDEX}"] = deal_metadata(place.groups, size)
    own = tuple(PlacedPool(pool, size, 0, 0, 0.0, pgs, "rgw", place.device_class) for pool, pgs in groups.items())
    servers = tuple(hosts[: store.count])
    zonegroup = store.zonegroup or realm
    return ObjectStore(realm, zonegroup, zone, store.pool, own, servers, store.port, f"s3.{domain}")
