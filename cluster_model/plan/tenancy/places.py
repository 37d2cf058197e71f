"""Where servers stand in a tenant's subnet: by their group's `first` and their number, and by nothing else."""

from __future__ import annotations

from collections.abc import Iterable

from cluster_model.intent.model.cluster import Cluster
from cluster_model.intent.model.tenants import FIRST_PLACE, Subnet
from cluster_model.intent.references.membership import Fault, Seat, expand


def find_address(subnet: Subnet, group: str, number: int) -> int:
    """Return a server's static address in a subnet, as a number.

    Nothing but the subnet and the server goes into it, so nobody who comes later can move it. Where two servers would have one
    address, the checks refuse the intent (SUB004), and the newer group gets a `first` of its own.
    """
    return int(subnet.cidr.network_address) + subnet.first.get(group, FIRST_PLACE) + number - 1


def list_seats(cluster: Cluster, expressions: Iterable[str]) -> list[Seat]:
    """Return the servers that expressions mean, planned ones too, each once, by group id and number; faults mean none."""
    found: set[Seat] = set()
    for expression in expressions:
        group = cluster.servers.get(expression)
        seats = expand(cluster, expression) if group is None else [(expression, n) for n in range(1, group.final_count + 1)]
        if not isinstance(seats, Fault):
            found.update(seats)
    return sorted(found, key=lambda seat: (cluster.servers[seat[0]].id, *seat))
