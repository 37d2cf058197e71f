"""Files that others wrote: regular ones alone, in the folder they belong to, and not without end."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from pathlib import Path
from typing import BinaryIO

from cluster_model.texts import UNSHOWN

CATALOGUE_FOLDERS = ("device-types", "gpus", "nics")
_UNSHOWN = re.compile(f"[{UNSHOWN}]")


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


def hash_file(path: Path, most: int, folder: Path) -> str:
    """Return the SHA-256 of a file's bytes; `-` where `read_file` would refuse it or it cannot be read."""
    try:
        return hashlib.sha256(read_file(path, most, folder)).hexdigest()
    except (OSError, ValueError):
        return "-"


def list_catalogue(root: Path) -> tuple[list[Path], dict[Path, str]]:
    """Return what the catalogue of a cluster is read from, and what stands where it would be read from and is not taken.

    These are `media.yaml`, and YAML files `device-types/MAKER/MODEL.yaml`, likewise below `gpus/` and `nics/`; nothing else in
    there is read. All of it lies in the cluster's own folder: no folder is a link, the catalogue itself neither, and a link to a
    file leads to one in the catalogue. Else the text of any file could be shown in a finding and delivered to the boot server.

    Args:
        root: the folder `catalogue` beside an intent, which need not be there.

    Returns:
        Regular files, sorted; and by path, in words, what is refused: `a link to /etc`, `a FIFO`.
    """
    refused: dict[Path, str] = {}
    tops = _list_folder(root, refused)
    makers = [maker for top in tops if top.name in CATALOGUE_FOLDERS for maker in _list_folder(top, refused)]
    found = [top for top in tops if top.name == "media.yaml"]
    found += [file for maker in makers for file in _list_folder(maker, refused) if file.suffix in {".yaml", ".yml"}]
    refused |= {file: wrong for file in found if (wrong := _explain_file(file, root))}
    return sorted(file for file in found if file not in refused), refused


def _list_folder(folder: Path, refused: dict[Path, str]) -> list[Path]:
    """Return what lies in a folder, sorted; not what is hidden: editors put locks there, which are links to nowhere."""
    if folder.is_symlink():
        if not os.path.isfile(folder):  # noqa: PTH113 - Path.is_file raises where it may not look
            refused[folder] = f"a link to {folder.readlink()}"
        return []
    try:
        return sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        refused[folder] = f"a folder that cannot be read: {error.strerror}"
        return []


def _explain_file(file: Path, root: Path) -> str:
    """Return what stands in place of a file of the catalogue; empty where it is one."""
    if _UNSHOWN.search(file.name) or _UNSHOWN.search(file.parent.name):
        return "a name with characters that do not show"
    what = f"a link to {file.readlink()}" if file.is_symlink() else ""
    if what and not Path(os.path.realpath(file)).is_relative_to(os.path.realpath(root)):
        return what
    try:
        kind = _name_kind(file.stat())
    except OSError as error:
        return f"{what}: {error.strerror}" if what else ""
    return f"{what}, {kind}" if what and kind else kind


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
    kind = _name_kind(status)
    if kind:
        raise RefusedFileError(f"it is {kind}, not a file", path)


def _name_kind(status: os.stat_result) -> str:
    """Return what something is instead of a regular file, in words; empty where it is one."""
    kinds = {
        stat.S_IFDIR: "a folder",
        stat.S_IFIFO: "a FIFO",
        stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
    }
    return "" if stat.S_ISREG(status.st_mode) else kinds.get(stat.S_IFMT(status.st_mode), "no regular file")
