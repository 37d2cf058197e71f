"""The boot server: who asks is told what to boot; docs/boot.md has the requests. It writes the journal and nothing else."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets as randomness
import shutil
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from cluster_model.deploy.boot_files import LOADERS, BootFiles, NotReadyError, Token
from cluster_model.deploy.journal import Journal, Node
from cluster_model.intent.addresses import parse_mac
from cluster_model.verify.machines import NO_SERIAL

TOKEN_S = 2 * 3600
"""Seconds that a token is good for."""
REPORT_BYTES = 64 * 1024
"""Longest report that is taken."""
IDLE_S = 30
"""Seconds that a connection may be silent."""
_STATES = {"installing", "installed", "failed"}
_SAFE = re.compile(r"[^\x20-\x7e]")


class Refusal(Exception):  # noqa: N818
    """An answer other than a file: HTTP status and one line of text."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class BootDesk:
    """What the boot server decides, apart from HTTP: a request comes in as its parts, a text or a path goes out."""

    def __init__(self, files: BootFiles, journal: Journal, clock: Callable[[], float] = time.time) -> None:
        self.files = files
        self.journal = journal
        self._clock = clock
        self._lock = threading.Lock()

    def boot(self, mac_text: str, query: dict[str, str], address: str) -> str:
        """Return the script for a machine that asks what to boot."""
        mac = parse_mac(mac_text.replace("-", ":")) or ""
        name = self.files.by_mac.get(mac, "")
        serial = query.get("serial", "").strip()
        if not name:
            self.journal.write("", "stranger", mac=mac or _clean(mac_text), serial=_clean(serial), address=address)
            return self.files.read("ipxe/unknown.ipxe")
        host, node = self.files.index["hosts"][name], self.journal.node(name)
        if not node.offered:
            self.journal.write(name, "served", what="local", address=address)
            return self.files.read("ipxe/local.ipxe")
        refusal = _explain_stranger(host, serial, address)
        if refusal:
            self.journal.write(name, "refused", what="script", reason=refusal, address=address)
            return self.files.read("ipxe/unknown.ipxe")
        script = self.files.read(f"ipxe/hosts/{name}.ipxe")
        value = randomness.token_hex(32)
        filled = self.files.fill(script, Token(name, value))
        # The journal is read by people and programs: it has what proves a token, not the token.
        self.journal.write(name, "token", sha256=_digest(value), made=self._clock())
        self.journal.write(name, "booted", state="booted", address=address, serial=_clean(serial))
        return filled

    def host(self, name: str, token: str, address: str) -> str:
        """Return who a host is, for its installer."""
        node = self._require(name, token, address)
        text = self.files.fill(self.files.read(f"hosts/{name}.json"), Token(name, token))
        document = json.loads(text)
        document |= {"reinstall": node.reinstall, "resumed": node.touched and not node.installed}
        self.journal.write(name, "served", what="identity", address=address)
        return json.dumps(document, indent=1)

    def autoinstall(self, name: str, token: str, file: str, address: str) -> str:
        """Return one of the installer's answer files."""
        self._require(name, token, address)
        if file not in {"user-data", "meta-data", "vendor-data"}:
            raise Refusal(404, "no such file")
        text = self.files.fill(self.files.read(f"autoinstall/{name}/{file}"), Token(name, token))
        self.journal.write(name, "served", what=file, address=address)
        return text

    def report(self, name: str, token: str, body: bytes, address: str) -> None:
        """Take a report."""
        with self._lock:
            node = self._require(name, token, address)
            try:
                report = json.loads(body)
            except (ValueError, RecursionError):
                raise Refusal(400, "the report is no JSON") from None
            state = report.get("state") if isinstance(report, dict) else None
            if not isinstance(state, str) or state not in _STATES:
                raise Refusal(400, f"state is one of {', '.join(sorted(_STATES))}")
            facts = report.get("facts")
            more: dict[str, Any] = {"facts": facts} if isinstance(facts, dict) else {}
            message = _clean(str(report.get("message", "")))[:500]
            if state == "failed":
                more["reason"] = message or "the installer failed and gave no reason"
            step = _clean(str(report.get("step", "")))[:40]
            self.journal.write(
                name, "report", state=state, step=step, message=message, attempt=node.attempt, address=address, **more
            )

    def tell_served(self, path: Path, offset: int, size: int, address: str) -> None:
        """Write down that a host fetches its loader, or goes on with a download in the middle."""
        name = self.files.by_address.get(address, "")
        self.journal.write(name, "served", what=path.name, offset=offset, bytes=size, address=address)

    def ztp(self, names: list[str], address: str) -> str:
        """Return a file of the switch that asks, known by its address; or a script that all switches may have."""
        device = self.files.switches_by_address.get(address)
        if device is None:
            raise Refusal(403, "only switches of the plan, from their own addresses")
        if len(names) != 1 or not re.match(r"^[A-Za-z0-9][A-Za-z0-9._-]*$", names[0]):
            raise Refusal(404, "no such file")
        own, common = self.files.tree / "switches" / device / names[0], self.files.tree / "boot/ztp" / names[0]
        path = next((path for path in (own, common) if path.is_file()), None)
        if path is None:
            raise Refusal(404, "no such file")
        self.journal.write(device, "served", what=names[0], address=address)
        return self.files.fill(path.read_text("utf-8"))

    def _require(self, name: str, token: str, address: str) -> Node:
        """Return a host that the token is good for, from the address that it has."""
        host, node = self.files.index["hosts"].get(name), self.journal.node(name)
        good = bool(node.token) and hmac.compare_digest(node.token, _digest(token))
        if host is None or not good or self._clock() - node.token_at > TOKEN_S or host["address"] != address:
            self.journal.write(name if host else "", "refused", what="token", address=address)
            raise Refusal(403, "the token is not good, or not from here")
        return node


