"""Ctrl-C before anything was begun: leave at once, with one line and exit code 130.

Python raises KeyboardInterrupt wherever it happens to be. In the middle of an import that prints a traceback, or is lost; so
while there is nothing to undo, the signal ends the process itself. A verb that acts gets the exception, and clears up.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

INTERRUPTED = 130


def leave_at_once() -> None:
    """End this process on Ctrl-C from now on, wherever it is."""
    signal.signal(signal.SIGINT, _leave)


def unwind() -> None:
    """Let Ctrl-C raise KeyboardInterrupt again, where `leave_at_once` was called before."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def ignore_from_now() -> None:
    """Keep the exit code of a command that is done: Python's own shutdown would die of a late Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def while_reading(is_command: bool) -> Iterator[None]:
    """End this process on Ctrl-C while a cluster is read; without `is_command` nothing changes."""
    before = signal.getsignal(signal.SIGINT)
    if not is_command or before is not signal.default_int_handler:
        yield
        return
    leave_at_once()
    try:
        yield
    finally:
        unwind()


def _leave(_number: int, _frame: Any) -> None:
    os.write(2, b"Interrupted.\n")
    os._exit(INTERRUPTED)
