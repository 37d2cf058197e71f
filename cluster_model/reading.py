"""Files that others wrote: regular ones alone, in the folder they belong to, and not without end."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO


class RefusedFileError(OSError):
    """A file that is not read; `strerror` says why, in words."""

    def __init__(self, reason: str, path: Path | None = None) -> None:
        super().__init__(0, reason, path)


class TooLargeError(RefusedFileError):
    """A file that is larger than it may be."""


def read_file(path: Path, most: int, folder: Path | None = None) -> bytes:
    """Return a file's bytes.

    Args:
        path: the file.
        most: bytes it may have.
        folder: where it must lie once links are followed; None: anywhere.

    Raises:
        OSError: it cannot be read. RefusedFileError: it is no regular file, or lies elsewhere; TooLargeError.
        ValueError: its name holds a NUL character.
    """
    if folder is not None and not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)):
        raise RefusedFileError("it is a link that leads out of the cluster's folder", path)
    with open_file(path) as stream:
        raw = stream.read(most + 1)
    if len(raw) > most:
        raise TooLargeError(f"it has more than {most} bytes", path)
    return raw


def open_file(path: Path) -> BinaryIO:
    """Return a regular file, open for reading; OSError and RefusedFileError as read_file has them."""
    _check(path, path.stat())  # before it is opened: opening a FIFO waits, opening a device may do something
    stream = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    try:
        _check(path, os.fstat(stream.fileno()))
    except OSError:
        stream.close()
        raise
    return stream


def _check(path: Path, status: os.stat_result) -> None:
    kinds = {
        stat.S_IFDIR: "a folder",
        stat.S_IFIFO: "a FIFO",
        stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
    }
    if not stat.S_ISREG(status.st_mode):
        raise RefusedFileError(f"it is {kinds.get(stat.S_IFMT(status.st_mode), 'no regular file')}, not a file", path)
