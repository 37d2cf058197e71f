# Copyright: gpuyard maintainers
# GNU General Public License v3.0 or later (see https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find what is wrong with files of a rendered tree before they are delivered. It runs on the controller."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from ansible_collections.gpuyard.cluster.plugins.plugin_utils.faults import tell

DOCUMENTATION = r"""
name: tree_wrong
short_description: Finds what is wrong with files of a rendered tree
description:
  - Holds them against the tree's manifest.json. What was edited since it was rendered is told, what came beside it, and a tree
    that is not there.
author: gpuyard maintainers
options:
  _input:
    description: Folder of the tree.
    type: str
    required: true
  variable:
    description: The variable that names it.
    type: str
    required: true
  names:
    description: Files in the tree, each by its name or a pattern such as C(kubernetes/tenants/*.yaml). The first must be there.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Refuse a tree that is not as it was rendered
  ansible.builtin.assert:
    that: tree | gpuyard.cluster.tree_wrong('tree', ['kubernetes/nodes.yaml']) | length == 0
"""

RETURN = r"""
_value:
  description: What is wrong, a sentence each with place, what is there, what was expected, and how to fix it.
  type: list
  elements: str
"""


def tree_wrong(tree: str, variable: str, names: list[str]) -> list[str]:
    """Return what is wrong."""
    manifest = json.loads(_read(Path(tree, "manifest.json")) or b"{}")
    sums = manifest.get("files", {})
    if names[0] not in sums:
        fix = "gpuyard render the cluster, or run where its folder build lies, or set GPUYARD_BUILD to that folder"
        return [tell(variable, tree, f"a rendered tree with {names[0]}", fix)]
    return list(_judge(tree, variable, names, manifest["older"], sums))


def _judge(tree: str, variable: str, names: list[str], older: dict[str, str], sums: dict[str, str]) -> Iterator[str]:
    """Tell what is not as it was rendered."""
    family = names[0].partition("/")[0]
    if family in older:
        found = f"{tree}: {family}/ is of an older intent"
        yield tell(variable, found, "all of one", "gpuyard render the cluster, without --only")
    there = {path.relative_to(tree).as_posix() for name in names for path in Path(tree).glob(name)}
    for name in sorted({name for name in sums if any(PurePosixPath(name).match(each) for each in names)} | there):
        path = Path(tree, name)
        if name not in sums:
            yield tell(str(path), "was not rendered", "nothing beside what was rendered", f"rm {path}")
        elif hashlib.sha256(_read(path)).hexdigest() != sums[name]:
            yield tell(str(path), "changed since it was rendered", "what was rendered", "gpuyard render the cluster")


def _read(path: Path) -> bytes:
    """Return what a file holds, nothing where there is none."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return it by its name."""
        return {"tree_wrong": tree_wrong}
