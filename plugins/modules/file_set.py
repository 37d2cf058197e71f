#!/usr/bin/python
# Copyright: gpuyard maintainers
# GNU General Public License v3.0 or later (see https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write a set of small text files in one call. Standard library and Ansible only."""

from __future__ import annotations

DOCUMENTATION = r"""
module: file_set
short_description: Writes a set of small text files in one call
description:
  - Writes files with the contents given, removes what a pattern finds beyond them, and says which paths changed.
  - C(ansible.builtin.template) and C(ansible.builtin.copy) need two calls on the host for each file, changed or not. This needs
    one for all of them.
  - Each file is replaced in one stroke. Check mode and C(--diff) tell what a run would do.
author: gpuyard maintainers
options:
  files:
    description: The files.
    type: list
    elements: dict
    required: true
    suboptions:
      path:
        description: Absolute path; folders that lack are made, mode C(0755).
        type: str
        required: true
      content:
        description: All of its text.
        type: str
      link:
        description: What the path shall point to, instead of I(content).
        type: str
      mode:
        description: Permissions, octal.
        type: str
        default: "0644"
      owner:
        description: Owner.
        type: str
        default: root
      group:
        description: Group.
        type: str
        default: root
  purge:
    description: Patterns of paths, as a shell has them. A file that matches one and is not among I(files) is removed.
    type: list
    elements: str
    default: []
attributes:
  check_mode:
    support: full
    description: Says what it would change, and changes nothing.
  diff_mode:
    support: full
    description: Shows each file before and after.
"""

EXAMPLES = r"""
- name: Write the limits of sessions and of services
  gpuyard.cluster.file_set:
    files:
      - path: /etc/security/limits.d/90-gpuyard.conf
        content: |
          * - memlock unlimited
      - path: /etc/systemd/system.conf.d/90-gpuyard.conf
        content: |
          [Manager]
          DefaultLimitMEMLOCK=infinity
    purge: [/etc/security/limits.d/80-gpuyard-*.conf]
"""

RETURN = r"""
paths:
  description: The paths written or removed.
  type: list
  returned: always
"""

from ansible.module_utils.basic import AnsibleModule  # noqa: E402
from ansible_collections.gpuyard.cluster.plugins.module_utils.file_set import (  # noqa: E402
    FileSetError,
    plan_changes,
    show_changes,
    write_changes,
)

FILES = {
    "path": {"type": "str", "required": True},
    "content": {"type": "str"},
    "link": {"type": "str"},
    "mode": {"type": "str", "default": "0644"},
    "owner": {"type": "str", "default": "root"},
    "group": {"type": "str", "default": "root"},
}
EITHER = {"required_one_of": [("content", "link")], "mutually_exclusive": [("content", "link")]}


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "files": {"type": "list", "elements": "dict", "required": True, "options": FILES, **EITHER},
            "purge": {"type": "list", "elements": "str", "default": []},
        },
        supports_check_mode=True,
    )
    try:
        changes = plan_changes(module.params["files"], module.params["purge"])
        if not module.check_mode:
            write_changes(changes)
    except (FileSetError, OSError) as error:
        module.fail_json(msg=f"files cannot be written: {error}")
    module.exit_json(changed=bool(changes), paths=[change.path for change in changes], diff=show_changes(changes))


if __name__ == "__main__":
    main()
