"""Secrets: named in the intent and in rendered files, looked up at the last moment, never written.

A name such as `bmc-password` may be special to one device: `bmc-password/gpu-001`. Values come from the environment
(`GPUYARD_SECRET_BMC_PASSWORD`; for one device `GPUYARD_SECRET_BMC_PASSWORD__GPU_001`), then from secrets.yml beside the intent,
a mapping of names to values that ansible-vault has encrypted, or that nobody but its owner may read.
"""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from cluster_model.diagnostic import Diagnostic
from cluster_model.reading import TooLargeError, open_file

FILE = "secrets.yml"
_VAULT = "$ANSIBLE_VAULT;"
_PASSWORD_FILE = "ANSIBLE_VAULT_PASSWORD_FILE"
_ANSWER_S = 60
MOST_BYTES = 1_000_000


class MissingSecretError(Exception):
    """A secret that is nowhere, or empty where it stands; the text says where it was looked for."""


@dataclass(frozen=True, slots=True)
class Secrets:
    """Where secrets are looked up.

    Args:
        environment: variables of the environment.
        values: the file's values by name.
        file: the file as the user would name it, for messages.
    """

    environment: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, str] = field(default_factory=dict)
    file: str = FILE

    def __repr__(self) -> str:
        """Return what names no value."""
        return f"Secrets({self.file}, {len(self.values)} names)"

    def get(self, name: str, device: str = "") -> str:
        """Return a secret, that of the device before that of all; MissingSecretError where there is none."""
        empty: list[str] = []
        for wanted in [f"{name}/{device}", name] if device else [name]:
            for place, value in (
                (variable(wanted), self.environment.get(variable(wanted))),
                (self.file, self.values.get(wanted)),
            ):
                if value:
                    return value
                if value is not None:
                    empty.append(place)
        if empty:
            raise MissingSecretError(f"the secret {name} is empty in {', and in '.join(empty)}")
        raise MissingSecretError(f"the secret {name} is neither in {variable(name)} nor in {self.file}")


def variable(name: str) -> str:
    """Return the environment variable of a secret: GPUYARD_SECRET_BMC_PASSWORD, GPUYARD_SECRET_BMC_PASSWORD__GPU_001."""
    return "GPUYARD_SECRET_" + re.sub(r"[^a-z0-9_]", "_", name.replace("/", "__")).upper()


def open_secrets(folder: Path, file: Path | None = None) -> tuple[Secrets, list[Diagnostic]]:
    """Read the secrets of a cluster.

    Args:
        folder: the folder of the intent, where secrets.yml may lie.
        file: another file, which must be there.

    Returns:
        The secrets, and what is wrong with the file.

    Errors:
        SEC001 to SEC003.
    """
    path = file or folder / FILE
    if not path.exists() and file is None:
        return Secrets(os.environ, {}, str(path)), []
    values, finding = _read(path, may_wait=file is not None)
    return Secrets(os.environ, values, str(path)), [finding.located(str(path), 1, 1)] if finding else []


def _read(path: Path, *, may_wait: bool) -> tuple[dict[str, str], Diagnostic | None]:
    """Read a file of secrets; where the user named it, it may be a pipe that is waited for: --secrets <(pass show cluster)."""
    try:
        with path.open("rb") if may_wait else open_file(path) as stream:
            raw = stream.read(MOST_BYTES + 1)
            mode = stat.S_IMODE(os.fstat(stream.fileno()).st_mode)
        text = raw.decode("utf-8")
        if len(raw) > MOST_BYTES:
            raise TooLargeError(f"it has more than {MOST_BYTES} bytes")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        return {}, Diagnostic("SEC001", "error", "", f"cannot read {path}: {reason}", fix="correct the name, or write the file")
    if text.startswith(_VAULT):
        done = _decrypt(path)
        if isinstance(done, Diagnostic):
            return {}, done
        text = done
    elif mode & 0o077:
        expected = "mode 0600, or a file that ansible-vault has encrypted"
        fix = f"ansible-vault encrypt {path}, or chmod 600 {path}"
        return {}, Diagnostic("SEC002", "error", "", "others can read the secrets", expected, f"mode {mode:04o}", fix)
    return _parse(text)


