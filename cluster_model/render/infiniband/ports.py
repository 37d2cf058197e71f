"""InfiniBand's own names of what the plan names: port numbers, link types, node descriptions.

A switch chip numbers its ports from 1 through all cages. Quantum-2 has two per OSFP cage: 1/1 is port 1, 1/2 port 2, 32/2 port
64. With one cage split, the switch runs in the profile `ib split-ready`, where every cage has as many numbers as it may have
ports: 4 of 200 Gb/s on Quantum-2, and an unsplit port has the first number of its share. Port 65 (129) is the chip's own
aggregation node. Sources: a published table of NVIDIA's for all 64 ports of the QM9700 (UFM's numbers against IB1/cage/port);
ibnetdiscover of a split QM9700 with 129 ports; MLNX-OS 3.11 user manual, InfiniBand Interface (split-ready). The numbers of
unsplit ports in a split-ready Quantum-2 follow Quantum's and were not seen on one.
"""

from __future__ import annotations

from collections.abc import Collection

from cluster_model.plan.model import ServerPort, Switch

_LANE_NAMES = {25: "EDR", 50: "HDR", 100: "NDR", 200: "XDR"}
"""Names of a lane's speed, Gb/s."""


def count_per_cage(switch: Switch) -> int:
    """Return how many port numbers every cage of a switch has."""
    return max(mode.count for mode in switch.modes)


def number_ports(switch: Switch) -> dict[str, int]:
    """Return the InfiniBand port number of every cabled port of a switch, by name."""
    per_cage, counts = count_per_cage(switch), {mode.cage: mode.count for mode in switch.modes}
    return {port.name: (port.cage - 1) * per_cage + port.sub * (per_cage // counts[port.cage]) + 1 for port in switch.ports}


def count_ports(switch: Switch) -> int:
    """Return the ports that a switch says it has: those of its cages, and the aggregation node's."""
    return len(switch.modes) * count_per_cage(switch) + 1


def name_links(switch: Switch) -> dict[str, str]:
    """Return the width and speed of every cabled port as ibnetdiscover words it (`4xNDR`), by name; empty where it has none."""
    modes = {mode.cage: mode for mode in switch.modes}
    found = {}
    for port in switch.ports:
        lanes = modes[port.cage].lanes // modes[port.cage].count
        name = _LANE_NAMES.get(port.speed_gbps // lanes)
        found[port.name] = f"{lanes}x{name}" if name else ""
    return found


def describe_port(server: str, port: ServerPort) -> str:
    """Return the node description of a port's adapter, as rdma-ndd sets it: host and device (the port where that is unknown)."""
    return f"{server} {port.rdma or port.name}"


def has_plane_ports(switches: Collection[Switch]) -> bool:
    """Return whether ports are spread over several chips, each of which is a switch to ibnetdiscover: XDR, 800 Gb/s."""
    return any(mode.speed_gbps >= 800 for switch in switches for mode in switch.modes)
