# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about what is served over the storage network, the STO family, and about files and objects in Ceph, part of CEP."""

from __future__ import annotations

from collections.abc import Iterator

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.services.ceph_layout import list_groups
from cluster_model.checks.wording import list_names
from cluster_model.diagnostic import Diagnostic
from cluster_model.plan.services.addresses import find_address

FAMILIES = {"STO": "Storage"}
DAEMONS = range(6800, 7569)
"""Ports of OSDs, managers and metadata servers. Source: Ceph's options ms_bind_port_min and ms_bind_port_max."""


class ServedWithoutPorts(Rule):
    """Serve storage only from servers that are on the storage network.

    What it checks:
        Servers of `ceph.hosts`, `ceph.monitors`, `ceph.metadata_hosts`, `ceph.object.hosts` and
        `networks.storage.nvme_of.targets` have ports on the storage network.

    Why it matters:
        Without one, Ceph binds to whatever address it finds, in the end the provisioning network of 1 Gb/s, and NVMe targets
        are not reached at all.

    How to fix:
        Name another group, give the group storage ports under `servers.<group>.nics.storage`, or add the network.

    Source:
        Ceph, network configuration reference: daemons bind to an address inside public_network.
    """

    id, title = "STO001", "storage served by servers that are not on its network"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        storage = design.cluster.networks.storage
        first: dict[str, str] = {}  # by group, where it is named first
        for where, group in list_groups(design).items():
            first.setdefault(group, where)
        served = list(first.items())
        if storage is not None and storage.nvme_of is not None:
            served += [(name, f"networks.storage.nvme_of.targets.{at}") for at, name in enumerate(storage.nvme_of.targets)]
        reached = {server.group for server in design.plan.servers if any(port.network == "storage" for port in server.ports)}
        for group, where in served:
            if group in design.cluster.servers and group not in reached:
                yield self.finding(
                    where,
                    f"servers of {group} serve storage and have no port on the storage network",
                    "a server group with storage ports, and a storage network",
                    group,
                    f"name another group, or set servers.{group}.nics.storage",
                )


class FilesystemPools(Rule):
    """Lay each file system into pools that can take it.

    What it checks:
        Of the pools of a file system the first is one of replicas, all have application `cephfs`, and no other file system has
        them.

    Why it matters:
        Ceph keeps where each file belongs with the first pool, in small objects that an erasure code makes large and slow; it
        refuses such a pool, one that is for something else, and one that is another file system's.

    How to fix:
        Name a pool of replicas first, and one with `erasure` after it: tenants lie there with `pool`. Leave `application` out.

    Source:
        Ceph, doc/cephfs/createfs.rst: the default data pool; doc/cephfs/multifs.rst: file systems do not share pools.
    """

    id, title = "CEP027", "pool that a file system cannot lie in"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        ceph = design.cluster.ceph
        owners: dict[str, tuple[str, int]] = {}
        for name, files in (ceph.filesystems if ceph else {}).items():
            for place, pool in enumerate(files.pools):
                where, fix = f"ceph.filesystems.{name}.pools.{place}", f"name another pool for {name}"
                application = ceph.find_application(pool) if ceph else ""
                if ceph and place == 0 and ceph.pools[pool].erasure:
                    first = f"the first pool of file system {name}, {pool}, is an erasure code"
                    actual = f"erasure {ceph.pools[pool].erasure}"
                    yield self.finding(where, first, "a pool with replicas", actual, f"name one with replicas before {pool}")
                if application != "cephfs":
                    summary = f"pool {pool} of file system {name} is for {application}"
                    yield self.finding(where, summary, "cephfs", application, f"leave application out of ceph.pools.{pool}")
                if (other := owners.setdefault(pool, (name, place))) != (name, place):
                    has = "is named twice" if other[0] == name else f"is file system {other[0]}'s"
                    yield self.finding(where, f"pool {pool} of file system {name} {has}", "a pool of its own", pool, fix)


class LoneMetadata(Rule):
    """Have a metadata server stand by, in another rack than those that serve.

    What it checks:
        For each file system there are hosts for its `active` metadata servers and one more, in two racks at the least.

    Why it matters:
        When the host of a metadata server goes and none stands by, everything that opens a file waits until it is back: also all
        training that reads its data there.

    How to fix:
        Lower `active`, or name a group with more servers under `ceph.metadata_hosts`.

    Source:
        Ceph, doc/cephfs/standby.rst: a standby takes over; with max_mds of them one is wanted beside.
    """

    id, severity, title = "CEP028", "warning", "file system that goes with one host or rack"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        ceph, racks = design.cluster.ceph, {server.name: server.rack for server in design.plan.servers}
        key = (
            "ceph.metadata_hosts" if ceph and ceph.metadata_hosts else "ceph.monitors" if ceph and ceph.monitors else "ceph.hosts"
        )
        for files in design.plan.ceph.filesystems:
            names = [server.name for server in files.servers]
            if len(names) <= files.active:
                yield self.finding(
                    f"ceph.filesystems.{files.name}.active",
                    f"no metadata server stands by for file system {files.name}",
                    f">= {files.active + 1} hosts",
                    list_names(names),
                    "lower active, or name a larger group under ceph.metadata_hosts",
                )
            elif len({racks[name] for name in names}) == 1:
                yield self.finding(
                    key,
                    f"all metadata servers of file system {files.name} stand in rack {racks[names[0]]}",
                    "two racks",
                    list_names(names),
                    "deal the group over more racks, or name another group under ceph.metadata_hosts",
                )


