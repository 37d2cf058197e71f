# Copyright: gpuyard maintainers
# GNU General Public License v3.0 or later (see https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find what cannot be right about the arguments of role package_source. It runs on the controller."""

from __future__ import annotations

import re
from typing import Any

from ansible_collections.gpuyard.cluster.plugins.plugin_utils.faults import tell

DOCUMENTATION = r"""
name: package_source_faults
short_description: Finds what cannot be right about the arguments of role package_source
description:
  - Checks that each source is known, and that it says where its packages are and by which keys they are signed.
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
    names: [package_source_names, package_source_mode, package_source_repositories]
    faults: "{{ dict(names | zip(q('ansible.builtin.vars', *names))) | gpuyard.cluster.package_source_faults }}"
"""

RETURN = r"""
_value:
  description: The faults, a sentence each with variable, value, what was expected, and how to fix it; empty where there is none.
  type: list
  elements: str
"""

BUILT_IN = ["nvidia-cuda", "nvidia-container-toolkit", "doca", "docker"]
CHECKED = ["nvidia-cuda", "nvidia-container-toolkit", "docker"]
"""Sources whose fingerprints the role knows."""
MINOR = re.compile(r"kubernetes-1\.([0-9]+)")
"""Kubernetes' source of a minor version; the role knows its fingerprint."""
OLDEST_MINOR = 24
"""The first that the vendor's server has."""


def package_source_faults(arguments: dict[str, Any]) -> list[str]:
    """Return what cannot be right."""
    names: list[str] = arguments["package_source_names"]
    own: dict[str, dict[str, Any]] = arguments["package_source_repositories"]
    mode = arguments["package_source_mode"]
    known = sorted({*BUILT_IN, *own})
    faults = []
    minors = {name: int(found[1]) for name in names if (found := MINOR.fullmatch(name))}
    unknown = [name for name in names if name not in known and name not in minors]
    if unknown:
        fix = "correct the name, or describe it in package_source_repositories"
        expected = f"names out of {', '.join([*known, 'kubernetes-1.MINOR'])}"
        faults.append(tell("package_source_names", ", ".join(unknown), expected, fix))
    faults += _find_wrong_place(arguments, mode)
    old = [name for name, minor in minors.items() if minor < OLDEST_MINOR and "url" not in own.get(name, {})]
    if mode == "vendor" and old:
        expected = f"kubernetes-1.{OLDEST_MINOR} or newer, since pkgs.k8s.io has none older"
        fix = f"plan a newer version, or set package_source_repositories.{old[0]}.url"
        faults.append(tell("package_source_names", ", ".join(old), expected, fix))
    checked = {*CHECKED, *minors}
    unchecked = [name for name in names if name in known and name not in checked and "fingerprints" not in own.get(name, {})]
    if unchecked:
        expected = "the 40 digits of each key that the vendor signs with"
        fix = "read them from a second place than the key, and set package_source_repositories.NAME.fingerprints"
        faults.append(tell("package_source_repositories", f"no fingerprints for {', '.join(unchecked)}", expected, fix))
    if mode == "vendor" and "doca" in names and not own.get("doca", {}).get("url") and not arguments["versions_doca"]:
        fix = "set it in the version lock, or set package_source_repositories.doca.url"
        faults.append(tell("versions_doca", "", "a release such as 3.2.1, which the vendor's URL names", fix))
    nowhere = [name for name in names if name in own and name not in [*BUILT_IN, *minors] and "url" not in own[name]]
    if mode == "vendor" and nowhere:
        value, fix = f"no url for {', '.join(nowhere)}", "set package_source_repositories.NAME.url"
        faults.append(tell("package_source_repositories", value, "one, since package_source_mode is vendor", fix))
    return faults


def _find_wrong_place(arguments: dict[str, Any], mode: str) -> list[str]:
    mirror, folder = str(arguments["package_source_mirror"]), str(arguments["package_source_folder"])
    faults = []
    if mode == "mirror" and not re.fullmatch(r"(https?|file)://.+[^/]", mirror):
        expected = "a URL without a slash at its end, since package_source_mode is mirror"
        fix = "set it to your mirror, such as https://mirror.example.net/apt"
        faults.append(tell("package_source_mirror", mirror, expected, fix))
    if mode == "folder" and not re.fullmatch(r"/.*[^/]", folder):
        expected = "an absolute path on the hosts, since package_source_mode is folder"
        faults.append(tell("package_source_folder", folder, expected, "set it to where the packages lie, such as /srv/packages"))
    if mode != "vendor" and not arguments["package_source_keys"]:
        expected = f"a folder on the controller with NAME.asc for each source, since package_source_mode is {mode}"
        faults.append(tell("package_source_keys", "", expected, "put the keys there by hand; their fingerprints are checked"))
    return faults


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return it by its name."""
        return {"package_source_faults": package_source_faults}
