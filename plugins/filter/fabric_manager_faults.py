# Copyright: gpuyard maintainers
# GNU General Public License v3.0 or later (see https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find what cannot be right about the arguments of role fabric_manager. It runs on the controller."""

from __future__ import annotations

import re
from typing import Any

from ansible_collections.gpuyard.cluster.plugins.plugin_utils.faults import PACKAGE_VERSION, find_upstream, tell

DOCUMENTATION = r"""
name: fabric_manager_faults
short_description: Finds what cannot be right about the arguments of role fabric_manager
description:
  - Checks that the version is the driver's, and that a compute tray's IMEX is looked after.
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
    names: [fabric_manager_version, fabric_manager_driver_version, fabric_manager_gpu, fabric_manager_imex]
    faults: "{{ dict(names | zip(q('ansible.builtin.vars', *names))) | gpuyard.cluster.fabric_manager_faults }}"
"""

RETURN = r"""
_value:
  description: The faults, a sentence each with variable, value, what was expected, and how to fix it; empty where there is none.
  type: list
  elements: str
"""

TRAY = re.compile(r"gb[23]00")
"""Models of an NVL72 rack: their NVSwitches are in trays of their own, and hosts run IMEX."""


def fabric_manager_faults(arguments: dict[str, Any]) -> list[str]:
    """Return what cannot be right."""
    version, imex = str(arguments["fabric_manager_version"]), str(arguments["fabric_manager_imex"])
    driver = find_upstream(arguments["fabric_manager_driver_version"])
    model = str(arguments["fabric_manager_gpu"].get("model") or "")
    faults = []
    if not PACKAGE_VERSION.fullmatch(version):
        fix = "set versions_driver in the version lock, which versions_fabric_manager follows"
        faults.append(tell("fabric_manager_version", version, "a whole version such as 580.95.05", fix))
    if find_upstream(version) != driver:
        expected = f"{driver}, exactly the driver's, or CUDA fails with error 802"
        faults.append(tell("fabric_manager_version", version, expected, "set versions_fabric_manager to versions_driver"))
    if TRAY.search(model) and imex != "elsewhere":
        expected = f"elsewhere, since {model} is a compute tray, whose nvidia-imex gpuyard does not configure"
        fix = f"run nvidia-imex {version} with its nodes_config.cfg by your own means, and set fabric_manager_imex to elsewhere"
        faults.append(tell("fabric_manager_imex", imex, expected, fix))
    return faults


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return it by its name."""
        return {"fabric_manager_faults": fabric_manager_faults}
