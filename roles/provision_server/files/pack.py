"""pack.py ARCHIVE INTENT TREE: pack files into a tar archive, `intent/…` of the folder INTENT and `tree/…` of TREE.

Standard input has a JSON object, from their names to the SHA-256 of what was rendered from, or rendered. Only regular files that
lie in their folder and still hold that are packed, all or none: anything else, such as what a link leads to, would be readable on
the boot server by everybody. The same files give the same bytes.
"""

import hashlib
import io
import json
import os
import stat
import sys
import tarfile
import unicodedata
from pathlib import Path


def add(archive: tarfile.TarFile, name: str, wanted: str, folder: Path) -> None:
    """Add a file under its name; whoever can write to the folder may have put anything there since the render."""
    place = folder / name.partition("/")[2]
    path = Path(os.path.realpath(place))
    try:
        if not path.is_relative_to(os.path.realpath(folder)):
            raise OSError(f"it leads out of {folder}")
        check(path.lstat())  # before it is opened: a FIFO would wait
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as content:
            check(os.fstat(content.fileno()))
            read = content.read()
    except OSError as error:
        fix = "put a regular file in its place, and run gpuyard render again"
        sys.exit(f"{place} is not delivered: {error.strerror or error}; {fix}")
    # What was read, not the file again: it may change at any time.
    if hashlib.sha256(read).hexdigest() != wanted:
        sys.exit(f"{place} is not delivered: changed since it was rendered: render, then deliver again")
    entry = tarfile.TarInfo(name)
    entry.mode, entry.size = 0o644, len(read)
    archive.addfile(entry, io.BytesIO(read))


def check_name(name: str) -> None:
    """Exit where a name has what no rendered file's name has, and what a tool or a terminal would take for something else."""
    if any(unicodedata.category(letter) in {"Cc", "Cs"} for letter in name):
        sys.exit(f"{name!a} is not delivered: its name has control characters; rename it, and run gpuyard render again")


def check(status: os.stat_result) -> None:
    """Raise OSError for what is no regular file."""
    if not stat.S_ISREG(status.st_mode):
        raise OSError("it is no regular file")


def main(target: Path, intent: Path, tree: Path) -> None:
    """Write the archive, whole or not at all."""
    sums: dict[str, str] = json.load(sys.stdin)
    names = sorted(sums)
    for name in names:
        check_name(name)
    folders = {folder.as_posix() for name in names for folder in list(Path(name).parents)[:-1]}
    aside = target.with_name(f"{target.name}.new")
    try:
        # Others may write to the folder of the tree too: a link or FIFO that waits there is neither followed nor waited for.
        aside.unlink(missing_ok=True)
        opened = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        try:
            with os.fdopen(opened, "wb") as file, tarfile.open(fileobj=file, mode="w", format=tarfile.GNU_FORMAT) as archive:
                for folder in sorted(folders):
                    entry = tarfile.TarInfo(folder)
                    entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                    archive.addfile(entry)
                for name in names:
                    add(archive, name, sums[name], intent if name.startswith("intent/") else tree)
            aside.replace(target)
        finally:
            aside.unlink(missing_ok=True)
    except OSError as error:
        sys.exit(f"cannot write {target}: {error.strerror or error}")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
