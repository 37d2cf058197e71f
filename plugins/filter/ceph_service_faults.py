# Copyright: gpuyard maintainers
# GNU General Public License v3.0 or later (see https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find what cannot be right about the arguments of role ceph_service. It runs on the controller."""

from __future__ import annotations

from typing import Any

from ansible_collections.gpuyard.cluster.plugins.plugin_utils.faults import check_packages, check_tree, check_wait

DOCUMENTATION = r"""
name: ceph_service_faults
short_description: Finds what cannot be right about the arguments of role ceph_service
description:
  - Checks the folder of the rendered tree, how long is waited, and that there are packages.
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
    names: [ceph_service_tree, ceph_service_wait_s, ceph_service_mds_packages]
    faults: "{{ dict(names | zip(q('ansible.builtin.vars', *names))) | gpuyard.cluster.ceph_service_faults }}"
"""

RETURN = r"""
_value:
  description: The faults, a sentence each with variable, value, what was expected, and how to fix it; empty where there is none.
  type: list
  elements: str
"""


def ceph_service_faults(arguments: dict[str, Any]) -> list[str]:
    """Return what cannot be right."""
    packages = ("ceph_service_mds_packages", "the packages with ceph-mds and ceph", "leave it out for ceph-mds and ceph-common")
    return [*check_tree(arguments, "ceph_service"), *check_wait(arguments, "ceph_service"), *check_packages(arguments, *packages)]


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return it by its name."""
        return {"ceph_service_faults": ceph_service_faults}
