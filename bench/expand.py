"""Have a host come to a Ceph of real daemons, at once and in steps: what moves, and how long clients wait, against a quiet store.

Seven OSDs on files in three racks, and an eighth that comes. Root, and the packages ceph-mon, ceph-mgr, ceph-osd, python3-rados.
"""

import json
import shutil
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from clients import compare, require_ceph, summarize

from tests.ceph.growth import HOST, OSD, run_growth
from tests.slowness import wait_for

QUIET_S = 30


@contextmanager
def clients(growth, found):
    """Have clients write meanwhile, and add to `found` how long their writes took while data moved."""
    ended, spans = threading.Event(), []
    watching = threading.Thread(target=watch, args=(growth, ended, spans))
    with growth.write_meanwhile() as told:
        watching.start()
        try:
            yield
        finally:
            ended.set()
            watching.join()
    found |= summarize(told["writes"], spans)


def watch(growth, ended, spans):
    """Add when data moved, from and to, to `spans`."""
    before = time.time()
    while not ended.wait(0.5):
        is_moving, now = not growth.is_clean(), time.time()
        if is_moving:
            spans.append((before, now))
        before = now


def come_at_once(growth):
    """Have the host come as CRUSH alone has it, and let it go again; return what moved, and what came to it of that."""
    lay, found = growth.list_parts(), {}
    with clients(growth, found):
        growth.yard.make_osds()
        wait_for(growth.count_on_new, 60, "data comes")
        growth.settle()
    weigh(growth, lay, found)
    growth.yard.inside("ceph", "osd", "crush", "reweight", f"osd.{OSD}", 0)
    growth.settle()
    growth.yard.daemons("kill", f"osd.{OSD}")
    growth.yard.inside("ceph", "osd", "purge", OSD, "--force", "--yes-i-really-mean-it")
    shutil.rmtree(growth.yard.folder / f"osd-{OSD}")
    growth.settle()
    return found


def come_in_steps(growth):
    """Have the host come by role ceph_expand; return what moved, and what came to it of that."""
    lay, found, steps = growth.list_parts(), {}, []
    with clients(growth, found):
        growth.say("begin", "do")
        growth.yard.make_osds()
        growth.told = growth.say("hold", "do")
        while not steps or steps[-1]["left"]:
            steps.append(growth.say("step", "do"))
        growth.say("end", "do")
        growth.settle()
    weigh(growth, lay, found)
    return found | {"steps": len(steps)}


def weigh(growth, lay, found):
    """Add to `found` what moved, in MiB, and how many times what had to."""
    parts = growth.list_parts()
    moved, least = growth.weigh(parts - lay), growth.weigh({part for part in parts if part[1] == OSD})
    found |= {"moved_mib": round(moved / 2**20, 1), "moved_times_least": round(moved / least, 3)}


def main():
    """Measure both ways on one store."""
    require_ceph()
    with tempfile.TemporaryDirectory(prefix="gpuyard-bench-") as folder, run_growth(Path(folder)) as growth:
        growth.yard.inside("ceph", "balancer", "off")
        begun = time.time()
        with growth.write_meanwhile() as told:
            time.sleep(QUIET_S)
        quiet = summarize(told["writes"], [(begun, time.time())])
        print(json.dumps({"quiet": quiet}), flush=True)
        for way in (come_at_once, come_in_steps):
            found = way(growth)
            print(json.dumps({way.__name__: found | compare(found, quiet), "host": HOST}), flush=True)


if __name__ == "__main__":
    main()
