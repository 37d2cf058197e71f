"""A cluster's folder as it was at a git revision, taken out beside the work tree.

Git is asked for names and contents alone: nothing is checked out, and nothing that a repository's own settings could have run is:
no filter, textconv, hook, pager or fetch.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile

from cluster_model.intent.load import FILE_NAME, INPUT_BYTES
from cluster_model.texts import show_text

_OPTIONS = ("--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "protocol.allow=never")
_FOREIGN = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_NAMESPACE")
"""What a hook of another repository has in its environment, and git would follow instead of the folder."""
_LINK, _SUBMODULE = "120000", "160000"


class RevisionError(Exception):
    """A revision that cannot be had, in words: what is expected, what is there, and the way out."""


class NotHeldError(RevisionError):
    """A revision that holds no such cluster: what the work tree has came later, or had another name."""


@dataclass(frozen=True, slots=True)
class _Entry:
    mode: str
    name: str
    size: int
    path: str


@contextmanager
def take_out(revision: str, cluster: Path) -> Iterator[Path]:
    """Have a cluster's folder as it was at a revision, while the context lasts.

    Everything below the folder comes with the intent: its own catalogue, facts, keys. Links come as links, and who reads them
    refuses those that lead out of the folder.

    Args:
        revision: whatever git takes for one commit: `HEAD~2`, `origin/main`, a tag, a hash.
        cluster: the folder with cluster.yml in a work tree, or the file. It must be there.

    Returns:
        Where the same folder, or file, stands as it was.

    Raises:
        NotHeldError: the revision holds no such cluster.
        RevisionError: there is no git, no repository, or no such revision.
    """
    folder = Path(os.path.realpath(cluster if cluster.is_dir() else cluster.parent))
    commit, inside = _find_commit(revision, folder)
    tree = _ask(folder, "rev-parse", "--verify", "--quiet", f"{commit}:{inside}" if inside else f"{commit}^{{tree}}")
    name = "" if cluster.is_dir() else cluster.name
    wanted = f"{inside}{name or FILE_NAME}"
    if tree is None or _ask(folder, "cat-file", "-e", f"{commit}:{wanted}") is None:
        raise NotHeldError(f"{show_text(revision)} does not hold {show_text(wanted)}")
    with TemporaryDirectory(prefix="gpuyard-") as place:
        out = Path(place) / (folder.name or "cluster")
        out.mkdir()
        _write(folder, _list_entries(folder, tree.strip(), revision), out)
        yield out / name if name else out


def _find_commit(revision: str, folder: Path) -> tuple[str, str]:
    """Return the commit, and the folder's path in the repository, with a slash at its end; empty for its top."""
    done = _run(folder, "rev-parse", "--show-prefix")
    if done.returncode:
        told = done.stderr.decode(errors="replace").strip().splitlines()
        said = show_text(told[0].removeprefix("fatal: ")) if told else f"git ended with {done.returncode}"
        raise RevisionError(
            f"expected {folder} in a git repository, and git says: {said}; give OLD and NEW as two folders instead"
        )
    inside = os.fsdecode(done.stdout.removesuffix(b"\n"))
    if not revision.strip():
        raise RevisionError("expected a commit, and the option is empty; name one, such as HEAD")
    commit = None if revision.startswith("-") else _ask(folder, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    if commit is None and not _ask(folder, "rev-list", "--max-count=1", "--all"):
        raise RevisionError(
            f"expected a commit, and the repository of {folder} holds none yet; commit first, or give OLD and NEW as two folders"
        )
    if commit is None:
        raise RevisionError(
            f"expected a commit, and the repository of {folder} knows no {show_text(revision)}; "
            "fetch it first (a CI job's clone may hold the newest commit alone), or look at git log and git branch --all"
        )
    return commit.strip(), inside


def _list_entries(folder: Path, tree: str, revision: str) -> list[_Entry]:
    listed = _run(folder, "ls-tree", "-r", "-z", "-l", "--full-tree", tree)
    _check(listed)
    entries = []
    for line in os.fsdecode(listed.stdout).split("\0")[:-1]:
        facts, _, path = line.partition("\t")
        mode, _, name, size = facts.split()
        if mode == _SUBMODULE:
            raise RevisionError(
                f"expected files at {show_text(revision)}, and {show_text(path)} is a submodule there; "
                "take both out yourself, and give OLD and NEW as two folders"
            )
        if {"", ".", "..", ".git"} & set(path.split("/")):
            raise RevisionError(f"expected names of files at {show_text(revision)}, found {show_text(path)}; git fsck tells more")
        if not size.isdigit():
            raise _miss(path)
        entries.append(_Entry(mode, name, int(size), path))
    return entries


def _write(folder: Path, entries: list[_Entry], out: Path) -> None:
    """Write files, then links, so that none is written through a link."""
    read = [entry for entry in entries if entry.size <= INPUT_BYTES]
    with TemporaryFile() as names, TemporaryFile() as told:
        names.write("".join(f"{entry.name}\n" for entry in read).encode())
        names.seek(0)
        words = _command(folder, "cat-file", "--batch")
        _check(subprocess.run(words, stdin=names, stdout=told, stderr=subprocess.PIPE, env=_environment(), check=False))
        told.seek(0)
        contents = {}
        for entry in read:
            if told.readline().split()[1:] != [b"blob", b"%d" % entry.size]:
                raise _miss(entry.path)
            content = told.read(entry.size)
            told.read(1)
            if entry.mode == _LINK:
                contents[entry.path] = content
                continue
            path = out / entry.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    for entry in entries:
        if entry.size > INPUT_BYTES:  # a hole of its size, so that it is refused for what it is
            path = out / entry.path
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as file:
                file.truncate(entry.size)
    for link, target in contents.items():
        (out / link).parent.mkdir(parents=True, exist_ok=True)
        (out / link).symlink_to(os.fsdecode(target))


def _miss(path: str) -> RevisionError:
    return RevisionError(
        f"expected the content of {show_text(path)}, which this clone does not hold; "
        "git fetch --refetch --no-filter completes a partial clone, git fsck looks at a broken one"
    )


def _ask(folder: Path, *words: str) -> str | None:
    """Return what git says; None where it says no."""
    done = _run(folder, *words)
    return None if done.returncode else os.fsdecode(done.stdout)


def _check(done: subprocess.CompletedProcess[bytes]) -> None:
    if done.returncode:
        said = (done.stderr or b"").decode(errors="replace").strip() or f"it ended with {done.returncode}"
        raise RevisionError(f"expected git to list the revision's files, and it says: {show_text(said)}; git fsck tells more")


def _run(folder: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            _command(folder, *words), stdin=subprocess.DEVNULL, capture_output=True, env=_environment(), check=False
        )
    except FileNotFoundError:
        raise RevisionError("expected git, which is not installed here; install it, or give OLD and NEW as two folders") from None


def _command(folder: Path, *words: str) -> list[str]:
    return ["git", *_OPTIONS, "-C", str(folder), *words]


def _environment() -> dict[str, str]:
    own = {key: value for key, value in os.environ.items() if key not in _FOREIGN and not key.startswith("GIT_TRACE")}
    quiet = {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
    return {**own, **quiet, "LC_ALL": "C"}
