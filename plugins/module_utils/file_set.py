# Copyright: gpuyard maintainers
# GNU General Public License v3.0 or later (see https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A set of small text files: compared, shown as a diff, validated, put in place by Ansible's own means. It runs on the hosts."""

from __future__ import annotations

import grp
import os
import pwd
import shlex
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
    validate: str = ""  # command that reads the new file, `%s`, before it is put in place


def plan_changes(files: list[dict[str, Any]], purge: list[str]) -> list[Change]:
    """Return what differs from the files wanted, in the order of paths.

    Args:
        files: each with `path` and `content`, and perhaps `mode`, `owner`, `group`, `validate`; or with `path` and `link`.
        purge: shell patterns of paths; what matches one and is not wanted is removed.
    """
    wanted = {each["path"]: each for each in files}
    if len(wanted) != len(files):
        twice = sorted({each["path"] for each in files if [other["path"] for other in files].count(each["path"]) > 1})
        raise FileSetError(f"named more than once: {', '.join(twice)}")
    relative = sorted(path for path in wanted if not Path(path).is_absolute())
    if relative:
        raise FileSetError(f"not an absolute path: {', '.join(relative)}")
    blind = sorted(path for path, each in wanted.items() if each.get("validate") and "%s" not in each["validate"])
    if blind:
        raise FileSetError(f"validate has no %s, which stands for the new file: {', '.join(blind)}")
    found = [change for path in sorted(wanted) if (change := _compare(path, wanted[path]))]
    for pattern in purge:  # a backup, whose name ends in a tilde, stays
        found += [Change(path, _read(path), None) for path in find_paths(pattern) if path not in wanted and path[-1] != "~"]
    return found


def find_paths(pattern: str) -> list[str]:
    """Return the paths that an absolute shell pattern matches, sorted."""
    return sorted(str(path) for path in Path("/").glob(pattern.lstrip("/")))


def _compare(path: str, wanted: dict[str, Any]) -> Change | None:
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
    change = Change(path, before, wanted["content"], mode, uid, gid, validate=wanted.get("validate") or "")
    if before is None:
        return change
    now = Path(path).stat()
    is_, shall = (stat.S_IMODE(now.st_mode), now.st_uid, now.st_gid), (mode, uid, gid)
    if is_ != shall:
        change.attributes = (_tell_attributes(*is_), _tell_attributes(*shall))
    return change if before != change.after or is_ != shall else None


def _tell_attributes(mode: int, uid: int, gid: int) -> str:
    return f"mode {mode:04o}, owner {uid}:{gid}\n"


def _read(path: str) -> str | None:
    try:
        return Path(path).read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return None


def show_changes(changes: list[Change]) -> list[dict[str, str]]:
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


def write_changes(changes: list[Change], root: str = "", module: Any = None, backup: bool = False) -> list[str]:
    """Make the changes: all are written beside their places and validated before the first is put in place in one stroke.

    Args:
        changes: what to do; `validate` of each is run where there is a module.
        root: a folder put before every path.
        module: the AnsibleModule, which knows what its copy knows: SELinux, and files that are mounts of their own, as in
            containers. Without it files are only renamed, as in a folder that nothing reads yet.
        backup: keep beside each file what it was, which takes a module.

    Returns the paths of the backups. Raises FileSetError with what all validators say; no file is changed then.
    """
    staged: list[tuple[Change, Path, Path]] = []
    try:
        for change in changes:
            if change.after is not None:
                staged.append((change, *_stage(change, Path(root + change.path), module)))
        refused = [said for change, temporary, _ in staged if module and (said := _validate(change, temporary, module))]
        if refused:
            raise FileSetError("\n".join(["nothing was changed:", *refused]))
        replaced = [change.path for change in changes if change.before is not None] if backup else []
        backups = [module.backup_local(path) for path in replaced]
        for change, temporary, path in staged:
            _place(change, temporary, path, module)
    finally:
        for _, temporary, _ in staged:
            temporary.unlink(missing_ok=True)
    for change in changes:
        if change.after is None:
            Path(root + change.path).unlink(missing_ok=True)
    return backups


def _stage(change: Change, path: Path, module: Any) -> tuple[Path, Path]:
    """Write the file, or the link, beside its place; return both paths. The name is one that no daemon reads."""
    lacking = [folder for folder in path.parents if not folder.exists()]
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    for folder in lacking if module else []:
        module.set_default_selinux_context(str(folder), False)
    after = change.after or ""
    if change.link:
        temporary = Path(tempfile.mktemp(dir=path.parent, prefix=".gpuyard-"))  # symlink refuses a name that is there
        temporary.symlink_to(after)
        return temporary, path
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".gpuyard-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(after.encode("utf-8", "surrogateescape"))
            file.flush()
            os.fchmod(file.fileno(), change.mode)
            os.fchown(file.fileno(), change.uid, change.gid)
            os.fsync(file.fileno())
    except BaseException:
        Path(name).unlink()  # a full disk must not fill with what did not fit
        raise
    return Path(name), path


def _validate(change: Change, temporary: Path, module: Any) -> str:
    """Return what the validator says against the file, empty where it takes it."""
    if not change.validate:
        return ""
    command = change.validate.replace("%s", shlex.quote(str(temporary)))
    try:
        code, out, err = module.run_command(command, handle_exceptions=False)
    except OSError as error:
        return f"- {change.path}: {change.validate}: {error.strerror}; fix: install the program that reads this file"
    said = " ".join((err.strip() or out.strip()).replace(str(temporary), change.path).split())
    return f"- {change.path}: {change.validate}: {said or f'exit {code}'}" if code else ""


def _place(change: Change, temporary: Path, path: Path, module: Any) -> None:
    """Put the file in its place, with the SELinux label that its path has by default."""
    if change.link or module is None:
        temporary.replace(path)
        if module:
            module.set_default_selinux_context(str(path), False)
        return
    former = os.umask(0o077)  # atomic_move gives a file that was not there the mode that the umask has
    try:
        module.atomic_move(str(temporary), str(path), unsafe_writes=True, keep_dest_attrs=False)
    except Exception as error:
        raise FileSetError(f"{path}: {error}") from error
    finally:
        os.umask(former)
    os.chown(path, change.uid, change.gid)
    path.chmod(change.mode)
