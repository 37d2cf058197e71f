"""Sessions to switches, by netmiko."""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cluster_model.transport.host_keys import Trust, describe_key, load_known, read_trust
from cluster_model.transport.session import SHELL, Answer, Login, Target, UnreachableError, shorten

if TYPE_CHECKING:
    from netmiko import BaseConnection

_QUIET = "unset HISTFILE; export LC_ALL=C PAGER=cat VTYSH_PAGER=cat"
"""Sent first to a shell, so that reading leaves no trace in its history and nothing waits in a pager."""
_REFUSED = re.compile(
    r"^\s*% ?(Invalid|Incomplete|Ambiguous|Unknown|Command|Authorization|Unavailable|Not supported)", re.M | re.I
)


class SwitchSession:
    """A session to a switch: a shell, whose exit codes are read, or a network CLI, whose refusals begin with `%`."""

    def __init__(self, target: Target, login: Login) -> None:
        self._target = target
        self._login = login
        self._is_shell = target.driver == SHELL
        self._connection = _connect(target, login)
        if self._is_shell:
            self.ask([_QUIET])

    def ask(self, commands: Sequence[str]) -> list[Answer]:
        """Return the answers to commands, in their order."""
        return [self._ask_shell(command) if self._is_shell else self._ask_cli(command) for command in commands]

    def _ask_shell(self, command: str) -> Answer:
        # The marks are sums, so that the echo of the command does not hold them.
        text = self._send(f"echo gpuyard-$((40+1)); {command}; echo gpuyard-$((40+2))-$?", expect_string=r"gpuyard-42-\d+")
        found = re.search(r"gpuyard-41\r?\n(.*?)gpuyard-42-(\d+)", text, re.DOTALL)
        if found is None:
            raise UnreachableError(f"its shell does not answer as a shell does: {shorten(text)[:80]}")
        return Answer(found[1].replace("\r\n", "\n"), found[2] == "0")

    def _ask_cli(self, command: str) -> Answer:
        text = self._send(command)
        return Answer(text, not _REFUSED.search(text))

    def _send(self, command: str, **more: Any) -> str:
        from netmiko.exceptions import NetmikoBaseException
        from paramiko.ssh_exception import SSHException

        if self._is_shell:
            more |= {"strip_prompt": False, "strip_command": False, "cmd_verify": False}
        try:
            return str(self._connection.send_command(command, read_timeout=self._login.answer_s, **more))
        except (NetmikoBaseException, SSHException, OSError, EOFError) as error:
            raise UnreachableError(f"no answer to `{command[:60]}` in {self._login.answer_s:g} s: {shorten(error)}") from None

    def close(self) -> None:
        """Log out."""
        with contextlib.suppress(Exception):
            self._connection.disconnect()


def _connect(target: Target, login: Login) -> BaseConnection:
    from netmiko import ConnectHandler
    from netmiko.exceptions import NetmikoBaseException
    from paramiko.ssh_exception import BadHostKeyException, SSHException

    key = login.key or find_key()
    # Without a handler of its own, paramiko's threads write tracebacks to the terminal.
    logging.getLogger("paramiko").addHandler(logging.NullHandler())
    options: dict[str, Any] = {
        "device_type": target.driver,
        "host": target.address,
        "port": target.port,
        "username": login.user or None,
        "password": login.password or None,
        "use_keys": key is not None,
        "key_file": str(key) if key else None,
        "allow_agent": login.key is None,
        "ssh_config_file": str(login.ssh_config) if login.ssh_config else None,
        "conn_timeout": login.connect_s,
        "auth_timeout": login.connect_s,
        "banner_timeout": login.connect_s,
    }
    try:
        connection = ConnectHandler(**options, auto_connect=False)
        _judge_host_key(connection, *read_trust(login, target.address))
        connection._open()
    except (NetmikoBaseException, SSHException, OSError, EOFError, ValueError) as error:
        # netmiko puts the cause's text into its own, below a heading.
        if isinstance(error.__context__, BadHostKeyException):
            was, now = (describe_key(key) for key in (error.__context__.expected_key, error.__context__.key))
            raise UnreachableError(f"its host key is another one than in known_hosts: {now}, not {was}") from None
        raise UnreachableError(shorten(error)) from None
    return connection


def _judge_host_key(connection: Any, trust: Trust, files: list[Path]) -> None:
    """Have a connection, before it is opened, judge the host key as OpenSSH would; netmiko's own way takes any that is new."""
    build = connection._build_ssh_client

    def build_strict() -> Any:
        client = build()
        load_known(client, trust, files)
        return client

    connection._build_ssh_client = build_strict


def find_key() -> Path | None:
    """Return the user's own private key, as OpenSSH would look for it; None where there is none."""
    keys = (Path.home() / ".ssh" / name for name in ("id_ed25519", "id_ecdsa", "id_rsa"))
    return next((key for key in keys if key.is_file()), None)


def open_switch(target: Target, login: Login) -> SwitchSession:
    """Return a session to a switch."""
    return SwitchSession(target, login)