class MountsThatCannotBe(Rule):
    """Mount each file system once on a server, in a place of its own, over the storage network.

    What it checks:
        No two file systems have one `mount`, or one inside the other's; servers of `clients` have ports on the storage network,
        and are not those of a tenant that has a folder in the file system.

    Why it matters:
        The second of two mounts hides the first, or lies in it for all who have that. Without the storage network the mount waits
        for ever, and with it whoever looks.

    How to fix:
        Give the file system another `mount`, or take the group out of `clients`: a tenant's servers mount its folder.

    Source:
        mount(8); Ceph's public network is the storage network.
    """

    id, title = "CEP029", "mount of a file system that cannot be"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        places: dict[str, str] = {}
        folders = {
            (folder.filesystem, server): tenant.name
            for tenant in design.plan.tenants
            for folder in tenant.folders
            for server in tenant.servers
        }
        for files in design.plan.ceph.filesystems:
            where = f"ceph.filesystems.{files.name}"
            met = [(name, at) for name, at in places.items() if is_inside(at, files.mount) or is_inside(files.mount, at)]
            places[files.name] = files.mount
            for name, at in met[:1]:
                summary = f"file system {files.name} is mounted at {files.mount}, and {name} at {at}"
                fix = f"set mount to /mnt/{files.name}"
                yield self.finding(f"{where}.mount", summary, "a place of its own, in no other", files.mount, fix)
            away = [name for name in files.clients if find_address(design.servers[name], "storage") is None]
            if away:
                summary = f"{away[0]} would mount file system {files.name} and has no port on the storage network"
                fix = f"take its group out of clients, or set servers.{design.servers[away[0]].group}.nics.storage"
                yield self.finding(f"{where}.clients", summary, "servers with storage ports", list_names(away), fix)
            both = [name for name in files.clients if (files.name, name) in folders]
            if both:
                tenant = folders[files.name, both[0]]
                summary = f"{both[0]} would mount all of file system {files.name}, and the folder of tenant {tenant} in it"
                fix = f"take {design.servers[both[0]].group} out of clients, or {files.name} away from tenant {tenant}"
                yield self.finding(f"{where}.clients", summary, "one of the two", list_names(both), fix)


def is_inside(path: str, folder: str) -> bool:
    """Return whether a path is a folder, or lies in it."""
    return f"{path}/".startswith(f"{folder}/")


class WholeForTenant(Rule):
    """Know which tenants' servers have a whole file system.

    What it checks:
        Servers of `clients` are not a tenant's own.

    Why it matters:
        Who is root there reads and writes the folders of all other tenants, and volumes that pods share, with a key that opens
        everything in the file system.

    How to fix:
        Give the tenant a folder, `tenants.NAME.ceph.filesystems`, and take its servers' group out of `clients`.

    Source:
        Ceph documentation, CephFS client capabilities: a key is good for its path and all below it.
    """

    id, severity, title = "CEP030", "warning", "whole file system on a tenant's servers"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        owners = {server: tenant for tenant in design.plan.tenants if not tenant.shared for server in tenant.servers}
        folders = {folder.filesystem for tenant in design.plan.tenants for folder in tenant.folders}
        volumes = set(design.plan.kubernetes.shared_filesystems)
        for files in design.plan.ceph.filesystems:
            met = list(dict.fromkeys(owners[name].name for name in files.clients if name in owners))
            if met and files.name in folders | volumes:
                inside = "tenants have folders" if files.name in folders else "pods have volumes"
                yield self.finding(
                    f"ceph.filesystems.{files.name}.clients",
                    f"servers of {list_names(met)} mount all of file system {files.name}, in which {inside}",
                    "servers that are no tenant's",
                    list_names(met),
                    f"give {met[0]} a folder in it, and take its servers out of clients",
                )


class KernelBesideOsds(Rule):
    """Mount by ceph-fuse where OSDs are.

    What it checks:
        Servers that mount a file system with `driver: kernel` have no OSDs; nodes of Kubernetes mount those of its
        `shared_volumes`.

    Why it matters:
        When memory ends the kernel writes out what it has of the file system, for which the OSD beside it needs memory: both wait
        for ever.

    How to fix:
        Set `driver: fuse`, or mount it on other servers.

    Source:
        Red Hat Ceph Storage, installation guide, on block devices: kernel clients and daemons on one node can lead to deadlocks.
    """

    id, severity, title = "CEP031", "warning", "kernel mounts beside OSDs"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        osds, kubernetes = {host.name for host in design.plan.ceph.hosts}, design.plan.kubernetes
        shared, nodes = kubernetes.shared_filesystems, [node.name for node in kubernetes.nodes]
        for files in design.plan.ceph.filesystems:
            met = [name for name in (*files.clients, *(nodes if files.name in shared else ())) if name in osds]
            if met and files.driver == "kernel":
                yield self.finding(
                    f"ceph.filesystems.{files.name}.driver",
                    f"the kernel of {met[0]} mounts file system {files.name} beside OSDs",
                    "fuse, or servers without OSDs",
                    "kernel",
                    "set driver to fuse",
                )


