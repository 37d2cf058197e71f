# Copyright: gpuyard maintainers
# GNU General Public License v3.0 or later (see https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the filters share that check the arguments of roles. They run on the controller, before a host is asked anything."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

VERSION = re.compile(r"[0-9]+\.[0-9]+(\.[0-9]+)?")
"""A driver's version as upstream has it, such as 580.95.05."""
PACKAGE_VERSION = re.compile(VERSION.pattern + r"(-\S+)?")
"""The same, perhaps with the package's revision."""


def tell(name: str, value: object, expected: str, fix: str) -> str:
    """Return a fault as all roles tell it: variable and value, what was expected, and the way out."""
    return f"{name}: {'empty' if value in ('', [], {}) else value}; expected {expected}; fix: {fix}"


def check_tree(arguments: dict[str, Any], role: str) -> list[str]:
    """Return what cannot be right about the rendered tree of a role, ROLE_tree."""
    tree = str(arguments[f"{role}_tree"])
    return (
        []
        if tree.startswith("/")
        else [tell(f"{role}_tree", tree, "an absolute path", "name the folder that gpuyard render wrote")]
    )


def check_wait(arguments: dict[str, Any], role: str, most: int = 3600, default: int = 300) -> list[str]:
    """Return what cannot be right about how long a role waits, ROLE_wait_s."""
    wait_s = int(arguments[f"{role}_wait_s"])
    return [] if 10 <= wait_s <= most else [tell(f"{role}_wait_s", wait_s, f"10 to {most}", f"leave it out for {default}")]


def check_packages(arguments: dict[str, Any], variable: str, programs: str, fix: str) -> list[str]:
    """Return whether a variable names no packages at all; `programs` are those that they have to bring."""
    return [] if arguments[variable] else [tell(variable, [], programs, fix)]


def list_twice(names: Iterable[str]) -> dict[str, int]:
    """Return how often each name is there that is there more than once, in their order."""
    found: dict[str, int] = {}
    for name in names:
        found[name] = found.get(name, 0) + 1
    return {name: count for name, count in found.items() if count > 1}


def find_upstream(version: object) -> str:
    """Return a version without the package's revision: 580.95.05 of 580.95.05-1."""
    return str(version).split("-", 1)[0]


def find_major(version: object) -> str:
    """Return what stands before a version's first dot: the branch of a driver, the major of a CUDA."""
    return str(version).split(".", 1)[0]
