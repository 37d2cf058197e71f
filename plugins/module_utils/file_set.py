# Copyright: gpuyard maintainers
# GNU General Public License v3.0 or later (see https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A set of small text files: compared, shown as a diff, written atomically. Standard library only; it runs on the hosts."""

from __future__ import annotations

import errno
import grp
import os
import pwd
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

MODE = "0644"


class FileSetError(Exception):
    """A set of files that cannot be written; the text says why."""


@dataclass
class Change:
    """What becomes of one path: `after` None removes it, `before` None means that it is not there."""

    path: str
    before: str | None
    after: str | None
    mode: int = 0o644
    uid: int = 0
    gid: int = 0
    attributes: tuple[str, str] = ("", "")  # mode and owner before and after, where they differ
    link: bool = False  # `after` is what a symbolic link shall point to


def plan_changes(files: list[dict], purge: list[str]) -> list[Change]:
    """Return what differs from the files wanted, in the order of paths.

    Args:
        files: each with `path` and `content`, and perhaps `mode`, `owner`, `group`; or with `path` and `link`.
        purge: shell patterns of paths; what matches one and is not wanted is removed.
    """
    wanted = {each["path"]: each for each in files}
    if len(wanted) != len(files):
        twice = sorted({each["path"] for each in files if [other["path"] for other in files].count(each["path"]) > 1})
        raise FileSetError(f"named more than once: {', '.join(twice)}")
    relative = sorted(path for path in wanted if not Path(path).is_absolute())
    if relative:
        raise FileSetError(f"not an absolute path: {', '.join(relative)}")
    found = [change for path in sorted(wanted) if (change := _compare(path, wanted[path]))]
    for pattern in purge:
        found += [Change(path, _read(path), None) for path in find_paths(pattern) if path not in wanted]
    return found


def find_paths(pattern: str) -> list[str]:
    """Return the paths that an absolute shell pattern matches, sorted."""
    return sorted(str(path) for path in Path("/").glob(pattern.lstrip("/")))


def _compare(path: str, wanted: dict) -> Change | None:
    mode = int(str(wanted.get("mode") or MODE), 8)
    try:
        uid = pwd.getpwnam(wanted.get("owner") or "root").pw_uid
        gid = grp.getgrnam(wanted.get("group") or "root").gr_gid
    except KeyError as error:
        raise FileSetError(f"{path}: {error.args[0]}") from error
    if Path(path).is_dir():
        raise FileSetError(f"{path} is a folder")
    points = str(Path(path).readlink()) if Path(path).is_symlink() else None
    if wanted.get("link") is not None:
        return None if points == wanted["link"] else Change(path, points or _read(path), wanted["link"], link=True)
    before = None if points else _read(path)
    change = Change(path, before, wanted["content"], mode, uid, gid)
    if before is None:
        return change
    now = Path(path).stat()
    is_, shall = (stat.S_IMODE(now.st_mode), now.st_uid, now.st_gid), (mode, uid, gid)
    if is_ != shall:
        change.attributes = tuple(f"mode {each[0]:04o}, owner {each[1]}:{each[2]}\n" for each in (is_, shall))
    return change if before != change.after or is_ != shall else None


def _read(path: str) -> str | None:
    try:
        return Path(path).read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return None


def show_changes(changes: list[Change]) -> list[dict]:
    """Return the changes as Ansible shows differences."""
    return [
        {
            "before_header": change.path if change.before is not None else "(absent)",
            "after_header": change.path if change.after is not None else "(absent)",
            "before": change.attributes[0] + (change.before or ""),
            "after": change.attributes[1] + (change.after or ""),
        }
        for change in changes
    ]


def write_changes(changes: list[Change], root: str = "") -> None:
    """Make the changes, each file in one stroke; `root` is a folder put before every path."""
    for change in changes:
        path = Path(root + change.path)
        if change.after is None:
            path.unlink(missing_ok=True)
            continue
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        if change.link:
            temporary = Path(tempfile.mktemp(dir=path.parent, prefix=".gpuyard-"))  # symlink refuses a name that is there
            temporary.symlink_to(change.after)
            temporary.rename(path)
            continue
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".gpuyard-")
        temporary = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(change.after.encode("utf-8", "surrogateescape"))
                file.flush()
                os.fsync(file.fileno())
            temporary.chmod(change.mode)
            os.chown(temporary, change.uid, change.gid)
            _replace(temporary, path, change)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def _replace(temporary: Path, path: Path, change: Change) -> None:
    """Put the file in its place; one that is a mount of its own, as in containers, is written through."""
    try:
        temporary.rename(path)
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        path.write_bytes((change.after or "").encode("utf-8", "surrogateescape"))
        temporary.unlink()