def _explain_stranger(host: dict[str, Any], serial: str, address: str) -> str:
    if address != host["address"]:
        return f"it asks from {address}, not from {host['address']}"
    known = str(host.get("serial") or "")
    if known and serial.lower() not in NO_SERIAL and serial != known:
        return f"its serial number is {_clean(serial)}, not {known}"
    return ""


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _clean(text: str) -> str:
    return _SAFE.sub("?", text)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "gpuyard"
    sys_version = ""
    timeout = IDLE_S
    desk: BootDesk

    def do_GET(self) -> None:
        """Answer a request for a file."""
        self._answer(self._get)

    do_HEAD = do_GET  # noqa: N815

    def do_POST(self) -> None:
        """Take a report."""
        self._answer(self._post)

    def _get(self, parts: list[str], query: dict[str, str]) -> str | Path:
        address = self.client_address[0]
        match parts:
            case ["boot.ipxe"]:
                return self.desk.files.read("ipxe/boot.ipxe")
            case ["v1", "boot", file] if file.endswith(".ipxe"):
                return self.desk.boot(file.removesuffix(".ipxe"), query, address)
            case ["v1", "host", file] if file.endswith(".json"):
                return self.desk.host(file.removesuffix(".json"), query.get("token", ""), address)
            case ["v1", "autoinstall", name, token, file]:
                return self.desk.autoinstall(name, token, file, address)
            case ["v1", "ztp", *names]:
                return self.desk.ztp(names, address)
            case [kind, *names] if found := self.desk.files.find_static(kind, names):
                return found
        raise Refusal(404, "no such file")

    def _post(self, parts: list[str], query: dict[str, str]) -> str:
        match parts:
            case ["v1", "report", name]:
                length = self.headers.get("Content-Length", "")
                if not length.isdigit() or int(length) > REPORT_BYTES:
                    self.close_connection = True
                    raise Refusal(413, f"a report has a length, of {REPORT_BYTES} bytes at most")
                self.desk.report(name, query.get("token", ""), self.rfile.read(int(length)), self.client_address[0])
                return ""
        self.close_connection = True
        raise Refusal(404, "no such place")

    def _answer(self, work: Callable[[list[str], dict[str, str]], str | Path]) -> None:
        url = urlsplit(self.path)
        parts = [unquote(part) for part in url.path.split("/") if part]
        query = {key: values[-1] for key, values in parse_qs(url.query).items()}
        try:
            found = work(parts, query)
        except Refusal as refusal:
            self._send(refusal.status, f"{refusal}\n")
        except NotReadyError as error:
            self._send(503, f"{error}\n")
        except OSError as error:
            # The journal could not be written: what was not written down was not done.
            self._send(500, f"{error.strerror}\n")
        else:
            if isinstance(found, Path):
                self._send_file(found)
            else:
                self._send(200 if found else 204, found)

    def _send(self, status: int, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        if self.command != "HEAD" and status != 204:
            self.wfile.write(body)

    def _send_file(self, path: Path) -> None:
        with path.open("rb") as file:
            size = path.stat().st_size
            begin, end = _read_range(self.headers.get("Range", ""), size)
            partial = (begin, end) != (0, size)
            if (begin or path.name in LOADERS) and self.command == "GET":
                self.desk.tell_served(path, begin, size, self.client_address[0])
            self.send_response(206 if partial else 200)
            if partial:
                self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{size}")
            self.send_header("Content-Type", "application/octet-stream")
            self.send_header("Content-Length", str(end - begin))
            self.send_header("Accept-Ranges", "bytes")
            self.end_headers()
            if self.command == "HEAD":
                return
            file.seek(begin)
            if partial:
                left = end - begin
                while left > 0 and (piece := file.read(min(left, 1 << 20))):
                    self.wfile.write(piece)
                    left -= len(piece)
            else:
                shutil.copyfileobj(file, self.wfile, 1 << 20)

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002
        """Say nothing: the journal has what matters, and a request line may hold a token."""


def _read_range(header: str, size: int) -> tuple[int, int]:
    """Return first byte and end of a `bytes=A-B` request, for an installer that goes on where it was cut off."""
    found = re.match(r"^bytes=(\d+)-(\d*)$", header.strip())
    if not found or int(found[1]) >= size:
        return 0, size
    end = min(int(found[2]) + 1, size) if found[2] else size
    return (int(found[1]), end) if end > int(found[1]) else (0, size)


class BootServer(ThreadingHTTPServer):
    """The boot server on an address and port; `serve_forever` runs it."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 256

    def __init__(self, address: str, port: int, desk: BootDesk) -> None:
        super().__init__((address, port), type("Handler", (_Handler,), {"desk": desk}))

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of machines that hang up in the middle."""
