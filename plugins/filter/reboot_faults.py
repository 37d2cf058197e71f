# Copyright: gpuyard maintainers
# GNU General Public License v3.0 or later (see https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find what cannot be right about the arguments of role reboot. It runs on the controller."""

from __future__ import annotations

from typing import Any

from ansible_collections.gpuyard.cluster.plugins.plugin_utils.faults import tell

DOCUMENTATION = r"""
name: reboot_faults
short_description: Finds what cannot be right about the arguments of role reboot
description:
  - Refuses numbers with which no reboot could succeed.
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
    names: [reboot_batch, reboot_failures_allowed, reboot_timeout_s]
    faults: "{{ dict(names | zip(q('ansible.builtin.vars', *names))) | gpuyard.cluster.reboot_faults }}"
"""

RETURN = r"""
_value:
  description: The faults, a sentence each with variable, value, what was expected, and how to fix it; empty where there is none.
  type: list
  elements: str
"""

LEAST = {
    "reboot_batch": (1, "set how many hosts of a failure domain may be down at once"),
    "reboot_failures_allowed": (0, "set 0 to stop at the first host that stays down"),
    "reboot_timeout_s": (60, "set twice the seconds that the slowest server takes to boot"),
}
"""The least value of each number, and what to set instead of a lower one."""


def reboot_faults(arguments: dict[str, Any]) -> list[str]:
    """Return what cannot be right."""
    found = [(name, int(arguments[name]), least, fix) for name, (least, fix) in LEAST.items()]
    return [tell(name, value, f"{least} or more", fix) for name, value, least, fix in found if value < least]


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return it by its name."""
        return {"reboot_faults": reboot_faults}
