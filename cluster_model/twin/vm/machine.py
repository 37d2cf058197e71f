"""The small machine: Debian's kernel under QEMU's emulation, this machine's files read-only under a tmpfs, one job inside.

The job is a Python function of this package or of one beside it; it has this interpreter and its path. What it tells comes back
as lines of JSON over a serial port. QEMU dies with the process that started it, however that ends.
"""

from __future__ import annotations

import json
import os
import select
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cluster_model.twin.node import NodeError
from cluster_model.twin.vm.kernel import UnavailableError, fetch_kernel, find_program

MEMORY_MIB = 3072
MOST_CORES = 8
LIMIT_S = 3600.0
KERNEL = "console=ttyS0 quiet loglevel=4 panic=-1 softlockup_panic=1 watchdog_thresh=60 mitigations=off"
"""What the kernel is told. Under emulation its processors may hang in a lock for good, as was seen with 6.1.192 in QEMU 7.2: that
ends the machine after twice `watchdog_thresh` seconds, the most that there is. One that is merely busy is not so slow."""
SHARE = Path("/run/share")
"""Where the job finds the share."""


class MachineError(NodeError):
    """The small machine did not start, or its job failed; the text has the end of what it said."""


def run_in_machine(job: str, share: Path, take: Callable[[str, Any], None], limit_s: float = LIMIT_S) -> None:
    """Boot the small machine, run a job in it, and return when it is off.

    Args:
        job: `package.module:function`; the function is given what tells (kind, value) to us.
        share: a folder that the job sees as SHARE; console.log in it has what the kernel and the job print.
        take: is given (kind, value) of all that the job tells, as it does.
        limit_s: how long it may take.

    Raises:
        UnavailableError: there is no such machine here.
        MachineError: the job failed, or did not end in time.
    """
    kernel = fetch_kernel()
    (share / "start").write_text(_write_start(job), "utf-8")
    command = ["setpriv", "--pdeathsig", "KILL", *_write_command(kernel, share)]
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as machine:
        try:
            failed = _listen(machine, take, time.monotonic() + limit_s)
        finally:
            machine.kill()
        if failed is None and machine.stderr is not None:
            said = machine.stderr.read().decode(errors="replace")
            needs = f"it needs {MEMORY_MIB} MiB of memory; a kernel that hung, as told below, is tried again"
            failed = f"it went off before the end of its job; {needs}. {said}"
    if failed:
        raise MachineError(f"the small machine: {failed}\n{_tail(share / 'console.log')}".rstrip())


def _write_start(job: str) -> str:
    path = os.pathsep.join(str(Path(entry or ".").resolve()) for entry in sys.path if not entry.endswith(".zip"))
    root = Path(__file__).resolve().parents[3]
    return "\n".join(
        [
            "export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8",
            f"export PYTHONPATH={shlex.quote(f'{root}{os.pathsep}{path}')} PYTHONDONTWRITEBYTECODE=1",
            f"exec {shlex.quote(sys.executable)} -u -m cluster_model.twin.vm.guest {shlex.quote(job)}",
            "",
        ]
    )


def _write_command(kernel: Path, share: Path) -> list[str]:
    release = (kernel / "release").read_text("utf-8")
    command = [
        find_program("qemu-system-x86_64"),
        *("-machine", "q35", "-accel", "tcg,thread=multi,tb-size=512", "-cpu", "max"),
        *("-smp", str(min(MOST_CORES, len(os.sched_getaffinity(0)))), "-m", str(MEMORY_MIB)),
        *("-nographic", "-no-reboot", "-nodefaults", "-device", "virtio-rng-pci"),
        *("-chardev", f"file,id=console,path={share}/console.log", "-serial", "chardev:console", "-serial", "stdio"),
        *("-kernel", str(kernel / f"root/boot/vmlinuz-{release}"), "-initrd", str(kernel / "initrd.gz")),
        *("-append", KERNEL),
    ]
    for tag, path, options in (
        ("root", "/", ",readonly=on"),
        ("share", str(share), ""),
        ("kernel", str(kernel / "root"), ",readonly=on"),
    ):
        command += ["-virtfs", f"local,path={path},mount_tag={tag},security_model=none,multidevs=remap{options}"]
    return command


def _listen(machine: subprocess.Popen[bytes], take: Callable[[str, Any], None], deadline: float) -> str | None:
    """Take what the job tells until it ends; return why it failed, empty where it did not, None where it never said."""
    assert machine.stdout is not None
    held = b""
    while (left := deadline - time.monotonic()) > 0:
        if not select.select([machine.stdout], [], [], left)[0]:
            break
        part = os.read(machine.stdout.fileno(), 1 << 16)
        if not part:
            return None
        *lines, held = (held + part).split(b"\n")
        for line in lines:
            try:
                kind, value = json.loads(line)
            except ValueError:
                continue  # firmware and the kernel may speak on this port before the job has it
            if kind == "failed":
                return str(value)
            if kind == "done":
                return ""
            take(kind, value)
    return "it did not end in time: let nothing else run beside it, or try less (--no-faults, --hosts)"


def _tail(path: Path) -> str:
    return path.read_text("utf-8", errors="replace")[-3000:] if path.is_file() else ""


__all__ = ["SHARE", "MachineError", "UnavailableError", "run_in_machine"]
