"""The laws of writing a tree, on a real file system, with real kills and a real full disk."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import orjson
import pytest

from cluster_model.render.manifest import MANIFEST, build_manifest
from cluster_model.render.write import WriteError, compare_tree, write_tree

ROOT = Path(__file__).parents[2]
CHILD = """
import sys
from pathlib import Path
from tests.system.test_write_atomic import make_files
from cluster_model.render.write import write_tree
target, generation, repeats = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
for n in range(repeats):
    write_tree(target, make_files(generation + n), f"digest-{generation + n}")
"""


def make_files(generation: int, count: int = 60) -> dict[str, bytes]:
    """Return a tree in which every second file names its generation, and one file exists in that generation alone."""
    files = {
        f"switches/leaf-{n:02d}/frr.conf": (f"generation {generation}\n" if n % 2 else "always the same\n").encode() * 200
        for n in range(count)
    }
    files["plan.json"] = f"{generation}".encode()
    files[f"only/{generation}.txt"] = b"here\n"
    return {**files, MANIFEST: build_manifest("pod", "0", f"digest-{generation}", files, {})}


def read_tree(target: Path) -> dict[str, bytes]:
    return {str(path.relative_to(target)): path.read_bytes() for path in sorted(target.rglob("*")) if path.is_file()}


def stat_tree(target: Path) -> dict[str, tuple[int, int]]:
    return {str(path): (path.stat().st_ino, path.stat().st_mtime_ns) for path in target.rglob("*")}


def list_names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def run_child(target: Path, generation: int, repeats: int = 1, **options) -> subprocess.Popen[bytes]:
    arguments = [sys.executable, "-c", CHILD, str(target), str(generation), str(repeats)]
    return subprocess.Popen(arguments, cwd=ROOT, stderr=subprocess.PIPE, **options)


def assert_whole(target: Path) -> int:
    """Assert that a tree is one generation and nothing else; return which."""
    generation = int((target / "plan.json").read_bytes())
    assert read_tree(target) == make_files(generation)
    return generation


def test_second_write_touches_nothing(tmp_path):
    target = tmp_path / "pod"
    first = write_tree(target, make_files(1), "digest-1")
    assert len(first.written) == 63
    before = stat_tree(target)
    second = write_tree(target, make_files(1), "digest-1")
    assert (second.written, second.removed) == ((), ())
    assert stat_tree(target) == before
    assert list_names(tmp_path) == ["pod"]


def test_unchanged_files_keep_inode_and_time(tmp_path):
    target = tmp_path / "pod"
    write_tree(target, make_files(1), "digest-1")
    before = stat_tree(target)
    done = write_tree(target, make_files(2), "digest-2")
    after = stat_tree(target)
    assert assert_whole(target) == 2
    assert done.removed == ("only/1.txt",)
    for path in done.unchanged:
        assert after[str(target / path)] == before[str(target / path)]
    assert len(done.unchanged) == 30


def test_edited_and_deleted_files_are_restored(tmp_path):
    target = tmp_path / "pod"
    write_tree(target, make_files(1), "digest-1")
    (target / "plan.json").write_text("edited")
    (target / "switches/leaf-00/frr.conf").unlink()
    assert compare_tree(target, make_files(1)).written == ("plan.json", "switches/leaf-00/frr.conf")
    write_tree(target, make_files(1), "digest-1")
    assert assert_whole(target) == 1


def test_modes(tmp_path):
    target = tmp_path / "pod"
    old = os.umask(0o077)
    try:
        write_tree(target, make_files(1), "digest-1")
    finally:
        os.umask(old)
    assert {path.stat().st_mode & 0o777 for path in target.rglob("*") if path.is_file()} == {0o644}
    target.chmod(0o750)
    (target / "switches").chmod(0o700)
    write_tree(target, make_files(2), "digest-2")
    assert target.stat().st_mode & 0o777 == 0o750
    assert (target / "switches").stat().st_mode & 0o777 == 0o700


def test_foreign_files_are_kept_and_reported(tmp_path):
    target = tmp_path / "pod"
    write_tree(target, make_files(1), "digest-1")
    (target / "notes.txt").write_text("mine")
    (target / "only/mine").symlink_to("nowhere")
    (target / "empty").mkdir(mode=0o700)
    before = (target / "notes.txt").stat().st_ino
    done = write_tree(target, make_files(2), "digest-2")
    assert done.foreign == ("empty/", "notes.txt", "only/mine")
    assert (target / "notes.txt").read_text() == "mine"
    assert (target / "notes.txt").stat().st_ino == before
    assert (target / "only/mine").readlink() == Path("nowhere")
    assert (target / "empty").stat().st_mode & 0o777 == 0o700
    assert not (target / "only/1.txt").exists()


@pytest.mark.parametrize("name", ["notes.txt", "only", "plan.json/x"])
def test_a_foreign_file_is_never_overwritten(tmp_path, name):
    target = tmp_path / "pod"
    write_tree(target, {MANIFEST: build_manifest("pod", "0", "d", {}, {})}, "d")
    (target / name).parent.mkdir(exist_ok=True)
    (target / name).write_text("mine")
    files = {**make_files(1), "notes.txt": b"ours"}
    with pytest.raises(WriteError, match="not ours"):
        write_tree(target, files, "digest-1")
    assert (target / name).read_text() == "mine"


def test_a_folder_that_is_not_ours_is_refused(tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home/letter").write_text("dear")
    with pytest.raises(WriteError, match="no manifest of gpuyard"):
        write_tree(tmp_path / "home", make_files(1), "digest-1")
    (tmp_path / "home/manifest.json").write_text('{"name": "a web app"}')
    with pytest.raises(WriteError, match="no manifest of gpuyard"):
        write_tree(tmp_path / "home", make_files(1), "digest-1")
    with pytest.raises(WriteError, match="is a file"):
        write_tree(tmp_path / "home/letter", make_files(1), "digest-1")
    assert list_names(tmp_path / "home") == ["letter", "manifest.json"]
    with pytest.raises(WriteError, match="name a folder inside it"):
        write_tree(Path("/"), make_files(1), "digest-1")


def test_an_empty_folder_and_a_link_are_accepted(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "pod").symlink_to("disk")
    write_tree(tmp_path / "pod", make_files(1), "digest-1")
    write_tree(tmp_path / "pod", make_files(2), "digest-2")
    assert (tmp_path / "pod").is_symlink()
    assert assert_whole(tmp_path / "disk") == 2


def test_a_partial_write_keeps_other_families_and_says_their_age(tmp_path):
    target = tmp_path / "pod"
    write_tree(target, make_files(1), "digest-1")
    new = {"plan.json": b"2"}
    new[MANIFEST] = build_manifest("pod", "0", "digest-2", new, {})
    done = write_tree(target, new, "digest-2", families={"plan"})
    assert done.written == (MANIFEST, "plan.json")
    assert done.removed == ()
    manifest = orjson.loads((target / MANIFEST).read_bytes())
    assert manifest["older"] == {"only": "digest-1", "switches": "digest-1"}
    assert len(manifest["files"]) == 62
    assert write_tree(target, new, "digest-2", families={"plan"}).written == ()
    write_tree(target, make_files(2), "digest-2")
    assert assert_whole(target) == 2


def test_kill_at_any_moment_leaves_a_whole_tree(tmp_path):
    target = tmp_path / "pod"
    write_tree(target, make_files(0), "digest-0")
    (target / "notes.txt").write_text("mine")
    chance = random.Random(20260601)
    seen, killed = set(), 0
    for round_ in range(1, 26):
        child = run_child(target, round_ * 1000, repeats=400)
        # Wait for the child's first write, so that the kill falls into the work and not into the start of Python.
        before = (target / "plan.json").read_bytes()
        while (target / "plan.json").read_bytes() == before and child.poll() is None:
            time.sleep(0.002)
        time.sleep(chance.random() * 0.05)
        child.send_signal(signal.SIGKILL)
        killed += child.wait() == -signal.SIGKILL
        assert (target / "notes.txt").read_text() == "mine"
        (target / "notes.txt").rename(tmp_path / "notes.txt")
        seen.add(assert_whole(target))
        (tmp_path / "notes.txt").rename(target / "notes.txt")
    assert killed >= 20
    assert len(seen) >= 20
    write_tree(target, make_files(7), "digest-7")
    assert list_names(tmp_path) == ["pod"]


def test_readers_never_see_a_mixture(tmp_path):
    """A reader that holds the folder open sees one generation, and opening it again never fails."""
    target = tmp_path / "pod"
    write_tree(target, make_files(0), "digest-0")
    child = run_child(target, 1, repeats=150)
    looks = 0
    while child.poll() is None:
        folder = os.open(target, os.O_RDONLY | os.O_DIRECTORY)
        try:
            generations = set()
            for path in ("plan.json", "switches/leaf-01/frr.conf", "switches/leaf-59/frr.conf"):
                with os.fdopen(os.open(path, os.O_RDONLY, dir_fd=folder), "rb") as stream:
                    generations.add(stream.read().split(b"\n")[0].split()[-1])
        except FileNotFoundError:
            continue  # replaced meanwhile, and cleared away: open it again
        finally:
            os.close(folder)
        assert len(generations) == 1
        looks += 1
    assert child.returncode == 0, child.stderr.read()
    assert looks > 10


def test_two_renders_at_once_do_not_mix(tmp_path):
    target = tmp_path / "pod"
    children = [run_child(target, generation, repeats=40) for generation in (100, 200, 300)]
    for child in children:
        _, said = child.communicate()
        assert child.returncode == 0, said
    assert assert_whole(target) in (139, 239, 339)
    assert list_names(tmp_path) == ["pod"]


def test_a_full_disk_leaves_the_old_tree(tmp_path):
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("a file system of its own needs root")
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(disk)], check=False, capture_output=True).returncode:
        pytest.skip("cannot mount here")
    try:
        target = disk / "pod"
        write_tree(target, make_files(1), "digest-1")
        big = make_files(2, count=1200)
        with pytest.raises(WriteError, match=r"No space left on device; what stood there stands"):
            write_tree(target, big, "digest-2")
        assert assert_whole(target) == 1
        assert list_names(disk) == ["pod"]
        write_tree(target, make_files(3), "digest-3")
        assert assert_whole(target) == 3
        shutil.rmtree(target)
        with pytest.raises(WriteError, match="mount point"):
            write_tree(disk, {MANIFEST: build_manifest("pod", "0", "d", {}, {})}, "d")
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_file_size_limit_leaves_the_old_tree(tmp_path):
    """The same without root: the kernel cuts the child's writes short."""
    target = tmp_path / "pod"
    write_tree(target, make_files(1), "digest-1")
    child = run_child(target, 2, preexec_fn=limit_file_size)
    _, said = child.communicate()
    assert child.returncode == 1
    assert b"File too large; what stood there stands" in said
    assert assert_whole(target) == 1
    assert list_names(tmp_path) == ["pod"]


