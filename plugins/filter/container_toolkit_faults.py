# Copyright: gpuyard maintainers
# GNU General Public License v3.0 or later (see https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find what cannot be right about the arguments of role container_toolkit. It runs on the controller."""

from __future__ import annotations

import re
from typing import Any

from ansible_collections.gpuyard.cluster.plugins.plugin_utils.faults import tell

DOCUMENTATION = r"""
name: container_toolkit_faults
short_description: Finds what cannot be right about the arguments of role container_toolkit
description:
  - Checks the toolkit's version, and that each engine has a package.
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
    names: [container_toolkit_version, container_toolkit_engines, container_toolkit_engine_packages]
    faults: "{{ dict(names | zip(q('ansible.builtin.vars', *names))) | gpuyard.cluster.container_toolkit_faults }}"
"""

RETURN = r"""
_value:
  description: The faults, a sentence each with variable, value, what was expected, and how to fix it; empty where there is none.
  type: list
  elements: str
"""

RELEASE = re.compile(r"([0-9]+)\.([0-9]+)\.([0-9]+)")
OLDEST = (1, 18, 0)
"""The first that writes a drop-in file for containerd and describes GPUs by itself."""


def container_toolkit_faults(arguments: dict[str, Any]) -> list[str]:
    """Return what cannot be right."""
    version = str(arguments["container_toolkit_version"])
    engines: list[str] = arguments["container_toolkit_engines"]
    packages: dict[str, str] = arguments["container_toolkit_engine_packages"]
    faults = []
    release = RELEASE.match(version)
    if not release:
        fix = "set versions_container_toolkit in the version lock to what `apt-cache madison nvidia-container-toolkit` lists"
        faults.append(tell("container_toolkit_version", version, "a version such as 1.18.1-1", fix))
    elif tuple(map(int, release.groups())) < OLDEST:
        expected = "1.18.0 or newer, since older ones rewrite containerd's config.toml and do not describe new GPUs"
        faults.append(tell("container_toolkit_version", version, expected, "raise versions_container_toolkit"))
    if set(engines) - set(packages):
        value, expected = ", ".join(packages), f"a package for each of {', '.join(engines)}"
        faults.append(tell("container_toolkit_engine_packages", value, expected, "add the missing ones"))
    return faults


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return it by its name."""
        return {"container_toolkit_faults": container_toolkit_faults}
