"""Have a host come to a Ceph of real daemons, at once and in steps: what moves, and how long clients wait, against a quiet store.

Seven OSDs on files in three racks, and an eighth that comes. Root, and the packages ceph-mon, ceph-mgr, ceph-osd, python3-rados.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.ceph.growth import HOST, OSD, run_growth
from tests.slowness import wait_for

CLIENT = Path(__file__).resolve().parent / "rados_client.py"
QUIET_S, STEADY_S = 30, 3


@contextmanager
def clients(growth, found, is_quiet=False):
    """Have clients write meanwhile, and add to `found` how long their writes took while data moved, or all where none does."""
    command = ["ip", "netns", "exec", growth.yard.space, "/usr/bin/python3", CLIENT, "datasets"]
    variables = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    variables["CEPH_CONF"] = str(growth.yard.folder / "ceph.conf")
    begun, ended, spans = time.time(), threading.Event(), []
    watching = threading.Thread(target=watch, args=(growth, ended, spans))
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=variables) as running:
        watching.start()
        try:
            yield
        finally:
            ended.set()
            watching.join()
            said, _ = running.communicate()
    if running.returncode:
        sys.exit("clients could not write, so the rest says nothing")
    writes = json.loads(said)
    took = sorted(ms for due, ms in writes if is_quiet or any(start <= due < end for start, end in spans))
    if not took:
        sys.exit("no data moved, so this says nothing")
    moving = time.time() - begun if is_quiet else sum(end - start for start, end in spans)
    found |= {"seconds": round(moving, 1), "writes": len(took), "most_ms": took[-1]}
    found |= {f"p{part}_ms": took[len(took) * part // 100] for part in (50, 99)}


def watch(growth, ended, spans):
    """Add when data moved, from and to, to `spans`."""
    before = time.time()
    while not ended.wait(0.5):
        is_moving, now = not growth.is_clean(), time.time()
        if is_moving:
            spans.append((before, now))
        before = now


def settle(growth):
    """Wait until all is where it shall be, and stays there."""
    since = [time.monotonic()]

    def is_steady():
        since[0] = since[0] if growth.is_clean() else time.monotonic()
        return time.monotonic() - since[0] >= STEADY_S

    wait_for(is_steady, 600, "all is where it shall be", every_s=0.5)


def come_at_once(growth):
    """Have the host come as CRUSH alone has it, and let it go again; return what moved, and what came to it of that."""
    lay, found = growth.list_parts(), {}
    with clients(growth, found):
        growth.yard.make_osds()
        wait_for(growth.count_on_new, 60, "data comes")
        settle(growth)
    weigh(growth, lay, found)
    growth.yard.inside("ceph", "osd", "crush", "reweight", f"osd.{OSD}", 0)
    settle(growth)
    growth.yard.daemons("kill", f"osd.{OSD}")
    growth.yard.inside("ceph", "osd", "purge", OSD, "--force", "--yes-i-really-mean-it")
    shutil.rmtree(growth.yard.folder / f"osd-{OSD}")
    settle(growth)
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
        settle(growth)
    weigh(growth, lay, found)
    return found | {"steps": len(steps)}


def weigh(growth, lay, found):
    """Add to `found` what moved, in MiB, and how many times what had to."""
    parts = growth.list_parts()
    moved, least = growth.weigh(parts - lay), growth.weigh({part for part in parts if part[1] == OSD})
    found |= {"moved_mib": round(moved / 2**20, 1), "moved_times_least": round(moved / least, 3)}


def main():
    """Measure both ways on one store."""
    lacking = [name for name in ("ceph-mon", "ceph-mgr", "ceph-osd", "rados") if not shutil.which(name)]
    if os.getuid() or lacking:
        sys.exit(f"no Ceph runs here without {', '.join(lacking) or 'root'}")
    with tempfile.TemporaryDirectory(prefix="gpuyard-bench-") as folder, run_growth(Path(folder)) as growth:
        quiet = {}
        growth.yard.inside("ceph", "balancer", "off")
        with clients(growth, quiet, is_quiet=True):
            time.sleep(QUIET_S)
        print(json.dumps({"quiet": quiet}), flush=True)
        for way in (come_at_once, come_in_steps):
            found = way(growth)
            found |= {
                f"{part}_times_quiet": round(found[f"{part}_ms"] / quiet[f"{part}_ms"], 2) for part in ("p50", "p99", "most")
            }
            print(json.dumps({way.__name__: found, "host": HOST}), flush=True)


if __name__ == "__main__":
    main()
