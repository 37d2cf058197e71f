"""The text a person wrote, and where in it every value stands."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from cluster_model.diagnostic import Diagnostic
from cluster_model.intent.base import NAME
from cluster_model.texts import PRIVATE_KEY

_BREAK = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
_PASSWORD = re.compile(rf"""password["']?\s*:\s*(?!(?P<quote>["']?){NAME[1:-1]}(?P=quote)(?:\s+\#|[\s}}\]]*(?:,\s|,?$)))(?=\S)""")
"""Up to what stands behind `password:` and is not the name of a secret, nor true or false."""
_KEY_BODY = re.compile(r"""[\s"',\[-]*[A-Za-z0-9+/=]+[\s"',\]}]*""")
"""A line of base64, as text or as an item of a list."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in the text.

    Args:
        line: 1-based line.
        column: 1-based column, in characters.
        raw: the scalar as it is written, without quotes; empty for a list or mapping.
        plain: whether it is a scalar without quotes, which YAML may read as something other than text.
    """

    line: int
    column: int
    raw: str = ""
    plain: bool = False


@dataclass(frozen=True, slots=True)
class Source:
    """One intent file with the mark of every value and key.

    Args:
        file: path as the user gave it.
        lines: the text by line, without line ends.
        values: intent path (dots, list items by number) to the mark of the value.
        keys: intent path to the mark of its key.
    """

    file: str
    lines: tuple[str, ...] = ()
    values: dict[str, Mark] = field(default_factory=dict)
    keys: dict[str, Mark] = field(default_factory=dict)

    @property
    def shown(self) -> tuple[str, ...]:
        """Return the lines as a finding may quote them: cut where a password is written instead of a name, or a private key."""
        shown, is_key = [], False
        for line in self.lines:
            begun, password = PRIVATE_KEY.search(line), _PASSWORD.search(line)
            is_key = bool(begun or (is_key and _KEY_BODY.fullmatch(line)))
            ends = [len(line)]
            ends += [password.end()] if password else []
            ends += [begun.start() if begun else 0] if is_key else []
            cut = min(ends)
            shown.append(f"{line[:cut]}…" if cut < len(line) else line)
        return tuple(shown)

    def find(self, where: str) -> Mark | None:
        """Return the mark of an intent path or of its nearest ancestor that is written; None when nothing is."""
        path, _, is_key = where.partition("@")
        path = path.rstrip(".")
        if is_key:
            if path in self.keys:
                return self.keys[path]
        elif path in self.values:
            return self.values[path]
        while path:
            path = path.rpartition(".")[0]
            mark = self.keys.get(path) or self.values.get(path)
            if mark is not None:
                return mark
        return self.values.get("")

    def locate(self, finding: Diagnostic) -> Diagnostic:
        """Return the finding with file, line and column; one that names a file already comes back as it is."""
        if finding.file:
            return finding
        mark = self.find(finding.where)
        if mark is None:
            return finding.located(self.file, 0, 0)
        return finding.located(self.file, mark.line, mark.column)


def split_lines(text: str) -> tuple[str, ...]:
    """Return the lines of a text, broken where YAML breaks them, so that its marks agree."""
    return tuple(_BREAK.split(text))
