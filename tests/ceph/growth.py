"""A store of real daemons that a host comes to, or is lost to, and what moves by that: for tests, and for benchmarks."""

import json
import os
import subprocess
import time
from contextlib import contextmanager
from dataclasses import replace

from cluster_model.pipeline import inspect
from cluster_model.plan.growth import add_servers
from cluster_model.plan.services.waterline import measure_move
from tests.ceph.yard import HERE, run_yard
from tests.planned import open_folder
from tests.slowness import stretch, wait_for

PROGRAM = (HERE.parents[1] / "roles/ceph_expand/files/expand.py").read_text()
QUICK = {"STEADY_S = 15": "STEADY_S = 3", "HASTY_S = 10": "HASTY_S = 1", "POLL_S = 900, 15, 2": "POLL_S = 900, 15, 0.5"}
"""Managers hear of placement groups every second here, and not every five."""
HOST, OSD = "storage-008", 7
WRITERS = HERE / "writers.py"
STEADY_S = 3
"""How long all has been where it shall be once that is believed."""


class Growth:
    """The store, and what the role says to it."""

    def __init__(self, yard):
        self.yard = yard
        self.before, self.told = {}, {"most": 0}
        self.own = "1."  # the managers' own pool has a rule of its own, and hardly any data
        self.program = PROGRAM
        for long, short in {**QUICK, "/run/lock": str(yard.folder)}.items():
            assert self.program.count(long) == 1, long
            self.program = self.program.replace(long, short)

    def say(self, verb, *check, fails=False, **about):
        """Run the role's program; return what it told, or what it ended with where it fails."""
        known = {"hosts": {HOST: {"osds": 1, "device_class": "ssd"}}, "steps": 4, "most": self.told["most"]}
        known |= {"latency_ms": 0, "begin": "", "end": "", "until": "", "deadline": 0, "wait_s": stretch(120)}
        known |= {"profile": "", "usual": ""}
        done = self.yard.inside(
            "/usr/bin/python3", "-IS", "-c", self.program, verb, *check, given=json.dumps({**known, **about}), check=False
        )
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        return done.stderr if fails else json.loads(done.stdout)

    def read_osds(self):
        """Return what each OSD weighs and has, by number."""
        return {osd["id"]: osd for osd in self.yard.ceph("osd", "df")["nodes"]}

    def list_parts(self):
        """Return where each part of each placement group lies."""
        groups = self.yard.ceph("pg", "ls")["pg_stats"]
        return {(group["pgid"], osd) for group in groups for osd in group["acting"]}

    def weigh(self, parts):
        """Return the bytes of some parts of placement groups."""
        pools = {pool["pool"]: pool for pool in self.yard.ceph("osd", "dump")["pools"]}
        used = {pool["id"]: pool["stats"]["bytes_used"] for pool in self.yard.ceph("df")["pools"]}
        numbers = [int(group.partition(".")[0]) for group, _ in parts]
        return sum(used[number] / pools[number]["pg_num"] / pools[number]["size"] for number in numbers)

    def count_on_new(self):
        """Return how many parts lie on the new OSD."""
        return sum(osd == OSD for _, osd in self.list_parts())

    def count_pins(self):
        """Return how many placement groups are led elsewhere than CRUSH has them."""
        return len(self.yard.ceph("osd", "dump")["pg_upmap_items"])

    def is_clean(self):
        """Return whether all is where it shall be."""
        return all(each["state_name"].startswith("active+clean") for each in self.yard.ceph("status")["pgmap"]["pgs_by_state"])

    def settle(self):
        """Wait until all is where it shall be, and stays there."""
        since = [time.monotonic()]

        def is_steady():
            since[0] = since[0] if self.is_clean() else time.monotonic()
            return time.monotonic() - since[0] >= STEADY_S

        wait_for(is_steady, 600, "all is where it shall be", every_s=0.5)

    @contextmanager
    def write_meanwhile(self):
        """Have clients write meanwhile; what is yielded has in the end what writers.py tells."""
        command = ["ip", "netns", "exec", self.yard.space, "/usr/bin/python3", WRITERS, "datasets"]
        variables = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        variables["CEPH_CONF"] = str(self.yard.folder / "ceph.conf")
        found = {}
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=variables) as running:
            try:
                yield found
            finally:
                try:
                    said, _ = running.communicate(timeout=stretch(120))
                except subprocess.TimeoutExpired:  # a write waits for ever where its placement group does not serve
                    running.kill()
        assert running.returncode == 0, "clients could not write, so the rest says nothing"
        found |= json.loads(said)

    def lose(self, osd):
        """Have an OSD fall silent, and all be rebuilt without it; return when it did, was down, was out, and all was rebuilt."""
        told = [time.time()]
        self.yard.daemons("freeze", f"osd.{osd}")
        for state, what in (("up", "it is down"), ("in", "it is out")):
            wait_for(lambda state=state: not self.yard.ceph("osd", "dump")["osds"][osd][state], 90, what, every_s=0.3)
            told.append(time.time())
        wait_for(lambda: not self.is_clean(), 30, "something is rebuilt")
        self.settle()
        return [*told, time.time() - STEADY_S]


@contextmanager
def run_growth(folder):
    """Run two pools of the store as `gpuyard storage --add 1` sees it, with data, and without the OSD of the host that comes."""
    loaded = open_folder(HERE).loaded
    pools = {name: loaded.cluster.ceph.pools[name] for name in ("datasets", "archive")}
    ceph = loaded.cluster.ceph.model_copy(update={"pools": pools, "filesystems": {}, "object": None})
    opened = inspect(replace(loaded, cluster=loaded.cluster.model_copy(update={"ceph": ceph}))).opened
    plan = inspect(replace(loaded, cluster=add_servers(opened.cluster, "storage", 1))).opened.plan
    with run_yard(folder, plan, first=7) as yard:
        code, told = yard.say("apply")
        assert code == 0, told
        yard.inside("ceph", "config", "set", "osd", "osd_recovery_sleep_hdd", "0")
        for pool in plan.ceph.pools:  # many small ones: OSDs bring what is in their logs at once, of four writes here
            yard.inside("rados", "-p", pool.name, "bench", "90", "write", "-b", 2**16, "--max-objects", "2000", "--no-cleanup")
        growth = Growth(yard)
        growth.least = measure_move(opened.plan.ceph.tiers[0], plan.ceph.tiers[0])
        wait_for(growth.is_clean, 90, "the store is clean")
        growth.before = growth.list_parts()
        yield growth
