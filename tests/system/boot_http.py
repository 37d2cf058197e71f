"""A boot server double: hands out the files of a folder by request path, and writes each request to standard output.

python boot_http.py FOLDER, in a network namespace. A path's slashes are `_` in the folder, its query is left out. FOLDER/ready is
there once it listens.
"""

from __future__ import annotations

import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

FOLDER = Path(sys.argv[1])


class Handler(BaseHTTPRequestHandler):
    """Answers with a file or 404."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer a request."""
        sys.stdout.write(f"{self.path}\n")
        sys.stdout.flush()
        file = FOLDER / urlsplit(self.path).path.strip("/").replace("/", "_")
        body = file.read_bytes() if file.is_file() else b""
        self.send_response(200 if body else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing else."""


SERVER = ThreadingHTTPServer(("127.0.0.1", 80), Handler)
(FOLDER / "ready").touch()
SERVER.serve_forever()
