"""HTTP to one BMC and nobody else: an answer ends in time and in size, whatever a BMC sends."""

from __future__ import annotations

import socket
import ssl
import zlib
from typing import Any

from requests import PreparedRequest, Response, Session
from requests.adapters import BaseAdapter, HTTPAdapter
from requests.exceptions import ConnectionError as BrokenConnection
from requests.exceptions import ReadTimeout
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import HTTPError
from urllib3.util.ssl_ import create_urllib3_context

from cluster_model.transport.bmc.controller import BmcError
from cluster_model.transport.bmc.deadline import cut_after

ANSWER_BYTES = 16 << 20
"""Longest answer that is read; collections of sensors have a few hundred kB."""
ANSWERS = 3
"""An answer may take so many times as long as the wait for its next byte: for the connection, its head and its body."""


def confine(session: Session, places: list[str], answer_s: float, *, tls: dict[str, Any]) -> None:
    """Have a session reach the places of one BMC alone, each a URL that ends in a slash.

    Args:
        session: the session.
        places: how the BMC's URLs begin.
        answer_s: seconds to wait for the next byte.
        tls: how certificates are judged, as urllib3's pools take it.
    """
    session.adapters.clear()
    for scheme in ("http://", "https://"):
        session.mount(scheme, _Elsewhere())
    line = _Line(answer_s, tls)
    for place in places:
        session.mount(place, line)


def take_any(fingerprint: str | None) -> dict[str, Any]:
    """Return how the certificate with a fingerprint, or any, is taken.

    No authorities are asked, and so they are not loaded: that would be two thirds of what a visit costs.
    """
    return {"assert_fingerprint": fingerprint, "ssl_context": create_urllib3_context(cert_reqs=ssl.CERT_NONE)}


class _Elsewhere(BaseAdapter):
    """Refuses what a redirection or a link of the BMC leads to: its session is not shown to others."""

    def send(self, request: PreparedRequest, *_: Any, **__: Any) -> Response:
        raise BmcError("language", f"what answers is no Redfish: it leads to {request.url}")

    def close(self) -> None:
        """Nothing is open."""


class _Line(HTTPAdapter):
    """Connections to one BMC."""

    def __init__(self, answer_s: float, tls: dict[str, Any]) -> None:
        self._answer_s, self._tls = answer_s, tls
        self._socket: socket.socket | None = None
        super().__init__()

    def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **more: Any) -> None:
        super().init_poolmanager(connections, maxsize, block, **more, **self._tls)
        owner = self

        class Plain(HTTPConnection):
            def connect(self) -> None:
                super().connect()
                owner._socket = self.sock

        class Tls(HTTPSConnection):
            def connect(self) -> None:
                super().connect()
                owner._socket = self.sock

        class PlainPool(HTTPConnectionPool):
            ConnectionCls = Plain

        class TlsPool(HTTPSConnectionPool):
            ConnectionCls = Tls

        self.poolmanager.pool_classes_by_scheme = {"http": PlainPool, "https": TlsPool}

    def send(self, request: PreparedRequest, *args: Any, **more: Any) -> Response:
        """Return an answer that was read."""
        with cut_after(ANSWERS * self._answer_s, lambda: self._socket) as cut_off:
            answer = super().send(request, *args, **more)
            try:
                body = answer.raw.read(ANSWER_BYTES + 1, decode_content=False)
            except (HTTPError, OSError) as error:
                raise BrokenConnection(error, request=request) from None
        if cut_off.is_set():
            raise ReadTimeout(f"Read timed out: {len(body)} bytes in {ANSWERS * self._answer_s:g} s", request=request)
        if answer.headers.get("Content-Encoding", "identity") != "identity":
            try:
                body = zlib.decompressobj(zlib.MAX_WBITS | 32).decompress(body, ANSWER_BYTES + 1)
            except zlib.error as error:
                raise BmcError("language", f"what answers is no Redfish: {error}") from None
        if len(body) > ANSWER_BYTES:
            answer.raw.close()
            raise BmcError("language", f"what answers is no Redfish: an answer of more than {ANSWER_BYTES} bytes")
        answer._content, answer._content_consumed = body, True
        return answer
