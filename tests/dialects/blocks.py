"""Configurations that are written in lines and indentation: frr.conf and EOS, read into a tree."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

IGNORED = re.compile(r"!|end|exit|exit-(vrf|vni|address-family)|")


@dataclass(slots=True)
class Block:
    """A line with what stands below it. `is_read`: a reader has looked for this very line."""

    line: str
    below: list[Block] = field(default_factory=list)
    is_read: bool = False

    def find(self, pattern: str) -> Iterator[tuple[re.Match[str], Block]]:
        """Yield each line right below that a pattern matches whole."""
        for block in self.below:
            if match := re.fullmatch(pattern, block.line):
                block.is_read = True
                yield match, block

    def values(self, pattern: str) -> list[str]:
        """Return the first group of every line right below that matches."""
        return [match[1] for match, _ in self.find(pattern)]

    def one(self, pattern: str, default: Any = "") -> Any:
        """Return the first group of the line that matches; a second such line is refused."""
        found = self.values(pattern)
        assert len(found) <= 1, f"{self.line}: {pattern} twice"
        return found[0] if found else default

    def has(self, pattern: str) -> bool:
        """Return whether a line matches."""
        return len(list(self.find(pattern))) > 0

    def list_unread(self) -> Iterator[str]:
        """Yield every line that no reader has looked for, with the heads that it stands below."""
        for block in self.below:
            if not block.is_read:
                yield block.line
            yield from (f"{block.line} / {line}" for line in block.list_unread())


def parse_blocks(text: str) -> Block:
    """Return the tree of a text. The same head twice is one block, as devices read it; the same line twice is kept."""
    root = Block("")
    stack = [(-1, root)]
    for row in text.splitlines():
        line = row.strip()
        if IGNORED.fullmatch(line):
            continue
        depth = len(row) - len(row.lstrip())
        while stack[-1][0] >= depth:
            stack.pop()
        block = Block(line)
        stack[-1][1].below.append(block)
        stack.append((depth, block))
    return root


def merge(blocks: Iterator[tuple[re.Match[str], Block]]) -> Block:
    """Return one block of several with the same head."""
    found = [block for _, block in blocks]
    return Block(found[0].line if found else "", [line for block in found for line in block.below])


def parse_stanzas(text: str) -> dict[str, dict[str, list[str]]]:
    """Return an ifupdown2 file: key → values of every `iface`, each of which must be `auto` too, and stand once."""
    found: dict[str, dict[str, list[str]]] = {}
    auto: set[str] = set()
    current: dict[str, list[str]] = {}
    for row in text.splitlines():
        words = row.split(maxsplit=1)
        if not words or words[0].startswith("#"):
            continue
        if words[0] == "auto":
            auto.add(words[1])
        elif words[0] == "iface":
            name = words[1].split()[0]
            assert name not in found, f"iface {name} twice"
            current = found[name] = {}
        else:
            current.setdefault(words[0], []).append(words[1])
    assert auto == set(found)
    return found
