# Copyright: gpuyard maintainers
# GNU General Public License v3.0 or later (see https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host's network is now, as the kernel tells it. Standard library and iproute2 only; it runs on the hosts."""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MADE = {"bond", "bridge", "dummy", "ipvlan", "macvlan", "macvtap", "tun", "vlan", "vrf", "vxlan"}
"""Kinds of devices that take another's MAC: never the NIC itself."""


@dataclass(frozen=True)
class Nic:
    """A network interface: its permanent MAC (the current one where the driver knows no other) and its PCI address."""

    name: str
    mac: str
    pci: str


def list_nics() -> list[Nic]:
    """Return the interfaces that may be NICs, by name."""
    found = []
    for link in _ip("-details", "link", "show"):
        if link.get("link_type") == "loopback" or link.get("linkinfo", {}).get("info_kind") in MADE:
            continue
        device = Path(f"/sys/class/net/{link['ifname']}/device").resolve().name
        pci = device if re.fullmatch(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", device) else ""
        mac = link.get("permaddr") or link.get("address", "")
        found.append(Nic(link["ifname"], "" if set(mac) <= set("0:") else mac.lower(), pci))
    return sorted(found, key=lambda nic: nic.name)


def list_addresses() -> dict[str, list[str]]:
    """Return IPv4 addresses with their length by interface."""
    return {
        link["ifname"]: [f"{each['local']}/{each['prefixlen']}" for each in link.get("addr_info", [])]
        for link in _ip("-4", "address", "show")
        if link.get("ifname")
    }


def list_without_broadcast() -> list[tuple[str, str]]:
    """Return interface and address, with its length, of the addresses that lack the broadcast address that their subnet has."""
    return [
        (link["ifname"], f"{each['local']}/{each['prefixlen']}")
        for link in _ip("-4", "address", "show")
        for each in link.get("addr_info", [])
        if "broadcast" not in each and each["prefixlen"] < 31 and link["ifname"] != "lo"
    ]


def list_default_routes() -> list[tuple[str, str, int]]:
    """Return interface, gateway and metric of the IPv4 default routes, the preferred one first."""
    found = [
        (each["dev"], each.get("gateway", ""), each.get("metric", 0))
        for each in _ip("-4", "route", "show", "default")
        if "dev" in each
    ]
    return sorted(found, key=lambda route: route[2])


def list_rules() -> set[tuple[str, int]]:
    """Return source address and table of the IPv4 policy rules that have a source."""
    return {
        (rule["src"], int(rule["table"]))
        for rule in _ip("-4", "rule", "show")
        if "src" in rule and str(rule.get("table", "")).isdigit()
    }


def has_carrier(name: str) -> bool:
    """Return whether the interface has link; one that is down has none."""
    try:
        return Path(f"/sys/class/net/{name}/carrier").read_text("ascii").strip() == "1"
    except OSError:
        return False


def find_ssh_address() -> str:
    """Return the address of this host that the present SSH session came to; empty where it is no SSH session over IP.

    sudo drops SSH_CONNECTION, so the processes above are asked too.
    """
    pid = os.getpid()
    while pid > 1:
        try:
            environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            parent = int(Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[1])
        except OSError:
            return ""
        for each in environment:
            if each.startswith(b"SSH_CONNECTION="):
                parts = each.decode("utf-8", "replace").partition("=")[2].split()
                return parts[2] if len(parts) == 4 and re.fullmatch(r"[0-9.]+", parts[2]) else ""
        pid = parent
    return ""


def _ip(*words: str) -> list[dict[str, Any]]:
    done = subprocess.run(["ip", "-json", *words], capture_output=True, text=True, check=True)
    found: list[dict[str, Any]] = json.loads(done.stdout or "[]")
    return found
