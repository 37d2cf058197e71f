# Copyright: gpuyard maintainers
# GNU General Public License v3.0 or later (see https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find what cannot be right about the arguments of role cuda_nccl. It runs on the controller."""

from __future__ import annotations

import re
from typing import Any

from ansible.module_utils.parsing.convert_bool import boolean
from ansible_collections.gpuyard.cluster.plugins.plugin_utils.faults import find_major, tell

DOCUMENTATION = r"""
name: cuda_nccl_faults
short_description: Finds what cannot be right about the arguments of role cuda_nccl
description:
  - Holds NCCL's version to CUDA's and the driver's, and checks NCCL's settings.
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
    names: [cuda_nccl_version, cuda_nccl_cuda, cuda_nccl_driver, cuda_nccl_ib_hca]
    faults: "{{ dict(names | zip(q('ansible.builtin.vars', *names))) | gpuyard.cluster.cuda_nccl_faults }}"
"""

RETURN = r"""
_value:
  description: The faults, a sentence each with variable, value, what was expected, and how to fix it; empty where there is none.
  type: list
  elements: str
"""

OLDEST_DRIVER = {11: 450, 12: 525, 13: 580}
"""Oldest driver branch for each CUDA major: docs.nvidia.com, CUDA Compatibility, Minor Version Compatibility, table 1."""
NCCL = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+(-[0-9]+)?\+cuda([0-9]+)\.[0-9]+")
ADAPTER = re.compile(r"[a-z][A-Za-z0-9_]*(:[1-9])?")
OF_THEIR_OWN = [
    *("NCCL_IB_HCA", "NCCL_IB_TC", "NCCL_IB_GID_INDEX", "NCCL_CROSS_NIC", "NCCL_IB_ADAPTIVE_ROUTING", "NCCL_SOCKET_IFNAME"),
    *("NCCL_TOPO_FILE", "NCCL_DMABUF_ENABLE"),
]
"""What the role sets by arguments of its own."""


def cuda_nccl_faults(arguments: dict[str, Any]) -> list[str]:
    """Return what cannot be right."""
    return [*_find_wrong_versions(arguments), *_find_wrong_settings(arguments), *_find_wrong_tests(arguments)]


def _find_wrong_versions(arguments: dict[str, Any]) -> list[str]:
    version, cuda = str(arguments["cuda_nccl_version"]), str(arguments["cuda_nccl_cuda"])
    driver = str(arguments["cuda_nccl_driver"])
    faults = []
    nccl = NCCL.fullmatch(version)
    if not nccl:
        fix = "set versions_nccl in the version lock to what `apt-cache madison libnccl2` lists"
        faults.append(tell("cuda_nccl_version", version, "a version such as 2.28.9-1+cuda13.0", fix))
    if not re.fullmatch(r"[0-9]+\.[0-9]+", cuda):
        faults.append(tell("cuda_nccl_cuda", cuda, "MAJOR.MINOR such as 13.0", "set versions_cuda in the version lock"))
    elif nccl and nccl[2] != find_major(cuda):
        expected = f"a build for CUDA {find_major(cuda)}, the major of cuda_nccl_cuda ({cuda})"
        faults.append(tell("cuda_nccl_version", version, expected, "set versions_nccl and versions_cuda to one major"))
    least = OLDEST_DRIVER.get(int(nccl[2]), 0) if nccl else 0
    branch = find_major(driver)
    if branch.isdigit() and int(branch) < least:
        expected = (
            f"a build for a CUDA that driver {driver} runs, and CUDA {nccl[2] if nccl else ''} needs branch {least} or newer"
        )
        faults.append(tell("cuda_nccl_version", version, expected, "take an NCCL for an older CUDA, or a newer driver"))
    return faults


def _find_wrong_settings(arguments: dict[str, Any]) -> list[str]:
    adapters: list[str] = arguments["cuda_nccl_ib_hca"]
    traffic_class, gid_index = int(arguments["cuda_nccl_traffic_class"]), int(arguments["cuda_nccl_gid_index"])
    extra: dict[str, Any] = arguments["cuda_nccl_extra"]
    faults = []
    if not all(map(ADAPTER.fullmatch, adapters)):
        faults.append(tell("cuda_nccl_ib_hca", ", ".join(adapters), "names such as mlx5_0 or mlx5_0:1", "see ibdev2netdev"))
    if len(set(adapters)) != len(adapters):
        faults.append(tell("cuda_nccl_ib_hca", ", ".join(adapters), "each device once", "remove the second"))
    if not 0 <= traffic_class <= 255:
        faults.append(tell("cuda_nccl_traffic_class", traffic_class, "0 to 255", "it is a ToS byte, 106 for DSCP 26"))
    if traffic_class % 4 not in (0, 2):
        expected = "its two lowest bits to be 0 or ECT(0)"
        faults.append(tell("cuda_nccl_traffic_class", traffic_class, expected, "set DSCP times 4, plus 2"))
    if not -1 <= gid_index <= 255:
        faults.append(tell("cuda_nccl_gid_index", gid_index, "-1 or an index", "see show_gids, or leave it at -1"))
    foreign = [name for name in extra if not re.fullmatch(r"NCCL_[A-Z0-9_]+", name)]
    if foreign:
        fix = "set other variables in the job"
        faults.append(tell("cuda_nccl_extra", ", ".join(foreign), "names that begin with NCCL_", fix))
    twice = [name for name in extra if name in OF_THEIR_OWN]
    if twice:
        expected = "only settings that no other argument of the role has"
        faults.append(tell("cuda_nccl_extra", ", ".join(twice), expected, "set cuda_nccl_* instead"))
    return faults


def _find_wrong_tests(arguments: dict[str, Any]) -> list[str]:
    if not boolean(arguments["cuda_nccl_tests"]):  # -e gives a text
        return []
    version, digest = str(arguments["cuda_nccl_tests_version"]), str(arguments["cuda_nccl_tests_sha256"])
    faults = []
    if not re.fullmatch(r"[0-9]+\.[0-9]+\.[0-9]+", version):
        faults.append(tell("cuda_nccl_tests_version", version, "a version such as 2.17.6", "set versions_nccl_tests"))
    if not re.fullmatch(r"[0-9a-f]{64}", digest):
        fix = "set versions_nccl_tests_sha256 in the version lock to what sha256sum says of a tarball that you trust"
        faults.append(tell("cuda_nccl_tests_sha256", digest, "64 hexadecimal digits", fix))
    return faults


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return it by its name."""
        return {"cuda_nccl_faults": cuda_nccl_faults}
