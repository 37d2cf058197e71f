"""Text that gear says of itself, made safe where it enters: it may go to a terminal, a CSV, a page or a rendered file.

A BMC, a neighbour's LLDP or an installer may say anything, by a fault or by intent. Control characters would write to a terminal
or add rows to a list, characters that turn the direction of writing hide what stands there, and `{{gpuyard-secret:…}}` would be
a reference in whatever is rendered from it.
"""

from __future__ import annotations

import re
from typing import Any

from cluster_model.texts import UNSHOWN

LINE = 256
"""Longest text of one value, in characters: LLDP's strings have 255 bytes at most (IEEE 802.1AB-2016, 8.5)."""
OUTPUT = 32 << 20
"""Longest output of one command, in characters."""
_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
_HIDDEN = f"(?![\t\n])[{UNSHOWN}]"
_UNSAFE = re.compile(_HIDDEN)
_SPACES = re.compile(r"[\t\r\n]+")
_OPEN = "{{gpuyard-"
_HOSTILE = re.compile(rf"{_HIDDEN}|{re.escape(_OPEN)}|\\u00(?:0[0-8bBcCeEfF]|1[0-9a-fA-F]|7[fF]|[89][0-9a-fA-F]|7[bB])")
"""What is taken out, also where JSON has it as an escape."""


def clean_line(text: str, limit: int = LINE) -> str:
    """Return a value in one line: white space folded, what does not show as `?`, no reference, and cut at `limit` characters."""
    line = _UNSAFE.sub("?", _SPACES.sub(" ", _ESCAPES.sub("", text))).replace(_OPEN, "{?gpuyard-").strip()
    return line if len(line) <= limit else line[: limit - 1] + "…"


def clean_output(text: str) -> str:
    """Return what a command printed, in lines as they came."""
    lines = _ESCAPES.sub("", text[:OUTPUT].replace("\r\n", "\n"))
    return _UNSAFE.sub("?", lines).replace(_OPEN, "{?gpuyard-")


def clean_data(value: Any, limit: int = LINE) -> Any:
    """Return a document as JSON has it with every text cleaned, names of members too."""
    if isinstance(value, str):
        return clean_line(value, limit)
    if isinstance(value, dict):
        return {clean_line(str(key), limit): clean_data(held, limit) for key, held in value.items()}
    return [clean_data(held, limit) for held in value] if isinstance(value, list) else value


def holds_hostile(output: str) -> bool:
    """Return whether output holds what no device has a reason to say: control characters, or a reference."""
    return _HOSTILE.search(_ESCAPES.sub("", output)) is not None


def is_formula(text: str) -> bool:
    """Return whether a spreadsheet would take a cell for a formula (OWASP, CSV Injection)."""
    return text[:1] in {"=", "+", "-", "@"}
