# Copyright: gpuyard maintainers
# GNU General Public License v3.0 or later (see https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find keys of package sources that are not the vendor's. It runs on the controller, where the keys are."""

from __future__ import annotations

import re
from typing import Any

from ansible_collections.gpuyard.cluster.plugins.plugin_utils.faults import tell

DOCUMENTATION = r"""
name: package_source_key_faults
short_description: Finds keys of package sources that are not the vendor's
description:
  - Compares the fingerprints of key files, as C(gpg --show-keys --with-colons) lists them, with those that are expected.
author: gpuyard maintainers
positional: read, downloads
options:
  _input:
    description: The keys, each with C(name), C(file), C(url) (empty where it is not downloaded) and C(fingerprints).
    type: list
    elements: dict
    required: true
  read:
    description: What gpg said of each key; results of a loop over keys.
    type: list
    elements: dict
    required: true
  downloads:
    description: How the download of each key went; results of a loop over keys.
    type: list
    elements: dict
    required: true
"""

EXAMPLES = r"""
- name: Refuse a key that is not the vendor's
  ansible.builtin.assert:
    that: faults | length == 0
    fail_msg: "{{ faults | join('\n') }}"
  vars:
    faults: "{{ keys | gpuyard.cluster.package_source_key_faults(read.results, downloads.results) }}"
"""

RETURN = r"""
_value:
  description: The faults, a sentence each with the key's file, what it holds, what was expected, and how to fix it.
  type: list
  elements: str
"""

PRIMARY = re.compile(r"^pub:.*\nfpr:+([0-9A-F]{40}):", re.MULTILINE)
"""A primary key and its fingerprint, which follows it at once; those of its subkeys come later."""
Result = dict[str, Any]
"""What a task returned for one item of its loop."""


def package_source_key_faults(keys: list[dict[str, Any]], read: list[Result], downloads: list[Result]) -> list[str]:
    """Return a fault for each key that holds no fingerprint, or one that is not expected."""
    return [fault for key in keys if (fault := _find_fault(key, _find_result(read, key), _find_result(downloads, key)))]


def _find_result(results: list[Result], key: dict[str, Any]) -> Result:
    return next((result for result in results if result["item"] == key), {})


def _find_fault(key: dict[str, Any], read: Result, download: Result) -> str:
    """Return what is wrong with one key, empty where nothing is."""
    found = PRIMARY.findall(read.get("stdout") or "")
    if found and set(found) <= set(key["fingerprints"]):
        return ""
    failure = str(download.get("response") or download.get("msg") or "") if download.get("failed") else ""
    why = "; ".join(filter(None, [failure, str(read.get("stderr") or read.get("msg") or "")]))
    get = f"let it reach {key['url']}, remove the file to have it downloaded again" if key["url"] else "put the key there"
    fix = f"have gpg on the controller and {get}, or, if the vendor has a new one, "
    fix += f"set package_source_repositories.{key['name']}.fingerprints"
    return tell(
        key["name"], f"{key['file']} holds {', '.join(found) or f'no key ({why})'}", " or ".join(key["fingerprints"]), fix
    )


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return it by its name."""
        return {"package_source_key_faults": package_source_key_faults}
