"""Where server groups begin in a tenant's subnet: each has a slice of places of its own, and server n the n-th of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from cluster_model.intent.model.cluster import Cluster
from cluster_model.intent.model.tenants import Subnet
from cluster_model.intent.references.membership import Fault, Seat, expand

FIRST_PLACE = 16
"""Of a group's server 1 in a subnet, where the intent says nothing and no other group is in the way."""


def list_seats(cluster: Cluster, expressions: Iterable[str]) -> list[Seat]:
    """Return the servers that expressions mean, planned ones too, each once, by group id and number; faults mean none."""
    found: set[Seat] = set()
    for expression in expressions:
        group = cluster.servers.get(expression)
        seats = expand(cluster, expression) if group is None else [(expression, n) for n in range(1, group.final_count + 1)]
        if not isinstance(seats, Fault):
            found.update(seats)
    return sorted(found, key=lambda seat: (cluster.servers[seat[0]].id, *seat))


def place_groups(cluster: Cluster, subnet: Subnet, seats: Iterable[Seat]) -> dict[str, int]:
    """Return the place of server 1 of each group in a subnet; a place is a number of addresses from the network's own.

    `first` of the intent stands. Groups without it come in the order of their ids. Each begins at FIRST_PLACE, unless one of its
    servers would meet one of another group there; then it has the lowest slice, as long as its planned size, that is free.
    Slices go by what is planned, so none moves when more of it is built.

    Args:
        cluster: the intent.
        subnet: one of its subnets.
        seats: the servers in it, planned ones too (`list_seats`).
    """
    members: defaultdict[str, set[int]] = defaultdict(set)
    for group, number in seats:
        members[group].add(number - 1)
    starts = {group: subnet.first[group] for group in members if group in subnet.first}
    places = {start + member for group, start in starts.items() for member in members[group]}
    for group in sorted(set(members) - set(starts), key=lambda name: cluster.servers[name].id):
        start = FIRST_PLACE
        if any(start + member in places for member in members[group]):
            start = _find_room(cluster, subnet, starts, cluster.servers[group].final_count)
        starts[group] = start
        places.update(start + member for member in members[group])
    return starts


def _find_room(cluster: Cluster, subnet: Subnet, starts: dict[str, int], size: int) -> int:
    """Return the lowest place from FIRST_PLACE on with room for `size` servers beside other groups, gateway and pool."""
    base = int(subnet.cidr.network_address)
    taken = [(start, start + cluster.servers[group].final_count - 1) for group, start in starts.items()]
    if subnet.gateway is not None:
        taken.append((int(subnet.gateway) - base, int(subnet.gateway) - base))
    if subnet.pool is not None:
        taken.append((int(subnet.pool.first) - base, int(subnet.pool.last) - base))
    behind = (last + 1 for _, last in taken if last >= FIRST_PLACE)
    return next(
        start for start in sorted({FIRST_PLACE, *behind}) if all(start + size - 1 < low or high < start for low, high in taken)
    )
