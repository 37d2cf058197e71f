"""Phases of building: what stood before a later extension, so that the extension moves none of it.

Rows and server groups say what each phase brings. A cluster without later phases has one.
"""

from __future__ import annotations

from cluster_model.intent.model.cluster import Cluster
from cluster_model.intent.model.servers import ServerGroup


def count_phases(cluster: Cluster) -> int:
    """Return the phases of a cluster, at least one."""
    rows = [row.phases for row in cluster.racks.rows.values()]
    return max(map(len, rows + [group.phases for group in cluster.servers.values()]))


def as_of(cluster: Cluster, phase: int) -> Cluster:
    """Return the cluster as it was planned in a phase, from 1: racks and servers of later phases are not there yet.

    The result is for placing alone: it is not validated, and what refers to groups that are not there yet still does.
    """
    rows = {name: row.model_copy(update={"racks": list(row.phases[:phase])}) for name, row in cluster.racks.rows.items()}
    groups = {name: _group_as_of(group, phase) for name, group in cluster.servers.items()}
    return cluster.model_copy(
        update={
            "racks": cluster.racks.model_copy(update={"rows": rows}),
            "servers": {name: group for name, group in groups.items() if group.final_count},
        }
    )


def _group_as_of(group: ServerGroup, phase: int) -> ServerGroup:
    phases = list(group.phases[:phase])
    planned = sum(phases)
    place = [item for item in group.place if item.number <= planned]
    return group.model_copy(update={"planned": phases, "count": min(group.count, planned), "place": place})


def list_numbers(group: ServerGroup) -> list[range]:
    """Return the numbers of the servers that each phase plans."""
    found, last = [], 0
    for planned in group.phases:
        found.append(range(last + 1, last + planned + 1))
        last += planned
    return found


def order_servers(cluster: Cluster, groups: list[str]) -> list[tuple[str, int]]:
    """Return (group, number) of the planned servers of groups: phase by phase, and in each in the order of `groups`."""
    numbers = {name: list_numbers(cluster.servers[name]) for name in groups}
    phases = range(max(map(len, numbers.values()), default=0))
    return [(name, n) for phase in phases for name in groups if phase < len(numbers[name]) for n in numbers[name][phase]]


def sort_groups(cluster: Cluster) -> list[str]:
    """Return the server groups in the order of the phases that they came in, and then of their ids."""
    return sorted(cluster.servers, key=lambda name: (cluster.servers[name].joined, cluster.servers[name].id))
