"""The journal of an installation: one line of JSON for everything that happened, in order; a node's state follows from it.

Two programs write it, the boot server and `gpuyard provision`, each line whole and under a lock. Nothing in it is
ever changed, so it survives interruption of either, and tells afterwards for every node what happened and when.

It belongs to one machine. A copy of it on another machine is a backup, which can be read there and not written until that machine
takes it over: two boot servers never write what is meant to be one journal.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import socket
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Any, Literal, get_args

from cluster_model.transport.gear_text import clean_data

State = Literal["planned", "discovered", "powered", "booted", "installing", "installed", "reachable", "failed"]
STATES: tuple[State, ...] = get_args(State)
FILE = "journal.jsonl"
STRANGERS = 1000
"""How many machines that nobody knows are kept in memory, those that asked last."""
RESERVE_BYTES = 4 * 2**20
"""Space that only events may use without which nothing is done; an installation writes about 10 kB."""


@dataclass(slots=True)
class Node:
    """A node as the journal leaves it.

    Args:
        name: the server.
        state: how far it came.
        since: when it came there, ISO 8601 in UTC; empty for a node that the journal does not know.
        step: what the installer was at, its last word.
        reason: why it failed.
        attempt: how many times it was begun.
        begun: when it was begun last, ISO 8601 in UTC; empty for a node that never was.
        offered: whether the boot server hands it the installation.
        reinstall: whether that was asked for a node that had been installed.
        installed: whether it ever was installed, and so may hold data.
        touched: whether an installer wrote on its disks and did not come to an end.
        token: SHA-256 of the token that is good now; empty without one.
        token_at: when that was made, seconds since the epoch.
        facts: what the installer told of the machine.
    """

    name: str
    state: State = "planned"
    since: str = ""
    step: str = ""
    reason: str = ""
    attempt: int = 0
    begun: str = ""
    offered: bool = False
    reinstall: bool = False
    installed: bool = False
    touched: bool = False
    token: str = ""
    token_at: float = 0.0
    facts: dict[str, Any] = field(default_factory=dict)

    def take(self, event: dict[str, Any]) -> None:
        """Change as an event says."""
        kind = event.get("event")
        if kind == "begun":
            self.attempt += 1
            self.begun = str(event.get("at", ""))
            self.offered, self.reinstall = True, bool(event.get("reinstall"))
            self.step = self.reason = self.token = ""
        elif kind == "withdrawn":
            self.offered, self.token = False, ""
        elif kind == "bmc":
            self.reason = str(event.get("reason", ""))
        elif kind == "token":
            self.token, self.token_at = str(event.get("sha256", "")), float(event.get("made", 0.0))
        state = event.get("state")
        if state == "powered" and self.state not in {"planned", "discovered"}:
            state = None  # the machine was quicker than its BMC: it has asked the boot server already
        if state in STATES:
            self.state, self.since = state, str(event.get("at", ""))
            self.reason = str(event.get("reason", "")) if state == "failed" else ""
        if state in {"installed", "failed"}:
            self.offered, self.token = False, ""
        self.installed = self.installed or state == "installed"
        if kind == "report":
            self.touched = state != "installed" and (self.touched or event.get("step") not in {"", "start", None})
        self.step = str(event.get("step") or self.step)
        self.facts.update(event.get("facts") or {})


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose a journal is: the cluster that it is about, the machine that may write it, its name, and since when."""

    cluster: str = ""
    machine: str = ""
    host: str = ""
    since: str = ""


