# Copyright: gpuyard maintainers
# GNU General Public License v3.0 or later (see https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find what cannot be right about the arguments of role nvidia_driver. It runs on the controller."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ansible_collections.gpuyard.cluster.plugins.plugin_utils.faults import PACKAGE_VERSION, find_major, find_upstream, tell

DOCUMENTATION = r"""
name: nvidia_driver_faults
short_description: Finds what cannot be right about the arguments of role nvidia_driver
description:
  - Checks the version against lock and plan, the kind of modules against the GPUs' generation, and module parameters.
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
    names: [nvidia_driver_version, versions_driver, nvidia_driver_gpu, nvidia_driver_modules]
    faults: "{{ dict(names | zip(q('ansible.builtin.vars', *names))) | gpuyard.cluster.nvidia_driver_faults }}"
"""

RETURN = r"""
_value:
  description: The faults, a sentence each with variable, value, what was expected, and how to fix it; empty where there is none.
  type: list
  elements: str
"""

NOT_OPEN = {"kepler", "maxwell", "pascal", "volta"}
"""Generations that the open modules do not drive, and that branches after 580 dropped (NVIDIA, driver installation guide)."""
OPEN_ONLY = {"blackwell", "rubin"}
LAST_OLD_BRANCH = 580
PARAMETER = re.compile(r"NVreg_[A-Za-z0-9]+")
UNQUOTABLE = re.compile(r'[\s"]')


def nvidia_driver_faults(arguments: dict[str, Any]) -> list[str]:
    """Return what cannot be right; `versions_driver` may be empty where the role is used without a lock."""
    version = str(arguments["nvidia_driver_version"])
    lock = find_upstream(arguments["versions_driver"] or version)
    gpu: dict[str, Any] = arguments["nvidia_driver_gpu"]
    plan = str(gpu.get("driver") or "")
    faults = []
    if not PACKAGE_VERSION.fullmatch(version):
        fix = "set versions_driver in the version lock"
        faults.append(tell("nvidia_driver_version", version, "a whole version such as 580.95.05", fix))
    if find_upstream(version) != lock:
        fix = "change versions_driver, so that fabric manager, IMEX and the others move with the driver"
        faults.append(tell("nvidia_driver_version", version, f"{lock}, which the version lock has as versions_driver", fix))
    if plan and plan != find_major(version):
        fix = "change versions_driver, or change gpu.driver in the intent and render again"
        faults.append(tell("nvidia_driver_version", version, f"branch {plan}, as the plan has it", fix))
    faults += _find_wrong_modules(str(arguments["nvidia_driver_modules"]), str(gpu.get("generation") or ""), version)
    parameters: dict[str, Any] = arguments["nvidia_driver_module_parameters"]
    wrong = [name for name, value in sorted(parameters.items()) if not PARAMETER.fullmatch(name) or UNQUOTABLE.search(str(value))]
    if wrong:
        expected = "names such as NVreg_CreateImexChannel0, and values without blanks or quotes"
        faults.append(tell("nvidia_driver_module_parameters", ", ".join(wrong), expected, "see `modinfo -p nvidia`"))
    drain = str(arguments["nvidia_driver_drain_tasks"])
    if drain and not Path(drain).is_file():
        fix = "give its whole path, such as one that begins with playbook_dir"
        faults.append(tell("nvidia_driver_drain_tasks", drain, "a file of tasks on this machine", fix))
    return faults


def _find_wrong_modules(modules: str, generation: str, version: str) -> list[str]:
    """Return what the generation of the GPUs, where the plan tells it, does not go with."""
    branch = find_major(version)
    faults = []
    if generation in NOT_OPEN and modules == "open":
        expected = f"proprietary for {generation}, whose GPUs the open modules do not drive"
        faults.append(tell("nvidia_driver_modules", modules, expected, "set auto or proprietary"))
    if generation in OPEN_ONLY and modules == "proprietary":
        expected = f"open for {generation}, whose GPUs only the open modules drive"
        faults.append(tell("nvidia_driver_modules", modules, expected, "set auto or open"))
    if generation in NOT_OPEN and branch.isdigit() and int(branch) > LAST_OLD_BRANCH:
        expected = f"branch 580 or older for {generation}, which newer branches dropped"
        faults.append(tell("nvidia_driver_version", version, expected, "give these hosts a version lock of their own"))
    return faults


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return it by its name."""
        return {"nvidia_driver_faults": nvidia_driver_faults}
