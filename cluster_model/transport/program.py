"""Programs that speak to gear, whose words are read to a limit: who answers without end fills no memory."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from tempfile import TemporaryFile
from time import monotonic
from typing import IO

from cluster_model.transport.gear_text import OUTPUT


@dataclass(frozen=True, slots=True)
class Done:
    """A program that has ended: its exit code, output and errors; -9 where it said too much."""

    code: int
    output: str
    errors: str


def run_program(
    command: Sequence[str], timeout_s: float, *, told: str = "", environment: Mapping[str, str] | None = None, most: int = OUTPUT
) -> Done:
    """Run a program to its end.

    Args:
        command: the program and its words.
        timeout_s: seconds that it has.
        told: its standard input.
        environment: its environment; None is this process's own.
        most: bytes of output, and of errors, that it may write before it is killed.

    Raises:
        subprocess.TimeoutExpired: it has not ended in time, and is killed.
        OSError: it cannot be run.
    """
    heard: dict[str, bytes] = {}
    end = monotonic() + timeout_s
    with TemporaryFile() as source:
        source.write(told.encode())
        source.seek(0)
        process = subprocess.Popen(command, stdin=source, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)

    def listen(name: str, stream: IO[bytes]) -> None:
        parts, left = [], most
        with stream:
            while left > 0 and (part := stream.read1(min(left, 1 << 16))):  # type: ignore[attr-defined]
                parts.append(part)
                left -= len(part)
        heard[name] = b"".join(parts)
        if left <= 0:
            process.kill()

    assert process.stdout and process.stderr
    streams = {"output": process.stdout, "errors": process.stderr}
    listeners = [threading.Thread(target=listen, args=pair, daemon=True) for pair in streams.items()]
    for listener in listeners:
        listener.start()
    try:
        for listener in listeners:
            listener.join(max(0.0, end - monotonic()))
        if any(listener.is_alive() for listener in listeners):
            raise subprocess.TimeoutExpired(command, timeout_s)
        code = process.wait(max(0.0, end - monotonic()))
    except BaseException:
        process.kill()
        process.wait()
        raise
    return Done(code, *(heard[name].decode(errors="replace") for name in streams))
