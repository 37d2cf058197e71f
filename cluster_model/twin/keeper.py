"""A twin that stays up: a process in the background holds it, and a small file says where it is."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import NoReturn

from cluster_model.twin.ethernet.fabric import Fabric

FOLDER = Path("/run/gpuyard-twin")
PATIENCE_S = 120.0
"""How long a keeper may take to end what it keeps, however busy this machine is: only one that hangs takes that long."""


@dataclass(frozen=True, slots=True)
class State:
    """A twin that is up: the keeper's process with its start time, and the process of every machine."""

    cluster: str
    argument: str
    pid: int
    started: str
    machines: dict[str, int]


def _read_start(pid: int) -> str:
    """Return when a process began, in ticks; empty where it has ended. A number may come back, with another start."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else fields[19]


def _is_running(state: State) -> bool:
    return _read_start(state.pid) == state.started


def list_states() -> list[State]:
    """Return the twins that are up. Files of keepers that were killed stay, until one of that name writes its own."""
    states = []
    for path in sorted(FOLDER.glob("*.json")):
        with suppress(OSError, ValueError, TypeError):
            state = State(**json.loads(path.read_text("utf-8")))
            if _is_running(state):
                states.append(state)
    return states


def find_state(cluster: Path) -> State | None:
    """Return the twin of a cluster that is up, by the path it was started with or by its name."""
    wanted = {str(cluster), str(cluster.resolve())}
    return next((state for state in list_states() if {state.cluster, state.argument} & wanted), None)


def _claim(name: str) -> int | None:
    """Return what holds a name for this process and those that it forks, until all have ended; None where another has it."""
    held = os.open(FOLDER / f"{name}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(held)
        return None
    return held


def start_keeper(
    name: str, argument: Path, boot: Callable[[Callable[[str], None]], AbstractContextManager[Fabric]], say: Callable[[str], None]
) -> str:
    """Boot a twin in a process of its own, and return once it is up. Of clusters with one name, one at a time is up.

    Args:
        name: the cluster's.
        argument: the path that the user gave.
        boot: makes the running fabric, given what takes its progress.
        say: takes progress.

    Returns:
        Why it did not start; empty where it did.
    """
    FOLDER.mkdir(mode=0o700, exist_ok=True)
    held = _claim(name)
    if held is None:
        return _tell_holder(name)
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(reading)
        _keep(name, argument, boot, writing)
    os.close(writing)
    os.close(held)
    try:
        with os.fdopen(reading, encoding="utf-8") as lines:
            for line in lines:
                kind, _, text = line.rstrip("\n").partition(" ")
                if kind != "progress":
                    return text
                say(text)
    except BaseException:
        os.kill(pid, signal.SIGKILL)
        raise
    return "its process ended without a word"


def _tell_holder(name: str) -> str:
    state = next((state for state in list_states() if state.cluster == name), None)
    if state is None:
        return f"a twin called {name} is being started or ended by another process"
    return f"a twin called {name} is up already, of {state.argument}: gpuyard twin down {name} ends it"


def _keep(
    name: str, argument: Path, boot: Callable[[Callable[[str], None]], AbstractContextManager[Fabric]], writing: int
) -> NoReturn:
    def tell(kind: str, text: str) -> None:
        with suppress(OSError):
            os.write(writing, f"{kind} {' '.join(text.split())}\n".encode())

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    path = FOLDER / f"{name}.json"
    try:
        os.setsid()
        signal.signal(signal.SIGTERM, stop)
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        with boot(lambda text: tell("progress", text)) as fabric:
            machines = {node.name: node.pid for node in fabric.nodes.values()}
            state = State(name, str(argument.resolve()), os.getpid(), _read_start(os.getpid()), machines)
            fresh = path.with_suffix(".new")  # nobody shall read half of it
            fresh.write_text(json.dumps(asdict(state)), "utf-8")
            fresh.replace(path)
            tell("ready", "")
            os.close(writing)
            while True:
                time.sleep(1)  # a signal that comes just before a pause without end would be seen at the next one
    except KeyboardInterrupt:
        pass
    except BaseException as error:
        tell("failed", f"{error}")
    path.unlink(missing_ok=True)
    os._exit(0)


def stop_keeper(state: State) -> bool:
    """End a twin; return whether it is gone."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if _is_running(state):
            with suppress(ProcessLookupError):
                os.kill(state.pid, number)
        deadline = time.monotonic() + PATIENCE_S
        while _is_running(state) and time.monotonic() < deadline:
            time.sleep(0.1)
    return not _is_running(state)
