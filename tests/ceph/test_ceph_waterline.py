"""A store of real daemons, filled: whether it heals, stops to heal and is full where `gpuyard storage` says, and the way out.

Drives are files of 2 GiB. What BlueStore takes of them for itself, next to nothing on a server's, is a seventh; so each is taken
for a drive of ROOM bytes, and Ceph's ratios are set where that is as full.
"""

import re
import shutil

import pytest

from cluster_model.plan.model.ceph import BACKFILLFULL, FULL, NEARFULL, find_fill
from tests.ceph.describe import OSD_BYTES
from tests.ceph.yard import HERE, require_ceph, run_yard
from tests.planned import open_folder
from tests.slowness import stretch, wait_for

DOCS = HERE.parents[1] / "docs/ceph-day-2.md"
ROOM, OBJECT = 2**30, 2**18
RATIOS = {"nearfull": NEARFULL, "backfillfull": BACKFILLFULL, "full": FULL}
FILL = """
import json, os, rados, sys, threading, time
first, end, wait_s, *pools = sys.argv[1:]
client = rados.Rados(conffile="", conf={"rados_osd_op_timeout": wait_s})
client.conf_read_file()
client.connect()
contexts = [client.open_ioctx(pool) for pool in pools]
free, failed = threading.Semaphore(24), []


def done(completion):
    if completion.get_return_value():
        failed.append(completion.get_return_value())
    free.release()


at, pause = int(first), 0
while at < int(end) and not failed:
    for context in contexts:
        free.acquire()
        context.aio_write_full(f"o{at}", b"x" * 2**18, done)
    at += 1
    if at % 50 == 0:
        said = client.mon_command(json.dumps({"prefix": "health", "format": "json"}), b"", timeout=int(wait_s))[1]
        pause = 0.02 if b"OSD_BACKFILLFULL" in said else 0
    time.sleep(pause)
for _ in range(24):
    free.acquire()
print(at, flush=True)
os._exit(0)
"""
"""Writes objects, one into each pool in turn, until one is not taken for so many seconds; slowly once an OSD is nearly full,
since OSDs look at how full they are once in a second. Prints how many were begun."""


