# Copyright: gpuyard maintainers
# GNU General Public License v3.0 or later (see https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find what cannot be right about the arguments of role ceph_expand. It runs on the controller."""

from __future__ import annotations

import re
from typing import Any

from ansible_collections.gpuyard.cluster.plugins.plugin_utils.faults import check_tree, check_wait, tell

DOCUMENTATION = r"""
name: ceph_expand_faults
short_description: Finds what cannot be right about the arguments of role ceph_expand
description:
  - Checks the tree's path, in how many steps data comes, what stops one, and how long is waited.
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
    names: [ceph_expand_tree, ceph_expand_steps, ceph_expand_latency_ms, ceph_expand_until, ceph_expand_wait_s]
    faults: "{{ dict(names | zip(q('ansible.builtin.vars', *names))) | gpuyard.cluster.ceph_expand_faults }}"
"""

RETURN = r"""
_value:
  description: The faults, a sentence each with variable, value, what was expected, and how to fix it; empty where there is none.
  type: list
  elements: str
"""


def ceph_expand_faults(arguments: dict[str, Any]) -> list[str]:
    """Return what cannot be right."""
    faults = [*check_tree(arguments, "ceph_expand"), *check_wait(arguments, "ceph_expand", most=86400, default=3600)]
    steps, latency_ms = int(arguments["ceph_expand_steps"]), float(arguments["ceph_expand_latency_ms"])
    if not 1 <= steps <= 1000:
        faults.append(tell("ceph_expand_steps", steps, "1 to 1000", "leave it out for 20"))
    if not 0 <= latency_ms <= 60000:
        faults.append(tell("ceph_expand_latency_ms", f"{latency_ms:g}", "0 to 60000", "leave it out for the plan's"))
    until = str(arguments["ceph_expand_until"])
    if until and not re.fullmatch(r"([01][0-9]|2[0-3]):[0-5][0-9]", until):
        faults.append(
            tell("ceph_expand_until", until, "a time of day as 06:00", "write it in quotes: YAML takes 06:00 for a number")
        )
    return faults


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return it by its name."""
        return {"ceph_expand_faults": ceph_expand_faults}
