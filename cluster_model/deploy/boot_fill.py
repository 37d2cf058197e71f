"""References of a rendered file, filled as it is handed out: those that its template wrote, as its format wants them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection
from pathlib import PurePosixPath

from cluster_model.references import REFERENCE
from cluster_model.texts import UNSHOWN

_YAML = {"user-data", "meta-data", "vendor-data"}
_WORD = re.compile(r"[!#-&(-\[\]-~]+")
"""What a line of a switch's configuration or a script takes as one word, with no rule of quoting: printable ASCII without space,
quotes and backslash."""
_PLAIN = re.compile(r"[A-Za-z0-9$./_-]+")
"""What YAML takes without quotes, wherever it stands."""
_LINE = re.compile(f"[^{UNSHOWN}]+")


class NotReadyError(Exception):
    """A file that cannot be handed out yet; the text says what is missing."""


def fill(text: str, path: str, allowed: Collection[str], look_up: Callable[[str, str], str]) -> str:
    """Return a text with its references filled, in one pass: a value that reads like a reference is left as it is.

    Args:
        text: the file's text.
        path: its path in the tree, whose name tells its format.
        allowed: references that the manifest lists for it, such as `secret:ops-password`.
        look_up: returns a value for `secret` or `image`, and a name.

    Raises:
        NotReadyError: the file has a reference that is not listed, or a value cannot stand where it belongs.
    """

    def replace(found: re.Match[str]) -> str:
        kind, name = ("secret", found[1]) if found[1] else ("image", found[2])
        if f"{kind}:{name}" not in allowed:
            raise NotReadyError(f"{path} holds {found[0]}, which its template did not write: render the cluster again")
        around = text[found.start() - 1 : found.start()] + text[found.end() : found.end() + 1]
        return _escape(look_up(kind, name), path, around, name)

    return REFERENCE.sub(replace, text)


def _escape(value: str, path: str, around: str, name: str) -> str:
    """Return a value as the format of a file wants it; `around` are the characters before and after."""
    file = PurePosixPath(path)
    if file.suffix == ".json" and _LINE.fullmatch(value):
        return json.dumps(value, ensure_ascii=False)[1:-1]
    if file.suffix in {".yaml", ".yml"} or file.name in _YAML:
        if around == '""' and _LINE.fullmatch(value):
            return json.dumps(value, ensure_ascii=False)[1:-1]
        if around == "''" and _LINE.fullmatch(value):
            return value.replace("'", "''")
        if _PLAIN.fullmatch(value):
            return value
    elif file.suffix != ".json" and _WORD.fullmatch(value):
        return value
    wanted = (
        "one line of text" if file.suffix == ".json" or around in {'""', "''"} else "printable ASCII without spaces and quotes"
    )
    raise NotReadyError(f"the secret {name} cannot stand in {path}: it must be {wanted}")
