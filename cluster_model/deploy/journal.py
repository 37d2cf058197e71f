"""The journal of an installation: one line of JSON for everything that happened, in order; a node's state follows from it.

Two programs write it, the boot server and `gpuyard provision`, each line whole and under a lock. Nothing in it is
ever changed, so it survives interruption of either, and tells afterwards for every node what happened and when.
"""

from __future__ import annotations

import errno
import json
import os
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Any, Literal, get_args

State = Literal["planned", "discovered", "powered", "booted", "installing", "installed", "reachable", "failed"]
STATES: tuple[State, ...] = get_args(State)
FILE = "journal.jsonl"


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


class Journal:
    """The journal in a folder, and the nodes as it leaves them. May be used by many threads."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self._lock = threading.Lock()
        self._nodes: dict[str, Node] = {}
        self._strangers: dict[str, dict[str, Any]] = {}
        self._read = 0

    def write(self, node: str, event: str, **more: Any) -> None:
        """Append an event; raises OSError where it cannot be kept.

        Args:
            node: the server; empty for what is about none.
            event: one word: begun, bmc, power, booted, token, report, withdrawn, reachable, failed, stranger, refused, served …
            more: `state`, `reason`, `step`, `message` and whatever tells more; nothing secret.
        """
        at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = json.dumps({"at": at, "node": node, "event": event, **more}, ensure_ascii=False, default=str) + "\n"
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            flock(handle, LOCK_EX)
            # A crash or a full disk may have cut the last line: this one must not be lost with it.
            end = os.lseek(handle, 0, os.SEEK_END)
            cut = end > 0 and os.pread(handle, 1, end - 1) != b"\n"
            text = (b"\n" if cut else b"") + line.encode()
            if os.write(handle, text) != len(text):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
        finally:
            os.close(handle)

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
        if event.get("event") == "stranger":
            self._strangers[str(event.get("mac", ""))] = event
        elif name:
            self._nodes.setdefault(name, Node(name)).take(event)


def _parse(line: bytes) -> dict[str, Any] | None:
    """Return an event; None for a line that a full disk or a crash cut short."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
