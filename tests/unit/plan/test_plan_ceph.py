"""Ceph's hosts, pools and losses, in numbers that a reader can check by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
import yaml
from intents import STORAGE, plan_of, read, small

from cluster_model.plan.compare.plans import compare_plans
from cluster_model.plan.growth import add_servers
from cluster_model.plan.model.ceph import CephCluster, OsdGroup, OsdHost, PlacedPool, cut_fill
from cluster_model.plan.model.overlay import Tenant, TenantFolder, TenantStorage
from cluster_model.plan.services.waterline import Terms, find_fullest, list_losses, measure_move, spread
from cluster_model.render.ceph.objects import list_mounts, name_unit
from cluster_model.render.ceph.users import list_users
from cluster_model.render.services.ceph import render_ceph

MANY = 10**12  # placement groups: chance leaves nothing uneven
DATA = PlacedPool("data", 3, 0, 0, 1.0, MANY)
TERMS = Terms(1.0, 100, True, 0.5)


def build(racks, osds=1, gbps=100, domain="rack"):
    """Return hosts of 10 TB in racks, so many in each."""
    return [
        OsdHost(name := f"{rack}-{n}", rack if domain == "rack" else name, rack, "A", osds, 10.0 / osds, gbps)
        for rack, count in racks.items()
        for n in range(count)
    ]


def lose(kind, hosts, pools=(DATA,), terms=TERMS):
    return next(loss for loss in list_losses(hosts, pools, terms) if loss.kind == kind)


def whole(count=4, **ceph):
    storage = {"id": 2, "model": "generic/2u-24nvme", "count": count, "racks": "network"}
    return plan_of(small(servers__storage=storage, networks__storage=STORAGE, ceph={"hosts": "storage", **ceph}))


def planned(count=4, **ceph):
    return whole(count, **ceph).ceph


def fill(count=4, **ceph):
    """Return the one class of drives."""
    [tier] = planned(count, **ceph).tiers
    return tier


def test_hosts_stand_where_the_plan_puts_them():
    ceph = planned(failure_domain="rack", pools={"data": {"replicas": 3}})
    assert [(host.name, host.rack, host.domain, host.row) for host in ceph.hosts][:2] == [
        ("storage-001", "N01", "N01", "N"),
        ("storage-002", "N02", "N02", "N"),
    ]
    assert {(host.osds, host.osd_tb, host.storage_gbps) for host in ceph.hosts} == {(24, 15.36, 400)}
    assert (ceph.osds, round(ceph.raw_tb, 2)) == (96, 1474.56)
    assert ceph.groups == (OsdGroup("storage", "ssd", 24, 15.36, 1),)
    assert [(tier.device_class, tier.osds, tier.domains) for tier in ceph.tiers] == [("ssd", 96, 4)]
    assert {host.domain for host in planned(failure_domain="row").hosts} == {"N"}
    assert {host.domain for host in planned().hosts} == {f"storage-{n:03d}" for n in (1, 2, 3, 4)}


def test_without_ceph_there_are_no_hosts():
    assert plan_of(small()).ceph == CephCluster()
    assert fill().losses == ()
    assert (fill().waterline, fill().stored_tb(0.5), fill().full_at) == (0, 0, 0)


def test_pools_share_what_the_others_leave():
    pools = {"a": {"replicas": 3, "share": 0.5}, "b": {"erasure": "4+2"}, "c": {"replicas": 2}}
    shared = planned(pools=pools).pools
    assert [(pool.name, pool.share, pool.overhead, pool.code) for pool in shared] == [
        ("a", 0.5, 3.0, "3"),
        ("b", 0.25, 1.5, "4+2"),
        ("c", 0.25, 2.0, "2"),
    ]
    # 96 OSDs with 100 placement groups each; a has 1.5 of 2.375 raw bytes, in 3 copies: 2021
    assert [pool.pgs for pool in shared] == [2048, 256, 1024]
    alone = planned(pools={"a": {"replicas": 3, "share": 0.2}}).pools
    assert alone[0].share == 1.0
    assert planned(pools={"a": {"replicas": 3, "share": 1.0}, "b": {"replicas": 3}}).pools[1].pgs == 32


def test_what_a_host_needs_is_counted_where_most_daemons_are():
    """24 OSDs of 4 GiB and a fifth more, 16 GiB for all else, 2 for a monitor, 4 for a manager; two cores for an OSD on flash."""
    [needs] = fill(monitors="storage").needs
    assert (needs.host, needs.osds, needs.daemons) == ("storage-001", 24, ("monitor", "manager"))
    assert needs.memory_gib == pytest.approx(24 * 4 * 1.2 + 16 + 2 + 4)
    assert (needs.cores, needs.has_cores, needs.has_memory_gib) == (48, 64, 256)
    assert (round(needs.drive_mb_per_s), needs.has_mb_per_s) == (30199, 50_000)
    assert needs.most_osd_memory_gib == pytest.approx((256 - 22) / 24 / 1.2)
    [large] = fill(monitors="gpu", osd_memory_gib=8, osds_per_device=2).needs
    assert (large.daemons, large.memory_gib, large.cores) == ((), pytest.approx(48 * 8 * 1.2 + 16), 96)
    assert large.drive_mb_per_s == needs.drive_mb_per_s


def test_recovery_goes_by_profile_and_drive():
    """Half, 0.4 and 0.7 of 1200 MiB/s on 72 OSDs, for reads and writes: twice 0.57 of a lost 368.64 TB."""
    lost_mb = 368.64e6 * 0.57

    def hours(**recovery):
        return fill(pools={"a": {"replicas": 3}}, fill_target=0.57, recovery=recovery).losses[0].hours

    for profile, part in (("balanced", 0.5), ("high_client_ops", 0.4), ("high_recovery_ops", 0.7)):
        assert hours(profile=profile) == pytest.approx(2 * lost_mb / (72 * 1258.2912 * part) / 3600)
    assert hours(osd_mb_per_s=50) == pytest.approx(lost_mb / (72 * 50) / 3600)  # seen, so reads are in it


def test_the_other_host_of_a_rack_takes_all():
    """As seen on Ceph 16.2: three copies in three racks of two hosts, one host lost at 45 %: backfill_toofull."""
    loss = lose("host", build({"A1": 2, "A2": 2, "A3": 2}))
    assert loss.fullest == pytest.approx(2.0)
    assert (loss.stops_at, loss.most_fill) == (pytest.approx(0.45), pytest.approx(0.425))


def test_equal_hosts_share_a_loss():
    for count in (4, 6, 12):
        hosts = build({"A1": count}, domain="host")
        assert lose("host", hosts).most_fill == pytest.approx(0.85 * (count - 1) / count)


def test_with_as_many_domains_as_copies_nothing_is_rebuilt():
    loss = lose("host", build({"A1": 1, "A2": 1, "A3": 1}))
    assert (loss.rebuilt, loss.begins, loss.hours, loss.limit) == ((), "", 0, "")
    assert loss.most_fill == pytest.approx(0.85)


def test_only_pools_with_room_are_rebuilt():
    wide = PlacedPool("wide", 4, 2, 2, 0.5, MANY)
    loss = lose("rack", build({"A1": 2, "A2": 2, "A3": 2, "A4": 2}), (replace(DATA, share=0.5), wide))
    assert loss.rebuilt == ("data",)
    # of 10 raw bytes data has 6, now on three racks, and of wide's 4 a quarter is gone: (6/3 + 1) / 2.5 of what a rack held
    assert loss.fullest == pytest.approx(1.2, rel=1e-4)


def test_ceph_begins_by_itself_unless_a_rack_or_a_quarter_is_down():
    many = {f"A{n}": 2 for n in range(1, 6)}
    assert lose("host", build(many)).begins == "itself"
    assert lose("rack", build(many)).begins == "word"
    alone = {f"A{n}": 1 for n in range(1, 6)}
    assert lose("host", build(alone)).begins == "word"  # the rack is down with it
    assert lose("host", build({"A1": 4}, domain="host")).begins == "itself"  # three quarters are left
    assert lose("host", build({"A1": 3}, domain="host"), (replace(DATA, size=2),)).begins == "part"
    assert lose("host", build({"A1": 3, "A2": 1}, domain="host")).name == "A2-0"  # of two that leave the same, the worse


def test_what_a_loss_takes_with_it_is_told():
    hosts = build({"A1": 3, "A2": 2, "A3": 2}, domain="host")
    rack = lose("rack", hosts)  # all three copies of some objects
    assert (rack.name, rack.gone, rack.rebuilt) == ("A1", ("data",), ())
    assert lose("host", hosts).gone == ()
    assert lose("host", hosts, (replace(DATA, size=1),)).gone == ("data",)
    two = lose("rack", build({f"A{n}": 2 for n in range(1, 6)}, domain="host"), (PlacedPool("c", 6, 4, 2, 1.0, MANY),))
    assert (two.gone, two.stopped, two.rebuilt) == ((), ("c",), ("c",))  # 4 of 6 chunks, and min_size 5


def test_min_size_is_ceph_s_own():
    shapes = {(3, 0, 0): 2, (2, 0, 0): 1, (4, 0, 0): 2, (6, 4, 2): 5, (3, 2, 1): 2, (11, 8, 3): 9}
    assert {shape: PlacedPool("p", *shape, 1.0, 32).min_size for shape in shapes} == shapes


def test_hours_are_what_the_last_domain_takes():
    """5 TB of four hosts, on three: 1.67 TB each at 100 MB/s; in one rack's other host alone all 5."""
    assert lose("host", build({"A1": 4}, domain="host")).hours == pytest.approx(5e6 / 3 / 100 / 3600)
    assert lose("host", build({"A1": 2, "A2": 2, "A3": 2})).hours == pytest.approx(5e6 / 100 / 3600)


