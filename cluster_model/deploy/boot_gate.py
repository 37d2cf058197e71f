"""What one machine may take from all others: connections, and lines of the journal."""

from __future__ import annotations

import resource
import threading
import time
from collections import Counter
from collections.abc import Callable

CONNECTIONS = 4096
"""Connections at once, where the limit of open files allows them; it bounds threads too."""
PER_ADDRESS = 32
"""Connections of one address at once. A machine that boots holds one or two; a proxy before a rack needs more."""
STRANGERS_PART = 4
"""Addresses that the plan does not have together get one in so many connections."""
FILES = 16_384
_FILES_KEPT = 128
_FILES_EACH = 3
"""Files that an answer may have open: the connection, the file that is sent, the journal."""
_KEYS = 50_000


class Gate:
    """Says who may hold a connection. May be used by many threads.

    Args:
        is_planned: whether an address belongs to a machine of the plan.
        limit: connections of all at once.
        per_address: connections of one address at once.
    """

    def __init__(self, is_planned: Callable[[str], bool], limit: int = CONNECTIONS, per_address: int = PER_ADDRESS) -> None:
        self.limit = limit
        self.per_address = per_address
        self._is_planned = is_planned
        self._held: Counter[str] = Counter()
        self._strangers: Counter[str] = Counter()
        self._all = self._strange = 0
        self._lock = threading.Lock()

    @property
    def held(self) -> int:
        """Return how many connections are held."""
        return self._all

    def enter(self, address: str) -> bool:
        """Return whether an address may have one more connection, and count it; `leave` gives it back."""
        strange = not self._is_planned(address)
        with self._lock:
            if self._all >= self.limit or self._held[address] >= self.per_address:
                return False
            if strange and self._strange >= max(1, self.limit // STRANGERS_PART):
                return False
            self._held[address] += 1
            self._all += 1
            self._strange += strange
            self._strangers[address] += strange
        return True

    def leave(self, address: str) -> None:
        """Give a connection back, as what it was let in: by now the plan may have an address that it did not have."""
        with self._lock:
            self._all -= 1
            self._held[address] -= 1
            if self._strangers[address]:
                self._strangers[address] -= 1
                self._strange -= 1
            for held in (self._held, self._strangers):
                if not held[address]:
                    del held[address]


class Quota:
    """Allows so many events of a key at once, and then one in a while. May be used by many threads.

    Args:
        burst: events at once.
        pause_s: seconds until one more is allowed.
        clock: seconds that never go back.
    """

    def __init__(self, burst: int, pause_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.burst = burst
        self.pause_s = pause_s
        self._clock = clock
        self._left: dict[str, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def take(self, key: str) -> bool:
        """Return whether one more event is allowed, and count it."""
        now = self._clock()
        with self._lock:
            if len(self._left) > _KEYS:  # somebody makes up addresses: better to forget than to grow
                self._left.clear()
            left, since = self._left.get(key, (float(self.burst), now))
            left = min(float(self.burst), left + (now - since) / self.pause_s)
            self._left[key] = (left - 1 if left >= 1 else left, now)
        return left >= 1


def fit_connections(wanted: int = CONNECTIONS) -> int:
    """Raise this process's limit of open files as far as it may, and return how many connections it bears, at most `wanted`."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    aim = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < aim:
        resource.setrlimit(resource.RLIMIT_NOFILE, (aim, hard))
        soft = aim
    if soft == resource.RLIM_INFINITY:
        return wanted
    return max(1, min(wanted, (soft - _FILES_KEPT) // _FILES_EACH))
