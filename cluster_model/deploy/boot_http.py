"""HTTP for the boot server: h11 reads requests, each connection has a thread, and nobody is waited for longer than a deadline.

A limit on silence alone would let one machine hold its connections by a byte in a while. So the head of a request, its body and
every piece of an answer each have a deadline in all.
"""

from __future__ import annotations

import logging
import os
import re
import select
import socket
import threading
import traceback
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer
from time import monotonic
from typing import Any
from urllib.parse import parse_qs, unquote

import h11

from cluster_model.deploy.boot_files import ReplacedError
from cluster_model.deploy.boot_fill import NotReadyError
from cluster_model.deploy.boot_gate import Gate
from cluster_model.deploy.boot_server import BootDesk, Refusal

HEAD_S = 20.0
"""Seconds for the head of a request, the pause before it included."""
BODY_S = 30.0
"""Seconds for the body of a request."""
PIECE_BYTES = 256 * 1024
PIECE_S = 60.0
"""Seconds for a piece of an answer: 4 kB/s is the least. 2,000 nodes behind a port of 1 Gb/s have 60 kB/s each."""
LINGER_S = 2.0
"""Seconds that a closed connection is read on, so that the answer reaches a machine that is still sending."""
HEAD_BYTES = 16 * 1024
REPORT_BYTES = 64 * 1024
"""Longest body that is taken."""
STACK_BYTES = 1 << 20
BUSY = b"HTTP/1.1 503 Busy\r\nContent-Length: 21\r\nRetry-After: 10\r\nConnection: close\r\n\r\ntoo many connections\n"
_log = logging.getLogger("gpuyard.boot")


@dataclass(frozen=True, slots=True)
class Ask:
    """A request: its parts, texts decoded."""

    method: str
    parts: list[str]
    query: dict[str, str]
    headers: Mapping[str, str]
    body: bytes
    address: str


def read_request(request: h11.Request, body: bytes, address: str) -> Ask:
    """Return a request in its parts; Refusal where it cannot be read in one way only."""
    if request.http_version not in {b"1.0", b"1.1"}:
        raise Refusal(505, "HTTP/1.1 is spoken here")
    target = request.target.decode("ascii")
    if not target.startswith("/"):
        scheme, mark, rest = target.partition("://")
        if not mark or scheme.lower() != "http":
            raise Refusal(400, "the address is no path")
        target = "/" + rest.partition("/")[2]
    path, _, query_text = target.partition("?")
    try:
        query = parse_qs(query_text, max_num_fields=20)
    except ValueError:
        raise Refusal(400, "the query has too many fields") from None
    twice = [key for key, values in query.items() if len(values) > 1]
    if twice:
        raise Refusal(400, "a field of the query is given twice")
    headers: dict[str, str] = {}
    for name, value in request.headers:
        key = name.decode("ascii")
        if key in headers:
            value = b""  # two are as good as none: nobody can know which one was meant
        headers[key] = value.decode("latin-1")
    parts = [unquote(part) for part in path.split("/") if part]
    return Ask(request.method.decode("ascii"), parts, {key: values[0] for key, values in query.items()}, headers, body, address)


def decide(desk: BootDesk, ask: Ask) -> str | Path:
    """Return a text or a file; Refusal, NotReadyError or OSError where there is none."""
    if ask.method == "POST":
        match ask.parts:
            case ["v1", "report", name]:
                desk.report(name, ask.query.get("token", ""), ask.body, ask.address)
                return ""
        raise Refusal(404, "no such place")
    if ask.method not in {"GET", "HEAD"}:
        raise Refusal(405, "GET, HEAD or POST")
    match ask.parts:
        case ["boot.ipxe"]:
            return desk.first()
        case ["v1", *_] if ask.method == "HEAD":
            raise Refusal(405, "these are made as they are asked for: GET")
        case ["v1", "boot", file] if file.endswith(".ipxe"):
            return desk.boot(file.removesuffix(".ipxe"), ask.query, ask.address)
        case ["v1", "host", file] if file.endswith(".json"):
            return desk.host(file.removesuffix(".json"), ask.query.get("token", ""), ask.address)
        case ["v1", "autoinstall", name, token, file]:
            return desk.autoinstall(name, token, file, ask.address)
        case ["v1", "ztp", *names]:
            return desk.ztp(names, ask.headers, ask.address)
        case [kind, *names] if found := desk.files.find_static(kind, names):
            return found
    raise Refusal(404, "no such file")


