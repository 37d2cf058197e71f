"""Sessions: what is sent, what comes back, and what is said when nothing does."""

import stat
import threading

import pytest

from cluster_model.transport.double import DoubleOpener
from cluster_model.transport.fleet import visit
from cluster_model.transport.host import open_host
from cluster_model.transport.session import SHELL, Login, Target, UnreachableError, shorten
from cluster_model.transport.switch import session as switch_module
from cluster_model.transport.switch.session import open_switch

HOST = Target("gpu-001", "192.0.2.7")
PATIENCE_S = 120


@pytest.fixture
def ssh(tmp_path, monkeypatch):
    """Put a double of ssh on the path: it keeps its arguments and runs what comes after `--` and the address."""

    def install(body='while [ "$1" != -- ]; do shift; done; shift 2; exec "$@"'):
        program = tmp_path / "ssh"
        program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/arguments\n{body}\n')
        program.chmod(program.stat().st_mode | stat.S_IEXEC)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        return tmp_path / "arguments"

    return install


def test_a_host_is_asked_everything_in_one_login(ssh):
    arguments = ssh()
    session = open_host(HOST, Login(user="me"))
    answers = session.ask(["echo one; echo two >&2", "false", "exit 3", "cat", "printf 'no newline'"])
    assert [(answer.text, answer.ok) for answer in answers[:2]] == [("one\ntwo\n", True), ("", False)]
    session.close()
    assert arguments.read_text().splitlines()[:2] == ["-T", "-oBatchMode=yes"]
    assert {"-l", "me"} <= set(arguments.read_text().splitlines())


def test_a_command_that_ends_the_shell_ends_only_itself(ssh):
    ssh()
    answers = open_host(HOST, Login()).ask(["exit 3", "echo still here", "printf no-newline"])
    assert [(answer.text, answer.ok) for answer in answers] == [("", False), ("still here\n", True), ("no-newline", True)]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            "echo 'Warning: Permanently added x' >&2; echo 'me@192.0.2.7: Permission denied (publickey).' >&2; exit 255",
            "Permission denied",
        ),
        ("exit 255", "connection refused or closed"),
        ("exit 0", "its shell does not answer"),
        ("sleep 30", "no answer in"),
    ],
)
def test_a_host_that_does_not_answer_says_why(ssh, body, reason):
    ssh(body)
    with pytest.raises(UnreachableError, match=reason) as caught:
        open_host(HOST, Login(connect_s=1 if "sleep" in body else 60, answer_s=0.2)).ask(["true"])
    assert "\n" not in str(caught.value)


def test_options_reach_ssh(ssh, tmp_path):
    arguments = ssh()
    login = Login(key=tmp_path / "key", ssh_config=tmp_path / "config", connect_s=7)
    open_host(Target("a", "192.0.2.7", port=2222), login).ask(["true"])
    told = arguments.read_text()
    for words in (f"-i\n{tmp_path}/key", f"-F\n{tmp_path}/config", "-p\n2222", "-oConnectTimeout=7", "--\n192.0.2.7\nsh\n-s"):
        assert words in told


class Wire:
    """A double of netmiko's connection."""

    def __init__(self, reply):
        self.reply, self.sent, self.open = reply, [], True

    def send_command(self, command, **options):
        self.sent.append(command)
        return self.reply(command)

    def disconnect(self):
        self.open = False
        raise OSError("gone already")


def connect(monkeypatch, reply, driver=SHELL):
    wire = Wire(reply)
    monkeypatch.setattr(switch_module, "_connect", lambda target, login: wire)
    return open_switch(Target("leaf", "192.0.2.1", driver), Login()), wire


def test_a_shell_tells_text_and_exit_code_and_keeps_no_history(monkeypatch):
    def reply(command):
        body, code = ("out\r\nmore\r\n", 0) if "ask" in command else ("", 1)
        return f"{command}\r\ngpuyard-41\r\n{body}gpuyard-42-{code}"

    session, wire = connect(monkeypatch, reply)
    answers = session.ask(["ask", "fail"])
    assert [(answer.text, answer.ok) for answer in answers] == [("out\nmore\n", True), ("", False)]
    assert "unset HISTFILE" in wire.sent[0]
    session.close()
    assert not wire.open


def test_a_shell_that_is_none_is_said(monkeypatch):
    with pytest.raises(UnreachableError, match="does not answer as a shell does: % Unknown command"):
        connect(monkeypatch, lambda command: "% Unknown command: echo gpuyard-$((40+1))")


def test_a_network_cli_refuses_with_a_percent_sign(monkeypatch):
    replies = {"show x | json": '{"x": "100 % Invalid"}', "show y": "% Invalid input (at token 1: 'y')"}
    session, wire = connect(monkeypatch, replies.__getitem__, "arista_eos")
    assert [answer.ok for answer in session.ask(list(replies))] == [True, False]
    assert wire.sent == list(replies)


def test_a_switch_that_goes_silent_is_unreachable(monkeypatch):
    from netmiko.exceptions import ReadTimeout

    def reply(command):
        raise ReadTimeout("\n\nPattern not detected: 'x' in output.\n")

    with pytest.raises(UnreachableError, match=r"no answer to .* in 60 s: Pattern not detected"):
        connect(monkeypatch, reply)


def test_nobody_at_the_address():
    with pytest.raises(UnreachableError, match="TCP connection to device failed") as caught:
        open_switch(Target("leaf", "127.0.0.1", SHELL, port=9), Login(user="nobody", connect_s=2))
    assert "\n" not in str(caught.value)


def test_without_a_key_file_a_switch_is_tried_all_the_same(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert switch_module.find_key() is None
    with pytest.raises(UnreachableError, match="TCP connection to device failed"):
        open_switch(Target("leaf", "127.0.0.1", SHELL, port=9), Login(user="nobody", connect_s=2))
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "id_rsa").touch()
    assert switch_module.find_key() == tmp_path / ".ssh" / "id_rsa"


def test_as_many_sessions_as_allowed_and_no_more():
    inside, most, lock, full = 0, 0, threading.Lock(), threading.Barrier(8)

    def work(target):
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        full.wait(PATIENCE_S)
        with lock:
            inside -= 1
        return target.name

    targets = [Target(f"n{number}", "") for number in range(40)]
    assert sorted(visit(targets, work, 8)) == sorted(target.name for target in targets)
    assert most == 8


def test_an_interrupt_drops_what_has_not_begun():
    begun, stopped = [], threading.Event()

    def work(target):
        begun.append(target.name)
        assert target.name == "n0" or stopped.wait(PATIENCE_S)
        return target

    before = set(threading.enumerate())
    with pytest.raises(KeyboardInterrupt):
        for _ in visit([Target(f"n{number}", "") for number in range(200)], work, 2):
            raise KeyboardInterrupt
    stopped.set()
    for thread in set(threading.enumerate()) - before:
        thread.join(PATIENCE_S)
    assert len(begun) <= 3


def test_the_double_reaches_only_whom_it_knows():
    opener = DoubleOpener({"leaf": {"hostname": "leaf\n"}})
    assert opener(Target("leaf", ""), Login()).ask(["hostname"])[0].text == "leaf\n"
    with pytest.raises(UnreachableError):
        opener(Target("spine", ""), Login())


def test_reasons_are_one_line():
    assert shorten("\n  TCP connection to device failed.\n\nCommon causes:\n1. ...") == "TCP connection to device failed"
    assert (
        shorten("A paramiko SSHException occurred:\n\nError reading SSH protocol banner\n") == "Error reading SSH protocol banner"
    )
    assert shorten(OSError()) == "OSError"