def test_a_slow_network_holds_up_chunks_more_than_copies():
    hosts = build({"A1": 8}, osds=2, gbps=1, domain="host")
    copies = lose("host", hosts)
    assert copies.limit == "network"
    assert copies.hours == pytest.approx(5e6 / 7 / (125 * 0.5) / 3600)  # half of a gigabit
    chunks = lose("host", hosts, (PlacedPool("c", 6, 4, 2, 1.0, MANY),))
    assert chunks.hours == pytest.approx(4 * copies.hours)
    assert lose("host", build({"A1": 8}, gbps=0, domain="host")).limit == "drives"


def test_chunks_are_read_from_more_than_copies_are():
    hosts = build({"A1": 8}, domain="host")
    terms = replace(TERMS, is_measured=False)
    copies, chunks = lose("host", hosts, terms=terms), lose("host", hosts, (PlacedPool("c", 6, 4, 2, 1.0, MANY),), terms)
    assert copies.hours == pytest.approx(2 * 5e6 / 7 / 100 / 3600)
    assert chunks.hours == pytest.approx(5 * 5e6 / 7 / 100 / 3600)


def test_where_a_copy_binds_drives_are_uneven():
    """60 OSDs, of which 12 have 64 placement groups and the others 32: the fullest is 3.14 deviations above its mean."""
    pool = replace(DATA, pgs=768)
    domain, osd = find_fullest(build({"A1": 1, "A2": 2, "A3": 2}, osds=12), (pool,), 1.0)
    assert domain == pytest.approx(5 / 3)
    assert osd == pytest.approx(5 / 3 * (1 + 3.137 * (64 * 11 / 12) ** 0.5 / 64), rel=1e-3)
    assert find_fullest(build({"A1": 2, "A2": 2, "A3": 2}, osds=12), (pool,), 1.2) == (pytest.approx(1), pytest.approx(1.2))


