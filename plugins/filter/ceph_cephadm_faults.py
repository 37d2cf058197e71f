# Copyright: gpuyard maintainers
# GNU General Public License v3.0 or later (see https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find what cannot be right about the arguments of role ceph_cephadm. It runs on the controller."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ansible_collections.gpuyard.cluster.plugins.plugin_utils.faults import check_packages, check_tree, check_wait, tell

IMAGE = re.compile(r"[a-z0-9][a-z0-9._:/-]*(:[A-Za-z0-9_][A-Za-z0-9._-]*|@sha256:[0-9a-f]{64})")
USER = re.compile(r"[a-z_][a-z0-9_-]{0,31}")
OUTER = ("service_type", "service_id", "service_name", "placement", "unmanaged", "spec")
"""Keys of a specification around what it says of OSDs."""

DOCUMENTATION = r"""
name: ceph_cephadm_faults
short_description: Finds what cannot be right about the arguments of role ceph_cephadm
description:
  - Checks the folder of the rendered tree, how long is waited, that there are packages, and the words that cephadm is told.
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
    names: [ceph_cephadm_tree, ceph_cephadm_wait_s, ceph_cephadm_image]
    faults: "{{ dict(names | zip(q('ansible.builtin.vars', *names))) | gpuyard.cluster.ceph_cephadm_faults }}"
"""

RETURN = r"""
_value:
  description: The faults, a sentence each with variable, value, what was expected, and how to fix it; empty where there is none.
  type: list
  elements: str
"""


def ceph_cephadm_faults(arguments: dict[str, Any]) -> list[str]:
    """Return what cannot be right."""
    packages = ("ceph_cephadm_packages", "the packages with podman and lvcreate", "leave it out for podman and lvm2")
    tools = ("ceph_cephadm_tools", "the packages with cephadm and ceph", "leave it out for cephadm and ceph-common")
    return [
        *check_tree(arguments, "ceph_cephadm"),
        *check_wait(arguments, "ceph_cephadm", 7200, 900),
        *check_packages(arguments, *packages),
        *check_packages(arguments, *tools),
        *_judge_words(arguments),
        *_judge_osds(arguments["ceph_cephadm_osd_options"]),
    ]


def _judge_words(arguments: dict[str, Any]) -> Iterator[str]:
    """Tell which of the words that cephadm is told cannot be right."""
    image, user = arguments["ceph_cephadm_image"], arguments["ceph_cephadm_user"]
    if image and not IMAGE.fullmatch(image):
        fix = "name it as podman pull does, or leave it out for cephadm's own"
        yield tell("ceph_cephadm_image", image, "an image with its tag or digest, such as quay.io/ceph/ceph:v19.2.3", fix)
    if not USER.fullmatch(user):
        yield tell("ceph_cephadm_user", user, "a user's name", "leave it out for root")


def _judge_osds(options: dict[str, Any]) -> Iterator[str]:
    """Tell which options of OSDs are not those of a specification's inner part."""
    for name in [name for name in options if name in OUTER]:
        fix = "name what stands under spec alone; hosts and kind are the plan's"
        yield tell("ceph_cephadm_osd_options", name, "keys such as encrypted, method, db_devices", fix)


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return it by its name."""
        return {"ceph_cephadm_faults": ceph_cephadm_faults}
