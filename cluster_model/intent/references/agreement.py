"""What an intent says in one place and means in another: names, ids and numbers that must agree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import get_args

from cluster_model.diagnostic import Diagnostic
from cluster_model.intent.model.business import BusinessNetwork
from cluster_model.intent.model.cables import Cables
from cluster_model.intent.model.cluster import Cluster
from cluster_model.intent.model.networks import Fabric
from cluster_model.intent.model.servers import Role, ServerGroup
from cluster_model.intent.model.site import RackGroup, Racks
from cluster_model.intent.references.refusals import check_group, check_ids, check_pool, check_pools, refuse
from cluster_model.intent.references.services import list_services
from cluster_model.intent.references.tenants import check_tenants
from cluster_model.names import DeviceName, format_rack, parse_name
from cluster_model.near import suggest

ROLES: tuple[str, ...] = get_args(Role)


def check_references(cluster: Cluster) -> list[Diagnostic]:
    """Return every reference in the intent that leads nowhere, INT009 to INT029 and INT032; not located, in the model's order."""
    return [
        *_check_rows(cluster.racks),
        *_check_exceptions(cluster.racks),
        *check_ids("racks.rows", cluster.racks.rows),
        *check_ids("racks.groups", cluster.racks.groups),
        *check_ids("servers", cluster.servers),
        *_check_servers(cluster),
        *_check_networks(cluster),
        *_check_cables(cluster.cables),
        *_check_policies(cluster),
        *check_tenants(cluster),
        *(finding for service in list_services() for finding in service.check(cluster)),
    ]


def _check_rows(racks: Racks) -> Iterator[Diagnostic]:
    owners: dict[str, str] = {}
    for name, group in racks.groups.items():
        for index, row in enumerate(group.rows):
            where = f"racks.groups.{name}.rows.{index}"
            if row not in racks.rows:
                fix = f"add {row}: to racks.rows, or take it away here"
                yield refuse("INT012", where, f"row {row} does not exist", f"one of {', '.join(racks.rows)}", fix)
            elif row in owners:
                summary = (
                    f"row {row} is already in rack group {owners[row]}" if owners[row] != name else f"row {row} is listed twice"
                )
                yield refuse("INT012", where, summary, "each row in one group", "take it away here, or split the row in two")
            owners.setdefault(row, name)


def _explain_rack(rack: str, racks: Racks) -> tuple[str, str, str] | None:
    """Return what is wrong with a rack's name, what would be right, and the way out; None when the rack exists."""
    letters = rack.rstrip("0123456789")
    row, position = racks.rows.get(letters), int(rack[len(letters) :])
    if row is None:
        summary = f"rack {rack} does not exist: there is no row {letters}"
        return summary, f"a rack in one of the rows {', '.join(racks.rows)}", "name a rack that exists, or add the row"
    if not 1 <= position <= row.final_racks:
        last = format_rack(letters, row.final_racks)
        return f"rack {rack} does not exist", f"{letters}01 to {last}", "name one of these, or lengthen the row"
    if rack != format_rack(letters, position):
        right = format_rack(letters, position)
        return f"rack {rack} is written {right}", "two digits below 100, three from there", f"write {right}"
    return None


def _check_exceptions(racks: Racks) -> Iterator[Diagnostic]:
    for rack in racks.exceptions:
        wrong = _explain_rack(rack, racks)
        if wrong:
            yield refuse("INT017", f"racks.exceptions.{rack}@key", *wrong)


def _check_servers(cluster: Cluster) -> Iterator[Diagnostic]:
    groups = cluster.racks.groups
    for name, group in cluster.servers.items():
        where = f"servers.{name}"
        if group.racks not in groups:
            yield _missing_rack_group(f"{where}.racks", group.racks, groups)
        if not _is_server_name(name):
            fix = "rename the group"
            yield refuse("INT009", f"{where}@key", f"a server called {name}-001 would pass for a switch", "another name", fix)
        if group.role is None and name not in ROLES:
            summary = f"server group {name} needs a role, since its name is not one"
            yield refuse("INT014", f"{where}.role", summary, f"one of {', '.join(ROLES)}", "add role: with one of these")
        planned = group.final_count
        if group.count > planned:
            fix = f"set planned to {group.count} or more, or take it away"
            yield refuse(
                "INT015", f"{where}.count", f"{group.count} servers are built, {planned} planned", f"at most {planned}", fix
            )
        yield from _check_placements(where, group, max(planned, group.count), cluster.racks)


def _is_server_name(group: str) -> bool:
    """Return whether the names that follow from a group's name read back as servers of that group."""
    return parse_name(f"{group}-001") == DeviceName("server", group=group, number=1)


