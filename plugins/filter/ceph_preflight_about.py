# Copyright: gpuyard maintainers
# GNU General Public License v3.0 or later (see https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Say what each host of Ceph asks before anything is changed: time servers, and other hosts. It runs on the controller."""

from __future__ import annotations

from typing import Any

DOCUMENTATION = r"""
name: ceph_preflight_about
short_description: Says what hosts of Ceph ask before anything is changed
description:
  - Gives files/preflight.py of role ceph_preflight its input. In each network a host sends to the next one of the plan, to the
    second, the fourth, the eighth and so on, so that all are sent to, and paths between far ones are tried too.
author: gpuyard maintainers
options:
  _input:
    description: What ceph/objects.yaml has.
    type: dict
    required: true
  hosts:
    description: All hosts of the run.
    type: list
    elements: str
    required: true
  skip:
    description: What is not looked at, of C(clocks) and C(packets).
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: See what two hosts ask
  ansible.builtin.debug:
    msg: "{{ plan | gpuyard.cluster.ceph_preflight_about(['storage-001', 'storage-002']) }}"
"""

RETURN = r"""
_value:
  description: >-
    By host, C(servers), addresses of time servers; and C(probes), dictionaries with C(network), C(host), who is sent to, C(from)
    and C(to), addresses, and C(bytes), the largest packet.
  type: dict
"""


def ceph_preflight_about(plan: dict[str, Any], hosts: list[str], skip: list[str] | None = None) -> dict[str, Any]:
    """Return what each host asks."""
    skipped = skip or []
    servers = [] if "clocks" in skipped else plan.get("time_servers", [])
    asked: dict[str, Any] = {host: {"servers": servers, "probes": []} for host in hosts}
    for network in plan.get("networks", []) if "packets" not in skipped else []:
        there = list(network["hosts"].items())
        for at, (host, own) in enumerate(there):
            for step in (2**power for power in range((len(there) - 1).bit_length())) if host in asked else ():
                name, address = there[(at + step) % len(there)]
                about = {"network": network["name"], "host": name, "from": own, "to": address, "bytes": network["mtu_bytes"]}
                asked[host]["probes"].append(about)
    return asked


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return it by its name."""
        return {"ceph_preflight_about": ceph_preflight_about}
