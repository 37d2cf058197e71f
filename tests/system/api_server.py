"""A double of the API server, for nodes of the twin: HTTPS on port 6443, a certificate that nobody trusts, and a /readyz.

It can be as rude as the real one. Started as a program it needs nothing but Python's standard library.
"""

from __future__ import annotations

import http.server
import os
import ssl
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cluster_model.twin.node import Node

PORT = 6443
READY, NOT_READY, HANGING, DEAD = "200", "500", "hang", "dead"
"""What it can be: the first two are the status of its answers, a hanging one takes requests and never answers them, and a dead
one has no process, so that connections are refused."""


class ApiServer:
    """The double on a node, ready from the start; it tells its clients the node's name.

    Args:
        folder: one that the node sees too, where its state is kept.
        certificate: as `write_certificate` makes it.
    """

    def __init__(self, node: Node, folder: Path, certificate: Path) -> None:
        self.node = node
        self._state = folder / f"{node.name}.state"
        self._command = [sys.executable, __file__, node.name, str(certificate), str(self._state)]
        self._pid = ""
        self.become(READY)

    def become(self, state: str) -> None:
        """Have it answer so from the next request on; who waits for an answer gets none any more."""
        if state == DEAD:
            self._kill()
            return
        new = self._state.with_suffix(".new")
        new.write_text(state, "utf-8")
        new.replace(self._state)
        if not self._pid:
            self._pid = self.node.run(*self._command).strip()

    def _kill(self) -> None:
        if self._pid:
            self.node.run("kill", "-KILL", self._pid)
            self._pid = ""


def write_certificate(folder: Path) -> Path:
    """Return a file with a new key and its certificate."""
    path = folder / "api-server.pem"
    new = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=kubernetes"]
    subprocess.run([*new, "-keyout", path, "-out", path], check=True, capture_output=True)
    return path


def serve(name: str, certificate: str, state: Path) -> None:
    """Print the number of a new process once that one listens; it never ends by itself."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            said = state.read_text("utf-8")
            while said == HANGING:
                time.sleep(0.1)
                if state.read_text("utf-8") != HANGING:
                    return
            self.send_response(int(said))
            self.end_headers()
            self.wfile.write(f"{name}\n".encode())

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("0.0.0.0", PORT), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    # Else the handshake of one client keeps out the others.
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    if child := os.fork():
        sys.stdout.write(f"{child}\n")
        return
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    server.serve_forever()


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
