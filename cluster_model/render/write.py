"""Put a rendered tree on disk: only what changed, all or nothing.

The new tree is built whole beside the old one and the two folders trade places in one system call (renameat2 with
RENAME_EXCHANGE, Linux 3.15), so a reader, a killed run and a full disk all leave either the old tree or the new one. Files that
did not change are hard links to the old ones: they keep their inode and their time of change. Where the file system cannot
exchange, two renames do; the gap between them is repaired by the next run.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import shutil
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from cluster_model.reading import RefusedFileError, open_file
from cluster_model.render.manifest import MANIFEST, family_of, format_manifest, read_manifest, sum_files

_RENAME_EXCHANGE = 2
_AT_FDCWD = -100
_NO_EXCHANGE = {errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM}


class WriteError(Exception):
    """A tree could not be written; the message is one sentence for the user, and the old tree stands."""


@dataclass(frozen=True, slots=True)
class Written:
    """What a write did, as sorted relative paths. `foreign` files are not ours and were left alone."""

    written: tuple[str, ...]
    removed: tuple[str, ...]
    unchanged: tuple[str, ...]
    foreign: tuple[str, ...] = ()


def compare_tree(target: Path, files: Mapping[str, bytes], families: Collection[str] | None = None) -> Written:
    """Return what `write_tree` would do, without doing it. Raises WriteError where it would refuse."""
    target = _real(target)
    return _compare(target, _merge(target, files, families))


def write_tree(target: Path, files: Mapping[str, bytes], digest: str, families: Collection[str] | None = None) -> Written:
    """Make `target` hold `files`, and nothing else that a former render put there.

    Args:
        target: the folder, created where missing. A link is followed.
        files: content by relative path, manifest.json among them.
        digest: digest of the intent that the files come from.
        families: what was rendered; files of other families stay as they are. None: everything was.

    Returns:
        What was done. A second call with the same files writes nothing at all.

    Raises:
        WriteError: the folder is not ours or another cluster's, cannot be written, or the disk is full. The old tree stands.
    """
    if digest and orjson.loads(files[MANIFEST])["digest"] != digest:
        raise ValueError("the manifest is of another digest")
    target = _real(target)
    if not target.name:
        raise WriteError(f"{target} cannot be replaced whole; name a folder inside it")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _lock(target):
            _recover(target)
            files = _merge(target, files, families)
            done = _compare(target, files)
            if done.written or done.removed:
                _replace(target, files, done)
            return done
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise WriteError(f"cannot write {target}: {reason}; what stood there stands") from error


def _real(target: Path) -> Path:
    return Path(os.path.realpath(target))


def _staging(target: Path) -> Path:
    """Return the folder beside the target that holds the new tree before the exchange, and the old one after it."""
    return target.with_name(f".{target.name}.gpuyard-new")


def _aside(target: Path) -> Path:
    """Return where the old tree waits between two renames, where there is no exchange."""
    return target.with_name(f".{target.name}.gpuyard-old")


@contextmanager
def _lock(target: Path) -> Iterator[None]:
    """Let one render at a time write a target; the kernel frees the lock of a killed one.

    Others may write to the folder too: a link in the lock's place is not followed, and a lock that somebody else holds is not
    waited for, since its holder need not be a render.
    """
    path = target.with_name(f".{target.name}.gpuyard-lock")
    while True:
        descriptor = _open_lock(path)
        try:
            is_own = os.fstat(descriptor).st_uid == os.geteuid()
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX if is_own else fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise WriteError(f"{path} is locked by user {os.fstat(descriptor).st_uid}; wait until they are done") from None
            # The last holder removes the file, so the one that was waited for may be gone by now: then it guards nothing.
            with suppress(FileNotFoundError):
                if path.lstat().st_ino == os.fstat(descriptor).st_ino:
                    break
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink()
        os.close(descriptor)


def _open_lock(path: Path) -> int:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise WriteError(f"{path} is a link where a lock belongs, and none of ours; remove it") from None
        if error.errno in {errno.EACCES, errno.EISDIR, errno.ENXIO} and os.path.lexists(path):
            raise WriteError(f"{path} is no lock that you may use; remove it, or ask whose it is") from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise WriteError(f"{path} is no file where a lock belongs; remove it")
    return descriptor


def _recover(target: Path) -> None:
    """Clear away what a killed run left."""
    aside = _aside(target)
    if aside.exists():
        if target.exists():
            _retire(aside, target)
        else:
            aside.rename(target)
    if _staging(target).exists():
        _retire(_staging(target), target)


def _read_manifest(folder: Path) -> dict[str, Any] | None:
    """Return a folder's manifest, None where it has none of ours."""
    try:
        with open_file(folder / MANIFEST) as stream:
            return read_manifest(stream.read())
    except (FileNotFoundError, NotADirectoryError, RefusedFileError):
        return None