def _decrypt(path: Path) -> str | Diagnostic:
    try:
        done = subprocess.run(
            [_find_vault(), "view", str(path)],
            # a variable that is set to nothing would be taken for this folder
            env={name: value for name, value in os.environ.items() if value or name != _PASSWORD_FILE},
            # a pipe on stdin, where there is no terminal, is not the password, and may stay open for ever
            stdin=None if sys.stdin is not None and sys.stdin.isatty() else subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_ANSWER_S,
            check=False,
        )
    except OSError as error:
        fix = "install ansible-core (pip install 'gpuyard[ansible]')"
        return Diagnostic("SEC001", "error", "", f"ansible-vault cannot be run: {error.strerror}", fix=fix)
    except subprocess.TimeoutExpired:
        return Diagnostic("SEC001", "error", "", f"ansible-vault did not open {path} in {_ANSWER_S} s", fix=_GIVE_PASSWORD)
    if done.returncode == 0:
        return done.stdout
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    said = lines[-1].removeprefix("[ERROR]: ").rstrip(".") if lines else f"exit code {done.returncode}"
    return _explain_vault(path, said)


_GIVE_PASSWORD = (
    "write the vault's password into a file of mode 0600 and name it in ANSIBLE_VAULT_PASSWORD_FILE, "
    "or run it on a terminal, where it is asked for"
)


_REFUSED = (
    (r"password was provided from file \((.*)\)", "the password file {} is empty", "write the vault's password into {}"),
    (r"password was provided from script \((.*)\)", "the program {} printed no password", "let {} print the vault's password"),
    (r"password was provided$", "the answer was empty", _GIVE_PASSWORD),
    (
        r"running vault password script (.*) \(\[Errno",
        "{} is marked as a program, and cannot be run as one",
        "chmod 600 {} if it holds the password itself; else name the program that runs it in its first line, as #!/bin/sh",
    ),
)
"""What ansible-vault says of a password that it did not get, what that means, and the way out; with the file or program."""


def _explain_vault(path: Path, said: str) -> Diagnostic:
    """Return why ansible-vault did not open a file; what is not known here is told in its own words."""
    source = os.environ.get(_PASSWORD_FILE, "")
    missing, wanted = f"{path} is encrypted, and there is no vault password", "the password that ansible-vault encrypted it with"
    if "EOFError" in said:
        unset = f"{_PASSWORD_FILE} is {'empty' if _PASSWORD_FILE in os.environ else 'not set'}"
        actual = f"{unset}, and {'none was typed' if _has_terminal() else 'there is no terminal to ask on'}"
        return Diagnostic("SEC001", "error", "", missing, wanted, actual, _GIVE_PASSWORD)
    for pattern, actual, fix in _REFUSED:
        if found := re.search(pattern, said):
            named = found[1] if found.groups() else ""
            return Diagnostic("SEC001", "error", "", missing, wanted, actual.format(named), fix.format(named))
    if re.search("Vault (vaulttext )?format", said):
        expected, fix = "the whole file as ansible-vault wrote it", "copy it from where it is whole, or write it anew"
        return Diagnostic("SEC001", "error", "", f"{path} is damaged", expected, "lines that are cut short or changed", fix)
    if "Decryption failed" in said:
        actual = f"that in {source}, named by {_PASSWORD_FILE}" if source else "that which was given"
        return Diagnostic("SEC001", "error", "", f"the vault password of {path} is wrong", wanted, actual, _GIVE_PASSWORD)
    return Diagnostic("SEC001", "error", "", f"ansible-vault cannot open {path}", actual=said, fix=_GIVE_PASSWORD)


def _has_terminal() -> bool:
    """Return whether somebody can be asked: ansible-vault reads the terminal itself, whatever stdin is."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR))
    except OSError:
        return False
    return True


def _find_vault() -> str:
    """Return the program that is installed beside this Python, else the one on the path."""
    beside = Path(sys.executable).parent / "ansible-vault"
    return str(beside) if beside.exists() else "ansible-vault"


def _parse(text: str) -> tuple[dict[str, str], Diagnostic | None]:
    expected = "a mapping of names to texts, such as bmc-password: …"
    try:
        found: Any = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError):
        # The error's own text would quote the line, and with it a secret.
        return {}, Diagnostic("SEC003", "error", "", "the secrets are no YAML", expected, fix="put values in single quotes")
    if not isinstance(found, dict):
        return {}, Diagnostic("SEC003", "error", "", "the secrets are no mapping", expected, fix="write one name: value a line")
    bad = [str(name) for name, value in found.items() if not isinstance(value, str) or not isinstance(name, str) or "\0" in value]
    if bad:
        fix = "put the values in single quotes: YAML read a number, a date, nothing, or a NUL character"
        return {}, Diagnostic("SEC003", "error", "", f"these secrets are no texts: {', '.join(bad)}", expected, fix=fix)
    return found, None