class _Span:
    """Stands for the bytes of a file that the kernel sends itself: h11 counts them."""

    def __init__(self, size: int) -> None:
        self._size = size

    def __len__(self) -> int:
        return self._size


class _Connection(BaseRequestHandler):
    request: socket.socket
    server: BootServer

    def handle(self) -> None:
        """Answer requests until one side closes."""
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_BYTES)
        with suppress(OSError):  # it hung up, or is too slow for an answer
            while self._exchange():
                self._http.start_next_cycle()
            self._linger()

    def _exchange(self) -> bool:
        """Answer one request; return whether another may follow."""
        heard, self._with_body = False, True
        try:
            due = monotonic() + HEAD_S
            while (event := self._http.next_event()) is h11.NEED_DATA:
                heard = bool(self._receive(due)) or heard
            if not isinstance(event, h11.Request):
                return False
            heard, self._with_body = True, event.method != b"HEAD"
            ask = read_request(event, self._read_body(event), self.client_address[0])
        except TimeoutError:
            if heard:
                self._send_text(408, "the request took too long\n")
            return False
        except h11.RemoteProtocolError as error:
            self._send_text(error.error_status_hint, f"{error}\n")
            return False
        except Refusal as refusal:
            self._send_text(refusal.status, f"{refusal}\n")
        else:
            self._answer(ask)
        return self._http.our_state is h11.DONE and self._http.their_state is h11.DONE

    def _receive(self, due: float) -> bytes:
        left = due - monotonic()
        if left <= 0:
            raise TimeoutError
        self.request.settimeout(left)
        data = self.request.recv(HEAD_BYTES)
        self._http.receive_data(data)
        return data

    def _read_body(self, request: h11.Request) -> bytes:
        length = next((int(value) for name, value in request.headers if name == b"content-length"), 0)
        if length > REPORT_BYTES:
            raise Refusal(413, f"a report has {REPORT_BYTES} bytes at most")
        if self._http.they_are_waiting_for_100_continue:
            self._send(self._http.send(h11.InformationalResponse(status_code=100, headers=[])) or b"")
        body, due = b"", monotonic() + BODY_S
        while not isinstance(event := self._http.next_event(), h11.EndOfMessage):
            if event is h11.NEED_DATA:
                self._receive(due)
            elif isinstance(event, h11.Data):
                body += event.data
                if len(body) > REPORT_BYTES:
                    raise Refusal(413, f"a report has {REPORT_BYTES} bytes at most")
        return body

    def _answer(self, ask: Ask) -> None:
        try:
            try:
                found = decide(self.server.desk, ask)
            except ReplacedError:  # it looked at a tree whose place another one has taken by now
                found = decide(self.server.desk, ask)
            opened = found.open("rb") if isinstance(found, Path) else None
        except Refusal as refusal:
            self._send_text(refusal.status, f"{refusal}\n")
        except NotReadyError as error:
            if self.server.desk.tell_unready(ask.parts[-1], str(error), ask.address):
                _log.error("%s cannot be answered to %s: %s", "/".join(ask.parts[:2]), ask.address, error)
            self._send_text(503, f"{error}\n")
        except OSError as error:
            # What was not written down was not done; installers ask again after 503.
            _log.error("%s cannot be answered: %s", "/".join(ask.parts[:2]), error.strerror)
            self._send_text(503, f"the journal cannot be written, or a file not be read: {error.strerror}\n")
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(last.filename).name}:{last.lineno}"
            _log.error("%s failed: %s at %s", "/".join(ask.parts[:2]), type(error).__name__, place)
            self._send_text(500, "the boot server failed; its log says more\n")
        else:
            if opened is None:
                assert isinstance(found, str)
                self._send_text(200 if found else 204, found)
            else:
                assert isinstance(found, Path)
                with opened:
                    self._send_file(opened.fileno(), found, ask)

    def _send_text(self, status: int, text: str) -> None:
        body = text.encode(errors="replace")
        headers = [("Server", "gpuyard"), ("Content-Type", "text/plain; charset=utf-8"), ("Cache-Control", "no-store")]
        if status != 204:
            headers.append(("Content-Length", str(len(body))))
        if status in {408, 503}:
            headers.append(("Retry-After", "10"))
        if self._http.their_state not in {h11.DONE, h11.MUST_CLOSE}:
            headers.append(("Connection", "close"))
        data = self._http.send(h11.Response(status_code=status, headers=headers)) or b""
        if body and self._with_body:
            data += self._http.send(h11.Data(data=body)) or b""
        self._send(data + (self._http.send(h11.EndOfMessage()) or b""))

    def _send_file(self, handle: int, path: Path, ask: Ask) -> None:
        size = os.fstat(handle).st_size
        begin, end = read_range(ask.headers.get("range", ""), size)
        partial = (begin, end) != (0, size)
        if ask.method == "GET":
            self.server.desk.tell_served(path, begin, size, ask.address)
        headers = [("Server", "gpuyard"), ("Content-Type", "application/octet-stream"), ("Accept-Ranges", "bytes")]
        headers.append(("Content-Length", str(end - begin)))
        if partial:
            headers.append(("Content-Range", f"bytes {begin}-{end - 1}/{size}"))
        self._send(self._http.send(h11.Response(status_code=206 if partial else 200, headers=headers)) or b"")
        if self._with_body:
            self._http.send_with_data_passthrough(h11.Data(data=_Span(end - begin)))  # type: ignore[arg-type]
            self._send_bytes_of(handle, begin, end)
        self._http.send(h11.EndOfMessage())

    def _send(self, data: bytes) -> None:
        for at in range(0, len(data), PIECE_BYTES):
            self.request.settimeout(PIECE_S)  # for all of the piece: sendall counts it so
            self.request.sendall(data[at : at + PIECE_BYTES])

    def _send_bytes_of(self, handle: int, begin: int, end: int) -> None:
        ready = select.poll()
        ready.register(self.request, select.POLLOUT)
        self.request.setblocking(False)
        while begin < end:
            due, stop = monotonic() + PIECE_S, min(begin + PIECE_BYTES, end)
            while begin < stop:
                if not ready.poll(max(0.0, due - monotonic()) * 1000):
                    raise TimeoutError
                with suppress(BlockingIOError):
                    sent = os.sendfile(self.request.fileno(), handle, begin, stop - begin)
                    if not sent:
                        raise ConnectionError("the file became shorter")
                    begin += sent

    def _linger(self) -> None:
        self.request.shutdown(socket.SHUT_WR)
        due = monotonic() + LINGER_S
        while (left := due - monotonic()) > 0:
            self.request.settimeout(left)
            if not self.request.recv(HEAD_BYTES):
                return