def _refuse_other_cluster(target: Path, old: dict[str, Any], wanted: str) -> None:
    """Raise WriteError where a tree is another cluster's: its files do not follow from this intent, and would be removed."""
    found = old.get("cluster", wanted)
    if found != wanted:
        foreign = sorted(set(_walk(target)) - {MANIFEST, *old["files"]})
        kept = f"; keep what is not gpuyard's in it, such as {foreign[0]}" if foreign else ""
        fix = f"name another folder with -o; or, if {found} was renamed or is gone, remove that one first{kept}"
        raise WriteError(f"{target} holds what was rendered of the cluster {found}, and this is {wanted}; {fix}")


def _merge(target: Path, files: Mapping[str, bytes], families: Collection[str] | None) -> Mapping[str, bytes]:
    """Add the old tree's files of families that were not rendered, and say in the manifest which are of an older intent."""
    old = _read_manifest(target)
    if old is None:
        return files
    new = orjson.loads(files[MANIFEST])
    _refuse_other_cluster(target, old, new["cluster"])
    if families is None:
        return files
    kept = dict(_kept_files(target, old, families))
    was = {family: old["older"].get(family, old["digest"]) for family in {family_of(path) for path in kept}}
    older = {family: digest for family, digest in sorted(was.items()) if digest != new["digest"]}
    merged = {**kept, **files}
    references = {path: names for path, names in old.get("references", {}).items() if path in kept} | new["references"]
    return {**merged, MANIFEST: format_manifest({**new, "older": older}, sum_files(merged), references)}


def _kept_files(target: Path, old: dict[str, Any], families: Collection[str]) -> Iterator[tuple[str, bytes]]:
    for path in old["files"]:
        if family_of(path) not in families:
            try:
                with open_file(target / path) as stream:
                    yield path, stream.read()
            except FileNotFoundError:
                pass
            except RefusedFileError as error:
                raise WriteError(f"{target / path} cannot be kept: {error.strerror}; remove it") from error


def _compare(target: Path, files: Mapping[str, bytes]) -> Written:
    if target.exists() and not target.is_dir():
        raise WriteError(f"{target} is a file; name a folder")
    present = set(_walk(target)) if target.exists() else set()
    manifest = _read_manifest(target)
    if present and manifest is None:
        raise WriteError(f"{target} holds files, but no manifest of gpuyard; name an empty folder, or remove it yourself")
    owned = {MANIFEST, *manifest["files"]} if manifest else set()
    foreign = present - owned
    taken = sorted(path for path in foreign & set(files) if not _same(target / path, files[path]))
    taken += sorted(foreign & _folders(files)) + sorted(_folders(foreign) & set(files))
    if taken:
        raise WriteError(f"{target / taken[0]} is not ours and stands where a rendered file belongs; move it away")
    unchanged = {path for path, content in files.items() if path in present and _same(target / path, content)}
    return Written(
        written=tuple(sorted(set(files) - unchanged)),
        removed=tuple(sorted((owned & present) - set(files))),
        unchanged=tuple(sorted(unchanged)),
        foreign=tuple(sorted(foreign - set(files))),
    )


def _folders(paths: Iterable[str]) -> set[str]:
    return {path[:cut] for path in paths for cut, letter in enumerate(path) if letter == "/" and path[cut + 1 :]}


def _walk(folder: Path) -> Iterator[str]:
    """Yield every path below a folder that is not a folder with content, relative, links not followed."""
    for where, folders, names in os.walk(folder):
        base = os.path.relpath(where, folder)
        prefix = "" if base == "." else base + "/"
        links = [name for name in folders if os.path.islink(os.path.join(where, name))]  # noqa: PTH114, PTH118 - hot
        if not folders and not names and prefix:
            yield prefix
        yield from (prefix + name for name in (*names, *links))


