# Copyright: gpuyard maintainers
# GNU General Public License v3.0 or later (see https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find what cannot be right about the arguments of role ceph_purge. It runs on the controller."""

from __future__ import annotations

import re
from typing import Any

from ansible_collections.gpuyard.cluster.plugins.plugin_utils.faults import check_tree, check_wait, tell

DOCUMENTATION = r"""
name: ceph_purge_faults
short_description: Finds what cannot be right about the arguments of role ceph_purge
description:
  - Checks the folder of the rendered tree, the form of the cluster's id, and how long is waited. That the id is missing is told
    with what hosts say.
author: gpuyard maintainers
options:
  _input:
    description: Arguments of the role by name, as its meta/argument_specs.yml describes them.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Refuse arguments that cannot be right
  ansible.builtin.assert:
    that: faults | length == 0
    fail_msg: "{{ faults | join('\n') }}"
  vars:
    names: [ceph_purge_tree, ceph_purge_fsid, ceph_purge_wait_s]
    faults: "{{ dict(names | zip(q('ansible.builtin.vars', *names))) | gpuyard.cluster.ceph_purge_faults }}"
"""

RETURN = r"""
_value:
  description: The faults, a sentence each with variable, value, what was expected, and how to fix it; empty where there is none.
  type: list
  elements: str
"""

FSID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def ceph_purge_faults(arguments: dict[str, Any]) -> list[str]:
    """Return what cannot be right."""
    typed, faults = str(arguments["ceph_purge_fsid"]), check_tree(arguments, "ceph_purge")
    if typed and not FSID.fullmatch(typed):
        fix = "type the id of the cluster that shall be removed, as fsid in its ceph.conf has it"
        faults.append(tell("ceph_purge_fsid", typed, "a cluster's id, 32 of 0-9 and a-f with four dashes", fix))
    return [*faults, *check_wait(arguments, "ceph_purge")]


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return it by its name."""
        return {"ceph_purge_faults": ceph_purge_faults}
