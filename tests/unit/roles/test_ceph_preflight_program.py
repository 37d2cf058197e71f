"""The program of role ceph_preflight: how it reads answers of time servers and hosts; molecule/ceph_preflight has real ones."""

import os
import socket
import struct
import threading
import time
from pathlib import Path

import pytest

from tests.programs import load_program

FIRST_S = 2208988800


@pytest.fixture
def program():
    return load_program(Path(__file__).parents[3] / "roles/ceph_preflight/files/preflight.py")


@pytest.fixture
def serve(program):
    """Return a function that answers askers on 127.0.0.1, as `reply` makes it of what is asked; a double of a time server."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        program.NTP_PORT = server.getsockname()[1]
        program.WAIT_S, program.APART_S = 0.5, 0

        def answer(reply):
            def run():
                while True:
                    try:
                        asked, who = server.recvfrom(512)
                    except OSError:
                        return
                    server.sendto(reply(asked), who)

            threading.Thread(target=run, daemon=True).start()

        yield answer


def write(ahead, first=0x24, stratum=2):
    """Return a function that answers as a server whose clock is so far ahead."""

    def reply(asked):
        moment = time.time() + ahead
        told = struct.pack("!II", (int(moment) + FIRST_S) % 2**32, int(moment % 1 * 2**32))
        return bytes([first, stratum, 0, 0xE9]) + bytes(20) + asked[40:48] + told + told

    return reply


@pytest.mark.parametrize("ahead", [0, 0.3, -86400])
def test_a_clock_is_compared_with_a_server(program, serve, ahead):
    serve(write(ahead))
    found = program.ask_server("127.0.0.1")
    assert found["offset_s"] == pytest.approx(ahead, abs=found["delay_s"] / 2 + 0.001)


def test_a_server_that_is_slow_is_asked_again(program, serve):
    waits = [0.2, 0.2, 0]
    asked = []

    def reply(text):
        asked.append(text)
        time.sleep(waits[len(asked) - 1])
        return write(0.3)(text)

    serve(reply)
    found = program.ask_server("127.0.0.1")
    assert len(asked) == 3 and found["delay_s"] < 0.2
    asked.clear()
    waits[0] = 0
    program.ask_server("127.0.0.1")
    assert len(asked) == 1


UNFIT = {
    "not synchronized": write(0, first=0xE4),
    "a word to go away": write(0, stratum=0),
    "no stratum": write(0, stratum=16),
    "a client": write(0, first=0x23),
    "no time": lambda asked: write(0)(asked)[:32] + bytes(16),
    "half an answer": lambda asked: write(0)(asked)[:40],
    "another's answer": lambda asked: write(0)(bytes(48)),
}


@pytest.mark.parametrize("reply", UNFIT.values(), ids=UNFIT)
def test_what_tells_no_time_is_no_answer(program, serve, reply):
    serve(reply)
    assert program.ask_server("127.0.0.1") is None


def test_a_server_that_is_silent_or_not_there_is_no_answer(program, serve):
    program.TRIES = 1
    assert program.ask_server("127.0.0.1") is None
    program.NTP_PORT = 1
    assert program.ask_server("127.0.0.1") is None


def test_times_beyond_an_era_are_read(program):
    """NTP begins to count anew in 2036."""
    moment = 2**32 - FIRST_S + 1000.5
    assert program.read_time(struct.pack("!II", 1000, 2**31), moment + 3) == moment
    assert program.read_time(struct.pack("!II", 2**32 - 10, 0), moment) == moment - 1010.5


@pytest.mark.parametrize("size", [84, 1500, 9000, 8999])
def test_an_echo_makes_a_packet_of_its_size(program, size):
    echo = program.make_echo(5, size)
    assert len(echo) == size - 20  # which the kernel puts a header before
    words = struct.unpack(f"!{(len(echo) + 1) // 2}H", echo + bytes(len(echo) % 2))
    total = sum(words)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    assert total == 0xFFFF
    header = bytes([0x46]) + bytes(23)  # with an option of four bytes
    assert program.read_answer(header + b"\x00" + echo[1:]) == 5
    assert program.read_answer(header + echo) == -1
    other = bytearray(header + b"\x00" + echo[1:])
    other[29] ^= 1
    assert program.read_answer(bytes(other)) == -1
    assert program.read_answer(header + bytes(4)) == -1


@pytest.mark.skipif(os.getuid() != 0, reason="not root: ICMP asks for it")
def test_packets_that_are_answered_and_those_that_are_not(program):
    program.TRIES, program.WAIT_S = 2, 0.5
    to = {"to": "127.0.0.1", "bytes": 9000}
    assert (
        program.send_echoes([{"from": "127.0.0.1", **to}, {"from": "127.0.0.2", **to}])
        == [{"able": True, "large": True, "small": True, "why": ""}] * 2
    )
    large, absent = program.send_echoes([{"from": "127.0.0.1", "to": "127.0.0.1", "bytes": 65536}, {"from": "192.0.2.1", **to}])
    assert (large["large"], large["small"]) == (False, True) and "too long" in large["why"]
    assert absent == {"able": False, "large": False, "small": False, "why": "Cannot assign requested address"}
    assert program.look({"servers": [], "probes": []}) == {"clocks": {}, "probes": []}
