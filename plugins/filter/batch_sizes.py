# Copyright: gpuyard maintainers
# GNU General Public License v3.0 or later (see https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check what `serial` of a play is given, before Ansible takes it for a number. It runs on the controller."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ansible import constants
from ansible.errors import AnsibleFilterError

DOCUMENTATION = r"""
name: batch_sizes
short_description: Checks the sizes of a play's batches, and that the inventory has servers
description:
  - Returns what C(serial) of a play may be, as it came.
  - An inventory whose group C(servers) is empty is refused too. Ansible without gpuyard's inventory plugin reads an intent as
    groups without hosts, and a play without hosts would end as if it had done its work.
author: gpuyard maintainers
positional: groups
options:
  _input:
    description: A number of hosts, a percentage such as V(25%), or a list of these.
    type: raw
    required: true
  groups:
    description: The inventory's groups, as Ansible has them in C(groups).
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Some servers after the others
  hosts: servers
  serial: "{{ batch | default('100%') | gpuyard.cluster.batch_sizes(groups) }}"
"""

RETURN = r"""
_value:
  description: The input.
  type: raw
"""

SIZE = re.compile(r"[1-9][0-9]*|(100|[1-9][0-9]?)%")


def batch_sizes(value: Any, groups: dict[str, list[str]]) -> Any:
    """Return the value; raise AnsibleFilterError with variable, value, what was expected and the way out."""
    if "servers" in groups and not groups["servers"]:
        ours = Path(__file__).resolve().parents[2] / "ansible.cfg"
        path = ours if ours.is_file() else "the ansible.cfg of gpuyard"
        raise AnsibleFilterError(
            "the inventory has no servers; expected those of an intent, as gpuyard's inventory plugin serves them; in force is "
            f"{constants.CONFIG_FILE or 'no ansible.cfg'}; fix: export ANSIBLE_CONFIG={path}"
        )
    sizes = value if isinstance(value, list) else [value]
    wrong = [str(size) for size in sizes if isinstance(size, bool) or not SIZE.fullmatch(str(size))]
    if wrong or not sizes:
        raise AnsibleFilterError(
            f"batch: {', '.join(wrong) or 'an empty list'}; expected a number of hosts, a percentage, or a list of these; "
            'fix: -e batch=32, -e batch=10% or -e \'{"batch": [1, 8, "25%"]}\''
        )
    return value


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Any]:
        """Return them by name."""
        return {"batch_sizes": batch_sizes}
