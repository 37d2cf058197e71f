"""Pings and flows between hosts, from sockets of one process that lie in the hosts' namespaces."""

from __future__ import annotations

import select
import socket
import struct
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from cluster_model.twin.node import Node

ROCE_PORT = 4791
"""UDP port of RoCEv2 (IANA): flows differ in their source port, as a NIC's queue pairs do."""
INTERVAL_S = 0.03
_BURST = 128
_TYPE_ECHO, _TYPE_REPLY = 8, 0


@dataclass(frozen=True, slots=True)
class Ask:
    """A ping: from an address of a machine to an address."""

    machine: str
    source: str
    target: str


class Prober:
    """Pings from many machines at once. Belongs to one thread."""

    def __init__(self, nodes: dict[str, Node]) -> None:
        self._nodes = nodes
        self._sockets: dict[tuple[str, str], socket.socket] = {}
        self._poll = select.epoll()
        self._by_fd: dict[int, tuple[tuple[str, str], socket.socket]] = {}
        self._token = 0

    def _socket(self, machine: str, source: str) -> socket.socket:
        key = (machine, source)
        if key not in self._sockets:
            with self._nodes[machine].inside():
                made = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
            made.setblocking(False)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
            made.bind((source, 0))
            self._poll.register(made.fileno(), select.EPOLLIN)
            self._sockets[key] = made
            self._by_fd[made.fileno()] = (key, made)
        return self._sockets[key]

    def ping(self, asks: Sequence[Ask], within_s: float) -> set[int]:
        """Ping until all have answered or time is up.

        Args:
            asks: who asks whom.
            within_s: how long to go on; unanswered ones are asked again twice a second.

        Returns:
            Indices of the asks that were answered, to the machine that asked: others may have its address.
        """
        self._token = self._token % 0xFFFF + 1
        answered: set[int] = set()
        deadline = time.monotonic() + within_s
        while len(answered) < len(asks):
            again = min(deadline, time.monotonic() + 0.5)
            for number, ask in enumerate(asks):
                if number not in answered:
                    self._send(ask, number)
                    if number % _BURST == _BURST - 1:
                        self._receive(0.002, asks, answered)
            while len(answered) < len(asks) and (left := again - time.monotonic()) > 0:
                self._receive(left, asks, answered)
            if again >= deadline:
                break
        return answered

    def _send(self, ask: Ask, number: int) -> None:
        payload = struct.pack("!HI", self._token, number)
        head = struct.pack("!BBHHH", _TYPE_ECHO, 0, 0, self._token, number & 0xFFFF)
        packet = struct.pack("!BBHHH", _TYPE_ECHO, 0, _checksum(head + payload), self._token, number & 0xFFFF) + payload
        with suppress(OSError):  # no route, or an address without a cable: not answered
            self._socket(ask.machine, ask.source).sendto(packet, (ask.target, 0))

    def _receive(self, wait_s: float, asks: Sequence[Ask], answered: set[int]) -> None:
        for descriptor, _ in self._poll.poll(max(wait_s, 0)):
            key, made = self._by_fd[descriptor]
            with suppress(BlockingIOError):
                while True:
                    packet = made.recv(200)
                    body = packet[(packet[0] & 15) * 4 :]
                    if len(body) >= 14 and body[0] == _TYPE_REPLY:
                        token, number = struct.unpack("!HI", body[8:14])
                        if token == self._token and key == (asks[number].machine, asks[number].source):
                            answered.add(number)

    def close(self) -> None:
        """Close the sockets."""
        for made in self._sockets.values():
            made.close()
        self._sockets.clear()
        self._poll.close()


def _checksum(data: bytes) -> int:
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total >> 16) + (total & 0xFFFF)
    return ~(total + (total >> 16)) & 0xFFFF


@dataclass(slots=True)
class Stream:
    """A UDP flow and what arrived of it: numbers of its packets."""

    ask: Ask
    port: int
    sent: int = 0
    arrived: set[int] = field(default_factory=set)

    def outage_s(self, first: int, last: int) -> float:
        """Return the longest time without a packet, of those sent from number `first` up to `last`."""
        longest = run = 0
        for number in range(first, last):
            run = 0 if number in self.arrived else run + 1
            longest = max(longest, run)
        return longest * INTERVAL_S


class Streams:
    """Flows that run while something breaks: a packet each, thirty times a second.

    Args:
        nodes: the machines.
        wanted: (who sends to which address, machines that have the address), one per flow.
    """

    def __init__(self, nodes: dict[str, Node], wanted: Sequence[tuple[Ask, Sequence[str]]]) -> None:
        self.streams: list[Stream] = []
        self._sending: list[socket.socket] = []
        self._receiving: dict[int, socket.socket] = {}
        self._poll = select.epoll()
        self._stop = threading.Event()
        bound: set[tuple[str, str]] = set()
        for number, (ask, machines) in enumerate(wanted):
            for machine in machines:
                if (machine, ask.target) in bound:
                    continue
                bound.add((machine, ask.target))
                made = self._bind(nodes[machine], ask.target, ROCE_PORT)
                self._receiving[made.fileno()] = made
                self._poll.register(made.fileno(), select.EPOLLIN)
            port = 49152 + number
            self._sending.append(self._bind(nodes[ask.machine], ask.source, port))
            self.streams.append(Stream(ask, port))
        self._thread = threading.Thread(target=self._run, name="streams", daemon=True)

    @staticmethod
    def _bind(node: Node, address: str, port: int) -> socket.socket:
        with node.inside():
            made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.setblocking(False)
        made.bind((address, port))
        return made

    def start(self) -> None:
        """Begin to send."""
        self._thread.start()

    @property
    def sent(self) -> int:
        """Return how many packets each flow has sent."""
        return self.streams[0].sent if self.streams else 0

    def _run(self) -> None:
        due = time.monotonic()
        while not self._stop.is_set():
            for number, stream in enumerate(self.streams):
                with suppress(OSError):
                    self._sending[number].sendto(struct.pack("!II", number, stream.sent), (stream.ask.target, ROCE_PORT))
                stream.sent += 1
            due += INTERVAL_S
            self._drain(max(0.0, due - time.monotonic()))
            due = max(due, time.monotonic() - 1)

    def _drain(self, wait_s: float) -> None:
        until = time.monotonic() + wait_s
        while True:
            for descriptor, _ in self._poll.poll(max(0.0, until - time.monotonic())):
                with suppress(BlockingIOError, OSError):
                    while True:
                        number, count = struct.unpack("!II", self._receiving[descriptor].recv(64)[:8])
                        self.streams[number].arrived.add(count)
            if time.monotonic() >= until:
                return

    def close(self) -> None:
        """Stop, wait for what is under way, and close the sockets."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        self._drain(0.1)
        for made in (*self._sending, *self._receiving.values()):
            made.close()
        self._poll.close()
