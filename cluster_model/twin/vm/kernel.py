"""Debian's kernel for the small machine: downloaded by apt, unpacked into a cache folder by version, nothing installed.

What is there is found by what apt's lists say, without a network. One process at a time makes what is not.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from fcntl import LOCK_EX, flock
from hashlib import sha256
from pathlib import Path

MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay")
"""What the machine needs before it sees a file of this one."""
PROGRAMS = {
    "qemu-system-x86_64": "qemu-system-x86",
    "cpio": "cpio",
    "modprobe": "kmod",
    "apt-get": "apt",
    "dpkg-deb": "dpkg",
    "gzip": "gzip",
    "setpriv": "util-linux",
}
HERE = Path(__file__).parent
_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


class UnavailableError(Exception):
    """The small machine cannot be had here; the text says why, and what mends it."""


def list_obstacles() -> list[str]:
    """Return what keeps this machine from having a small one, as far as it is seen without trying; each with what mends it."""
    absent = sorted({package for program, package in PROGRAMS.items() if not find_program(program)})
    return [f"programs are missing: apt install {' '.join(absent)}"] if absent else []


def find_program(name: str) -> str:
    """Return a program's path, also where only root's PATH has it; empty where there is none."""
    return shutil.which(name, path=_PATH) or ""


def fetch_kernel() -> Path:
    """Return the folder of the kernel: `root` as its packages unpack, `release`, and `initrd.gz`.

    Raises:
        UnavailableError: programs are missing, or apt cannot get the packages.
    """
    obstacles = list_obstacles()
    if obstacles:
        raise UnavailableError("; ".join(obstacles))
    folder = fetch_packages((_find_kernel(), "busybox-static"))
    made_of = sha256(b"\n".join((Path(__file__).read_bytes(), (HERE / "init.sh").read_bytes()))).hexdigest()
    if not _is_made(folder, made_of):
        with _lock():
            if not _is_made(folder, made_of):
                release = next((folder / "root/lib/modules").iterdir()).name
                run_program("depmod", "-b", str(folder / "root"), release)
                (folder / "release").write_text(release, "utf-8")
                _make_initrd(folder, release)
                (folder / "initrd.made_of").write_text(made_of, "utf-8")
    return folder


def _is_made(folder: Path, made_of: str) -> bool:
    """Tell whether the initrd in the cache is what this version of gpuyard makes."""
    noted = folder / "initrd.made_of"
    return (folder / "initrd.gz").is_file() and noted.is_file() and noted.read_text("utf-8") == made_of


def fetch_packages(names: Iterable[str]) -> Path:
    """Return a folder with the newest versions that apt knows of some packages, unpacked below `root`; kept for the next time.

    Raises:
        UnavailableError: apt does not know one, or cannot get it.
    """
    versions = {name: _find_version(name) for name in names}
    folder = _home() / "_".join(f"{name}_{version}" for name, version in versions.items()).replace(":", "%")
    if not folder.is_dir():
        with _lock():
            if not folder.is_dir():
                _unpack([f"{name}={version}" for name, version in versions.items()], folder)
    return folder


def _unpack(wanted: Iterable[str], folder: Path) -> None:
    """Download packages, and have the folder with them, whole or not at all."""
    scratch = _home() / "new"
    shutil.rmtree(scratch, ignore_errors=True)  # of a process that was killed
    scratch.mkdir()
    run_program("apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", *wanted, cwd=scratch)
    for file in scratch.glob("*.deb"):
        run_program("dpkg-deb", "-x", str(file), str(scratch / "root"))
        file.unlink()
    scratch.rename(folder)


@contextmanager
def _lock() -> Iterator[None]:
    """Let no other process make anything in the cache meanwhile."""
    _home().mkdir(parents=True, exist_ok=True)
    with (_home() / "lock").open("a") as file:
        flock(file, LOCK_EX)
        yield


def _home() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or "/var/cache") / "gpuyard"


def _find_kernel() -> str:
    """Return the package of the kernel that linux-image-amd64 stands for."""
    depends = run_program("apt-cache", "depends", "--important", "linux-image-amd64").split()
    name = next((word for word in depends if word.startswith("linux-image-") and word != "linux-image-amd64"), "")
    if not name:
        raise UnavailableError("apt knows no kernel, linux-image-amd64: run apt-get update")
    return name


def _find_version(name: str) -> str:
    lines = run_program("apt-cache", "policy", name).splitlines()
    version = next((line.split()[1] for line in lines if line.strip().startswith("Candidate:")), "(none)")
    if version == "(none)":
        raise UnavailableError(f"apt knows no package {name}: run apt-get update")
    return version


def _make_initrd(folder: Path, release: str) -> None:
    """Write initrd.gz: busybox, the modules that reach a shared root, and init.sh."""
    tree = folder / "initrd"
    shutil.rmtree(tree, ignore_errors=True)  # of a process that was killed
    for name in ("bin", "dev", "proc", "sys", "lower", "upper", "new", "modules"):
        (tree / name).mkdir(parents=True)
    shutil.copy(folder / "root/bin/busybox", tree / "bin/busybox")
    shutil.copy(HERE / "init.sh", tree / "init")
    (tree / "init").chmod(0o755)
    files: list[str] = []
    for module in MODULES:
        said = run_program("modprobe", "-d", str(folder / "root"), "-S", release, "--show-depends", module)
        files += [line.split()[1] for line in said.splitlines() if line.startswith("insmod")]
    order = list(dict.fromkeys(files))
    for file in order:
        shutil.copy(file, tree / "modules")
    (tree / "modules/order").write_text("\n".join(Path(file).name for file in order) + "\n", "utf-8")
    listing = "\n".join(str(path.relative_to(tree)) for path in sorted(tree.rglob("*")))
    archive = subprocess.run(
        [find_program("cpio"), "-o", "-H", "newc"], input=listing.encode(), cwd=tree, capture_output=True, check=True
    )
    packed = subprocess.run([find_program("gzip"), "-1"], input=archive.stdout, capture_output=True, check=True)
    scratch = folder / "initrd.new"
    scratch.write_bytes(packed.stdout)
    scratch.rename(folder / "initrd.gz")
    shutil.rmtree(tree)


def run_program(program: str, *arguments: str, cwd: Path | None = None) -> str:
    """Return what a program prints.

    Raises:
        UnavailableError: it failed.
    """
    done = subprocess.run(
        [find_program(program) or program, *arguments],
        cwd=cwd,
        env={**os.environ, "PATH": _PATH, "LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise UnavailableError(f"{program} {' '.join(arguments)}: {done.stderr.strip()[-300:]}")
    return done.stdout
