# Copyright: gpuyard maintainers
# GNU General Public License v3.0 or later (see https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find what cannot be right about the arguments of role base. It runs on the controller."""

from __future__ import annotations

import re
from typing import Any

from ansible_collections.gpuyard.cluster.plugins.plugin_utils.faults import list_twice, tell

DOCUMENTATION = r"""
name: base_faults
short_description: Finds what cannot be right about the arguments of role base
description:
  - Checks people and their keys, names, kernel settings and arguments, and sizes.
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
    names: [base_users, base_hostname, base_sysctl]
    faults: "{{ dict(names | zip(q('ansible.builtin.vars', *names))) | gpuyard.cluster.base_faults }}"
"""

RETURN = r"""
_value:
  description: The faults, a sentence each with variable, value, what was expected, and how to fix it; empty where there is none.
  type: list
  elements: str
"""

KEY = re.compile(
    r"(ssh-(ed25519|rsa)|ecdsa-sha2-nistp(256|384|521)|sk-(ssh-ed25519|ecdsa-sha2-nistp256)@openssh\.com)"
    r" [A-Za-z0-9+/=]{40,}( [^\n]*)?"
)
SETTINGS = [
    (
        *("base_hostname", re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")),
        *("up to 63 of a-z, 0-9 and -, without a dot", "put the domain into base_domain"),
    ),
    (
        *("base_timezone", re.compile(r"[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*")),
        *("a name like Asia/Shanghai or UTC", "see timedatectl list-timezones"),
    ),
    (
        *("base_memlock", re.compile(r"unlimited|[0-9]+")),
        *("unlimited or a number of kB", "write the number without a unit"),
    ),
    (
        *("base_journal_max", re.compile(r"[0-9]+[KMGT]?")),
        *("a size like 500M or 2G", "write a whole number with K, M, G or T"),
    ),
]
"""Arguments that are one text each: name, form, what is expected, and how to fix it."""


def base_faults(arguments: dict[str, Any]) -> list[str]:
    """Return what cannot be right."""
    faults = _find_wrong_users(arguments["base_users"])
    wrong = [(name, str(arguments[name]), *more) for name, form, *more in SETTINGS if not form.fullmatch(str(arguments[name]))]
    faults += [tell(name, value, expected, fix) for name, value, expected, fix in wrong]
    for key in arguments["base_sysctl"]:
        if not re.fullmatch(r"[a-z0-9_*-]+([./][A-Za-z0-9_*-]+)+", key):
            faults.append(tell("base_sysctl", key, "a name like vm.swappiness", "see sysctl -a"))
    for argument in map(str, arguments["base_kernel_arguments"]):
        if re.search(r"[\"'`$\\\s]", argument):
            expected = "one argument without spaces and quotes"
            faults.append(tell("base_kernel_arguments", argument, expected, "make each argument an item of the list"))
    for size, count in arguments["base_hugepages"].items():
        if not re.fullmatch(r"[0-9]+[KMG]", str(size)) or not re.fullmatch(r"[0-9]+", str(count)):
            expected = "a size like 2M or 1G and a whole number"
            faults.append(tell("base_hugepages", f"{size}: {count}", expected, "write it like 1G: 16"))
    return faults


def _find_wrong_users(users: list[dict[str, Any]]) -> list[str]:
    twice = list_twice(str(user["name"]) for user in users)
    faults = [tell("base_users", f"{name} is there {times} times", "once", "join the entries") for name, times in twice.items()]
    for user in users:
        name = str(user["name"])
        if not re.fullmatch(r"[a-z_][a-z0-9_-]{0,30}", name):
            expected = "up to 31 of a-z, 0-9, _ and -, a letter first"
            faults.append(tell("base_users", f"name {name}", expected, "choose such a name"))
        if name == "root":
            faults.append(tell("base_users", name, "people", "give people accounts with sudo: true"))
        for key in map(str, user.get("keys") or []):
            if not KEY.fullmatch(key):
                fix = "copy the .pub file, never the private key"
                faults.append(tell("base_users", f"key of {name} begins {key[:24]}", "one line of a public key", fix))
    return faults


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return it by its name."""
        return {"base_faults": base_faults}
