"""Which tests of the machine tier may not run beside each other, also of two runs on one machine: they wait for a named lock.

A unit takes its lock before its first test begins, and so before any of its deadlines does, and keeps it to the end of its last.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from typing import IO

PLACES = {"vm": 1, "twin": 1, "ibsim": 1, "containers": 2}
"""How many units at a time hold a lock. An emulated processor slows down all that runs beside another."""
HOLDERS = {
    "tests/contract/test_partitions_opensm.py": "ibsim",
    "tests/ibsim/": "ibsim",
    "tests/molecule/": "containers",
    "tests/system/test_boot_ipxe.py": "vm",
    "tests/system/test_provision.py": "vm",
    "tests/system/test_site_playbook.py": "containers",
    "tests/system/test_tenants_vm.py": "vm",
    "tests/system/test_twin.py": "twin",
    "tests/system/test_twin_infiniband.py": "ibsim",
    "tests/system/test_twin_vm.py": "vm",
    "tests/system/test_verify.py": "twin",
}
"""The lock that a folder's or a file's tests take."""


def find_lock(nodeid: str) -> str:
    """Return the lock that a test takes; empty where it takes none."""
    return next((lock for place, lock in HOLDERS.items() if nodeid.startswith(place)), "")


class Holder:
    """Holds the lock of what this process runs."""

    def __init__(self, folder: str | Path = "") -> None:
        # Not by TMPDIR: a run that has another one is on this machine too.
        self._folder = Path(folder or os.environ.get("GPUYARD_TEST_LOCKS") or f"/tmp/gpuyard-tests-{os.getuid()}")
        self._held: tuple[str, IO[str]] | None = None

    def take(self, name: str) -> None:
        """Hold this lock and no other; wait for it where all its places are taken."""
        if self._held and self._held[0] != name:
            self._held[1].close()
            self._held = None
        while name and not self._held:
            self._held = self._try(name)
            if not self._held:
                time.sleep(0.2)

    def list_taken(self) -> list[str]:
        """Return the locks for which one would wait now."""
        taken = []
        for name in PLACES:
            if held := self._try(name):
                held[1].close()
            else:
                taken.append(name)
        return taken

    def _try(self, name: str) -> tuple[str, IO[str]] | None:
        self._folder.mkdir(exist_ok=True)
        for place in range(PLACES[name]):
            file = (self._folder / f"{name}-{place}.lock").open("a")  # closed, also by the end of this process, it is free
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.close()
            else:
                return name, file
        return None
