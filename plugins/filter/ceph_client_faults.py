# Copyright: gpuyard maintainers
# GNU General Public License v3.0 or later (see https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find what cannot be right about the arguments of role ceph_client. It runs on the controller."""

from __future__ import annotations

from typing import Any

from ansible_collections.gpuyard.cluster.plugins.plugin_utils.faults import check_packages, check_tree

PACKAGES = {"kernel": "mount.ceph", "fuse": "ceph-fuse"}
"""What the packages of a driver have to have."""
DOCUMENTATION = r"""
name: ceph_client_faults
short_description: Finds what cannot be right about the arguments of role ceph_client
description:
  - Checks the folder of the rendered tree, and that there are packages.
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
    names: [ceph_client_tree, ceph_client_kernel_packages, ceph_client_fuse_packages]
    faults: "{{ dict(names | zip(q('ansible.builtin.vars', *names))) | gpuyard.cluster.ceph_client_faults }}"
"""

RETURN = r"""
_value:
  description: The faults, a sentence each with variable, value, what was expected, and how to fix it; empty where there is none.
  type: list
  elements: str
"""


def ceph_client_faults(arguments: dict[str, Any]) -> list[str]:
    """Return what cannot be right."""
    faults = check_tree(arguments, "ceph_client")
    for driver, package in PACKAGES.items():
        faults += check_packages(arguments, f"ceph_client_{driver}_packages", f"the package with {package}", "leave it out")
    return faults


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return it by its name."""
        return {"ceph_client_faults": ceph_client_faults}
