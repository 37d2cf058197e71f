"""Certificates of BMCs that were visited, as known_hosts has the keys of hosts."""

from __future__ import annotations

import hashlib
import os
import ssl
from pathlib import Path

from cluster_model.reading import read_file
from cluster_model.transport.bmc.controller import BmcError

MOST_BYTES = 64_000_000
"""A BMC takes a line of some 90 bytes at each change of its certificate."""


def known_bmcs() -> Path:
    """Return the file of the certificates of BMCs that were visited, as known_hosts is for SSH: GPUYARD_KNOWN_BMCS."""
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local/state")
    return Path(os.environ.get("GPUYARD_KNOWN_BMCS") or f"{state}/gpuyard/known_bmcs")


def read_certificate(place: str) -> str:
    """Return the SHA-256 fingerprint of the certificate that the BMC at `ADDRESS:PORT` had at the first visit; empty if none.

    Raises:
        BmcError: the file of those that are known cannot be read.
    """
    try:
        lines = read_file(known_bmcs(), MOST_BYTES).decode("utf-8").splitlines()
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        fix = "move it away, or name another file in GPUYARD_KNOWN_BMCS"
        raise BmcError("certificate", f"{known_bmcs()} cannot be read: {reason}; {fix}") from None
    return next((line.split()[1] for line in reversed(lines) if line.startswith(f"{place} ")), "")


def fetch_certificate(address: str, port: int, timeout_s: float) -> str:
    """Return the SHA-256 fingerprint of the certificate that is shown now."""
    text = ssl.get_server_certificate((address, port), timeout=timeout_s)
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(text)).hexdigest()


def remember_certificate(place: str, fingerprint: str) -> None:
    """Write down the certificate of the BMC at `ADDRESS:PORT`, which is trusted from now on."""
    file = known_bmcs()
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # One short line appended is whole or absent, also with many visits at once.
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a", encoding="utf-8") as out:
        out.write(f"{place} {fingerprint}\n")
