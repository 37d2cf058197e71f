"""Public SSH keys of administrators: read from files, and held against what a key is."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from pathlib import Path

from cluster_model.diagnostic import Diagnostic
from cluster_model.intent.model.cluster import Cluster
from cluster_model.intent.services.provisioning import PATTERNS, PUBLIC_KEY
from cluster_model.reading import read_file
from cluster_model.references import TEMPLATE
from cluster_model.texts import UNPRINTABLE, holds_private_key

TYPES = {
    "ssh-ed25519": 2,
    "ecdsa-sha2-nistp256": 3,
    "ecdsa-sha2-nistp384": 3,
    "ecdsa-sha2-nistp521": 3,
    "sk-ssh-ed25519@openssh.com": 3,
    "sk-ecdsa-sha2-nistp256@openssh.com": 4,
    "ssh-rsa": 3,
}
"""Key types that OpenSSH takes by default, since 8.9, with the fields of each, its name included.

Sources: sshd_config(5), PubkeyAcceptedAlgorithms; RFC 4253, 6.6; RFC 5656, 3.1; RFC 8709, 4; OpenSSH, PROTOCOL.u2f.
"""
MOST_BYTES = 1_000_000
_KIND = re.compile(r"(?:ssh|ecdsa|sk)-[a-z0-9@.-]{1,60}")
_COMMENT = re.compile(f"[{UNPRINTABLE}]")
_EXPECTED = "a public key in one line, such as ssh-ed25519 AAAAC3N... name"
_FIX = PATTERNS[PUBLIC_KEY].way_out


def read_keys(cluster: Cluster, folder: Path, shown: str) -> tuple[Cluster, list[Diagnostic]]:
    """Return the intent with the keys of `key_files` among `keys`, and what is wrong with files and keys.

    Args:
        cluster: the intent.
        folder: folder that the file names are relative to.
        shown: the same folder as the user gave it, for findings; empty for the working directory.

    Errors:
        PRV001, PRV002.
    """
    provisioning = cluster.provisioning
    if provisioning is None:
        return cluster, []
    findings: list[Diagnostic] = []
    admins = {}
    for name, admin in provisioning.admins.items():
        keys = []
        for index, key in enumerate(admin.keys):
            wrong = explain_key(key)
            if wrong:
                where = f"provisioning.admins.{name}.keys.{index}"
                findings.append(Diagnostic("PRV002", "error", where, wrong, _EXPECTED, fix=_FIX))
            keys.append(key)
        for index, file in enumerate(admin.key_files):
            keys += _read_file(folder, shown, file, f"provisioning.admins.{name}.key_files.{index}", findings)
        admins[name] = admin.model_copy(update={"keys": list(dict.fromkeys(keys))})
    return cluster.model_copy(update={"provisioning": provisioning.model_copy(update={"admins": admins})}), findings


def list_key_files(cluster: Cluster) -> list[str]:
    """Return the key files that an intent names."""
    if cluster.provisioning is None:
        return []
    return [file for admin in cluster.provisioning.admins.values() for file in admin.key_files]


def explain_key(line: str) -> str:
    """Return what is wrong with a public key, empty where nothing is.

    >>> explain_key("ssh-dss AAAA me"), explain_key("ssh-ed25519 AAAA me")
    ('ssh-dss is no key type that OpenSSH takes', 'the key is cut off or damaged')
    """
    if holds_private_key(line):
        return "this is a private key"
    kind, _, rest = line.partition(" ")
    if kind not in TYPES:
        named = kind if _KIND.fullmatch(kind) else "what the line begins with"  # of a file that is none, nothing is shown
        return f"{named} is no key type that OpenSSH takes"
    if _COMMENT.search(line) or TEMPLATE.search(line):
        return "the key's name holds more than one line of plain text"
    try:
        blob = base64.b64decode(rest.split(" ")[0], validate=True)
    except (binascii.Error, ValueError):
        return "the key is cut off or damaged"
    parts = list(_split_blob(blob))
    inside = parts[0].decode("ascii", "replace") if parts else ""
    if inside in TYPES and inside != kind:
        return f"the line says {kind}, the key itself {inside}"
    return "" if inside == kind and len(parts) == TYPES[kind] and all(parts) else "the key is cut off or damaged"


def _split_blob(blob: bytes) -> Iterator[bytes]:
    """Yield the length-prefixed strings of a key (RFC 4253, section 6.6), an empty one where it is cut off."""
    at = 0
    while at < len(blob):
        length = int.from_bytes(blob[at : at + 4], "big")
        part = blob[at + 4 : at + 4 + length]
        yield part if len(part) == length and length else b""
        at += 4 + length


def _read_file(folder: Path, shown: str, name: str, where: str, findings: list[Diagnostic]) -> list[str]:
    try:
        lines = read_file(folder / name, MOST_BYTES, folder).decode("utf-8-sig").splitlines()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        summary = f"cannot read {name}: {reason}"
        fix = "correct the name, or write the key under keys"
        findings.append(Diagnostic("PRV001", "error", where, summary, "a file of public SSH keys beside the intent", fix=fix))
        return []
    file = f"{shown}/{name}" if shown and not Path(name).is_absolute() else name
    keys = []
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        wrong = explain_key(text)
        if wrong:
            findings.append(Diagnostic("PRV002", "error", where, wrong, _EXPECTED, fix=_FIX).located(file, number, 1))
            if "private" in wrong:
                break
        else:
            keys.append(text)
    if not keys and not any(finding.file == file for finding in findings):
        summary = f"{name} holds no key"
        findings.append(Diagnostic("PRV002", "error", where, summary, _EXPECTED, fix=_FIX).located(file, 1, 1))
    return keys
