"""Write to a pool of Ceph without pause until standard input ends, and print how long writes took, as JSON; python3-rados.

usage: rados_client.py POOL, with CEPH_CONF. Four writers, each with a write of 4 KiB at a time and a rest of 20 ms after it.
"""

import json
import os
import sys
import threading
import time

import rados

WRITERS, REST_S, OBJECTS = 4, 0.02, 64


def write(cluster, pool, number, ended, took):
    """Write the same objects over and over."""
    with cluster.open_ioctx(pool) as objects:
        at = 0
        while not ended.wait(REST_S):
            begun = time.perf_counter()
            objects.write_full(f"client-{number}-{at % OBJECTS}", b"x" * 4096)
            took.append(1000 * (time.perf_counter() - begun))
            at += 1


def main(pool):
    """Write, and print what is known in the end."""
    took, ended = [], threading.Event()
    with rados.Rados(conffile=os.environ["CEPH_CONF"]) as cluster:
        writers = [threading.Thread(target=write, args=(cluster, pool, number, ended, took)) for number in range(WRITERS)]
        for writer in writers:
            writer.start()
        sys.stdin.read()
        ended.set()
        for writer in writers:
            writer.join()
    took.sort()
    share = {f"p{part}_ms": round(took[len(took) * part // 100], 2) for part in (50, 99)}
    print(json.dumps({"writes": len(took), **share}))


if __name__ == "__main__":
    main(sys.argv[1])
