"""The program that has the API server's address on a control server; tests/system/test_api_address.py runs it for real."""

import socket
import subprocess
from pathlib import Path

import pytest

from tests.programs import load_program

ADD = "address replace 10.72.143.255/32 dev lo label lo:api"
FLUSH = "-4 address flush dev lo label lo:api"
PROGRAM = Path(__file__).parents[3] / "roles/kubernetes_control/files/gpuyard_kubernetes_endpoint.py"


class EndError(Exception):
    """All that the API server had to say is said."""


@pytest.fixture
def program():
    return load_program(PROGRAM)


@pytest.fixture
def run(program, monkeypatch):
    """Return a function: whether the API server is ready in turn (an exception is raised) → what was kept after each check."""

    def play(*said):
        kept, answers = [], iter([*said, EndError()])

        def ask(_port):
            answer = next(answers)
            if isinstance(answer, Exception):
                raise answer
            return "" if answer else "answers 500"

        monkeypatch.setattr(program, "ask", ask)
        monkeypatch.setattr(program, "keep", lambda address, wanted: kept.append((address, wanted)))
        monkeypatch.setattr(program.time, "sleep", lambda _: None)
        with pytest.raises(EndError):
            program.main("10.72.143.255", "6443")
        return [wanted for _, wanted in kept]

    return play


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ([True], [True]),
        ([False], [False]),
        ([False, True, True], [False, False, True]),
        ([True, False, True, False, True], [True] * 5),
        ([True, False, False, True, True], [True, True, False, False, True]),
    ],
)
def test_the_first_check_decides_and_then_two_of_a_kind(run, said, kept):
    assert run(*said) == kept


def test_a_server_that_answers_late_is_not_ready(run, program):
    late = program.TooLateError()
    assert run(True, late, late, True) == [True, True, False, False]


@pytest.mark.parametrize(
    ("shown", "wanted", "done"),
    [
        ("", True, ADD),
        (None, True, ADD),
        ("1: lo    inet 10.72.143.255/32 scope global lo:api\n", True, ""),
        ("1: lo    inet 10.72.143.254/32 scope global lo:api\n", True, ADD),
        ("1: lo    inet 10.72.143.255/32 scope global lo:api\n", False, FLUSH),
        ("", False, ""),
    ],
)
def test_the_address_is_changed_only_where_it_differs(program, monkeypatch, shown, wanted, done):
    asked = []

    def ip(*words):
        asked.append(" ".join(words))
        return shown if "show" in words else ""

    monkeypatch.setattr(program, "ip", ip)
    program.keep("10.72.143.255", wanted)
    assert asked == ["-oneline -4 address show dev lo label lo:api", *([done] if done else [])]


@pytest.mark.parametrize("fails", ["show", "flush"])
def test_where_the_address_cannot_be_taken_away_systemd_is_to_do_it(program, monkeypatch, fails):
    monkeypatch.setattr(
        program, "ip", lambda *words: None if fails in words else "1: lo inet 10.72.143.255/32 scope global lo:api"
    )
    with pytest.raises(SystemExit):
        program.keep("10.72.143.255", False)


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        ([True, True], ["READY=1", "WATCHDOG=1", "WATCHDOG=1"]),
        ([False, True, True], ["WATCHDOG=1", "WATCHDOG=1", "READY=1", "WATCHDOG=1"]),
        ([False] * 6, [*["WATCHDOG=1"] * 4, "READY=1", "WATCHDOG=1", "WATCHDOG=1"]),
    ],
)
def test_systemd_is_told_when_the_address_is_there_or_cannot_be(run, program, monkeypatch, tmp_path, said, heard):
    place = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ear:
        ear.bind(str(place))
        ear.setblocking(False)
        monkeypatch.setenv("NOTIFY_SOCKET", str(place))
        run(*said)
        assert [ear.recv(100).decode() for _ in heard] == heard
        with pytest.raises(BlockingIOError):
            ear.recv(100)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (subprocess.CompletedProcess((), 2, "", "RTNETLINK answers: Operation not permitted\n"), "Operation not permitted"),
        (subprocess.TimeoutExpired(("ip", "address"), 3), "timed out after 3 seconds"),
        (FileNotFoundError("no ip"), "no ip"),
    ],
)
def test_an_ip_that_fails_or_hangs_is_told_and_tried_again(program, monkeypatch, capsys, said, told):
    def run(_words, **options):
        assert options["timeout"] == program.LIMIT_S
        if isinstance(said, Exception):
            raise said
        return said

    monkeypatch.setattr(program.subprocess, "run", run)
    assert program.ip("address") is None
    assert told in capsys.readouterr().err