def test_the_balancer_leaves_five_placement_groups():
    hosts = build({"A1": 4}, osds=10, domain="host")
    for pgs, groups in ((800, 60), (80, 6)):
        assert find_fullest(hosts, (replace(DATA, pgs=pgs),), 1.0)[1] == pytest.approx(1 + 5 / groups)
    assert find_fullest(hosts, (replace(DATA, pgs=800),), 1.1)[1] == pytest.approx(1.1)


def test_what_is_rebuilt_comes_as_it_is_drawn():
    """Four hosts with 60 placement groups on each of 10 OSDs: 20 more come to 30 OSDs by lot, and a quarter is even no more."""
    hosts = build({"A1": 4}, osds=10, domain="host")
    loss = lose("host", hosts, (replace(DATA, pgs=800),))
    before, chance = (5 / 3.023) ** 2, (20 + 15) * 9 / 10  # 40 OSDs
    assert loss.fullest == pytest.approx(4 / 3 * (1 + 2.929 * (before + chance) ** 0.5 / 80), rel=1e-3)  # 30 OSDs


def test_a_large_domain_leaves_the_rest_to_chance():
    parts = spread({"a": 6, "b": 2, "c": 2, "d": 1}, 3)
    assert parts["a"] == pytest.approx(1 / 3)
    assert sum(parts.values()) == pytest.approx(1)
    # drawn twice from 2, 2 and 1: d is among them with 7/15; taken for a little more
    assert 7 / 15 / 3 < parts["d"] < 7 / 15 / 3 * 1.09


