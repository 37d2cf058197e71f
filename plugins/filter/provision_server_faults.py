# Copyright: gpuyard maintainers
# GNU General Public License v3.0 or later (see https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find what cannot be right about the arguments of role provision_server. It runs on the controller."""

from __future__ import annotations

import re
from typing import Any

from ansible_collections.gpuyard.cluster.plugins.plugin_utils.faults import tell

DOCUMENTATION = r"""
name: provision_server_faults
short_description: Finds what cannot be right about the arguments of role provision_server
description:
  - Checks paths, the limit of connections, and the names and values of secrets, whose values it never tells.
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
    names: [provision_server_tree, provision_server_secrets]
    faults: "{{ dict(names | zip(q('ansible.builtin.vars', *names))) | gpuyard.cluster.provision_server_faults }}"
"""

RETURN = r"""
_value:
  description: The faults, a sentence each with variable, value, what was expected, and how to fix it; empty where there is none.
  type: list
  elements: str
"""

NAME = re.compile(r"[a-z0-9-]+(/[a-z0-9.-]+)?")
PATHS = {
    "provision_server_tree": "name the folder that gpuyard render wrote",
    "provision_server_intent": "name the folder of cluster.yml",
    "provision_server_program": "name it as `command -v gpuyard` prints it on the boot server",
}


def provision_server_faults(arguments: dict[str, Any]) -> list[str]:
    """Return what cannot be right."""
    relative = [(name, str(arguments[name]), fix) for name, fix in PATHS.items() if not str(arguments[name]).startswith("/")]
    faults = [tell(name, path, "an absolute path", fix) for name, path, fix in relative]
    per_address = int(arguments["provision_server_per_address"])
    if not 1 <= per_address <= 4096:
        faults.append(tell("provision_server_per_address", per_address, "1 to 4096", "leave it out for 32"))
    secrets: dict[str, Any] = arguments["provision_server_secrets"]
    names = [name for name in secrets if not NAME.fullmatch(name)]
    if names:
        fix = "name them as rendered files do"
        faults.append(tell("provision_server_secrets", ", ".join(names), "names such as ops-password", fix))
    values = [name for name, value in secrets.items() if not str(value) or "\n" in str(value)]
    if values:
        faults.append(tell("provision_server_secrets", ", ".join(values), "one line of text each", "set the value"))
    return faults


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return it by its name."""
        return {"provision_server_faults": provision_server_faults}