def read_range(header: str, size: int) -> tuple[int, int]:
    """Return first byte and end of a `bytes=A-B` request, for an installer that goes on where it was cut off."""
    found = re.fullmatch(r"bytes=([0-9]{1,18})-([0-9]{0,18})", header.strip())
    if not found or int(found[1]) >= size:
        return 0, size
    end = min(int(found[2]) + 1, size) if found[2] else size
    return (int(found[1]), end) if end > int(found[1]) else (0, size)


class BootServer(ThreadingTCPServer):
    """The boot server on an address and port; `serve_forever` runs it."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 1024

    def __init__(self, address: str, port: int, desk: BootDesk, gate: Gate) -> None:
        self.desk = desk
        self.gate = gate
        super().__init__((address, port), _Connection)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Give a connection its thread, or send it away."""
        if not self.gate.enter(client_address[0]):
            self._refuse(request)
            return
        try:
            super().process_request(request, client_address)
        except RuntimeError:  # no more threads
            self.gate.leave(client_address[0])
            self._refuse(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve a connection, and give its place back."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.gate.leave(client_address[0])

    def _refuse(self, request: socket.socket) -> None:
        with suppress(OSError):
            request.setblocking(False)
            request.send(BUSY)
            request.recv(HEAD_BYTES)  # what lies unread would turn the answer into a reset
        self.shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say in one line what went wrong with a connection; a request's text may hold a token."""
        import sys

        _log.error("a connection from %s failed: %s", client_address[0], type(sys.exc_info()[1]).__name__)


def limit_stacks() -> None:
    """Give threads that begin from now on a stack that fits what they do: by default 4,096 of them reserve 8 MiB each."""
    threading.stack_size(STACK_BYTES)
