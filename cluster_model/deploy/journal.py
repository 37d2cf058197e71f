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
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fcntl import LOCK_EX, LOCK_NB, LOCK_UN, flock
from pathlib import Path
from typing import Any, Literal, get_args

from cluster_model.reading import open_file
from cluster_model.transport.gear_text import clean_data

State = Literal["planned", "discovered", "powered", "booted", "installing", "installed", "reachable", "failed"]
STATES: tuple[State, ...] = get_args(State)
FILE = "journal.jsonl"
HELD = "provision.lock"
STRANGERS = 1000
"""How many machines that nobody knows are kept in memory, those that asked last."""
RESERVE_BYTES = 4 * 2**20
"""Space that only events may use without which nothing is done; an installation writes about 10 kB."""
_KINDS: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("at", "node", "event", "state", "step", "reason", "sha256"), str),
    "facts": dict,
    "made": (int, float),
}
"""What the members of an event are, of those that change a node; a line that has them otherwise is damaged, and left out."""


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
        touched: whether an installer wrote on its disks and did not come to an end, lately enough that nobody else did since.
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
        if kind in {"token", "booted"} and not self.offered:
            return  # the boot server decided it while the offer was taken back, and lost that race
        if kind == "begun":
            self.attempt += 1
            self.facts = {name: fact for name, fact in self.facts.items() if name != "host_key"}  # it will have another
            self.begun = str(event.get("at", ""))
            self.offered, self.reinstall = True, bool(event.get("reinstall"))
            self.touched = self.touched and event.get("resume") is not False
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
        self.facts = {**self.facts, **(event.get("facts") or {})}


Judge = Callable[[Node], Mapping[str, Any]]
"""Is shown a node, and returns what an event about it says besides."""


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose a journal is: the cluster that it is about, the machine that may write it, its name, and since when."""

    cluster: str = ""
    machine: str = ""
    host: str = ""
    since: str = ""


class HeldError(Exception):
    """Another program installs by this journal."""


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
        self._stroke = threading.Lock()
        self._appended = 0
        self._synced = (0, 0)
        self._nodes: dict[str, Node] = {}
        self._strangers: dict[str, dict[str, Any]] = {}
        self._read = self._file = 0

    def write(self, node: str, event: str, *, judge: Judge | None = None, **more: Any) -> None:
        """Append an event, and see that it is on the disk: a loss of power takes nothing back that others were told.

        Many threads may do it at once: events have their order as they are appended, and the disk takes all those together that
        were appended while it was busy.

        Args:
            node: the server; empty for what is about none.
            event: one word: begun, bmc, power, booted, token, report, withdrawn, reachable, failed, stranger, refused, served …
            judge: is shown the node as it is where the event gets its place, whoever wrote before, and returns what else the
                event says. It is not to use the journal. Where it raises, nothing is written.
            more: `state`, `reason`, `step`, `message` and whatever tells more; nothing secret.

        Raises:
            OSError: it cannot be kept; PermissionError where the journal belongs to another machine.
        """
        self._keep({"node": node, "event": event, **more}, judge)

    def own(self, cluster: str) -> None:
        """Make this machine the one that writes, from now on; what another one wrote stays and is gone on with."""
        more = {"cluster": cluster, "machine": self.machine, "host": socket.gethostname()}
        self._keep({"node": "", "event": "owner", **more})

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Keep every other program from installing by this journal; HeldError where one is at it already."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(self.path.with_name(HELD), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                flock(handle, LOCK_EX | LOCK_NB)  # it ends with the program, however that ends
            except BlockingIOError:
                raise HeldError from None
            yield
        finally:
            os.close(handle)

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

    def _keep(self, event: dict[str, Any], judge: Judge | None = None, *, sync: bool = True) -> None:
        with self._lock:
            handle = self._append(event, judge)
            self._appended += 1
            number = self._appended
        try:
            if sync:
                self._sync(handle, number)
        finally:
            os.close(handle)

    def _sync(self, handle: int, number: int) -> None:
        """See that what was appended as the `number`th is on the disk.

        Others append meanwhile: whoever waits here for somebody else's stroke goes to the disk with all the others that wait.
        """
        file = os.fstat(handle).st_ino
        with self._stroke:
            if self._synced[0] == file and self._synced[1] >= number:
                return
            appended = self._appended
            os.fdatasync(handle)
            self._synced = (file, appended)

    def _append(self, event: dict[str, Any], judge: Judge | None) -> int:
        """Append an event; return the file, open."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            flock(handle, LOCK_EX)
            self._catch_up()
            if self._owner.machine not in {"", self.machine} and event["event"] != "owner":
                raise PermissionError(errno.EPERM, f"it belongs to {self._owner.host} since {self._owner.since}", str(self.path))
            if judge:
                event = {**event, **judge(replace(self._nodes.get(event["node"]) or Node(event["node"])))}
            at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            line = json.dumps(clean_data({"at": at, **event}, 1000), ensure_ascii=False, default=str) + "\n"
            # A crash or a full disk may have cut the last line: this one must not be lost with it.
            end = os.lseek(handle, 0, os.SEEK_END)
            cut = end > 0 and os.pread(handle, 1, end - 1) != b"\n"
            text = (b"\n" if cut else b"") + line.encode(errors="replace")
            if os.write(handle, text) != len(text):
                os.ftruncate(handle, end)  # the beginning of a line is of no use, and what it says was not done
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
            flock(handle, LOCK_UN)
        except BaseException:
            os.close(handle)
            raise
        return handle

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
            self._keep({"node": node, "event": event, **more}, sync=False)
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
            with open_file(self.path) as lines:
                for line in lines:
                    event = _parse(line)
                    if event and (not node or event.get("node") == node):
                        yield event
        except FileNotFoundError:
            return

    def _catch_up(self) -> None:
        try:
            with open_file(self.path) as lines:
                found = os.fstat(lines.fileno())
                if found.st_ino != self._file or found.st_size < self._read:  # a backup was put in its place
                    self._owner, self._nodes, self._strangers = Owner(), {}, {}
                    self._file, self._read = found.st_ino, 0
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
    """Return an event; None for a line that a full disk, a crash or an editor damaged."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or any(not isinstance(found[key], kind) for key, kind in _KINDS.items() if key in found):
        return None
    # Installers and strangers had a say in it.
    return clean_data({"at": "", "event": "", **found}, 1000)  # type: ignore[no-any-return]


def identify_machine() -> str:
    """Return what tells this machine from every other one.

    machine-id(5) is not to be shown to others, so it is a hash of it; where there is none, the host's name.
    """
    try:
        text = Path("/etc/machine-id").read_text("ascii").strip()
    except (OSError, ValueError):
        text = ""
    return hashlib.sha256(f"gpuyard journal of {text or socket.gethostname()}".encode()).hexdigest()[:16]
