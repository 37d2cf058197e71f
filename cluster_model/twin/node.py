"""A machine of the twin: its own network, mount, UTS and PID namespace, held by a process that does nothing.

The holder is the first process of its PID namespace, so all that runs in it ends with it; and it ends with its parent: the
kernel kills it when the parent dies, however it dies, and the end of a pipe says the same where that signal was missed.
"""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

NEW_NET, NEW_MOUNT, NEW_UTS, NEW_PID = 0x40000000, 0x00020000, 0x04000000, 0x20000000
_RECURSIVE_PRIVATE = 1 << 18 | 1 << 14
_SET_DEATH_SIGNAL, _SET_NAME = 1, 15
PATIENCE_S = 600
"""For a command that hangs; under emulation, on a busy machine, some need minutes."""
_PRIVATE = ("/run", "/etc/frr", "/etc/lldpd.d", "/etc/opensm", "/var/tmp")
_OWNERS = {"/run/frr": "frr", "/run/lldpd": "_lldpd", "/etc/frr": "frr"}
_libc = ctypes.CDLL(None, use_errno=True)


class NodeError(Exception):
    """A machine of the twin could not be had, or a command in it failed."""


def _call(name: str, *arguments: int | bytes | None) -> None:
    if getattr(_libc, name)(*arguments) < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")


def _mount(source: str, target: str, kind: str = "none", flags: int = 0) -> None:
    _call("mount", source.encode(), target.encode(), kind.encode(), flags, None)


class Node:
    """A running machine.

    Args:
        name: its host name.
        private: folders that it has for itself, empty, beside those that every machine has.
    """

    def __init__(self, name: str, private: tuple[str, ...] = ()) -> None:
        self.name = name
        self._private = (*_PRIVATE, *private)
        self._is_reaped = False
        reading, self._life = os.pipe()
        ready, telling = os.pipe()
        own = os.open("/proc/self/ns/pid", os.O_RDONLY)
        _call("unshare", NEW_PID)
        self.pid = os.fork()
        if not self.pid:
            _hold(name, self._private, reading, telling)
        _call("setns", own, NEW_PID)
        for end in (own, reading, telling):
            os.close(end)
        said = os.read(ready, 1000).decode()
        os.close(ready)
        if said != "+":
            self.close()
            raise NodeError(f"no namespaces for {name}: {said}")
        self._net = os.open(f"/proc/{self.pid}/ns/net", os.O_RDONLY)

    def run(self, *command: str, text: str = "", check: bool = True) -> str:
        """Run a command in the machine and return what it prints.

        Raises:
            NodeError: it failed, and `check` is set.
        """
        done = subprocess.run(
            [*self.prefix, *command], input=text, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
        if check and done.returncode:
            said = f"{done.stdout[-1500:]}{done.stderr[-1500:]}".strip()
            raise NodeError(f"{self.name}: {' '.join(command)[:200]}: rc {done.returncode}: {said}")
        return done.stdout

    @property
    def prefix(self) -> list[str]:
        """Return what to put before a command that shall run in the machine."""
        return ["nsenter", "-t", str(self.pid), "-n", "-m", "-u", "-p"]

    @property
    def root(self) -> Path:
        """Return where the machine's files are seen from here."""
        return Path(f"/proc/{self.pid}/root")

    def configure(self, batch: list[str], program: str = "ip") -> None:
        """Run lines of `ip -b` in the machine's network namespace, or of another program that takes a batch so."""
        command = ["nsenter", "-t", str(self.pid), "-n", program, "-b", "-"]
        done = subprocess.run(command, input="\n".join(batch) + "\n", capture_output=True, text=True, check=False)
        if done.returncode:
            raise NodeError(f"{self.name}: {program}: {done.stderr.strip()[-500:]}")

    def write(self, path: str, text: str, mode: int = 0o644) -> None:
        """Write a file as the machine sees it; only below its own folders."""
        if not path.startswith(self._private):
            raise ValueError(f"{path} is not the machine's own")
        target = self.root / path.removeprefix("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch(mode)
        target.write_text(text, "utf-8")

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Put the calling thread into the machine's network namespace; sockets made there stay there."""
        own = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        _call("setns", self._net, NEW_NET)
        try:
            yield
        finally:
            _call("setns", own, NEW_NET)
            os.close(own)

    def set_kernel(self, values: dict[str, str]) -> None:
        """Set values below /proc/sys/net."""
        with self.inside():
            for key, value in values.items():
                Path("/proc/sys/net", key).write_text(value, "utf-8")

    def kill_all(self) -> None:
        """Kill every process but the holder, as a power cut does."""
        subprocess.run([*self.prefix, "sh", "-c", "kill -9 -1; exit 0"], capture_output=True, check=False)

    def kill(self) -> None:
        """Let the machine and all that runs in it end, without waiting for it."""
        if not self._is_reaped:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def close(self) -> None:
        """End the machine and all that runs in it."""
        if self._is_reaped:
            return
        self.kill()
        self._is_reaped = True
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)
        for end in (self._life, getattr(self, "_net", -1)):
            if end >= 0:
                with suppress(OSError):
                    os.close(end)


def _hold(name: str, private: tuple[str, ...], reading: int, telling: int) -> None:
    """Be the first process of a machine; never returns."""
    try:
        _call("prctl", _SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        _call("prctl", _SET_NAME, f"twin:{name}"[:15].encode(), 0, 0, 0)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, signal.SIG_IGN)  # orphans are reaped by the kernel
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        low, high = sorted((reading, telling))
        os.closerange(3, low)
        os.closerange(low + 1, high)
        os.closerange(high + 1, 65536)
        _enter(name, private)
        os.write(telling, b"+")
        os.close(telling)
        while True:
            try:
                os.read(reading, 1)
                break
            except OSError as error:
                if error.errno != errno.EINTR:
                    break
    except BaseException as error:
        with suppress(OSError):
            os.write(telling, f"{type(error).__name__}: {error}"[:900].encode())
    os._exit(0)


def _enter(name: str, private: tuple[str, ...]) -> None:
    _call("unshare", NEW_NET | NEW_MOUNT | NEW_UTS)
    _mount("none", "/", flags=_RECURSIVE_PRIVATE)
    socket.sethostname(name)
    _mount("proc", "/proc", "proc")
    _mount("sysfs", "/sys", "sysfs")
    for folder in private:
        if Path(folder).is_dir() or folder not in _PRIVATE:
            _mount("none", folder, "tmpfs")
    for folder, owner in _OWNERS.items():
        with suppress(LookupError):
            Path(folder).mkdir(exist_ok=True)
            shutil.chown(folder, owner, owner)