def _check_placements(where: str, group: ServerGroup, planned: int, racks: Racks) -> Iterator[Diagnostic]:
    seen: set[int] = set()
    for index, placement in enumerate(group.place):
        here = f"{where}.place.{index}"
        if placement.number > planned:
            fix = "correct the number, or raise planned"
            summary = f"there is no server {placement.number} in the group"
            yield refuse("INT016", f"{here}.number", summary, f"1 to {planned}", fix)
        elif placement.number in seen:
            yield refuse(
                "INT016", f"{here}.number", f"server {placement.number} is placed twice", "one place", "keep one of the two"
            )
        seen.add(placement.number)
        wrong = _explain_rack(placement.rack, racks)
        if wrong:
            yield refuse("INT017", f"{here}.rack", *wrong)


def _missing_rack_group(where: str, name: str, groups: Mapping[str, RackGroup]) -> Diagnostic:
    fix = suggest(name, groups, "add it to racks.groups, or name another")
    return refuse("INT010", where, f"there is no rack group {name}", f"one of {', '.join(groups)}", fix)


def _check_networks(cluster: Cluster) -> Iterator[Diagnostic]:
    groups = cluster.racks.groups
    networks: dict[str, Fabric | None] = {
        "compute": cluster.networks.compute,
        "storage": cluster.networks.storage,
        "business": cluster.networks.business,
        "oob": cluster.networks.oob,
    }
    for name, network in networks.items():
        if network is None:
            continue
        where = f"networks.{name}"
        by_path = {f"{where}.racks": network.racks}
        if not isinstance(network.racks, str):
            by_path = {f"{where}.racks.{tier}": group for tier, group in network.racks if group is not None}
        if isinstance(network, BusinessNetwork) and network.border is not None and network.border.racks is not None:
            by_path[f"{where}.border.racks"] = network.border.racks
        yield from (_missing_rack_group(path, str(group), groups) for path, group in by_path.items() if group not in groups)
        is_infiniband = cluster.networks.compute is network and cluster.networks.compute.technology == "infiniband"
        if network.pool is None and not is_infiniband:
            fix = "add pool: with a prefix that nothing else uses"
            yield refuse(
                "INT018", f"{where}.pool", f"{name} has no pool to cut addresses from", "an IPv4 prefix such as 10.64.0.0/11", fix
            )


def _check_cables(cables: Cables) -> Iterator[Diagnostic]:
    moved: dict[str, int] = {}
    ends: dict[str, int] = {}
    for index, exception in enumerate(cables.exceptions):
        where = f"cables.exceptions.{index}"
        first = moved.setdefault(exception.cable, index)
        if first != index:
            summary = f"the cable {exception.cable} is moved twice"
            other = cables.exceptions[first].to
            yield refuse("INT032", f"{where}.cable", summary, f"one exception of a cable; the other ends at {other}", "keep one")
        first = ends.setdefault(exception.to, index)
        if first != index and cables.exceptions[first].cable != exception.cable:
            summary = f"two cables are moved to {exception.to}"
            other = cables.exceptions[first].cable
            yield refuse("INT032", f"{where}.to", summary, f"one cable in a port; the other is {other}", "name another port")


def _check_policies(cluster: Cluster) -> Iterator[Diagnostic]:
    named: list[tuple[str, str]] = []
    if cluster.ceph is not None:
        hosts = cluster.ceph.hosts
        named += (
            [("ceph.hosts", hosts)] if isinstance(hosts, str) else [(f"ceph.hosts.{n}", name) for n, name in enumerate(hosts)]
        )
        if cluster.ceph.monitors is not None:
            named.append(("ceph.monitors", cluster.ceph.monitors))
        if cluster.ceph.metadata_hosts is not None:
            named.append(("ceph.metadata_hosts", cluster.ceph.metadata_hosts))
        for name, files in cluster.ceph.filesystems.items():
            yield from check_pools(f"ceph.filesystems.{name}.pools", files.pools, cluster.ceph.pools)
            named += [(f"ceph.filesystems.{name}.clients.{index}", group) for index, group in enumerate(files.clients)]
        if cluster.ceph.object is not None:
            yield from check_pool("ceph.object.pool", cluster.ceph.object.pool, cluster.ceph.pools)
            if cluster.ceph.object.hosts is not None:
                named.append(("ceph.object.hosts", cluster.ceph.object.hosts))
        for name, pool in cluster.ceph.pools.items():
            if (pool.replicas is None) == (pool.erasure is None):
                summary = (
                    f"pool {name} has {'neither replicas nor erasure' if pool.replicas is None else 'both replicas and erasure'}"
                )
                fix = "write replicas: 3, or erasure: 4+2" if pool.replicas is None else "keep one"
                yield refuse("INT019", f"ceph.pools.{name}", summary, "one of the two", fix)
    if cluster.networks.storage is not None and cluster.networks.storage.nvme_of is not None:
        named += [
            (f"networks.storage.nvme_of.targets.{i}", name) for i, name in enumerate(cluster.networks.storage.nvme_of.targets)
        ]
    named += [(f"bmc.groups.{name}@key", name) for name in cluster.bmc.groups]
    for where, name in named:
        yield from check_group(where, name, cluster.servers)