def test_growth_moves_what_new_hosts_hold():
    old = fill(pools={"a": {"replicas": 3}})
    assert measure_move(old, fill(5, pools={"a": {"replicas": 3}})) == pytest.approx(0.2)
    assert measure_move(old, old) == 0


def test_servers_are_added_as_a_later_phase():
    intent = read(small(servers__gpu__count=3, servers__gpu__planned=4))
    within, beyond = add_servers(intent, "gpu", 1), add_servers(intent, "gpu", 3)
    assert (within.servers["gpu"].count, within.servers["gpu"].phases) == (4, (4,))
    assert (beyond.servers["gpu"].count, beyond.servers["gpu"].phases) == (6, (4, 2))


def test_marks_are_reached_in_months():
    ceph = fill(pools={"a": {"replicas": 3}}, fill_target=0.5, expand_at=0.4)
    assert list(ceph.marks) == ["expand_at", "fill_target", "waterline", "full"]
    stored = ceph.stored_tb(0.3)
    assert ceph.fill_with(stored) == pytest.approx(0.3)
    assert ceph.months_to(0.4, stored, ceph.stored_tb(0.05)) == pytest.approx(2)
    assert ceph.months_to(0.2, stored, 1) == 0


def test_a_fill_is_told_rounded_down():
    assert [cut_fill(0.7799999), cut_fill(0.579, 2), cut_fill(0.57)] == [0.779, 0.57, 0.57]


def test_what_moves_data_is_a_change():
    old = whole(pools={"a": {"replicas": 3}, "b": {"replicas": 3}})
    new = whole(failure_domain="rack", fill_target=0.3, pools={"a": {"replicas": 2}, "c": {"replicas": 3}})
    told = {(change.subject, change.key): (change.old, change.new) for change in compare_plans(old, new).settings}
    assert told["ceph", "failure_domain"] == ("host", "rack")
    assert told["pool a", "size"] == ("3", "2")
    assert told["pool b", "exists"] == ("yes", "no")
    assert told["pool c", "exists"] == ("no", "yes")


