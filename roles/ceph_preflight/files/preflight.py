"""Compare the host's clock with time servers, and send packets to other hosts; changes nothing. Prints JSON.

Standard input is JSON: `servers`, addresses of time servers; `probes`, a list of {from, to, bytes}: an address of this host, one
of another, and the largest packet that has to pass between them. Printed are `clocks`, address to {offset_s, delay_s}, what the
server's clock is ahead of ours and how long it took to ask it, or null without an answer; and `probes`, in the same order,
{able, large, small, why}: whether any could be sent from that address at all, whether packets of `bytes` and small ones were
answered, and why they could not be sent. Python 3.9 suffices.
"""

from __future__ import annotations

import json
import os
import select
import socket
import struct
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

NTP_PORT, TRIES, WAIT_S = 123, 3, 1.0
SLOW_S, APART_S = 0.05, 2.0
"""Seconds that an answer takes for which a server is asked again, and between the two: what comes sooner may be dropped. Source:
ntpd, its option discard minimum."""
FIRST_S, ERA_S = 2208988800, 2**32
"""Seconds from 1900, when NTP's first era began, to 1970, and in an era. Source: RFC 5905, section 6."""
IP_MTU_DISCOVER, PROBE = 10, 3
"""Sends whole packets whatever was learnt of a path before. Source: Linux, include/uapi/linux/in.h, IP_PMTUDISC_PROBE."""
SOL_RAW, ICMP_FILTER = 255, 1
"""Takes a bit for each type that is kept away: all but 0, answers to echoes. Source: Linux, include/uapi/linux/icmp.h."""
HEADERS = 20 + 8
"""Bytes of a packet before what an echo carries. Source: RFC 791, RFC 792."""
SMALL = 84
Json = dict[str, Any]


def look(about: Json) -> Json:
    """Return what was found."""
    with ThreadPoolExecutor(max_workers=max(1, len(about["servers"]))) as asking:
        asked = {server: asking.submit(ask_server, server) for server in about["servers"]}
        probes = send_echoes(about["probes"])
        return {"clocks": {server: answer.result() for server, answer in asked.items()}, "probes": probes}


def ask_server(address: str) -> Json | None:
    """Return what a time server answers, of slow answers the one that came soonest; None where it has none, or no time itself."""
    found: list[Json] = []
    for _ in range(TRIES):
        time.sleep(APART_S if found else 0)
        sample = ask_once(address)
        found += [sample] if sample else []
        if sample and sample["delay_s"] <= SLOW_S:
            break
    return min(found, key=lambda sample: sample["delay_s"]) if found else None


def ask_once(address: str) -> Json | None:
    """Return one answer, by SNTP. Source: RFC 4330, sections 4 and 5."""
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
        asker.settimeout(WAIT_S)
        asker.connect((address, NTP_PORT))
        cookie = os.urandom(8)
        sent, began = time.time(), time.monotonic()
        asker.send(bytes([0x23]) + bytes(39) + cookie)  # version 4, mode client
        said = asker.recv(512)
        delay = time.monotonic() - began
        is_ours = len(said) >= 48 and said[24:32] == cookie and said[0] & 7 == 4 and any(said[40:48])
        if not is_ours or said[0] >> 6 == 3 or not 1 <= said[1] <= 15:
            return None
        received, answered = (read_time(said[at : at + 8], sent) for at in (32, 40))
        offset = ((received - sent) + (answered - (sent + delay))) / 2
        return {"offset_s": round(offset, 4), "delay_s": round(max(0.0, delay - (answered - received)), 4)}
    return None


def read_time(text: bytes, near: float) -> float:
    """Return a time of NTP in seconds since 1970, in the era in which it is nearest to another."""
    seconds, fraction = struct.unpack("!II", text)
    moment = seconds + fraction / 2**32 - FIRST_S
    return moment + round((near - moment) / ERA_S) * ERA_S


def send_echoes(probes: list[Json]) -> list[Json]:
    """Return which packets were answered; those that were not are sent again."""
    sockets = {address: open_socket(address) for address in {probe["from"] for probe in probes}}
    opened = [sockets[probe["from"]] for probe in probes]
    found = [{"able": sender is not None, "large": False, "small": False, "why": why} for sender, why in opened]
    for _ in range(TRIES):
        wanted = {}
        for number in range(2 * len(probes)):  # of each the large one, then the small one
            probe, result, name = probes[number // 2], found[number // 2], ("large", "small")[number % 2]
            sender = opened[number // 2][0]
            if sender is None or result[name]:
                continue
            try:
                sender.sendto(make_echo(number, SMALL if number % 2 else probe["bytes"]), (probe["to"], 0))
                wanted[number] = result, name
            except OSError as error:
                result["why"] = error.strerror or str(error)
        hear([sender for sender, _ in sockets.values() if sender], probes, wanted)
    return found


def hear(sockets: list[socket.socket], probes: list[Json], wanted: dict[int, tuple[Json, str]]) -> None:
    """Note what is answered, until all is or the time is over."""
    end = time.monotonic() + WAIT_S
    while wanted and (left := end - time.monotonic()) > 0:
        for each in select.select(sockets, [], [], left)[0]:
            packet, (address, _) = each.recvfrom(2**16)
            number = read_answer(packet)
            if number in wanted and address == probes[number // 2]["to"]:
                result, name = wanted.pop(number)
                result[name] = True


def open_socket(address: str) -> tuple[socket.socket | None, str]:
    """Return a socket for ICMP with an address of this host, or why there is none."""
    try:
        opened = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
        opened.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, PROBE)
        opened.setsockopt(SOL_RAW, ICMP_FILTER, struct.pack("I", 2**32 - 2))
        opened.bind((address, 0))
    except OSError as error:
        return None, error.strerror or str(error)
    return opened, ""


def make_echo(number: int, size: int) -> bytes:
    """Return an echo request that makes a packet of so many bytes. Source: RFC 792, and RFC 1071 for its sum."""
    body = struct.pack("!HH", find_mark(), number & 0xFFFF) + bytes(size - HEADERS)
    whole = b"\x08\x00" + body
    total = sum(struct.unpack(f"!{(len(whole) + 1) // 2}H", whole + bytes(len(whole) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return b"\x08\x00" + struct.pack("!H", ~total & 0xFFFF) + body


def read_answer(packet: bytes) -> int:
    """Return the number of our echo that a packet answers; -1 where it answers none."""
    text = packet[(packet[0] & 15) * 4 :]
    if len(text) < 8:
        return -1
    kind, _, _, mark, number = struct.unpack("!BBHHH", text[:8])
    return number if (kind, mark) == (0, find_mark()) else -1


def find_mark() -> int:
    """Return by what this program's echoes are known."""
    return os.getpid() & 0xFFFF


if __name__ == "__main__":
    sys.stdout.write(json.dumps(look(json.load(sys.stdin))) + "\n")
