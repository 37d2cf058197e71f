"""Files that tests keep what the tool writes in: compared byte for byte, or written where GPUYARD_RECORD=1 (`make record`).

One function does both, so what `make record` writes is what the tests assert. No recorded file has two writers, and none is made
of another, but for what `make record` writes first: they may be written in any order.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from difflib import unified_diff
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
RECORDING = os.environ.get("GPUYARD_RECORD") == "1"
SHOWN_LINES = 40


def check(path: Path, text: str) -> None:
    """Compare a file with what shall stand in it, or write it."""
    check_all({path: text})


def check_all(texts: Mapping[Path, str], kept: Iterable[Path] = ()) -> None:
    """Compare files with what shall stand in them, or write those that differ.

    Args:
        texts: what each file shall hold.
        kept: files that are there; one that is not among the texts is stale: it fails the test, or is removed.
    """
    told: list[str] = []
    for path in sorted({*texts, *kept}):
        new = texts[path].encode("utf-8") if path in texts else None
        old = path.read_bytes() if path.is_file() else None
        if new != old:
            if RECORDING:
                _put(path, new)
            else:
                told += _tell(path, old, new)
    if told:
        cut = [*told[:SHOWN_LINES], f"and {len(told) - SHOWN_LINES} lines more\n"] if len(told) > SHOWN_LINES else told
        pytest.fail("differs from what is recorded: run `make record`, read its diff\n" + "".join(cut), pytrace=False)


def _put(path: Path, data: bytes | None) -> None:
    """Write a file whole or not at all; no data removes it, and its folder once that is empty."""
    if data is None:
        path.unlink()
        with suppress(OSError):
            path.parent.rmdir()
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        new.write_bytes(data)
        if path.exists():
            shutil.copymode(path, new)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def _tell(path: Path, old: bytes | None, new: bytes | None) -> list[str]:
    name = str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)
    if old is None or new is None:
        return [f"{name}: recorded, and nothing writes it\n" if new is None else f"{name}: written, and not recorded\n"]
    before, after = (data.decode("utf-8", "replace").splitlines(keepends=True) for data in (old, new))
    lines = unified_diff(before, after, f"recorded/{name}", f"written/{name}", n=1)
    return [line if line.endswith("\n") else f"{line}\n" for line in lines]
