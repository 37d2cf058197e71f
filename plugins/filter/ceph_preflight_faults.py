# Copyright: gpuyard maintainers
# GNU General Public License v3.0 or later (see https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find what cannot be right about the arguments of role ceph_preflight. It runs on the controller."""

from __future__ import annotations

from typing import Any

from ansible_collections.gpuyard.cluster.plugins.plugin_utils.faults import check_tree

DOCUMENTATION = r"""
name: ceph_preflight_faults
short_description: Finds what cannot be right about the arguments of role ceph_preflight
description:
  - Checks the folder of the rendered tree.
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
    names: [ceph_preflight_tree]
    faults: "{{ dict(names | zip(q('ansible.builtin.vars', *names))) | gpuyard.cluster.ceph_preflight_faults }}"
"""

RETURN = r"""
_value:
  description: The faults, a sentence each with variable, value, what was expected, and how to fix it; empty where there is none.
  type: list
  elements: str
"""


def ceph_preflight_faults(arguments: dict[str, Any]) -> list[str]:
    """Return what cannot be right."""
    return check_tree(arguments, "ceph_preflight")


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return it by its name."""
        return {"ceph_preflight_faults": ceph_preflight_faults}