class Journal:
    """The journal in a folder, and the nodes as it leaves them. May be used by many threads.

    Args:
        folder: where it lies.
        machine: the machine that writes; default: this one.
    """

    def __init__(self, folder: Path, machine: str = "") -> None:
        self.path = folder / FILE
        self.machine = machine or identify_machine()
        self._owner = Owner()
        self._lock = threading.Lock()
        self._nodes: dict[str, Node] = {}
        self._strangers: dict[str, dict[str, Any]] = {}
        self._read = 0

    def write(self, node: str, event: str, **more: Any) -> None:
        """Append an event.

        Args:
            node: the server; empty for what is about none.
            event: one word: begun, bmc, power, booted, token, report, withdrawn, reachable, failed, stranger, refused, served …
            more: `state`, `reason`, `step`, `message` and whatever tells more; nothing secret.

        Raises:
            OSError: it cannot be kept; PermissionError where the journal belongs to another machine.
        """
        with self._lock:
            self._write({"node": node, "event": event, **more})

    def own(self, cluster: str) -> None:
        """Make this machine the one that writes, from now on; what another one wrote stays and is gone on with."""
        more = {"cluster": cluster, "machine": self.machine, "host": socket.gethostname()}
        with self._lock:
            self._write({"node": "", "event": "owner", **more})

    @property
    def owner(self) -> Owner:
        """Return whose it is; an empty one where nobody ever said so."""
        with self._lock:
            self._catch_up()
            return self._owner

    def known(self) -> list[str]:
        """Return the nodes that were ever begun or reported, by name."""
        with self._lock:
            self._catch_up()
            return sorted(name for name, node in self._nodes.items() if node.begun or node.installed)

    def _write(self, event: dict[str, Any]) -> None:
        at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = json.dumps(clean_data({"at": at, **event}, 1000), ensure_ascii=False, default=str) + "\n"
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            flock(handle, LOCK_EX)
            self._catch_up()
            if self._owner.machine not in {"", self.machine} and event["event"] != "owner":
                raise PermissionError(errno.EPERM, f"it belongs to {self._owner.host} since {self._owner.since}", str(self.path))
            # A crash or a full disk may have cut the last line: this one must not be lost with it.
            end = os.lseek(handle, 0, os.SEEK_END)
            cut = end > 0 and os.pread(handle, 1, end - 1) != b"\n"
            text = (b"\n" if cut else b"") + line.encode(errors="replace")
            if os.write(handle, text) != len(text):
                os.ftruncate(handle, end)  # the beginning of a line is of no use, and what it says was not done
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
        finally:
            os.close(handle)

    def note(self, node: str, event: str, **more: Any) -> bool:
        """Append an event that may be lost: on a disk that is nearly full, the rest is for those that may not.

        Returns:
            Whether it was kept.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            disk = os.statvfs(self.path.parent)
            if disk.f_bavail * disk.f_frsize < RESERVE_BYTES:
                return False
            self.write(node, event, **more)
        except OSError:
            return False
        return True

    def node(self, name: str) -> Node:
        """Return a node as it is now, what the other program wrote included."""
        return self.nodes([name])[name]

    def nodes(self, names: Iterable[str]) -> dict[str, Node]:
        """Return nodes as they are now, by name; what is written later does not change them."""
        with self._lock:
            self._catch_up()
            return {name: replace(self._nodes.get(name) or Node(name)) for name in names}

    def strangers(self) -> dict[str, dict[str, Any]]:
        """Return the last event of each machine that asked to be booted and is not planned, by MAC."""
        with self._lock:
            self._catch_up()
            return dict(self._strangers)

    def events(self, node: str = "") -> Iterator[dict[str, Any]]:
        """Yield events in order; of one node, or all."""
        try:
            with self.path.open("rb") as lines:
                for line in lines:
                    event = _parse(line)
                    if event and (not node or event.get("node") == node):
                        yield event
        except FileNotFoundError:
            return

    def _catch_up(self) -> None:
        try:
            with self.path.open("rb") as lines:
                lines.seek(self._read)
                for line in lines:
                    if not line.endswith(b"\n"):  # still being written
                        break
                    self._read += len(line)
                    event = _parse(line)
                    if event:
                        self._take(event)
        except FileNotFoundError:
            return

    def _take(self, event: dict[str, Any]) -> None:
        name = str(event.get("node") or "")
        if event.get("event") == "owner":
            words = (str(event.get(key, "")) for key in ("cluster", "machine", "host", "at"))
            self._owner = Owner(*words)
        elif event.get("event") == "stranger":
            mac = str(event.get("mac", ""))
            self._strangers.pop(mac, None)
            self._strangers[mac] = event
            if len(self._strangers) > STRANGERS:
                del self._strangers[next(iter(self._strangers))]
        elif name:
            self._nodes.setdefault(name, Node(name)).take(event)


def _parse(line: bytes) -> dict[str, Any] | None:
    """Return an event; None for a line that a full disk or a crash cut short."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    # Installers and strangers had a say in it.
    return clean_data(found, 1000) if isinstance(found, dict) else None


def identify_machine() -> str:
    """Return what tells this machine from every other one.

    machine-id(5) is not to be shown to others, so it is a hash of it; where there is none, the host's name.
    """
    try:
        text = Path("/etc/machine-id").read_text("ascii").strip()
    except (OSError, ValueError):
        text = ""
    return hashlib.sha256(f"gpuyard journal of {text or socket.gethostname()}".encode()).hexdigest()[:16]
