"""The lock beside a rendered tree, in a folder that others may write to."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cluster_model.render.write import WriteError, write_tree
from tests.system.test_write_atomic import make_files

LOCK = ".pod.gpuyard-lock"
NOBODY = 65534


def write(folder: Path) -> None:
    write_tree(folder / "pod", make_files(1), "digest-1")


def refuse_after(seconds: int) -> None:
    def stop(*_: object) -> None:
        raise TimeoutError("the render waits")

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)


def test_a_planted_link_is_not_followed(tmp_path):
    folder, victim = tmp_path / "shared", tmp_path / "victim"
    folder.mkdir()
    for target in (victim, tmp_path / "nowhere" / "x"):
        (folder / LOCK).symlink_to(target)
        with pytest.raises(WriteError, match="is a link where a lock belongs"):
            write(folder)
        assert not victim.exists()
        assert (folder / LOCK).is_symlink()
        assert not (folder / "pod").exists()
        (folder / LOCK).unlink()
    victim.write_text("keep")
    (folder / LOCK).symlink_to(victim)
    with pytest.raises(WriteError):
        write(folder)
    assert victim.read_text() == "keep"


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_file_is_refused_at_once(make, tmp_path):
    make(tmp_path / LOCK)
    refuse_after(20)
    try:
        with pytest.raises(WriteError, match="lock"):
            write(tmp_path)
    finally:
        signal.alarm(0)
    assert (tmp_path / LOCK).exists()


def test_a_lock_that_is_left_over_is_taken_and_cleared(tmp_path):
    (tmp_path / LOCK).touch(0o600)
    write(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["pod"]


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files to another user")
def test_a_lock_of_somebody_else(tmp_path):
    """One that they left is no matter to root; one that they hold is not waited for without end."""
    lock = tmp_path / LOCK
    lock.touch()
    os.chown(lock, NOBODY, NOBODY)
    write(tmp_path)
    lock.touch()
    os.chown(lock, NOBODY, NOBODY)
    refuse_after(20)
    try:
        with lock.open("r+") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            with pytest.raises(WriteError, match=f"is locked by user {NOBODY}"):
                write(tmp_path)
    finally:
        signal.alarm(0)


@pytest.mark.skipif(os.geteuid() != 0, reason="runs as another user")
def test_a_lock_that_may_not_be_opened_is_named(tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / LOCK).touch(0o600)
    code = f"""
import os, sys
sys.path.insert(0, {str(Path.cwd())!r})
from pathlib import Path
from tests.unit.render.test_write_lock import write
os.chdir("/proc/self/fd/{{}}".format(sys.argv[1]))
os.setgid({NOBODY}); os.setuid({NOBODY})
write(Path("."))
"""
    shared.chmod(0o777)
    handle = os.open(shared, os.O_RDONLY)
    command = [sys.executable, "-c", code, str(handle)]
    done = subprocess.run(command, capture_output=True, text=True, pass_fds=[handle], check=False)
    os.close(handle)
    assert "WriteError" in done.stderr
    assert "no lock that you may use" in done.stderr or "Permission denied" in done.stderr, done.stderr
