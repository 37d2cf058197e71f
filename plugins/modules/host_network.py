#!/usr/bin/python
# Copyright: gpuyard maintainers
# GNU General Public License v3.0 or later (see https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Put a network configuration on trial on a host, and confirm it. Standard library and Ansible only."""

from __future__ import annotations

DOCUMENTATION = r"""
module: host_network
short_description: Puts a network configuration on trial on a host, and confirms it
description:
  - C(state=applied) compares the configuration with what is there. Where it differs, it looks whether every NIC is there and
    whether the address of the present connection stays, has the files read by the programs that will read them, saves what they
    replace, arms a timer that goes back, and then has systemd apply them. It returns before the network changes.
  - C(state=confirmed), over a new connection, looks whether the addresses and rules are there, and disarms the timer. Where they
    are not, it starts the way back at once.
  - A host that is not reached again goes back by itself, after I(revert_s) or at its next boot. The controller need not live.
  - The role M(gpuyard.cluster.host_network) renders the files, and is what to use.
author: gpuyard maintainers
options:
  state:
    description: What to do.
    type: str
    choices: [applied, confirmed]
    default: applied
  backend:
    description: Which files to take. C(auto) takes netplan where it is installed and has a configuration, else networkd.
    type: str
    choices: [auto, networkd, netplan]
    default: auto
  wanted:
    description: The configuration, as the role renders it.
    type: dict
    required: true
    suboptions:
      common:
        description: Files of either backend, each with C(path), C(content) and perhaps C(mode).
        type: list
        elements: dict
        default: []
      networkd:
        description: Files for systemd-networkd.
        type: list
        elements: dict
        default: []
      netplan:
        description: Files for netplan.
        type: list
        elements: dict
        default: []
      nics:
        description: NICs that must be there, each with C(name), and C(mac) and C(pci) where known.
        type: list
        elements: dict
        default: []
      addresses:
        description: Addresses, each with C(interface) and C(address) with its length.
        type: list
        elements: dict
        default: []
      dhcp:
        description: Interfaces that take their address from DHCP.
        type: list
        elements: str
        default: []
      rules:
        description: Policy rules, each with C(source) and C(table).
        type: list
        elements: dict
        default: []
      devices:
        description: Devices that the configuration makes, bonds and VLANs.
        type: list
        elements: str
        default: []
  allow_address_change:
    description: Apply also where the address of the present connection goes.
    type: bool
    default: false
  revert_s:
    description: Seconds until the host goes back by itself.
    type: int
    default: 120
  settle_s:
    description: Seconds that C(confirmed) waits for the addresses.
    type: int
    default: 30
attributes:
  check_mode:
    support: full
    description: Does all the looking, and changes nothing.
  diff_mode:
    support: full
    description: Shows each file before and after.
"""

EXAMPLES = r"""
- name: Put the network on trial
  gpuyard.cluster.host_network:
    wanted:
      networkd:
        - path: /etc/systemd/network/10-gpuyard-eno1.network
          content: |
            [Match]
            Name=eno1
            [Network]
            Address=10.0.0.5/24
      addresses: [{interface: eno1, address: 10.0.0.5/24}]
      nics: [{name: eno1, mac: "02:00:5e:00:00:01"}]
"""

RETURN = r"""
backend:
  description: The backend taken.
  type: str
  returned: applied
paths:
  description: The paths that change.
  type: list
  returned: applied
renames:
  description: Interfaces that get another name, each with C(old) and C(new).
  type: list
  returned: applied
reboot:
  description: What takes effect at the next boot only.
  type: list
  returned: applied
without_link:
  description: Interfaces that have no link, so nothing could be tried on them.
  type: list
  returned: confirmed
"""

from ansible.module_utils.basic import AnsibleModule  # noqa: E402
from ansible_collections.gpuyard.cluster.plugins.module_utils.file_set import (  # noqa: E402
    FileSetError,
    show_changes,
)
from ansible_collections.gpuyard.cluster.plugins.module_utils.network_trial import (  # noqa: E402
    RefusedError,
    Trial,
    confirm,
)

LIST = {"type": "list", "elements": "dict", "default": []}
FILE = {
    "path": {"type": "str", "required": True},
    "content": {"type": "str", "required": True},
    "mode": {"type": "str", "default": "0644"},
}
NIC = {"name": {"type": "str", "required": True}, "mac": {"type": "str", "default": ""}, "pci": {"type": "str", "default": ""}}
ADDRESS = {"interface": {"type": "str", "required": True}, "address": {"type": "str", "required": True}}
RULE = {"source": {"type": "str", "required": True}, "table": {"type": "int", "required": True}}


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "state": {"choices": ["applied", "confirmed"], "default": "applied"},
            "backend": {"choices": ["auto", "networkd", "netplan"], "default": "auto"},
            "wanted": {
                "type": "dict",
                "required": True,
                "options": {
                    **{key: {**LIST, "options": FILE} for key in ("common", "networkd", "netplan")},
                    "nics": {**LIST, "options": NIC},
                    "addresses": {**LIST, "options": ADDRESS},
                    "rules": {**LIST, "options": RULE},
                    **{key: {**LIST, "elements": "str"} for key in ("dhcp", "devices")},
                },
            },
            "allow_address_change": {"type": "bool", "default": False},
            "revert_s": {"type": "int", "default": 120},
            "settle_s": {"type": "int", "default": 30},
        },
        supports_check_mode=True,
    )
    try:
        if module.params["state"] == "confirmed":
            module.exit_json(
                changed=False,
                without_link=[] if module.check_mode else confirm(module.params["wanted"], module.params["settle_s"]),
            )
        trial = Trial(
            **{name: module.params[name] for name in ("wanted", "backend", "allow_address_change", "revert_s")}, module=module
        )
        result = trial.describe()
        if result["changed"]:
            trial.validate()
            if not module.check_mode:
                trial.start()
        module.exit_json(diff=show_changes(trial.changes), **result)
    except (RefusedError, FileSetError) as error:
        module.fail_json(msg=str(error))
    except OSError as error:
        module.fail_json(msg=f"the network was not changed: {error}")


if __name__ == "__main__":
    main()
