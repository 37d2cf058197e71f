"""ibsim in a machine of its own, which plays switches and adapters: OpenSM and the diagnostics run on it as they are.

Everything runs in the namespaces of a `Node`, so it ends with that, however the twin ends, and two simulators never meet.
Sources: ibsim's README and `help` of its console (0.10).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from cluster_model.twin.node import Node, NodeError

PROGRAMS = {
    "ibsim": "ibsim-utils",
    "opensm": "opensm",
    "ibnetdiscover": "infiniband-diags",
    "dump_fts": "infiniband-diags",
    "smpquery": "infiniband-diags",
    "sminfo": "infiniband-diags",
}
LIBRARY = Path(f"/usr/lib/{os.uname().machine}-linux-gnu/umad2sim/libumad2sim.so")
FOLDER = "/etc/opensm"
"""Where the rendered files lie; a machine of the twin has one of its own."""
WORK = "/var/tmp"
PATIENCE_S = 600.0
"""How long is waited for what must come, however busy this machine is: only a failure takes that long."""
MAX_NODES, MAX_SWITCHES, MAX_PORTS = 2048, 256, 13312
"""What ibsim takes; port 0 of a switch counts. Source: ibsim, sim.h (MAXNETNODES, MAXNETSWITCHS, MAXNETPORTS)."""
_NODE = re.compile(r'^(?:Switch|Ca|Hca)\s+\d+\s+"([^"]+)"', re.MULTILINE)
_REFUSALS = ("not found", "can't", "bad port", "is not linked", "no previous link", "unknown - skipped")


def list_missing() -> set[str]:
    """Return Debian's packages that are missing for InfiniBand."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    missing = {package for program, package in PROGRAMS.items() if shutil.which(program, path=path) is None}
    if not LIBRARY.exists():
        missing.add("libumad2sim0")
    if not Path(FOLDER).is_dir():
        missing.add("opensm")
    return missing


class TopologyError(NodeError):
    """ibsim does not take a topology; the text is its own."""


class Simulator:
    """A simulated fabric.

    Make it in a thread that lives as long as the simulator shall: the kernel ends it with that thread.

    Args:
        name: of the machine that it runs in.
        topology: the fabric, as ibnetdiscover prints one.
    """

    def __init__(self, name: str, topology: str) -> None:
        found = _NODE.search(topology)
        if found is None:
            raise NodeError(f"{name}: no node in its topology")
        self._first = found[1]
        self.node = Node(name)
        self.is_closed = False
        self._started: list[subprocess.Popen[bytes]] = []
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 (closed in close)
        self._console: subprocess.Popen[bytes] | None = None
        try:
            self.node.write(f"{WORK}/net", topology)
            self._console = subprocess.Popen(
                [*self.node.prefix, "ibsim", "-s", f"{WORK}/net"],
                stdin=subprocess.PIPE, stdout=self._said, stderr=subprocess.STDOUT,
            )  # fmt: skip
            self._started.append(self._console)
            self._wait_for_parser()
        except BaseException:
            self.close()
            raise

    def _wait_for_parser(self) -> None:
        try:
            self.command()
        except NodeError as error:
            said = self._read(0).decode(errors="replace").splitlines()
            reasons = [line.partition("] ")[2] for line in said if "connect_ports" in line or "parse_" in line]
            reasons = [line for line in reasons if "parse_port_connection_data" not in line]  # of links without LIDs
            if reasons:
                raise TopologyError("; ".join(reasons)[:500]) from None
            raise error from None

    def command(self, *lines: str) -> None:
        """Run commands of ibsim's console, and return once they are done.

        Raises:
            NodeError: it refused one, or has ended.
        """
        assert self._console is not None and self._console.stdin is not None
        self._check()
        begin = self._said.seek(0, os.SEEK_END)
        try:  # what is dumped is flushed, with all that was said before
            self._console.stdin.write("\n".join([*lines, f'Dump "{self._first}"', ""]).encode())
            self._console.stdin.flush()
        except BrokenPipeError:
            pass
        deadline = time.monotonic() + PATIENCE_S
        while b"#  dumped" not in (said := self._read(begin)):
            if self._console.poll() is not None or time.monotonic() > deadline:
                raise NodeError(f"{self.node.name}: ibsim: {said.decode(errors='replace').strip()[-500:] or 'no answer'}")
            time.sleep(0.02)
        answer = said.decode(errors="replace").partition("# Net status")[0]
        refused = [line for line in answer.splitlines() if any(word in line for word in _REFUSALS)]
        if refused:
            raise NodeError(f"{self.node.name}: ibsim: {'; '.join(refused)[-500:]}")

    def _read(self, begin: int) -> bytes:
        size = os.fstat(self._said.fileno()).st_size
        return os.pread(self._said.fileno(), max(0, size - begin), begin)

    def _wrap(self, host: str, command: tuple[str, ...], folder: str) -> list[str]:
        return [
            "env", f"--chdir={folder}", f"PATH={os.environ.get('PATH', '')}:/usr/sbin:/sbin", f"OSM_TMP_DIR={folder}",
            f"OSM_CACHE_DIR={folder}", f"LD_PRELOAD={LIBRARY}", f"SIM_HOST={host}", *command,
        ]  # fmt: skip

    def run(self, host: str, *command: str, check: bool = True, folder: str = WORK) -> str:
        """Run a program as if on an adapter.

        Args:
            host: the adapter's id in the topology.
            command: the program.
            check: whether its failure is an error.
            folder: where it runs.

        Returns:
            What it printed.

        Raises:
            NodeError: it failed, and `check` is set.
        """
        self._check()
        return self.node.run(*self._wrap(host, command, folder), check=check)

    def _check(self) -> None:
        if self.is_closed:
            raise NodeError("the twin was ended")

    def start(self, host: str, name: str, *command: str, folder: str = WORK) -> None:
        """Start a program that stays, as if on an adapter; `name` is what `kill` calls it."""
        words = ["sh", "-c", f'echo $$ >{WORK}/{name}.pid; exec "$@"', "sh", *self._wrap(host, command, folder)]
        self._started.append(
            subprocess.Popen(
                [*self.node.prefix, *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
        )

    def kill(self, name: str) -> None:
        """Kill a program that was started."""
        self.node.run("sh", "-c", f"kill -9 $(cat {WORK}/{name}.pid)", check=False)

    def read(self, path: str) -> str:
        """Return a file of the machine; empty where it is not there yet. NodeError where the machine has ended."""
        self._check()
        with suppress(OSError):
            return Path(f"/proc/{self.node.pid}/root{path}").read_text("utf-8", errors="replace")
        return ""

    def close(self) -> None:
        """End the fabric and all that runs on it."""
        self.is_closed = True
        self.node.close()
        for process in self._started:
            if process.stdin:
                with suppress(OSError):
                    process.stdin.close()
            process.wait()
        self._said.close()
