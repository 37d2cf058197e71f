"""One test for many small cases of one law: it goes through all of them and tells every one that fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest


def check_each(check: Callable[[Any], object], cases: Iterable[Any]) -> None:
    """Call `check` with every case; fail once, with each case that failed and what it said.

    A law without cases fails, too: whatever listed them has lost them.
    """
    given = list(cases)
    assert given, "there is nothing to check"
    failed = []
    for case in given:
        try:
            check(case)
        except (Exception, pytest.fail.Exception) as error:
            failed.append(f"{case}: {'' if isinstance(error, AssertionError) else type(error).__name__ + ': '}{error}")
    if failed:
        pytest.fail(f"{len(failed)} of {len(given)}:\n" + "\n".join(failed), pytrace=False)
