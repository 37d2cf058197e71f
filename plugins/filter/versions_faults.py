# Copyright: gpuyard maintainers
# GNU General Public License v3.0 or later (see https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find what cannot be right about the arguments of role versions. It runs on the controller."""

from __future__ import annotations

import re
from typing import Any

from ansible_collections.gpuyard.cluster.plugins.plugin_utils.faults import VERSION, find_major, tell

DOCUMENTATION = r"""
name: versions_faults
short_description: Finds what cannot be right about the arguments of role versions
description:
  - Holds the versions of the fleet's lock to each other, and the driver's branch to the plan's.
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
    names: [versions_driver, versions_cuda, versions_nccl]
    faults: "{{ dict(names | zip(q('ansible.builtin.vars', *names))) | gpuyard.cluster.versions_faults }}"
"""

RETURN = r"""
_value:
  description: The faults, a sentence each with variable, value, what was expected, and how to fix it; empty where there is none.
  type: list
  elements: str
"""


def versions_faults(arguments: dict[str, Any]) -> list[str]:
    """Return what does not fit together; C(gpuyard_gpu) is the plan's, empty without one."""
    driver = str(arguments["versions_driver"])
    known: dict[str, Any] = arguments["versions_driver_cuda"]
    branch = find_major(driver)
    brings = str(known.get(branch, ""))
    planned = find_major(arguments["gpuyard_gpu"].get("driver") or "")
    faults = []
    if not VERSION.fullmatch(driver):
        fix = "leave out what the package adds to it"
        faults.append(tell("versions_driver", driver, "upstream's version such as 580.95.05", fix))
    for name, why in (("versions_fabric_manager", ", since it refuses any other"), ("versions_imex", "")):
        if str(arguments[name]) != driver:
            fix = "set both to one version"
            faults.append(tell(name, arguments[name], f"{driver}, the driver's{why}", fix))
    if not brings:
        fix = f"add branch {branch}, with the CUDA that it brings, to versions_driver_cuda"
        faults.append(tell("versions_driver", driver, f"a branch out of {', '.join(sorted(known))}", fix))
    if planned not in ("", branch):
        expected = f"branch {planned}, as gpu.driver of the intent has it"
        faults.append(tell("versions_driver", driver, expected, "change one of the two"))
    return [*faults, *_find_wrong_cuda(arguments, driver, brings), *_find_wrong_doca(arguments)]


def _find_wrong_cuda(arguments: dict[str, Any], driver: str, brings: str) -> list[str]:
    """Return what does not go with the CUDA that the driver brings, which is empty where it is unknown."""
    cuda, nccl, dcgm_cuda = (str(arguments[f"versions_{name}"]) for name in ("cuda", "nccl", "dcgm_cuda"))
    major, brought = find_major(cuda), find_major(brings)
    faults = []
    if not re.fullmatch(r"[0-9]+\.[0-9]+", cuda):
        faults.append(tell("versions_cuda", cuda, "MAJOR.MINOR such as 13.0", "write it in that form, in quotes"))
    elif brings and _count(cuda) > _count(brings):
        expected = f"{brings} at most, which driver {driver} brings"
        faults.append(tell("versions_cuda", cuda, expected, "lower it, or raise versions_driver"))
    built_for = re.search(r"\+cuda([0-9]+)[0-9.]*$", nccl)
    if not built_for or built_for[1] != major:
        expected = f"a version that ends with +cuda{major}.x, the major of versions_cuda"
        faults.append(tell("versions_nccl", nccl, expected, "take NCCL's package for that CUDA"))
    if brings and dcgm_cuda != brought:
        expected = f"{brought}, the CUDA major of driver {driver}"
        faults.append(tell("versions_dcgm_cuda", dcgm_cuda, expected, f"set it to {brought}"))
    return faults


def _find_wrong_doca(arguments: dict[str, Any]) -> list[str]:
    doca, kernel = str(arguments["versions_doca"]), str(arguments["versions_kernel"])
    known: dict[str, dict[str, Any]] = arguments["versions_doca_kernels"]
    line = ".".join(doca.split(".")[:2])
    if not doca:
        return []
    faults = []
    if line not in known:
        fix = f"add {line}, with the kernels that it builds on, to versions_doca_kernels"
        faults.append(tell("versions_doca", doca, f"a release out of {', '.join(sorted(known))}", fix))
    if not kernel:
        expected = "the fleet's kernel, since DOCA's drivers are built for it"
        faults.append(tell("versions_kernel", kernel, expected, "set it to MAJOR.MINOR, such as 6.1"))
    elif line in known:
        first, last = str(known[line]["from"]), str(known[line]["to"])
        if not _count(first) <= _count(kernel) <= _count(last):
            expected = f"{first} to {last}, which DOCA {doca} builds on"
            faults.append(
                tell("versions_kernel", kernel, expected, "change the kernel or DOCA, or correct versions_doca_kernels")
            )
    return faults


def _count(version: str) -> tuple[int, ...]:
    """Return the first two numbers of a version."""
    return tuple(int(number) for number in re.findall(r"[0-9]+", version)[:2])


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return it by its name."""
        return {"versions_faults": versions_faults}
