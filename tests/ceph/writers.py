"""Write to a pool of Ceph at an even pace until standard input ends, and print when writes were due and how long each took.

usage: writers.py POOL, with CEPH_CONF; needs python3-rados. Eight writers, each with a write of 4 KiB every 100 ms. One that is
held up makes up for it, and what was due meanwhile counts from when it was: clients do not wait less since others wait too.
Prints JSON: `writes`, a list of seconds since 1970 and milliseconds, and `lost`, the objects that in the end are not there or not
as they were written last. Where a writer fails, the exit code is 1.
"""

import json
import os
import sys
import threading
import time

import rados

WRITERS, EVERY_S, OBJECTS, BYTES = 8, 0.1, 64, 4096


def write(cluster, pool, number, ended, found):
    """Write the same objects over and over, each time other content, and read all of them in the end."""
    with cluster.open_ioctx(pool) as objects:
        due, at, last = time.time() + EVERY_S * number / WRITERS, 0, {}
        while not ended.wait(max(0.0, due - time.time())):
            name, content = f"client-{number}-{at % OBJECTS}", str(at).encode().ljust(BYTES)
            objects.write_full(name, content)
            last[name] = content
            found["writes"].append((due, round(1000 * (time.time() - due), 2)))
            due, at = due + EVERY_S, at + 1
        for name, content in last.items():
            try:
                is_kept = objects.read(name, BYTES) == content
            except rados.ObjectNotFound:
                is_kept = False
            found["lost"] += [] if is_kept else [name]
    found["ended"] += 1


def main(pool):
    """Write, and print what is known in the end."""
    found, ended = {"writes": [], "lost": [], "ended": 0}, threading.Event()
    with rados.Rados(conffile=os.environ["CEPH_CONF"]) as cluster:
        writers = [threading.Thread(target=write, args=(cluster, pool, number, ended, found)) for number in range(WRITERS)]
        for writer in writers:
            writer.start()
        sys.stdin.read()
        ended.set()
        for writer in writers:
            writer.join()
    print(json.dumps({"writes": sorted(found["writes"]), "lost": sorted(found["lost"])}))
    sys.exit(found["ended"] < WRITERS)


if __name__ == "__main__":
    main(sys.argv[1])
