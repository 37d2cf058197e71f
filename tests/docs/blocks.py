"""Console blocks of a page: commands with what they print, where a line `...` stands for any lines."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

GAP = "..."
DROPPED, NEW, UNLIKE = 1.0, 0.25, 0.5
"""What it costs that a line is no longer there or comes in, and the most that becoming another one may cost."""


def split_commands(body: str) -> list[tuple[str, list[str]]]:
    """Return (command, expected output) pairs; a command goes on over lines that end in a backslash."""
    steps, lines = [], body.splitlines()
    while lines:
        line = lines.pop(0)
        assert line.startswith("$ "), f"a console block begins with a command: {line!r}"
        command = line[2:]
        while command.endswith("\\"):
            command += "\n" + lines.pop(0)
        expected = []
        while lines and not lines[0].startswith("$ "):
            expected.append(lines.pop(0).rstrip())
        steps.append((command, expected))
    return steps


def matches(expected: list[str], printed: list[str]) -> bool:
    pattern = "".join(r"(?:.*\n)*?" if line.strip() == GAP else re.escape(line) + "\n" for line in expected)
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in printed)) is not None


def bring_up_to_date(expected: list[str], printed: list[str]) -> list[str]:
    """Return what a page shall say of what a command prints now.

    Gaps stay and take any lines; each line between them becomes the printed one that it is most like. Of the ways to do so the
    cheapest is taken.
    """
    if matches(expected, printed):
        return expected
    if GAP not in (line.strip() for line in expected):
        return printed
    # cheapest[j]: the cost, and the lines of the page, for what is expected from here on and printed from j on
    cheapest = [(NEW * (len(printed) - j), printed[j:]) for j in range(len(printed) + 1)]
    for line in reversed(expected):
        below, is_gap = cheapest, line.strip() == GAP
        cost, rest = below[-1]
        cheapest = [(cost, [line, *rest]) if is_gap else (cost + DROPPED, rest)]
        for j in reversed(range(len(printed))):
            (after, rest), (stays, others) = below[j], cheapest[0]
            if is_gap:  # it ends before this line, or takes it
                ways = [(after, [line, *rest]), (stays, others)]
            else:  # it becomes this line, or is no longer there, or this one comes in before it
                ways = [(after + DROPPED, rest), (stays + NEW, [printed[j], *others])]
                if (differs := 1 - liken(line, printed[j])) <= UNLIKE:
                    ways.insert(0, (below[j + 1][0] + differs, [printed[j], *below[j + 1][1]]))
            cheapest.insert(0, min(ways, key=lambda way: way[0]))
    return cheapest[0][1]


def liken(old: str, new: str) -> float:
    """Return how alike two lines are, 0 to 1; numbers, which grow, and the spaces of columns hardly count."""
    before, after = (re.sub(r"\s+", " ", re.sub(r"\d+", "0", line)) for line in (old, new))
    if old == new:
        return 1
    return 0.99 if before == after else 0.98 * SequenceMatcher(None, before, after, autojunk=False).ratio()
