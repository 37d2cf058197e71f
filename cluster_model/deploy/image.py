"""Build what the boot server hands out: an operating system's image, and the RAM disk that writes it.

Both come from one tree of packages that mmdebstrap makes: the image is all of it in one archive, the RAM disk a part of it with
the installer as its first process. So the kernel that installs has the drivers of the kernel that will run.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cluster_model.paths import TEMPLATES, replace_file

FORMAT = "gpuyard-image-1"
NEEDED = (
    "systemd-sysv", "udev", "dbus", "kmod", "iproute2", "python3", "openssh-server", "sudo", "ca-certificates", "zstd", "tar",
    "gdisk", "mdadm", "dosfstools", "e2fsprogs", "xfsprogs", "util-linux", "initramfs-tools", "grub2-common", "grub-pc-bin",
    "grub-efi-amd64-bin", "tzdata", "python3-apt", "procps",
)  # fmt: skip
"""What the installer, a first login and the roles need."""
EXTRA = {"debian": ("systemd-timesyncd", "systemd-resolved"), "ubuntu": ("systemd-timesyncd", "netplan.io")}
KERNELS = {"debian": "linux-image-amd64", "ubuntu": "linux-image-generic"}
_MODULES = (
    "arch", "crypto", "lib", "block", "fs/ext4", "fs/jbd2", "fs/mbcache.*", "fs/xfs", "fs/fat", "fs/nls", "fs/efivarfs",
    "net/802*", "net/llc", "net/core", "net/dsa", "net/psample", "net/tls", "net/packet", "drivers/net", "drivers/nvme",
    "drivers/ata", "drivers/scsi", "drivers/message", "drivers/md", "drivers/block", "drivers/virtio", "drivers/char",
    "drivers/firmware", "drivers/dca", "drivers/ptp", "drivers/pps", "drivers/i2c", "drivers/mfd", "drivers/usb", "drivers/hid",
    "drivers/pci", "drivers/infiniband/core",
)  # fmt: skip
"""Kernel modules that the RAM disk keeps: disks, network cards, the file systems that it makes."""
_DROPPED = (
    "boot", "usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info", "usr/lib/grub", "usr/share/grub",
    "var/lib/apt", "var/cache", "var/lib/dpkg", "usr/share/zoneinfo", "usr/share/i18n", "usr/share/perl",
    "usr/lib/python3/dist-packages", "usr/lib/x86_64-linux-gnu/perl", "usr/lib/x86_64-linux-gnu/gconv",
    "usr/share/bash-completion", "usr/share/initramfs-tools", "usr/share/perl5", "usr/lib/python3.*/pydoc_data",
    "usr/lib/python3.*/test", "usr/lib/python3.*/lib2to3", "usr/lib/udev/hwdb.*", "usr/lib/openssh", "usr/lib/apt",
    "usr/lib/git-core", "usr/lib/x86_64-linux-gnu/perl-base", "usr/lib/x86_64-linux-gnu/libperl.*", "usr/bin/perl*",
    "usr/lib/x86_64-linux-gnu/libapt-*", "usr/bin/apt*", "usr/bin/dpkg*", "usr/bin/grub-*", "usr/sbin/grub-*", "usr/sbin/sshd",
    "usr/bin/ssh*", "usr/lib/x86_64-linux-gnu/libicu*", "usr/sbin/xfs_scrub",
)  # fmt: skip
"""What the RAM disk leaves out."""
_KEYRING = "; fix: install the keyring that has its keys, such as the package ubuntu-keyring, or name a file with --keyring"
"""Where packages are not signed by anyone whom this machine knows."""


class BuildError(Exception):
    """An image that could not be built; the text is the reason."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What an image is made of.

    Args:
        name: name of the image, as boot.json has it.
        distribution: `debian` or `ubuntu`.
        release: its release, such as `bookworm`.
        packages: more packages.
        kernel: package of the kernel; empty for the distribution's own.
        mirrors: sources as mmdebstrap takes them; none means those of this machine.
        keyring: keyring that signs them; None means this machine's.
    """

    name: str
    distribution: str
    release: str
    packages: tuple[str, ...] = ()
    kernel: str = ""
    mirrors: tuple[str, ...] = ()
    keyring: Path | None = None

    def list_packages(self) -> list[str]:
        """Return every package, sorted."""
        kernel = self.kernel or KERNELS[self.distribution]
        return sorted({*NEEDED, *EXTRA[self.distribution], kernel, *self.packages})


def build_image(recipe: Recipe, images: Path, deploy: Path, tell: Callable[[str], None] = lambda text: None) -> Path:
    """Build an image and the RAM disk; both appear whole or not at all.

    Args:
        recipe: what the image is made of.
        images: folder of images; the image becomes a folder in it.
        deploy: folder of vmlinuz and initrd.img.
        tell: told of each step.

    Returns:
        The image's image.json.
    """
    missing = [program for program in ("mmdebstrap", "zstd", "cpio") if shutil.which(program) is None]
    if missing:
        raise BuildError(f"no {', no '.join(missing)} here; fix: apt install {' '.join(missing)}")
    images.mkdir(parents=True, exist_ok=True)
    deploy.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".gpuyard-image-", dir=images) as folder:
        work = Path(folder)
        work.chmod(0o755)
        root, target = work / "root", work / recipe.name
        tell(f"installing {len(recipe.list_packages())} packages of {recipe.distribution} {recipe.release}")
        _bootstrap(recipe, root)
        _prepare(root)
        target.mkdir()
        tell("writing the image's archive")
        _pack(["tar", "--create", "--numeric-owner", "--xattrs", "--directory", str(root), "."], target / "rootfs.tar.zst", 6)
        tell("writing the RAM disk")
        kernel = _write_deploy(root, work / "ram", work)
        (target / "image.json").write_text(_describe(recipe, root, kernel, target / "rootfs.tar.zst"), "utf-8")
        for name in ("vmlinuz", "initrd.img"):
            replace_file(deploy / name, (work / name).read_bytes())
        _swap(target, images / recipe.name)
    return images / recipe.name / "image.json"


def _bootstrap(recipe: Recipe, root: Path) -> None:
    command = ["mmdebstrap", "--variant=minbase", "--mode=root", f"--include={','.join(recipe.list_packages())}"]
    command += [f"--keyring={recipe.keyring}"] if recipe.keyring else []
    command += [f'--dpkgopt=path-exclude="/usr/share/{folder}/*"' for folder in ("doc", "man", "info", "locale")]
    command += ['--dpkgopt=path-include="/usr/share/doc/*/copyright"', "--aptopt=APT::Install-Recommends false"]
    _run([*command, recipe.release, str(root), *recipe.mirrors])


def _prepare(root: Path) -> None:
    """Take away what must be different on every machine, and bring the network up by systemd-networkd."""
    for path in [
        *root.glob("etc/ssh/ssh_host_*"),
        root / "var/lib/dbus/machine-id",
        root / "etc/hostname",
        root / "etc/resolv.conf",
    ]:
        path.unlink(missing_ok=True)
    (root / "etc/machine-id").write_text("uninitialized\n", "utf-8")
    wanted = ["systemd-networkd", "ssh"]
    _run(["chroot", str(root), "systemctl", "enable", "--quiet", *wanted])
    _run(["chroot", str(root), "systemctl", "mask", "--quiet", "apt-daily.timer", "apt-daily-upgrade.timer"])


def _write_deploy(root: Path, ram: Path, work: Path) -> str:
    """Write vmlinuz and initrd.img into `work`; return the kernel's version."""
    versions = sorted(path.name for path in (root / "usr/lib/modules").iterdir())
    if len(versions) != 1:
        raise BuildError(f"the image has {len(versions)} kernels: {', '.join(versions) or 'none'}")
    version = versions[0]
    shutil.copyfile(root / f"boot/vmlinuz-{version}", work / "vmlinuz")
    excluded = [f"--exclude=./{path}" for path in _DROPPED]
    kept = [f"--exclude=./usr/lib/modules/{version}/kernel"]
    ram.mkdir()
    _pipe(
        ["tar", "--create", "--directory", str(root), *excluded, *kept, "."],
        ["tar", "--extract", "--directory", str(ram)],
    )
    modules = f"usr/lib/modules/{version}"
    kernel = root / modules / "kernel"
    for source in (source for pattern in _MODULES for source in kernel.glob(pattern)):
        place = ram / modules / "kernel" / source.relative_to(kernel)
        place.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, place, symlinks=True)
        else:
            shutil.copyfile(source, place)
    for folder in ("kernel/drivers/net/wireless", "kernel/drivers/usb/gadget"):
        shutil.rmtree(ram / modules / folder, ignore_errors=True)
    _run(
        ["depmod", "--basedir", str(ram / "usr"), version] if (ram / "lib").is_symlink() else ["depmod", "-b", str(ram), version]
    )
    own = TEMPLATES / "boot/image"
    (ram / "gpuyard").mkdir()
    for name in ("installer.py", "disks.py"):
        shutil.copyfile(own / name, ram / "gpuyard" / name)
    shutil.copyfile(own / "init", ram / "init")
    (ram / "init").chmod(0o755)
    with tempfile.TemporaryFile() as names:
        for path in _walk(ram):
            names.write(path.encode() + b"\0")
        names.seek(0)
        _pack(
            ["cpio", "--null", "--create", "--format=newc", "--quiet", "--owner=0:0"],
            work / "initrd.img",
            3,
            stdin=names,
            cwd=ram,
        )
    return version


