"""Hosts with drives that spin come to a store of real daemons that has data on flash: none of it moves."""

from dataclasses import replace

import pytest

from cluster_model.intent.model.cluster import Cluster
from cluster_model.pipeline import inspect
from tests.ceph.growth import Growth
from tests.ceph.yard import HERE, require_ceph, run_yard
from tests.planned import open_folder
from tests.slowness import wait_for

FLASH, DISKS = ([f"{group}-00{n}" for n in (1, 2, 3)] for group in ("storage", "archive"))
COME = {host: {"osds": 1, "device_class": "hdd"} for host in DISKS}
NEXT = {"storage-004": {"osds": 1, "device_class": "ssd"}}
WAITS = "pool {}" + (
    " waits, with what lies in it, for OSDs of class hdd with a weight in 3 hosts: run playbooks/ceph.yml once they are there"
)
COLD = {"erasure": "2+1", "device_class": "hdd"}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Run three hosts with flash of six, with data."""
    require_ceph()
    loaded = open_folder(HERE).loaded
    about = loaded.cluster.model_dump(exclude_unset=True)
    about["servers"]["storage"]["count"] = 3
    about["servers"]["archive"] = {**about["servers"]["storage"], "id": 9, "model": "test/one-disk", "role": "storage"}
    pools = {"datasets": {"replicas": 3}, "cold": COLD}
    about["ceph"] = {"hosts": ["storage", "archive"], "failure_domain": "host", "pools": pools}
    plan = inspect(replace(loaded, cluster=Cluster.model_validate(about))).opened.plan
    with run_yard(tmp_path_factory.mktemp("k", numbered=True), plan, first=3) as yard:
        assert list(yard.wanted["hosts"]) == [*FLASH, *DISKS]
        code, told = yard.say("apply", yard.changed(pools=yard.wanted["pools"][:1]))
        assert code == 0, told
        yard.inside("rados", "-p", "datasets", "bench", "5", "write", "-b", 2**16, "--max-objects", "300", "--no-cleanup")
        yield Growth(yard)


def test_a_pool_waits_for_hosts_of_its_class(store):
    code, told = store.yard.say("check")
    assert code == 0 and told["left"][0] == WAITS.format("cold"), told
    code, said = store.yard.say("apply")
    assert code == 1
    assert said.startswith("pool cold: 0 hosts with OSDs of class hdd that take data; expected 3 for erasure code 2+1; ")
    assert f"fix: have OSDs made on {', '.join(DISKS)}, " in said


def test_hosts_of_a_class_without_data_come_at_once(store):
    look = store.say("look", hosts={**COME, **NEXT})
    assert (look["fresh"], list(look["lacking"])) == (DISKS, [*DISKS, "storage-004"])
    wait_for(store.is_clean, 90, "the store is clean")
    lay = store.list_parts()
    assert store.say("begin", "do", hosts=COME) == {"changes": []}
    store.yard.make_osds()
    assert [osd["crush_weight"] > 0 for osd in store.read_osds().values()] == [True] * 6
    assert store.say("hold", "do", hosts=COME)["changes"] == []
    wait_for(store.is_clean, 90, "the store is clean")
    moved = {part for part in store.list_parts() - lay if not part[0].startswith(store.own)}
    assert not moved


def test_each_pool_lies_on_its_class(store):
    code, told = store.yard.say("apply")
    assert code == 0 and "pool cold is made" in " ".join(told["changes"]), told
    store.yard.inside("rados", "-p", "cold", "bench", "5", "write", "-b", 2**16, "--max-objects", "300", "--no-cleanup")
    pools = {pool["pool_name"]: str(pool["pool"]) for pool in store.yard.ceph("osd", "dump")["pools"]}
    lies = {
        name: {osd for group, osd in store.list_parts() if group.partition(".")[0] == pools[name]}
        for name in ("datasets", "cold")
    }
    assert lies == {"datasets": {0, 1, 2}, "cold": {3, 4, 5}}
    assert not {id_ for id_ in store.yard.verify() if id_ in {"VER045", "VER046", "VER047"}}


def test_hosts_of_a_class_with_data_come_in_steps(store):
    more = {host: {**planned, "osds": 2} for host, planned in COME.items()}
    assert store.say("look", hosts=more)["fresh"] == []
    assert store.say("begin", "check", hosts=more)["changes"] == [
        f"OSDs that are made on {', '.join(DISKS)} hold nothing at first"
    ]


def test_a_pool_waits_for_hosts_that_come_in_steps(store):
    """Else its placement groups would wait for OSDs without a weight, and nobody would give them one."""
    store.yard.inside("ceph", "osd", "crush", "reweight", "osd.5", "0")
    wanted = store.yard.changed(pools=[*store.yard.wanted["pools"], {**store.yard.wanted["pools"][1], "name": "more"}])
    code, said = store.yard.say("check", wanted)
    assert code == 1 and "expected 3 for erasure code 2+1; fix: see ceph osd tree: OSDs without a weight take none; " in said
    store.yard.inside("ceph", "config-key", "set", "gpuyard/expand", '{"hosts": ["archive-003"]}')
    code, told = store.yard.say("apply", wanted)
    assert code == 0 and told["left"][0] == WAITS.format("more"), told
    assert "more" not in {pool["pool_name"] for pool in store.yard.ceph("osd", "dump")["pools"]}


def test_osds_that_somebody_has_begin_without_a_weight_come_in_steps(store):
    """Also of a class on which nothing lies: nobody else would give them one."""
    none = {host: {"osds": 2, "device_class": "nvme"} for host in DISKS}
    store.yard.inside("ceph", "config-key", "rm", "gpuyard/expand")
    store.yard.inside("ceph", "osd", "crush", "reweight", "osd.5", str(store.read_osds()[4]["crush_weight"]))
    wait_for(store.is_clean, 90, "the store is clean")
    assert store.say("look", hosts=none)["fresh"] == DISKS
    store.yard.inside("ceph", "config", "set", "osd", "osd_crush_initial_weight", "0")
    assert store.say("look", hosts=none)["fresh"] == []
    assert store.say("begin", "check", hosts=none)["changes"]