def _same(path: Path, content: bytes) -> bool:
    try:
        if path.is_symlink() or path.stat().st_size != len(content):
            return False
        return path.read_bytes() == content
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return False


def _replace(target: Path, files: Mapping[str, bytes], done: Written) -> None:
    """Build the new tree beside the old one, then exchange them."""
    if target.exists() and not os.access(target, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target))
    staging = _staging(target)
    try:
        _build(staging, target, files, done)
        _sync(staging)
        if target.exists():
            shutil.copymode(target, staging)
            _exchange(staging, target)
        else:
            staging.rename(target)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise
    for leftover in (staging, _aside(target)):
        if leftover.exists():
            _retire(leftover, target)
    _sync_folder(target.parent)


def _build(staging: Path, target: Path, files: Mapping[str, bytes], done: Written) -> None:
    staging.mkdir(mode=0o755)
    made = {Path()}
    # The manifest comes first: whatever a killed run leaves can then be told from a stranger's files.
    if MANIFEST in done.unchanged:
        _link(target / MANIFEST, staging / MANIFEST)
    for path in sorted(done.written, key=lambda path: path != MANIFEST):
        _make_folder(staging, target, Path(path).parent, made)
        with (staging / path).open("xb") as stream:
            stream.write(files[path])
            os.fchmod(stream.fileno(), 0o644)
    for path in (*done.unchanged, *done.foreign):
        if path.endswith("/"):
            _make_folder(staging, target, Path(path), made)
        elif path != MANIFEST:
            _make_folder(staging, target, Path(path).parent, made)
            _link(target / path, staging / path)


def _make_folder(staging: Path, target: Path, folder: Path, made: set[Path]) -> None:
    """Make a folder with the mode of the old tree's one."""
    if folder in made:
        return
    _make_folder(staging, target, folder.parent, made)
    (staging / folder).mkdir(mode=0o755)
    if (target / folder).is_dir():
        shutil.copymode(target / folder, staging / folder)
    made.add(folder)


def _link(source: Path, place: Path) -> None:
    """Give a file a second name; copy it where the file system has no hard links."""
    try:
        os.link(source, place, follow_symlinks=False)
    except OSError as error:
        if error.errno not in {errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS}:
            raise
        shutil.copy2(source, place, follow_symlinks=False)


def _exchange(staging: Path, target: Path) -> None:
    """Let the two folders trade places; afterwards the old tree is at `staging` or set aside."""
    libc = ctypes.CDLL(None, use_errno=True)
    rename = getattr(libc, "renameat2", None)
    if rename is not None:
        if rename(_AT_FDCWD, os.fsencode(staging), _AT_FDCWD, os.fsencode(target), _RENAME_EXCHANGE) == 0:
            return
        code = ctypes.get_errno()
        if code in {errno.EBUSY, errno.EXDEV}:
            raise WriteError(f"{target} is a mount point, so it cannot be replaced whole; name a folder inside it")
        if code not in _NO_EXCHANGE:
            raise OSError(code, os.strerror(code), str(target))
    aside = _aside(target)
    target.rename(aside)
    try:
        staging.rename(target)
    except BaseException:
        aside.rename(target)
        raise


def _retire(old: Path, target: Path) -> None:
    """Remove a tree that is no longer current; a stranger's file that only it holds moves to the current one."""
    manifest = _read_manifest(old)
    if manifest is not None and target.exists():
        owned = {MANIFEST, *manifest["files"]}
        for path in _walk(old):
            if path not in owned and not path.endswith("/") and not os.path.lexists(target / path):
                (target / path).parent.mkdir(parents=True, exist_ok=True)
                _link(old / path, target / path)
    shutil.rmtree(old)


def _sync(folder: Path) -> None:
    """Bring everything to the disk at once: thousands of fsync calls take a commit of the journal each."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if not hasattr(libc, "syncfs"):
            os.sync()
        elif libc.syncfs(descriptor) != 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), str(folder))
    finally:
        os.close(descriptor)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
