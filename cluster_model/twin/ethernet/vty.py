"""Asks an FRR daemon as vtysh does, over its own socket: a process less for each question, which counts under emulation."""

from __future__ import annotations

import socket
from pathlib import Path

PATIENCE_S = 120.0
_END = b"\0\0\0"


def ask_daemon(path: Path, command: str) -> str:
    """Return what a daemon answers to a command; empty where it does not answer.

    The protocol is vtysh's (FRR, lib/vty.c): a command ends with a zero byte, an answer with three and a byte of status.
    """
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
            link.settimeout(PATIENCE_S)
            link.connect(str(path))
            for line in ("enable", command):
                link.sendall(line.encode() + b"\0")
                said = _read(link)
    except OSError:
        return ""
    return said.decode(errors="replace")


def _read(link: socket.socket) -> bytes:
    """Read one answer, and return it without its end."""
    said = bytearray()
    while said[-4:-1] != _END:
        part = link.recv(1 << 16)
        if not part:
            raise ConnectionResetError
        said += part
    return bytes(said[:-4])
