"""Who receives what is sent to an address: datagrams, for addresses that several machines have, or that nobody may reach."""

from __future__ import annotations

import select
import socket
import struct
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress

from cluster_model.twin.node import Node
from cluster_model.twin.probe import Ask

PORT = 4790
AGAIN_S = 0.5


_ONE_AT_A_TIME = threading.Lock()
"""Networks are tried side by side, and a machine may be in two of them: it listens on one port."""


def deliver(
    nodes: dict[str, Node], asks: Sequence[Ask], holders: dict[str, set[str]], within_s: float, is_wanted: bool
) -> list[dict[str, str]]:
    """Send a datagram per ask, again twice a second, and return who received it.

    Args:
        nodes: the machines.
        asks: who sends from which address to which.
        holders: the machines that have an address, by address: these listen.
        within_s: how long to go on; all that has arrived by then counts.
        is_wanted: whether all shall arrive: once they have, one more round shows what else comes.

    Returns:
        For each ask, machine to the address that it saw the datagram come from.
    """
    with _ONE_AT_A_TIME:
        return _deliver(nodes, asks, holders, within_s, is_wanted)


def _deliver(
    nodes: dict[str, Node], asks: Sequence[Ask], holders: dict[str, set[str]], within_s: float, is_wanted: bool
) -> list[dict[str, str]]:
    listening: dict[int, tuple[str, socket.socket]] = {}
    received: list[dict[str, str]] = [{} for _ in asks]
    senders: dict[tuple[str, str], socket.socket] = {}
    poll = select.epoll()
    try:
        for machine in sorted({machine for ask in asks for machine in holders.get(ask.target, ())}):
            made = _open(nodes[machine], ("0.0.0.0", PORT))
            listening[made.fileno()] = (machine, made)
            poll.register(made.fileno(), select.EPOLLIN)
        for ask in asks:
            if (ask.machine, ask.source) not in senders:
                senders[ask.machine, ask.source] = _open(nodes[ask.machine], (ask.source, 0))
        deadline = time.monotonic() + within_s
        is_last = False
        while not is_last and (now := time.monotonic()) < deadline:
            is_last = is_wanted and all(received)
            for number, ask in enumerate(asks):
                with suppress(OSError):
                    senders[ask.machine, ask.source].sendto(struct.pack("!I", number), (ask.target, PORT))
            again = min(deadline, now + AGAIN_S)
            while (left := again - time.monotonic()) > 0:
                for descriptor, _ in poll.poll(left):
                    machine, made = listening[descriptor]
                    with suppress(BlockingIOError):
                        while True:
                            data, (address, _) = made.recvfrom(64)
                            if len(data) == 4:
                                received[struct.unpack("!I", data)[0]][machine] = address
    finally:
        for made in (*senders.values(), *(made for _, made in listening.values())):
            made.close()
        poll.close()
    return received


def _open(node: Node, address: tuple[str, int]) -> socket.socket:
    with node.inside():
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.setblocking(False)
    made.bind(address)
    return made


def list_holders(ends: Sequence[tuple[str, str]]) -> dict[str, set[str]]:
    """Return the machines that have an address, from (machine, address)."""
    holders: dict[str, set[str]] = defaultdict(set)
    for machine, address in ends:
        holders[address].add(machine)
    return holders
