"""Many devices at once, a bounded number of them at a time."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

PARALLEL = 32
"""Sessions open at once, unless told otherwise: a session is mostly waiting."""

Item = TypeVar("Item")
Result = TypeVar("Result")


def visit(targets: Iterable[Item], work: Callable[[Item], Result], parallel: int = PARALLEL) -> Iterator[Result]:
    """Yield what `work` returns for each target, as it comes.

    When the caller stops (an interrupt), nothing more is begun. The threads are daemons, so that sessions under way do not hold
    the command up.
    """
    waiting: queue.SimpleQueue[Item] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[Result | None, BaseException | None]] = queue.SimpleQueue()
    stopped = threading.Event()

    def serve() -> None:
        while not stopped.is_set():
            try:
                target = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                done.put((work(target), None))
            except BaseException as error:
                done.put((None, error))

    count = 0
    for target in targets:
        waiting.put(target)
        count += 1
    for _ in range(min(max(1, parallel), count)):
        threading.Thread(target=serve, daemon=True, name="gpuyard").start()
    try:
        for _ in range(count):
            result, error = done.get()
            if error is not None:
                raise error
            yield result  # type: ignore[misc]
    finally:
        stopped.set()