def test_file_systems_have_a_pool_for_metadata_and_servers_in_turn():
    """96 OSDs: 0.5 % of 9,600 placement groups four times over, on three copies, are 64."""
    pools = {"files": {"replicas": 3}, "bulk": {"erasure": "2+1"}, "blocks": {"replicas": 3}}
    files = {"home": {"pools": ["files", "bulk"], "active": 2}, "work": {"pools": ["blocks"], "cache_gib": 16}}
    ceph = planned(pools=pools, filesystems=files, monitors="storage")
    home, work = ceph.filesystems
    assert list(home.daemons) == ["home.storage-001", "home.storage-002", "home.storage-003"]
    assert work.daemons == {"work.storage-004": "storage-004", "work.storage-001": "storage-001"}
    assert {server.address for server in home.servers} == {host.address for host in ceph.hosts[:3]}
    assert home.metadata == PlacedPool("cephfs.home.meta", 3, 0, 0, 0.0, 64, "cephfs")
    assert [(pool.name, pool.application) for pool in ceph.all_pools][:3] == [(name, "cephfs") for name in pools]
    [tier] = ceph.tiers
    assert tier.pgs_per_osd == sum(pool.pgs * pool.size for pool in (*ceph.pools, home.metadata, work.metadata)) / 96
    [needs] = tier.needs
    assert needs.daemons == ("monitor", "manager", "metadata server", "metadata server")
    assert needs.memory_gib == pytest.approx(24 * 4 * 1.2 + 16 + 2 + 4 + (4 + 16) * 1.5)
    alone = planned(pools={"files": {"replicas": 3}}, filesystems={"home": {"pools": ["files"]}}, metadata_hosts="gpu")
    assert [server.name for server in alone.filesystems[0].servers] == ["gpu-001", "gpu-002"]
    assert tier.waterline == fill(pools=pools, monitors="storage").waterline


def test_a_file_system_that_changes_is_told():
    files = {"pools": {"files": {"replicas": 3}}, "filesystems": {"home": {"pools": ["files"]}}}
    old, new = (
        whole(**files),
        whole(**files | {"filesystems": {"home": {"pools": ["files"], "active": 2}, "work": {"pools": ["files"]}}}),
    )
    told = {(change.subject, change.key, change.new) for change in compare_plans(old, new).settings}
    assert {("file system home", "active", "2"), ("file system work", "exists", "yes")} <= told


def test_servers_mount_all_of_a_file_system_or_their_tenants_folder():
    files = {
        "home": {"pools": ["files"], "clients": ["storage"]},
        "work-1": {"pools": ["more"], "driver": "fuse", "mount": "/srv/w"},
    }
    plan = whole(pools={"files": {"replicas": 3}, "more": {"replicas": 3}}, filesystems=files)
    [home] = list_mounts(plan)
    place = {
        "filesystem": "home",
        "at": "/mnt/home",
        "unit": "mnt-home.mount",
        "driver": "kernel",
        "user": "files-home",
        "folder": "",
    }
    assert home == place | {"hosts": [f"storage-{n:03d}" for n in (1, 2, 3, 4)]}
    [user] = list_users(plan)
    assert user["caps"] == {
        "mon": "allow r fsname=home",
        "mds": "allow rw fsname=home",
        "osd": "allow rw tag cephfs data=home",
    }
    folders = (TenantFolder("work-1", "more", 0), TenantFolder("home", "files", 0))
    red = Tenant(
        *("red", 1, "red", False, 0, 0, "", 0, (), ("storage-002",), -1, (), (), (), (), 0, "", 0),
        storage=TenantStorage((), "red", "client.red", (), folders),
        where="",
    )
    mounts = list(list_mounts(replace(plan, tenants=(red,))))
    assert [(each["filesystem"], each["user"], each["folder"], each["hosts"]) for each in mounts[1:]] == [
        ("home", "red", "red", ["storage-002"]),
        ("work-1", "red", "red", ["storage-002"]),
    ]
    assert (mounts[2]["at"], mounts[2]["unit"], mounts[2]["driver"]) == ("/srv/w", "srv-w.mount", "fuse")
    assert name_unit("/mnt/work-1") == "mnt-work\\x2d1.mount"