class Store:
    """The store, and how far it is filled."""

    def __init__(self, yard):
        self.yard, self.plan, self.written = yard, yard.plan.ceph, 0
        [self.tier] = self.plan.tiers
        self.number = {host: str(number) for number, host in enumerate(yard.wanted["hosts"])}
        self.weight = yard.ceph("osd", "df")["nodes"][0]["crush_weight"]

    def set_ratios(self):
        """Have each drive be as full as one of ROOM bytes would be."""
        own = max(osd["kb_used"] for osd in self.yard.ceph("osd", "df")["nodes"]) * 1024
        self.scale = lambda ratio: round((own + ratio * ROOM) / OSD_BYTES, 4)
        for name, ratio in RATIOS.items():
            self.yard.inside("ceph", "osd", f"set-{name}-ratio", self.scale(ratio))

    def fill(self, fill):
        """Write until the store is as full, or no more is taken; return how full it is."""
        each = sum(OBJECT * pool.overhead for pool in self.plan.pools)
        whole = ROOM * self.plan.osds
        words = [self.written, round(fill * whole / each), f"{stretch(15):g}", *(pool.name for pool in self.plan.pools)]
        self.written = int(self.yard.inside("/usr/bin/python3", "-c", FILL, *words).stdout)
        return self.written * each / whole

    def lose(self, host):
        """Have a host die, its OSD be out, and CRUSH look elsewhere: else it gives up after some tries, for a group or two."""
        self.yard.daemons("kill", f"osd.{self.number[host]}")
        wait_for(lambda: self.yard.ceph("osd", "stat")["num_up_osds"] < self.plan.osds, 60, "it is missed")
        self.yard.inside("ceph", "osd", "out", self.number[host])
        self.weigh(host, 0)

    def weigh(self, host, weight):
        """Have CRUSH give a host such a weight."""
        self.yard.inside("ceph", "osd", "crush", "reweight-subtree", host, weight)

    def regain(self, host):
        """Have the host back, and all copies where they were."""
        self.yard.daemons("start", f"osd.{self.number[host]}")
        self.yard.inside("ceph", "osd", "in", self.number[host])
        self.weigh(host, self.weight)
        wait_for(lambda: self.yard.ceph("osd", "stat")["num_up_osds"] == self.plan.osds, 60, "it is back")
        self.wait_clean()

    def find_fullest(self):
        """Return how full the fullest OSD is."""
        return max(osd["utilization"] for osd in self.yard.ceph("osd", "df")["nodes"]) / 100

    def list_checks(self):
        """Return what Ceph says of its health, by name."""
        return self.yard.ceph("health")["checks"]

    def list_states(self):
        """Return the states of placement groups."""
        return [each["state_name"] for each in self.yard.ceph("status")["pgmap"].get("pgs_by_state", ())]

    def wait_clean(self):
        """Wait until all copies are there, four times in a row: managers hear of what was changed a little later."""
        seen = []

        def probe():
            seen.append(all(state.startswith("active+clean") for state in self.list_states() or ["none"]))
            return len(seen) > 3 and all(seen[-4:])

        wait_for(probe, 180, lambda: f"all copies are there: {self.list_states()}", 1)

    def takes(self):
        """Return whether an object is taken within some seconds."""
        words = ("rados", f"--rados_osd_op_timeout={stretch(6):g}", "-p", "datasets", "put", "o", "/etc/hostname")
        return self.yard.inside(*words, check=False).returncode == 0


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Run the store of this folder with two pools, one of them with an erasure code."""
    require_ceph()
    folder = tmp_path_factory.mktemp("plan", numbered=True)
    shutil.copytree(HERE / "catalogue", folder / "catalogue")
    intent = (HERE / "cluster.yml").read_text().partition("    files:")[0]
    # One OSD takes what the other one of its rack had: there is nothing among which data could be uneven.
    (folder / "cluster.yml").write_text(intent.replace("  pools:", "  imbalance: 1.0\n  pools:"))
    with run_yard(tmp_path_factory.mktemp("c", numbered=True), open_folder(folder).plan) as yard:
        # The pool that managers make: before ours, so that CRUSH draws the same in each run.
        wait_for(lambda: yard.ceph("osd", "dump")["pools"], 60, "managers have their pool")
        code, said = yard.say("apply")
        assert code == 0, said
        for name, value in {"osd_heartbeat_interval": 1, "osd_recovery_sleep_hdd": 0, "osd_max_backfills": 8}.items():
            yard.inside("ceph", "config", "set", "osd", name, value)
        store = Store(yard)
        store.wait_clean()
        store.set_ratios()
        yield store


def test_a_lost_host_is_rebuilt_up_to_the_waterline_and_not_far_above_it(store):
    host = store.tier.lost_host
    assert store.tier.waterline == find_fill(NEARFULL, host.fullest)
    assert store.fill(0.94 * store.tier.waterline) <= store.tier.waterline
    store.lose(host.name)
    store.wait_clean()
    assert store.find_fullest() < store.scale(NEARFULL)
    store.regain(host.name)

    store.fill(1.1 * host.stops_at)
    assert store.find_fullest() < store.scale(NEARFULL)
    store.lose(host.name)
    wait_for(lambda: any("backfill_toofull" in state for state in store.list_states()), 120, "rebuilding stops", 1)
    wait_for(lambda: "OSD_BACKFILLFULL" in store.list_checks(), 30, "it is told why")
    store.regain(host.name)


def test_the_first_osd_is_full_where_it_is_computed_and_the_way_out_works(store):
    image = ("datasets/old", "--size", "64M", "--object-size", "1M")
    store.yard.inside("rbd", "create", *image)
    store.yard.inside(
        "rbd", "bench", image[0], "--io-type", "write", "--io-size", "1M", "--io-total", "64M", "--io-pattern", "seq"
    )
    computed = store.tier.full_at
    asked = 0.9 * computed
    assert store.fill(asked) >= asked * 0.999 and "OSD_FULL" not in store.list_checks()
    store.yard.inside("ceph", "balancer", "off")  # or it may move from the first full OSD what another one has room for
    store.wait_clean()
    assert store.fill(1.1 * computed) < 1.1 * computed * 0.999
    wait_for(lambda: "OSD_FULL" in store.list_checks(), 30, lambda: f"it is told: {store.yard.ceph('health', 'detail')}")
    assert not store.takes()

    fullest = store.find_fullest()
    for command in read_way_out():
        # A hundredth above the fullest one, as on a drive that is one.
        command = command.replace("0.96", f"{fullest + 0.01:.4f}").replace("0.95", str(store.scale(FULL)))
        store.yard.inside("timeout", f"{stretch(60):g}", *command.split())
        if "set-full-ratio" in command:
            wait_for(lambda: "OSD_FULL" not in store.list_checks(), 30, "clients go on")
            assert store.takes()
    wait_for(lambda: "OSD_FULL" not in store.list_checks(), 30, "it is not full any more")
    assert store.takes()


def read_way_out():
    """Return the commands that the manual has for a full store."""
    section = DOCS.read_text().partition("## A full store\n")[2].partition("\n## ")[0]
    commands = re.findall(r"^\$ (.+?) *(?:#.*)?$", section, re.MULTILINE)
    assert [command for command in commands if "full-ratio" in command and "0.96" in command], commands
    return commands
