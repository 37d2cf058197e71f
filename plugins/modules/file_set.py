#!/usr/bin/python
# Copyright: gpuyard maintainers
# GNU General Public License v3.0 or later (see https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write a set of small text files, and run the units that they configure, in one call. It runs on the hosts."""

from __future__ import annotations

DOCUMENTATION = r"""
module: file_set
short_description: Writes a set of small text files, and runs the units that they configure, in one call
description:
  - Writes files with the contents given, removes what a pattern finds beyond them, and says which paths changed.
  - C(ansible.builtin.template) and C(ansible.builtin.copy) need two calls on the host for each file, changed or not. This needs
    one for all of them, and for the units of systemd that read them.
  - All files are written beside their places and validated before the first is put in place, each in one stroke and with the
    SELinux label that its path has by default, as C(ansible.builtin.copy) does.
  - systemd reads its files anew where one of them changed. Check mode and C(--diff) tell what a run would do.
author: gpuyard maintainers
options:
  files:
    description: The files.
    type: list
    elements: dict
    default: []
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
      validate:
        description:
          - Command that reads the new file before it is put in place; C(%s) in it is that file, which lies in the same folder.
          - Where one fails, no file of the set is changed. It is not run in check mode, and not for a file that stays as it is.
        type: str
  backup:
    description: Whether a file that is replaced or removed is kept beside it, with the time in its name.
    type: bool
    default: false
  purge:
    description: Patterns of paths, as a shell has them. A file that matches one and is not among I(files) is removed.
    type: list
    elements: str
    default: []
  units:
    description: Units of systemd, changed after the files, in this order, and only where they differ.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: Name with its type, such as C(chrony.service).
        type: str
        required: true
      enabled:
        description: Whether it starts at boot.
        type: bool
      state:
        description: Whether it runs now.
        type: str
        choices: [started, stopped]
  record:
    description:
      - Name of a record on the host, in C(/var/lib/gpuyard/read), of what the programs that read these files have read.
      - With it, the result says which files they have not read as they are, and counts as changed where there is one. A run
        that is cut off before they read a file that it wrote leaves that to the next run so.
    type: str
  read:
    description: Paths that programs have now read, noted in I(record) as they are. Nothing is noted in check mode.
    type: list
    elements: str
attributes:
  check_mode:
    support: full
    description:
      - Says what it would change, and changes nothing. A unit that is not there yet changes where it is to run or be enabled.
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

- name: Open sudo, unless sudo itself cannot read the file
  gpuyard.cluster.file_set:
    files:
      - {path: /etc/sudoers.d/90-ops, content: "%ops ALL=(ALL:ALL) NOPASSWD: ALL\n", mode: "0440", validate: visudo -cf %s}
    backup: true

- name: Run chrony with a configuration of our own
  gpuyard.cluster.file_set:
    files:
      - {path: /etc/chrony/conf.d/gpuyard.conf, content: "makestep 1 3\n"}
    units:
      - {name: chrony.service, enabled: true, state: started}

- name: Write the kernel's settings
  gpuyard.cluster.file_set:
    files:
      - {path: /etc/sysctl.d/90-ops.conf, content: "vm.swappiness = 10\n"}
    record: ops
  register: written

- name: Have them read
  ansible.builtin.command: sysctl --system
  changed_when: true
  when: written.unread | length > 0

- name: Note that they were
  gpuyard.cluster.file_set:
    record: ops
    read: "{{ written.unread }}"
  when: written.unread | length > 0
"""

RETURN = r"""
paths:
  description: The paths written or removed.
  type: list
  returned: always
backups:
  description: Where the files that were replaced or removed are kept.
  type: list
  returned: with I(backup)
unread:
  description:
    - The paths that programs have not read as they are, those that this call wrote or removed among them.
    - After I(read), those that are left.
  type: list
  returned: with I(record)
units:
  description: The names of the units that were changed, or in check mode would be.
  type: list
  returned: always
failed_unit:
  description: The unit that could not be changed; the files were written.
  type: str
  returned: where one failed
"""

from typing import Any  # noqa: E402

from ansible.module_utils.basic import AnsibleModule  # noqa: E402
from ansible_collections.gpuyard.cluster.plugins.module_utils.file_set import (  # noqa: E402
    FileSetError,
    plan_changes,
    show_changes,
    write_changes,
)
from ansible_collections.gpuyard.cluster.plugins.module_utils.read_record import list_unread, note_read  # noqa: E402
from ansible_collections.gpuyard.cluster.plugins.module_utils.units import (  # noqa: E402
    UnitChange,
    UnitError,
    change_units,
    must_reload,
    plan_units,
    read_units,
    reload,
)

FILES = {
    "path": {"type": "str", "required": True},
    "content": {"type": "str"},
    "link": {"type": "str"},
    "mode": {"type": "str", "default": "0644"},
    "owner": {"type": "str", "default": "root"},
    "group": {"type": "str", "default": "root"},
    "validate": {"type": "str"},
}
EITHER = {"required_one_of": [("content", "link")], "mutually_exclusive": [("content", "link"), ("link", "validate")]}
UNITS = {
    "name": {"type": "str", "required": True},
    "enabled": {"type": "bool"},
    "state": {"type": "str", "choices": ["started", "stopped"]},
}


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "files": {"type": "list", "elements": "dict", "default": [], "options": FILES, **EITHER},
            "purge": {"type": "list", "elements": "str", "default": []},
            "backup": {"type": "bool", "default": False},
            "units": {"type": "list", "elements": "dict", "default": [], "options": UNITS},
            "record": {"type": "str"},
            "read": {"type": "list", "elements": "str"},
        },
        required_by={"read": "record"},
        supports_check_mode=True,
    )
    backups: list[str] = []
    try:
        changes = plan_changes(module.params["files"], module.params["purge"])
        if not module.check_mode:
            backups = write_changes(changes, module=module, backup=module.params["backup"])
            note_read(module.params["record"], module.params["read"] or [])
    except (FileSetError, OSError) as error:
        module.fail_json(msg=f"files cannot be written: {error}")
    paths = [change.path for change in changes]
    diff = show_changes(changes)
    result: dict[str, Any] = {"changed": bool(changes), "paths": paths, "backups": backups, "units": [], "diff": diff}
    if module.params["record"]:
        result["unread"] = list_unread(module.params["record"], [each["path"] for each in module.params["files"]], paths)
    try:
        units = bring_up(module.params["units"], paths, module.check_mode)
    except UnitError as error:
        module.fail_json(msg=str(error), failed_unit=error.unit, **result)
    result["units"] = [unit.name for unit in units]
    diff += [
        {"before_header": unit.name, "after_header": unit.name, "before": unit.before + "\n", "after": unit.after + "\n"}
        for unit in units
    ]
    module.exit_json(**(result | {"changed": bool(changes or units or result.get("unread") or module.params["read"])}))


def bring_up(wanted: list[dict[str, Any]], paths: list[str], check_mode: bool) -> list[UnitChange]:
    """Return what was changed of units, or would be, after files changed."""
    names = [each["name"] for each in wanted]
    found = read_units(names)
    if not check_mode and must_reload(paths, found):
        reload()
        found = read_units(names)
    changes = plan_units(wanted, found)
    if not check_mode:
        change_units(changes)
    return changes


if __name__ == "__main__":
    main()