def test_an_object_store_has_pools_of_its_own_and_gateways():
    """96 OSDs: 0.5 % of 9,600 placement groups four times over, on three copies, are 64 for what is in which bucket."""
    pools = {"objects": {"erasure": "2+1"}, "blocks": {"replicas": 3}}
    ceph = planned(pools=pools, object={"pool": "objects", "count": 3}, monitors="storage")
    store = ceph.store
    assert (store.realm, store.zonegroup, store.zone, store.domain_name) == ("small", "small", "small", "s3.small.example.net")
    assert store.daemons == {f"small.storage-00{n}": f"storage-00{n}" for n in (1, 2, 3)}
    assert [server.address for server in store.servers] == [host.address for host in ceph.hosts[:3]]
    small = [".rgw.root", *(f"small.rgw.{what}" for what in ("control", "meta", "log", "buckets.non-ec"))]
    assert store.own == (
        *(PlacedPool(name, 3, 0, 0, 0.0, 8, "rgw") for name in small),
        PlacedPool("small.rgw.buckets.index", 3, 0, 0, 0.0, 64, "rgw"),
    )
    assert [pool.application for pool in ceph.pools] == ["rgw", "rbd"] and ceph.all_pools[2:] == store.own
    [tier] = ceph.tiers
    assert tier.needs[0].daemons == ("monitor", "manager", "gateway")
    assert tier.waterline == fill(pools=pools, monitors="storage").waterline
    other = planned(
        pools=pools, object={"pool": "objects", "hosts": "gpu", "realm": "here", "zonegroup": "east", "zone": "one"}
    ).store
    assert (other.realm, other.zonegroup, other.zone) == ("here", "east", "one")
    assert list(other.daemons.values()) == ["gpu-001", "gpu-002"]
    assert planned(pools=pools, object={"pool": "objects", "realm": "here"}).store.zone == "here"


def test_an_object_store_that_changes_is_told():
    old, none = whole(pools={"a": {"replicas": 3}}, object={"pool": "a"}), whole(pools={"a": {"replicas": 3}})
    new = whole(pools={"a": {"replicas": 3}}, object={"pool": "a", "port": 80})
    assert [(one.subject, one.key, one.old, one.new) for one in compare_plans(old, new).settings] == [
        ("object store small", "port", "8080", "80")
    ]
    assert ("object store small", "exists", "no", "yes") in {
        (one.subject, one.key, one.old, one.new) for one in compare_plans(none, old).settings
    }


def with_disks(count=4, hosts=("storage", "archive"), **ceph):
    """Plan Ceph on four servers with flash, and some with 36 drives of 20 TB that spin."""
    storage = {"id": 2, "model": "generic/2u-24nvme", "count": 4, "racks": "network"}
    archive = {"id": 9, "model": "generic/4u-36hdd", "count": count, "racks": "network", "role": "storage"}
    servers = {"servers__storage": storage, "servers__archive": archive}
    return plan_of(small(**servers, networks__storage=STORAGE, ceph={"hosts": list(hosts), **ceph}))


DISKS = {"device_class": "hdd"}


def test_each_class_of_drives_is_filled_by_itself():
    pools = {"data": {"replicas": 3}, "cold": {"erasure": "2+1", **DISKS}, "files": {"replicas": 3, "share": 0.25, **DISKS}}
    ceph = with_disks(pools=pools, filesystems={"home": {"pools": ["files"]}}, osds_per_device=2).ceph
    assert ceph.groups == (OsdGroup("storage", "ssd", 24, 15.36, 2), OsdGroup("archive", "hdd", 36, 20, 1))
    assert [(tier.device_class, tier.osds, [pool.name for pool in tier.pools]) for tier in ceph.tiers] == [
        ("ssd", 192, ["data"]),
        ("hdd", 144, ["cold", "files"]),
    ]
    assert [(pool.name, pool.share, pool.device_class) for pool in ceph.pools] == [
        ("data", 1.0, "ssd"),
        ("cold", 0.75, "hdd"),
        ("files", 0.25, "hdd"),
    ]
    assert ceph.filesystems[0].metadata.device_class == "ssd"
    flash, disks = ceph.tiers
    alone = fill(pools={"data": {"replicas": 3}}, osds_per_device=2)
    assert (flash.waterline, flash.pools[0].pgs) == (alone.waterline, alone.pools[0].pgs)
    assert flash.small == (ceph.filesystems[0].metadata,) and disks.small == ()
    assert {loss.name for loss in disks.losses if loss.kind == "host"} == {"archive-001"}
    assert disks.losses[0].hours > 4 * flash.losses[0].hours
    assert [needs.host for tier in ceph.tiers for needs in tier.needs] == ["storage-001", "archive-001"]


