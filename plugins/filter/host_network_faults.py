# Copyright: gpuyard maintainers
# GNU General Public License v3.0 or later (see https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find what cannot be right about the arguments of role host_network. It runs on the controller."""

from __future__ import annotations

import ipaddress
import re
from typing import Any

from ansible_collections.gpuyard.cluster.plugins.plugin_utils.faults import list_twice, tell

DOCUMENTATION = r"""
name: host_network_faults
short_description: Finds what cannot be right about the arguments of role host_network
description:
  - Checks names and addresses of interfaces, and that bonds, services and gateways go with each other.
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
    names: [host_network_interfaces, host_network_bonds, host_network_services]
    faults: "{{ dict(names | zip(q('ansible.builtin.vars', *names))) | gpuyard.cluster.host_network_faults }}"
"""

RETURN = r"""
_value:
  description: The faults, a sentence each with variable, value, what was expected, and how to fix it; empty where there is none.
  type: list
  elements: str
"""

MAC = re.compile(r"([0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}")
PCI = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
Entry = dict[str, Any]
"""An interface, a bond, a VLAN or a service, as meta/argument_specs.yml describes it."""


def host_network_faults(arguments: dict[str, Any]) -> list[str]:
    """Return what cannot be right."""
    ports: list[Entry] = arguments["host_network_interfaces"]
    bonds: list[Entry] = arguments["host_network_bonds"]
    services: list[Entry] = arguments["host_network_services"]
    names = [str(port["name"]) for port in ports]
    fix = "give each interface a name of its own"
    faults = [_tell_of_ports(f"{name} is there {times} times", "once", fix) for name, times in list_twice(names).items()]
    faults += [fault for port in ports for fault in _find_wrong_port(port, {str(bond["name"]) for bond in bonds})]
    faults += [fault for bond in bonds for fault in _find_wrong_bond(bond, names)]
    faults += [fault for service in services for fault in _find_wrong_service(service, names)]
    settle_s, connect_s, revert_s = (int(arguments[f"host_network_{name}_s"]) for name in ("settle", "connect", "revert"))
    if settle_s + connect_s >= revert_s:
        expected = f"more than host_network_settle_s + host_network_connect_s ({settle_s + connect_s})"
        fix = "raise it, or the host goes back while it is being confirmed"
        faults.append(tell("host_network_revert_s", revert_s, expected, fix))
    return faults


def _tell_of_ports(value: str, expected: str, fix: str) -> str:
    return tell("host_network_interfaces", value, expected, fix)


def _find_wrong_port(port: Entry, bonds: set[str]) -> list[str]:
    name, bond, address = str(port["name"]), str(port.get("bond") or ""), str(port.get("address") or "")
    mac, pci = str(port.get("mac") or ""), str(port.get("pci") or "")
    faults = []
    if not re.fullmatch(r"[A-Za-z0-9_.-]{1,15}", name):
        faults.append(_tell_of_ports(f"name {name}", "up to 15 letters, digits, dots and dashes", "shorten it"))
    if mac and not MAC.fullmatch(mac):
        faults.append(_tell_of_ports(f"{name} has MAC {mac}", "six bytes like 02:00:5e:00:00:01", "correct it"))
    if pci and not PCI.fullmatch(pci):
        faults.append(_tell_of_ports(f"{name} has PCI address {pci}", "one like 0000:18:00.0", "correct it"))
    if address and not _is_interface_address(address):
        expected = "an IPv4 address with its length, like 10.0.0.5/24"
        faults.append(_tell_of_ports(f"{name} has {address}", expected, "correct it"))
    if bond and bond not in bonds:
        expected, fix = "a bond of host_network_bonds", "add the bond, or clear bond"
        faults.append(_tell_of_ports(f"{name} is a port of {bond}", expected, fix))
    if bond and address:
        value, fix = f"{name} has {address} and is a port of {bond}", "put the address on the bond"
        faults.append(_tell_of_ports(value, "one of the two", fix))
    if port.get("table") and not port.get("gateway"):
        value = f"{name} has table {port['table']} and no gateway"
        faults.append(_tell_of_ports(value, "both or neither", "set gateway, or table: 0"))
    return faults


def _is_interface_address(text: str) -> bool:
    try:
        ipaddress.IPv4Interface(text)
    except ValueError:
        return False
    return re.search(r"/[0-9]+$", text) is not None


def _find_wrong_bond(bond: Entry, names: list[str]) -> list[str]:
    unknown = [name for name in map(str, bond["ports"]) if name not in names]
    expected, fix = "a name in host_network_interfaces", "add the interface, or drop the port"
    faults = [tell("host_network_bonds", f"{bond['name']} has port {name}", expected, fix) for name in unknown]
    silent = [vlan["name"] for vlan in bond.get("vlans") or [] if not vlan.get("address") and not vlan.get("dhcp")]
    fix = "set address or dhcp: true"
    return faults + [tell("host_network_bonds", f"{name} has neither address nor dhcp", "one of them", fix) for name in silent]


def _find_wrong_service(service: Entry, names: list[str]) -> list[str]:
    address, gateways, ports = service["address"], service["gateways"], service["ports"]
    faults = []
    if len(gateways) != len(ports):
        value = f"{address} has {len(gateways)} gateways and {len(ports)} ports"
        faults.append(tell("host_network_services", value, "as many of each", "name a port for each gateway"))
    unknown = [name for name in map(str, ports) if name not in names]
    expected, fix = "a name in host_network_interfaces", "add the interface, or drop the port"
    return faults + [tell("host_network_services", f"{address} goes over {name}", expected, fix) for name in unknown]


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return it by its name."""
        return {"host_network_faults": host_network_faults}
