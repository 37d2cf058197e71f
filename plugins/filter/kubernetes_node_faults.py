# Copyright: gpuyard maintainers
# GNU General Public License v3.0 or later (see https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find what cannot be right about the arguments of role kubernetes_node. It runs on the controller."""

from __future__ import annotations

import re
from typing import Any

from ansible_collections.gpuyard.cluster.plugins.plugin_utils.faults import tell

DOCUMENTATION = r"""
name: kubernetes_node_faults
short_description: Finds what cannot be right about the arguments of role kubernetes_node
description:
  - Checks the version, paths, kernel settings and names.
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
    names: [kubernetes_node_tree, kubernetes_node_version]
    faults: "{{ dict(names | zip(q('ansible.builtin.vars', *names))) | gpuyard.cluster.kubernetes_node_faults }}"
"""

RETURN = r"""
_value:
  description: The faults, a sentence each with variable, value, what was expected, and how to fix it; empty where there is none.
  type: list
  elements: str
"""

RELEASE = re.compile(r"1\.[0-9]+\.[0-9]+")
SETTING = re.compile(r"[a-z0-9_*-]+([./][A-Za-z0-9_*-]+)+")
IMAGE = re.compile(r"[a-z0-9][a-z0-9.:/_-]*:[A-Za-z0-9_.-]+|")
CHECK = re.compile(r"[A-Za-z0-9-]+")


def kubernetes_node_faults(arguments: dict[str, Any]) -> list[str]:
    """Return what cannot be right. `gpuyard_kubernetes_node` is among the arguments: what the plan says of the server."""
    if not arguments["gpuyard_kubernetes_node"]:
        return []  # a server that is no node, for which the role does nothing
    faults = []
    tree, version = str(arguments["kubernetes_node_tree"]), str(arguments["kubernetes_node_version"])
    if not tree.startswith("/"):
        faults.append(tell("kubernetes_node_tree", tree, "an absolute path", "name the folder that gpuyard render wrote"))
    if not RELEASE.fullmatch(version):
        expected = "a version with its patch release, such as 1.36.3"
        faults.append(tell("kubernetes_node_version", version, expected, "name it in the intent, kubernetes.version, and render"))
    package, image = str(arguments["kubernetes_node_containerd_package"]), str(arguments["kubernetes_node_pause_image"])
    if not re.fullmatch(r"[a-z0-9][a-z0-9.+-]+", package):
        fix = "set it to containerd.io or containerd"
        faults.append(tell("kubernetes_node_containerd_package", package, "the name of a package", fix))
    if not IMAGE.fullmatch(image):
        expected = "an image with its tag, such as registry.k8s.io/pause:3.10.2"
        faults.append(tell("kubernetes_node_pause_image", image, expected, "leave it out for that of the plan's version"))
    for key in arguments["kubernetes_node_sysctl"]:
        if not SETTING.fullmatch(str(key)):
            faults.append(tell("kubernetes_node_sysctl", key, "a name like net.ipv4.ip_forward", "see sysctl -a"))
    for name in arguments["kubernetes_node_ignore_preflight"]:
        if not CHECK.fullmatch(str(name)):
            fix = "write it as kubeadm prints it, such as Swap"
            faults.append(tell("kubernetes_node_ignore_preflight", name, "the name of a check", fix))
    timeout_s = int(arguments["kubernetes_node_join_timeout_s"])
    if timeout_s < 60:
        faults.append(tell("kubernetes_node_join_timeout_s", timeout_s, "60 or more", "leave it out for 600"))
    return faults


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return it by its name."""
        return {"kubernetes_node_faults": kubernetes_node_faults}
