"""A relay agent double: asks a DHCP server for a client, as a leaf does, and reads the answer. Runs in a network namespace.

python dhcp_relay.py SERVER < questions.json > answers.json. A question is {"mac", "relay", "options": {code: hex}}, an answer
null or {"address", "server", "file", "options": {code: hex}}. Where none is expected, `until` is another question, put after it:
once that is answered, the first was passed over, however slow the machine is. `wait_s` is for a server that may not listen yet.
"""

from __future__ import annotations

import json
import socket
import struct
import sys

COOKIE = b"\x63\x82\x53\x63"
WAIT_S = 240.0
"""How long a question waits for its answer."""
ASKED_FOR = bytes([1, 3, 6, 12, 15, 42, 51, 60, 66, 67, 239])


def build(mac: str, relay: str, options: dict[str, str], number: int) -> bytes:
    """Return a DHCPDISCOVER that passed a relay (RFC 2131, table 1; RFC 1542, section 4.1)."""
    head = struct.pack("!BBBBIHH", 1, 1, 6, 1, number, 0, 0) + bytes(12) + socket.inet_aton(relay)
    body = head + bytes.fromhex(mac.replace(":", "")).ljust(16, b"\0") + bytes(192) + COOKIE + bytes([53, 1, 1])
    body += bytes([55, len(ASKED_FOR)]) + ASKED_FOR
    for code, value in options.items():
        data = bytes.fromhex(value)
        body += bytes([int(code), len(data)]) + data
    return body + b"\xff"


def read(packet: bytes) -> dict[str, object]:
    """Return what an answer says."""
    options, at = {}, 240
    while at < len(packet) and packet[at] != 255:
        if packet[at] == 0:
            at += 1
            continue
        code, length = packet[at], packet[at + 1]
        options[str(code)] = packet[at + 2 : at + 2 + length].hex()
        at += 2 + length
    return {
        "address": socket.inet_ntoa(packet[16:20]),
        "server": socket.inet_ntoa(packet[20:24]),
        "file": packet[108:236].rstrip(b"\0").decode(),
        "options": options,
    }


def ask(server: str, question: dict[str, object], number: int) -> dict[str, object] | None:
    """Return the server's answer to one question."""
    relay, until = str(question["relay"]), question.get("until")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((relay, 67))
        sock.settimeout(float(str(question.get("wait_s", WAIT_S))))
        sock.sendto(build(str(question["mac"]), relay, dict(question.get("options") or {}), number), (server, 67))
        if isinstance(until, dict):
            if ask(server, until, number + 1_000_000) is None:
                raise SystemExit("the server answers nothing at all")
            sock.setblocking(False)
        try:
            while True:
                packet = sock.recv(2048)
                if packet[0] == 2 and packet[4:8] == struct.pack("!I", number):
                    return read(packet)
        except (TimeoutError, BlockingIOError):
            return None


if __name__ == "__main__":
    json.dump([ask(sys.argv[1], question, number) for number, question in enumerate(json.load(sys.stdin), 1)], sys.stdout)