def test_pools_lie_on_drives_of_the_first_group_and_two_groups_of_a_class_share_it():
    ceph = with_disks(hosts=("archive", "storage"), pools={"cold": {"replicas": 3}}).ceph
    assert [(tier.device_class, len(tier.pools)) for tier in ceph.tiers] == [("hdd", 1), ("ssd", 0)]
    assert {monitor.name for monitor in ceph.monitors} == {f"archive-00{n}" for n in (1, 2, 3)}
    same = {"id": 8, "model": "generic/2u-24nvme", "count": 2, "racks": "network", "role": "storage"}
    storage = {"id": 2, "model": "generic/2u-24nvme", "count": 4, "racks": "network"}
    servers = {"servers__storage": storage, "servers__newer": same}
    plan = plan_of(
        small(**servers, networks__storage=STORAGE, ceph={"hosts": ["storage", "newer"], "pools": {"a": {"replicas": 3}}})
    )
    [tier] = plan.ceph.tiers
    assert (tier.osds, [needs.host for needs in tier.needs]) == (144, ["storage-001", "newer-001"])
    assert tier.waterline == fill(6, pools={"a": {"replicas": 3}}).waterline


def test_what_is_small_lies_on_the_class_of_the_first_group_or_as_said():
    pools = {"cold": {"replicas": 3}}
    more = {
        "pools": pools,
        "filesystems": {"home": {"pools": ["cold"]}},
        "object": {"pool": "cold"},
        "hosts": ("archive", "storage"),
    }
    for said, wanted in (({}, "hdd"), ({"metadata_class": "ssd"}, "ssd"), ({"metadata_class": "hdd"}, "hdd")):
        ceph = with_disks(**more, **said).ceph
        assert {pool.device_class for pool in ceph.all_pools[1:]} == {wanted}
        assert [bool(tier.small) for tier in ceph.tiers] == [wanted == "hdd", wanted == "ssd"]


def test_each_group_is_told_its_drives():
    plan = with_disks(pools={"data": {"replicas": 3}, "cold": {"replicas": 3, **DISKS}}, failure_domain="host")
    files = {path: content.decode() for path, content in render_ceph(plan, None)}
    osds = yaml.safe_load(files["ceph/objects.yaml"])["osds"]
    assert [(each["group"], each["drives"], each["bytes"], each["rotational"], len(each["hosts"])) for each in osds] == [
        ("storage", 24, 15_360_000_000_000, False, 4),
        ("archive", 36, 20_000_000_000_000, True, 4),
    ]
    specs = [each for each in yaml.safe_load_all(files["ceph/spec.yaml"]) if each]
    placed = {each["service_id"]: each["placement"]["label"] for each in specs if each["service_type"] == "osd"}
    assert placed == {"storage": "osd-storage", "archive": "osd-archive"}
    for name, label in placed.items():
        labeled = [each["hostname"] for each in specs if label in each.get("labels", ())]
        assert labeled == [f"{name}-{n:03d}" for n in (1, 2, 3, 4)]
    assert "device 95 osd.95 class ssd\ndevice 96 osd.96 class hdd\n" in files["ceph/crush.txt"]
    assert "step take default class hdd" in files["ceph/crush.txt"]


def test_ceph_counts_hosts_of_all_classes_where_it_begins_by_itself():
    """A rack with a host of another class is not down with the one that is lost; what was measured is of the first class."""
    pools = {"data": {"replicas": 3}, "cold": {"replicas": 3, **DISKS}}
    flash, disks = with_disks(pools=pools, failure_domain="rack", recovery={"osd_mb_per_s": 500}).ceph.tiers
    assert [tier.losses[0].begins for tier in (flash, disks)] == ["itself", "itself"]
    assert fill(pools={"data": {"replicas": 3}}, failure_domain="rack").losses[0].begins == "word"
    assert disks.losses[0].hours == with_disks(pools=pools, failure_domain="rack").ceph.tiers[1].losses[0].hours
