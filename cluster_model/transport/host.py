"""Sessions to hosts, by OpenSSH's client: its configuration, agent, known hosts and jump hosts are the user's own."""

from __future__ import annotations

import re
import socket
import subprocess
from collections.abc import Sequence

from cluster_model.transport.program import run_program
from cluster_model.transport.session import Answer, Login, Target, UnreachableError, shorten

_FAILED = 255
"""ssh's own exit code for a connection that failed (ssh(1), EXIT STATUS)."""
_KEYS = {
    "HOST IDENTIFICATION HAS CHANGED": "its host key is another one than in known_hosts",
    "Host key verification failed": "its host key is not in known_hosts",
}
"""What ssh says of a host key that it refuses (OpenSSH, sshconnect.c), and what that means."""
_KEYS_BYTES = 64 << 10
_NOISE = re.compile(r"^(Warning: Permanently added|\*\*|Connection closed by)")


class HostSession:
    """A host. It is logged in to once for each batch of commands, which a shell reads from its standard input."""

    def __init__(self, target: Target, login: Login) -> None:
        self._target = target
        self._login = login

    def ask(self, commands: Sequence[str]) -> list[Answer]:
        """Return the answers to commands, in their order, of one login."""
        script = ["export LC_ALL=C"]
        script += [f"echo gpuyard-begin; ( {command}\n) 2>&1 </dev/null; echo gpuyard-end-$?" for command in commands]
        try:
            limit_s = self._login.connect_s + self._login.answer_s * len(commands)
            done = run_program(self._command(), limit_s, told="\n".join(script) + "\n")
        except subprocess.TimeoutExpired as expired:
            raise UnreachableError(f"no answer in {expired.timeout:g} s") from None
        except OSError as error:
            raise UnreachableError(f"ssh cannot be run: {error.strerror}") from None
        answers = [
            Answer(text, code == "0")
            for text, code in re.findall(r"gpuyard-begin\n(.*?)gpuyard-end-(\d+)\n", done.output, re.DOTALL)
        ]
        if len(answers) != len(commands):
            if found := next((reason for words, reason in _KEYS.items() if words in done.errors), ""):
                raise UnreachableError(found)
            said = "\n".join(line for line in done.errors.splitlines() if not _NOISE.match(line))
            silent = "connection refused or closed" if done.code == _FAILED else "its shell does not answer"
            raise UnreachableError(shorten(said) if said.strip() else silent)
        return answers

    def _command(self) -> list[str]:
        login, target = self._login, self._target
        options = {
            "BatchMode": "yes",
            "ConnectTimeout": f"{max(1, round(login.connect_s))}",
            # Without a word it is the user's own configuration that tells, by default to ask; in batch mode that is to refuse.
            **({"StrictHostKeyChecking": "accept-new"} if login.trust_new else {}),
        }
        command = ["ssh", "-T", *(f"-o{key}={value}" for key, value in options.items())]
        command += ["-F", str(login.ssh_config)] if login.ssh_config else []
        command += ["-i", str(login.key)] if login.key else []
        command += ["-l", login.user] if login.user else []
        command += ["-p", str(target.port)] if target.port != 22 else []
        return [*command, "--", target.address, "sh", "-s"]

    def close(self) -> None:
        """Nothing is open between batches."""


def open_host(target: Target, login: Login) -> HostSession:
    """Return a session to a host; whether it answers shows with the first question."""
    return HostSession(target, login)


def answers_ssh(address: str, port: int = 22, timeout_s: float = 3.0) -> bool:
    """Return whether anybody takes a connection where SSH listens; nothing is logged in to."""
    try:
        socket.create_connection((address, port), timeout_s).close()
    except OSError:
        return False
    return True


def read_host_key(address: str, port: int = 22, timeout_s: float = 3.0) -> str:
    """Return the Ed25519 host key that is shown where SSH listens, as known_hosts has it, `ssh-ed25519 AAAA…`; empty without one.

    Nothing is logged in to, and nothing proves that whoever shows a key has it.
    """
    command = ["ssh-keyscan", "-T", f"{max(1, round(timeout_s))}", "-t", "ed25519", "-p", str(port), "--", address]
    try:
        done = run_program(command, timeout_s * 3, most=_KEYS_BYTES)
    except (subprocess.TimeoutExpired, OSError):
        return ""
    lines = [line.split()[1:3] for line in done.output.splitlines() if not line.startswith("#")]
    return next((" ".join(words) for words in lines if len(words) == 2), "")
