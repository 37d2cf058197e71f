"""pack.py ARCHIVE INTENT TREE: pack files into a tar archive, `intent/…` of the folder INTENT and `tree/…` of TREE.

Their names come on standard input, a line each. Only regular files that lie in their folder are packed: what else a link leads to
would be readable on the boot server by everybody. The same files give the same bytes.
"""

import os
import stat
import sys
import tarfile
from pathlib import Path


def add(archive: tarfile.TarFile, name: str, folder: Path) -> None:
    """Add a file under its name; whoever can write to the folder may have put anything there since the render."""
    place = folder / name.partition("/")[2]
    path = Path(os.path.realpath(place))
    try:
        if not path.is_relative_to(os.path.realpath(folder)):
            raise OSError(f"it leads out of {folder}")
        check(path.lstat())  # before it is opened: a FIFO would wait
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as content:
            status = os.fstat(content.fileno())
            check(status)
            entry = tarfile.TarInfo(name)
            entry.mode, entry.size = 0o644, status.st_size
            archive.addfile(entry, content)
    except OSError as error:
        fix = "put a regular file in its place, and run gpuyard render again"
        sys.exit(f"{place} is not delivered: {error.strerror or error}; {fix}")


def check(status: os.stat_result) -> None:
    """Raise OSError for what is no regular file."""
    if not stat.S_ISREG(status.st_mode):
        raise OSError("it is no regular file")


def main(target: Path, intent: Path, tree: Path) -> None:
    """Write the archive, whole or not at all."""
    names = sorted(set(sys.stdin.read().splitlines()))
    folders = {folder.as_posix() for name in names for folder in list(Path(name).parents)[:-1]}
    aside = target.with_name(f"{target.name}.new")
    try:
        with tarfile.open(aside, "w", format=tarfile.GNU_FORMAT) as archive:
            for folder in sorted(folders):
                entry = tarfile.TarInfo(folder)
                entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                archive.addfile(entry)
            for name in names:
                add(archive, name, intent if name.startswith("intent/") else tree)
        aside.replace(target)
    except OSError as error:
        sys.exit(f"cannot write {target}: {error.strerror or error}")
    finally:
        aside.unlink(missing_ok=True)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
