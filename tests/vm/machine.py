"""The machine: Debian's own kernel under QEMU's emulation, this host's root file system read-only under a tmpfs, one job inside.

Nothing is installed: kernel, busybox and ifupdown2 are downloaded by apt and unpacked into a cache folder, by version. The job
and what it leaves lie in one shared folder.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from functools import cache
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay")
PROGRAMS = {
    "qemu-system-x86_64": "qemu-system-x86",
    "cpio": "cpio",
    "modprobe": "kmod",
    "apt-get": "apt",
    "dpkg-deb": "dpkg",
    "vtysh": "frr",
    "nft": "nftables",
    "ping": "iputils-ping",
}
MEMORY_MIB = 3072
LIMIT_S = 600
_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


class UnavailableError(Exception):
    """The machine cannot be had here; the text says why."""


def run_job(share: Path) -> dict[str, Any]:
    """Boot the machine with a job's folder and return what the job reports; skip where there is no machine.

    Where GPUYARD_REQUIRE_VM is set a missing machine is a failure.
    """
    try:
        cached = prepare()
    except UnavailableError as why:
        (pytest.fail if os.environ.get("GPUYARD_REQUIRE_VM") else pytest.skip)(f"no virtual machine: {why}")
    shutil.copy(HERE / "fabric.py", share)
    release = (cached / "release").read_text("utf-8")
    begin = time.monotonic()
    command = [
        _find("qemu-system-x86_64"),
        *("-machine", "q35", "-accel", "tcg,thread=multi,tb-size=512", "-cpu", "max", "-smp", "2", "-m", str(MEMORY_MIB)),
        *("-nographic", "-no-reboot", "-nodefaults", "-serial", "stdio", "-device", "virtio-rng-pci"),
        *("-kernel", str(cached / f"root/boot/vmlinuz-{release}"), "-initrd", str(cached / "initrd.gz")),
        *("-append", "console=ttyS0 quiet loglevel=4 panic=-1 mitigations=off"),
    ]
    for tag, path, options in (
        ("root", "/", ",readonly=on"),
        ("share", str(share), ""),
        ("extra", str(cached / "root"), ",readonly=on"),
    ):
        command += ["-virtfs", f"local,path={path},mount_tag={tag},security_model=none,multidevs=remap{options}"]
    with (share / "console.log").open("wb") as console:
        try:
            subprocess.run(command, stdin=subprocess.DEVNULL, stdout=console, stderr=console, timeout=LIMIT_S, check=False)
        except subprocess.TimeoutExpired:
            pytest.fail(f"the machine did not end within {LIMIT_S} s:\n{_tail(share / 'console.log')}")
    report = share / "report.json"
    if not report.is_file():
        pytest.fail(f"the job left no report:\n{_tail(share / 'console.log')}")
    found: dict[str, Any] = json.loads(report.read_text("utf-8"))
    found["machine_s"] = round(time.monotonic() - begin, 1)
    return found


def prepare() -> Path:
    """Return the folder with kernel, ifupdown2 and initial file system, made where it is not there yet; UnavailableError."""
    absent = [package for program, package in PROGRAMS.items() if not _find(program)]
    if absent:
        raise UnavailableError(f"missing packages: {' '.join(absent)}")
    home = Path(os.environ.get("XDG_CACHE_HOME") or "/var/tmp") / "gpuyard-vm"
    versions = _find_versions()
    folder = home / "_".join(f"{name}_{version}" for name, version in versions.items()).replace(":", "%")
    if not (folder / "initrd.gz").is_file():
        home.mkdir(parents=True, exist_ok=True)
        scratch = home / f"new-{os.getpid()}"
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir()
        _unpack(scratch, [f"{name}={version}" for name, version in versions.items()])
        _make_initrd(scratch)
        if not folder.exists():
            scratch.rename(folder)
    return folder


@cache
def _find_versions() -> dict[str, str]:
    """Return the packages that are unpacked, with the newest versions that apt knows."""
    depends = _call("apt-cache", "depends", "--important", "linux-image-amd64").split()
    kernel = next((word for word in depends if word.startswith("linux-image-") and word != "linux-image-amd64"), "")
    versions = {}
    for name in (kernel, "ifupdown2", "busybox-static"):
        lines = _call("apt-cache", "policy", name).splitlines() if name else []
        version = next((line.split()[1] for line in lines if line.strip().startswith("Candidate:")), "(none)")
        if version == "(none)":
            raise UnavailableError(f"apt knows no {name or 'linux-image-amd64'}: run apt-get update")
        versions[name] = version
    return versions


def _unpack(folder: Path, packages: list[str]) -> None:
    _call("apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", *packages, cwd=folder)
    for file in folder.glob("*.deb"):
        _call("dpkg-deb", "-x", str(file), str(folder / "root"))
        file.unlink()
    release = next((folder / "root/lib/modules").iterdir()).name
    (folder / "release").write_text(release, "utf-8")
    _call("depmod", "-b", str(folder / "root"), release)


def _make_initrd(folder: Path) -> None:
    """Write initrd.gz: busybox, the modules that reach a shared root, and init.sh."""
    release = (folder / "release").read_text("utf-8")
    tree = folder / "initrd"
    for name in ("bin", "dev", "proc", "sys", "lower", "upper", "new", "modules"):
        (tree / name).mkdir(parents=True)
    shutil.copy(folder / "root/bin/busybox", tree / "bin/busybox")
    shutil.copy(HERE / "init.sh", tree / "init")
    (tree / "init").chmod(0o755)
    files: list[str] = []
    for module in MODULES:
        said = _call("modprobe", "-d", str(folder / "root"), "-S", release, "--show-depends", module)
        files += [line.split()[1] for line in said.splitlines() if line.startswith("insmod")]
    order = list(dict.fromkeys(files))
    for file in order:
        shutil.copy(file, tree / "modules")
    (tree / "modules/order").write_text("\n".join(Path(file).name for file in order) + "\n", "utf-8")
    listing = "\n".join(str(path.relative_to(tree)) for path in sorted(tree.rglob("*")))
    archive = subprocess.run(
        [_find("cpio"), "-o", "-H", "newc"], input=listing.encode(), cwd=tree, capture_output=True, check=True
    )
    packed = subprocess.run(["gzip", "-1"], input=archive.stdout, capture_output=True, check=True)
    (folder / "initrd.gz").write_bytes(packed.stdout)
    shutil.rmtree(tree)


def _find(program: str) -> str:
    return shutil.which(program, path=_PATH) or ""


def _call(program: str, *arguments: str, cwd: Path | None = None) -> str:
    done = subprocess.run(
        [_find(program) or program, *arguments],
        cwd=cwd,
        env={**os.environ, "PATH": _PATH},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise UnavailableError(f"{program} {' '.join(arguments)}: {done.stderr.strip()[-300:]}")
    return done.stdout


def _tail(path: Path) -> str:
    return path.read_text("utf-8", errors="replace")[-4000:]
