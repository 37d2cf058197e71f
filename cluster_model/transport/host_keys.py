"""Which SSH host keys are trusted: those of known_hosts, as OpenSSH reads it; a new one only where the user says so.

OpenSSH's client does this for itself. netmiko and pyinfra open paramiko's sessions, which would take any key that is not known.
"""

from __future__ import annotations

import base64
import hashlib
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from cluster_model.transport.session import Login

if TYPE_CHECKING:
    from paramiko import PKey, SSHClient

Trust = Literal["yes", "accept-new", "no"]
"""As StrictHostKeyChecking of ssh_config(5)."""
GLOBAL = ("/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2")
_WRITING = threading.Lock()


def read_trust(login: Login, address: str) -> tuple[Trust, list[Path]]:
    """Return how a host key that is not known is judged, and the files of those that are, the one to be added to first.

    Args:
        login: whether the user said that new keys are trusted; else the word of the OpenSSH configuration counts.
        address: the device, by which the configuration is asked.
    """
    from paramiko import SSHConfig

    file = login.ssh_config or Path.home() / ".ssh/config"
    told = SSHConfig.from_path(str(file)).lookup(address) if file.is_file() else {}
    own = [Path(word).expanduser() for word in told.get("userknownhostsfile", "").split()]
    own = own or [Path.home() / ".ssh/known_hosts", Path.home() / ".ssh/known_hosts2"]
    words = told.get("globalknownhostsfile", "").split() or GLOBAL
    said = told.get("stricthostkeychecking", "").lower()
    trust: Trust = "accept-new" if login.trust_new or said == "accept-new" else "no" if said in {"no", "off"} else "yes"
    return trust, [*own, *(Path(word) for word in words)]


def describe_key(key: PKey) -> str:
    """Return a key's type and SHA-256 fingerprint, as `ssh-keygen -l` prints it."""
    digest = base64.b64encode(hashlib.sha256(key.asbytes()).digest()).decode().rstrip("=")
    return f"{key.get_name()} SHA256:{digest}"


def load_known(client: SSHClient, trust: Trust, files: list[Path]) -> None:
    """Have a client trust the keys in files, and judge others as `trust` says.

    A key that is known and differs is always refused, by paramiko itself.
    """
    from paramiko import MissingHostKeyPolicy, SSHException

    class Policy(MissingHostKeyPolicy):
        def missing_host_key(self, client: SSHClient, hostname: str, key: PKey) -> None:
            del client
            if trust == "yes":
                raise SSHException(f"its host key is not in known_hosts: {describe_key(key)}")
            if trust == "accept-new":
                _remember(files[0], hostname, key)

    for file in files:
        if file.is_file():
            client.load_system_host_keys(str(file))
    client.set_missing_host_key_policy(Policy())


def _remember(file: Path, name: str, key: PKey) -> None:
    """Add a line to known_hosts; paramiko itself would write the whole file anew, without what it did not understand."""
    with _WRITING:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            end = os.lseek(handle, 0, os.SEEK_END)
            cut = end > 0 and os.pread(handle, 1, end - 1) != b"\n"
            os.write(handle, f"{os.linesep if cut else ''}{name} {key.get_name()} {key.get_base64()}\n".encode())
        finally:
            os.close(handle)