def limit_file_size() -> None:
    import resource

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))


def test_without_exchange_two_renames_do(tmp_path, monkeypatch):
    import cluster_model.render.write as module

    class NoLibc:
        def __init__(self, *_, **__):
            pass

    target = tmp_path / "pod"
    write_tree(target, make_files(1), "digest-1")
    monkeypatch.setattr(module.ctypes, "CDLL", NoLibc)
    (target / "notes.txt").write_text("mine")
    write_tree(target, make_files(2), "digest-2")
    (target / "notes.txt").unlink()
    assert assert_whole(target) == 2
    # Killed between the two renames: no tree, and the next run puts the old one back before it begins.
    target.rename(tmp_path / ".pod.gpuyard-old")
    assert write_tree(target, make_files(2), "digest-2").written == ()
    assert assert_whole(target) == 2


def test_a_file_saved_during_the_exchange_is_not_lost(tmp_path):
    """A stranger's file that only the retired tree holds moves over."""
    target = tmp_path / "pod"
    write_tree(target, make_files(1), "digest-1")
    shutil.copytree(target, tmp_path / ".pod.gpuyard-new")
    (tmp_path / ".pod.gpuyard-new/only/late.txt").write_text("mine")
    assert write_tree(target, make_files(1), "digest-1").foreign == ("only/late.txt",)
    assert (target / "only/late.txt").read_text() == "mine"
    assert list_names(tmp_path) == ["pod"]
