"""What this machine can carry: programs, rights, and what its kernel has."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

from cluster_model.twin.infiniband.simulator import list_missing
from cluster_model.twin.node import Node, NodeError
from cluster_model.twin.tree import STAND_IN_MLAG

DAEMONS = Path("/usr/lib/frr")
PROGRAMS = {
    "vtysh": "frr",
    "lldpd": "lldpd",
    "lldpcli": "lldpd",
    "ip": "iproute2",
    "nft": "nftables",
    "nsenter": "util-linux",
    "sysctl": "procps",
}
_PROBES = {
    "VRF devices": ("link add gypa type vrf table 7",),
    "VLAN-aware bridges": ("link add gypb type bridge vlan_filtering 1",),
    "VLAN devices": ("link add gypc type veth peer name gypd", "link add link gypc name gype type vlan id 2"),
    "bonds": ("link add gypf type bond mode 802.3ad",),
}


NEEDS = frozenset({*_PROBES, STAND_IN_MLAG})
"""All that a switch may need beside ports and plain bridges."""


def list_obstacles(*, ethernet: bool = True, infiniband: bool = False) -> list[str]:
    """Return what keeps this machine from booting a twin, in words, each with what mends it; empty where nothing does.

    Args:
        ethernet: whether Ethernet networks are to be booted.
        infiniband: whether InfiniBand networks are.
    """
    found = []
    if os.geteuid() != 0:
        found.append("network namespaces need root: run it with sudo")
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    wanted = {name: package for name, package in PROGRAMS.items() if ethernet or package not in {"frr", "lldpd", "nftables"}}
    absent = {package for program, package in wanted.items() if shutil.which(program, path=path) is None}
    if infiniband:
        absent |= list_missing()
    if ethernet and "frr" not in absent and not (DAEMONS / "bgpd").exists():
        absent.add("frr")
    if absent:
        found.append(f"programs are missing: apt install {' '.join(sorted(absent))}")
    return found


def count_room() -> int:
    """Return how many switches of a network this machine has room for.

    A switch takes 28 MiB and a start of a third of a second on two cores; 64 of them converge there in seven seconds, 128 in
    twenty-four. Measured with FRR 8.4 and BFD at 1 s. Half of the free memory is left alone.
    """
    cores = len(os.sched_getaffinity(0))
    with suppress(OSError, StopIteration):
        lines = Path("/proc/meminfo").read_text("utf-8").splitlines()
        free_kib = next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
        return max(4, min(32 * cores, free_kib // 2 // (28 << 10)))
    return 32 * cores


def list_lacks() -> frozenset[str]:
    """Return what the kernel lacks of what a switch may need (as DataPlane.needs names it), tried in a namespace of its own."""
    lacks = {STAND_IN_MLAG}
    node = Node("twin-probe")
    try:
        for need, lines in _PROBES.items():
            try:
                node.configure(list(lines))
            except NodeError:
                lacks.add(need)
    finally:
        node.close()
    return frozenset(lacks)
