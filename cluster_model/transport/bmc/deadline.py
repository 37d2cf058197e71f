"""A deadline for all of an answer: a byte in a while puts off every timeout that a socket has."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator
from threading import Event, Timer


@contextlib.contextmanager
def cut_after(seconds: float, find_line: Callable[[], socket.socket | None]) -> Iterator[Event]:
    """Cut a connection that is still in use after so many seconds.

    Args:
        seconds: how long it has.
        find_line: returns the connection that is in use then.

    Yields:
        An event that is set once it was cut.
    """
    cut_off = Event()

    def cut() -> None:
        cut_off.set()
        line = find_line()
        with contextlib.suppress(OSError):
            if line is not None:
                socket.socket.shutdown(line, socket.SHUT_RDWR)  # below TLS, which another thread is reading

    timer = Timer(seconds, cut)
    timer.daemon = True
    timer.start()
    try:
        yield cut_off
    finally:
        timer.cancel()
