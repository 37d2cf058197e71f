"""Asking a daemon over its socket, by a double that speaks its protocol; and stretched timers."""

import socket
import threading

from cluster_model.twin.ethernet.fabric import _TIMER, _stretch
from cluster_model.twin.ethernet.vty import ask_daemon


def answer(server, replies):
    link, _ = server.accept()
    with link:
        for reply in replies:
            while not link.recv(100).endswith(b"\0"):
                pass
            for part in reply:
                link.sendall(part)


def ask(tmp_path, *replies):
    path = tmp_path / "bgpd.vty"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        thread = threading.Thread(target=answer, args=(server, replies), daemon=True)
        thread.start()
        said = ask_daemon(path, "show bgp summary json")
        thread.join(5)
    return said


def test_an_answer_in_parts_is_put_together(tmp_path):
    assert ask(tmp_path, [b"\0\0\0\0"], [b'{"as": 1', b"}\n", b"\0\0", b"\0\0"]) == '{"as": 1}\n'


def test_a_daemon_that_dies_or_is_not_there_says_nothing(tmp_path):
    assert ask(tmp_path, [b"\0\0\0\0"], [b"half"]) == ""
    assert ask_daemon(tmp_path / "zebra.vty", "show version") == ""


def test_timers_are_stretched_and_nothing_else():
    text = "\n".join(
        [
            "bfd",
            "  transmit-interval 500",
            " timers bgp 3 9",
            " neighbor FABRIC timers connect 10",
            " neighbor 198.51.100.0 timers 10 30",
            "  maximum-paths 64",
            " bgp router-id 10.0.0.1",
        ]
    )
    assert _TIMER.sub(lambda found: _stretch(found[0], 4.0), text).splitlines() == [
        "bfd",
        "  transmit-interval 2000",
        " timers bgp 12 36",
        " neighbor FABRIC timers connect 10",
        " neighbor 198.51.100.0 timers 40 120",
        "  maximum-paths 64",
        " bgp router-id 10.0.0.1",
    ]
