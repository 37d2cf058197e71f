"""Write to a pool of Ceph at an even pace until standard input ends, and print when writes were due and how long each took.

usage: rados_client.py POOL, with CEPH_CONF; needs python3-rados. Eight writers, each with a write of 4 KiB every 100 ms. One that
is held up makes up for it, and what was due meanwhile counts from when it was: clients do not wait less since others wait too.
Prints JSON, a list of seconds since 1970 and milliseconds.
"""

import json
import os
import sys
import threading
import time

import rados

WRITERS, EVERY_S, OBJECTS = 8, 0.1, 64


def write(cluster, pool, number, ended, took):
    """Write the same objects over and over."""
    with cluster.open_ioctx(pool) as objects:
        due, at = time.time() + EVERY_S * number / WRITERS, 0
        while not ended.wait(max(0.0, due - time.time())):
            objects.write_full(f"client-{number}-{at % OBJECTS}", b"x" * 4096)
            took.append((due, round(1000 * (time.time() - due), 2)))
            due, at = due + EVERY_S, at + 1


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
    print(json.dumps(sorted(took)))


if __name__ == "__main__":
    main(sys.argv[1])