class ObjectPool(Rule):
    """Lay the object store into a pool that is there for it.

    What it checks:
        `ceph.object.pool` has application `rgw`, and no file system lies in it.

    Why it matters:
        Ceph warns of a pool with two applications, and a user with rights to one reads what the other has written.

    How to fix:
        Name another pool, and leave its `application` out.

    Source:
        Ceph documentation, pools, associating a pool with an application.
    """

    id, title = "CEP032", "pool that an object store cannot lie in"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        ceph = design.cluster.ceph
        if ceph is None or ceph.object is None:
            return
        pool = ceph.object.pool
        application = ceph.find_application(pool)
        if application != "rgw":
            summary, fix = f"pool {pool} of the object store is for {application}", "name another pool"
            yield self.finding("ceph.object.pool", summary, "a pool for rgw alone", application, fix)


class LoneGateway(Rule):
    """Have gateways to an object store in two racks.

    What it checks:
        There are as many hosts for gateways as `ceph.object.count` says, two or more of them, and not all in one rack.

    Why it matters:
        When the only gateway goes, or the rack of all of them, nobody reads or writes an object until it is back.

    How to fix:
        Set `count` to 2 or more, or name a group with more servers under `ceph.object.hosts`.

    Source:
        Ceph, doc/cephadm/services/rgw.rst: several gateways, with an address in front, for one that is always there.
    """

    id, severity, title = "CEP033", "warning", "object store that goes with one host or rack"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        ceph, store = design.cluster.ceph, design.plan.ceph.store
        if ceph is None or ceph.object is None or store is None:
            return
        names, wanted = [server.name for server in store.servers], max(2, ceph.object.count)
        racks = {design.servers[name].rack for name in names}
        if len(names) < wanted:
            summary = f"there {'is 1 gateway' if len(names) == 1 else f'are {len(names)} gateways'} to the object store"
            fix = "name a larger group under ceph.object.hosts" if len(names) < ceph.object.count else "set count to 2"
            yield self.finding("ceph.object.count", summary, f"{wanted} of them", list_names(names), fix)
        elif len(racks) == 1:
            summary = f"all gateways to the object store stand in rack {racks.pop()}"
            fix = "deal the group over more racks, or name another group under ceph.object.hosts"
            yield self.finding("ceph.object", summary, "two racks", list_names(names), fix)


class GatewayPortTaken(Rule):
    """Give gateways a port that nothing else listens at.

    What it checks:
        `ceph.object.port` against what else is planned on the gateways' hosts: SSH and BGP, Ceph's other daemons, NVMe-oF
        targets, the boot server and the name server, the parts of Kubernetes, and the ports that it deals out to services.

    Why it matters:
        Who comes second does not start: at the next restart that may be a monitor.

    How to fix:
        Take another port, such as 8080.

    Source:
        Ceph, network configuration reference; Kubernetes documentation, ports and protocols.
    """

    id, title = "CEP034", "port of gateways that something else has"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        store = design.plan.ceph.store
        if store is None:
            return
        for server in store.servers:
            owner = next((what for what, ports in list_listeners(design, server.name) if store.port in ports), "")
            if owner:
                summary = f"gateways to the object store listen at port {store.port}, as {owner} on {server.name}"
                yield self.finding("ceph.object.port", summary, "a port of their own", str(store.port), "take 8080, or another")
                return


def list_listeners(design: Design, name: str) -> Iterator[tuple[str, range | tuple[int, ...]]]:
    """Yield what listens on a server beside gateways, each with its TCP ports."""
    plan = design.plan
    ceph, kubernetes = plan.ceph, plan.kubernetes
    yield "SSH or BGP does", (22, 179)
    if name in {monitor.name for monitor in ceph.monitors}:
        yield "the monitor does", (3300, 6789)
    managers = {manager.name for manager in ceph.managers}
    if name in managers:
        yield "what managers show does", (8443, 9283)
    nvme = design.cluster.networks.storage.nvme_of if design.cluster.networks.storage else None
    if nvme and design.servers[name].group in nvme.targets:
        yield "the NVMe-oF target does", (nvme.port, 8009)
    busy = {host.name for host in ceph.hosts} | managers
    if name in busy | {server.name for files in ceph.filesystems for server in files.servers}:
        yield "Ceph's other daemons may", DAEMONS
    if name in {server.name for server in plan.provisioning.servers}:
        yield "the boot server and the name server do", (53, 80)
    nodes = {node.name: node for node in kubernetes.nodes}
    if name in nodes:
        yield "Kubernetes does", (kubernetes.endpoint.port, 10248, 10249, 10250, 10256)
        yield "services of Kubernetes may", range(30000, 32768)
        if nodes[name].is_control:
            yield "Kubernetes' control plane does", (6443, 2379, 2380, 2381, 10257, 10259)
