"""How much slower than an idle machine of one's own this one is: GPUYARD_SLOWNESS, 1 by default, 3 where changes are judged.

It stretches when something must be seen, never what: every deadline that ends a test goes by it.
"""

import os
import re
import sys
import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")


def read_slowness() -> float:
    """Return GPUYARD_SLOWNESS; the program ends with a message where it is no number from 1 to 100, as `gpuyard twin` does."""
    said = os.environ.get("GPUYARD_SLOWNESS") or "1"
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", said) and 1 <= float(said) <= 100:
        return float(said)
    print(f"GPUYARD_SLOWNESS is {said!r}; expected a number from 1 to 100; fix: export GPUYARD_SLOWNESS=3", file=sys.stderr)
    sys.exit(2)


SLOWNESS = read_slowness()


def stretch(seconds: float) -> float:
    """Return how long is waited here for what comes within `seconds` on an idle machine."""
    return seconds * SLOWNESS


def wait_for(probe: Callable[[], Found], within_s: float, what: str | Callable[[], str], every_s: float = 0.1) -> Found:
    """Return what a probe finds once that is true; AssertionError with `what` where it is not within a stretched `within_s`."""
    deadline = time.monotonic() + stretch(within_s)
    while not (found := probe()):
        if time.monotonic() > deadline:  # no assert: its rewriting would show the numbers of a clock
            raise AssertionError(f"not within {stretch(within_s):g} s: {what if isinstance(what, str) else what()}")
        time.sleep(every_s)
    return found
