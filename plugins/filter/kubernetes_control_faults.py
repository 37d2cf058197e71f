# Copyright: gpuyard maintainers
# GNU General Public License v3.0 or later (see https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find what cannot be right about the arguments of role kubernetes_control. It runs on the controller."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from ansible_collections.gpuyard.cluster.plugins.plugin_utils.faults import list_twice, tell

DOCUMENTATION = r"""
name: kubernetes_control_faults
short_description: Finds what cannot be right about the arguments of role kubernetes_control
description:
  - Checks paths, numbers, the list of servers, and that the secret which encrypts Secrets has 32 bytes. It never tells a secret.
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
    names: [kubernetes_control_tree, kubernetes_control_secrets]
    faults: "{{ dict(names | zip(q('ansible.builtin.vars', *names))) | gpuyard.cluster.kubernetes_control_faults }}"
"""

RETURN = r"""
_value:
  description: The faults, a sentence each with variable, value, what was expected, and how to fix it; empty where there is none.
  type: list
  elements: str
"""

SECRET = "kubernetes-encryption"
SECRET_BYTES = 32
"""Source: Kubernetes documentation, encrypting confidential data at rest: secretbox takes 32 bytes."""
PATHS = {
    "kubernetes_control_tree": "name the folder that gpuyard render wrote",
    "kubernetes_control_backup_folder": "name a folder of the servers such as /var/backups/etcd",
}
RANGES = {
    "kubernetes_control_wait_s": (10, 3600, "leave it out for 120"),
    "kubernetes_control_token_hours": (1, 24, "leave it out for 1"),
    "kubernetes_control_backup_hours": (1, 24, "leave it out for 6"),
    "kubernetes_control_backup_keep": (1, 10000, "leave it out for 28"),
    "kubernetes_control_renew_days": (7, 300, "leave it out for 30"),
}
"""The least and the most of each number, and what to do instead."""


def kubernetes_control_faults(arguments: dict[str, Any]) -> list[str]:
    """Return what cannot be right."""
    relative = [(name, str(arguments[name]), fix) for name, fix in PATHS.items() if not str(arguments[name]).startswith("/")]
    faults = [tell(name, path, "an absolute path", fix) for name, path, fix in relative]
    for name, (least, most, fix) in RANGES.items():
        if not least <= int(arguments[name]) <= most:
            faults.append(tell(name, arguments[name], f"{least} to {most}", fix))
    servers: list[str] = arguments["kubernetes_control_servers"]
    if not servers:
        faults.append(tell("kubernetes_control_servers", servers, "all control servers", "leave it out for the group's"))
    faults += [
        tell("kubernetes_control_servers", f"{name} is there {count} times", "once", "take it out")
        for name, count in list_twice(servers).items()
    ]
    return faults + judge_secrets(arguments["kubernetes_control_secrets"])


def judge_secrets(secrets: dict[str, Any]) -> list[str]:
    """Return what cannot be right about secrets, without telling them."""
    if SECRET not in secrets:
        return []  # a tree may name none: the role refuses what lacks once it has seen the tree
    try:
        length = len(base64.b64decode(str(secrets[SECRET]), validate=True))
    except (binascii.Error, ValueError):
        length = -1
    if length == SECRET_BYTES:
        return []
    found = "no Base64" if length < 0 else f"{length} bytes"
    return [
        tell(
            "kubernetes_control_secrets",
            f"{SECRET} has {found}",
            f"{SECRET_BYTES} bytes in Base64",
            f"take what `head -c {SECRET_BYTES} /dev/urandom | base64` prints",
        )
    ]


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return it by its name."""
        return {"kubernetes_control_faults": kubernetes_control_faults}