def _walk(folder: Path) -> Iterable[str]:
    """Yield the paths of a tree, folders before what is in them."""
    for parent, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted([*folders, *files]):
            yield os.path.relpath(Path(parent) / name, folder)


def _describe(recipe: Recipe, root: Path, kernel: str, archive: Path) -> str:
    with archive.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    listed = _run(["dpkg-query", f"--admindir={root}/var/lib/dpkg", "--show", "--showformat=${Package} ${Version}\\n"])
    packages = dict(line.split(" ", 1) for line in listed.splitlines())
    return json.dumps(
        {
            "format": FORMAT,
            "name": recipe.name,
            "distribution": recipe.distribution,
            "release": recipe.release,
            "archive": archive.name,
            "sha256": digest,
            "bytes": archive.stat().st_size,
            "kernel": kernel,
            "packages": packages,
        },
        indent=1,
        sort_keys=True,
    )


def _swap(new: Path, place: Path) -> None:
    """Put a folder in the place of another; machines that read the old one keep what they have open."""
    old = place.with_name(f".{place.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if place.exists():
        place.rename(old)
    new.rename(place)
    shutil.rmtree(old, ignore_errors=True)


def _run(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        errors = [line for line in lines if line.startswith("E:")] or lines[-1:] or [f"exit code {done.returncode}"]
        # The first says why; what follows says that therefore apt, and therefore mmdebstrap, failed too.
        raise BuildError(f"{Path(command[0]).name} failed: {errors[0]}{_KEYRING if 'NO_PUBKEY' in done.stderr else ''}")
    return done.stdout


def _pack(command: Sequence[str], archive: Path, level: int, **more: object) -> None:
    """Write what a program prints into an archive."""
    with archive.open("wb") as out, subprocess.Popen(command, stdout=subprocess.PIPE, **more) as source:  # type: ignore[call-overload]
        zipped = subprocess.run(["zstd", "-q", f"-{level}", "-T0", "-c"], stdin=source.stdout, stdout=out, check=False)
    if source.returncode or zipped.returncode:
        raise BuildError(f"{archive.name} could not be written: {command[0]} {source.returncode}, zstd {zipped.returncode}")


def _pipe(first: Sequence[str], second: Sequence[str]) -> None:
    with subprocess.Popen(first, stdout=subprocess.PIPE) as source:
        done = subprocess.run(second, stdin=source.stdout, check=False)
    if source.returncode or done.returncode:
        raise BuildError(f"the RAM disk could not be filled: {source.returncode}, {done.returncode}")
