"""Many devices at once, a bounded number of them at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

from cluster_model.transport.session import Target

PARALLEL = 32
"""Sessions open at once, unless told otherwise: a session is mostly waiting."""

Result = TypeVar("Result")


def visit(targets: Iterable[Target], work: Callable[[Target], Result], parallel: int = PARALLEL) -> Iterator[Result]:
    """Yield what `work` returns for each target, as it comes.

    When the caller stops (an interrupt), targets not begun are dropped; those under way end with their own timeouts.
    """
    pool = ThreadPoolExecutor(max_workers=max(1, parallel), thread_name_prefix="gpuyard")
    try:
        futures = [pool.submit(work, target) for target in targets]
        for future in as_completed(futures):
            yield future.result()
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()
