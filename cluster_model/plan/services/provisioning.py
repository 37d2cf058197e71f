"""Plan the way from power-on to a login: boot servers, segments, and how each group of servers is installed."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network

from cluster_model.catalogue.types import Server as ServerBlock
from cluster_model.intent.model.cluster import Cluster
from cluster_model.intent.phases import sort_groups
from cluster_model.intent.references.membership import expand_built
from cluster_model.intent.services.provisioning import DiskMatch, Disks, Os
from cluster_model.intent.services.provisioning import Installation as InstallationIntent
from cluster_model.plan.context import Context
from cluster_model.plan.draft import Bench, ServerDraft
from cluster_model.plan.model import Server, ServerPort, Switch
from cluster_model.plan.model.provisioning import (
    Account,
    BootHost,
    BootServer,
    DiskRule,
    Installation,
    Partition,
    Provisioning,
    Segment,
    WipeRule,
)

MOST_SERVERS = 4
"""One that answers and three to take over: our choice."""
KERNEL_ARGUMENTS = ("console=tty0", "console=ttyS0,115200n8")
"""The kernel writes to both; the last is /dev/console, where a BMC's serial-over-LAN reads."""
ESP_MIB = 1024
"""Our choice: room for loaders and firmware updates, and above the 260 MiB that FAT32 needs on disks with sectors of 4 KiB."""
WWN_PREFIXES = ("0x", "eui.", "naa.", "nvme.", "uuid.")
"""What ID_WWN begins with. Source: systemd, udev's 60-persistent-storage.rules; Linux, nvme driver's wwid."""


def choose_boot_servers(cluster: Cluster, bench: Bench) -> tuple[ServerDraft, ...]:
    """Return the servers that answer DHCP: those the intent names, else the first four control servers, groups in their order."""
    asked = cluster.provisioning.servers if cluster.provisioning else None
    if asked is not None:
        drafts = [bench.servers[group][number - 1] for group, number in expand_built(cluster, [asked])]
    else:
        drafts = [draft for group in bench.servers.values() for draft in group if draft.role == "control" and draft.built]
    return tuple(draft for draft in drafts if find_boot_port(draft.ports) is not None)[:MOST_SERVERS]


def find_boot_port(ports: Sequence[ServerPort]) -> ServerPort | None:
    """Return the port that a server boots from: the first on the out-of-band network that has an address."""
    return next((port for port in ports if port.network == "oob" and port.address), None)


def plan_provisioning(
    ctx: Context, bench: Bench, servers: Sequence[Server], switches: Sequence[Switch], ports_per_leaf: int
) -> Provisioning:
    """Return who boots whom, and how.

    Args:
        ctx: the planner's bench.
        bench: drafts, wired.
        servers: the built servers.
        switches: the built switches.
        ports_per_leaf: ports of an out-of-band leaf, each of which keeps an address in every subnet.
    """
    asked = ctx.cluster.provisioning
    boot_servers = _name_servers(ctx.cluster, choose_boot_servers(ctx.cluster, bench), servers)
    segments = _list_segments(switches, ports_per_leaf)
    if asked is None:
        return Provisioning(boot_servers, segments)
    installations = {}
    for group in sort_groups(ctx.cluster):
        found = _plan_installation(ctx, group)
        if found is not None:
            installations[group] = found
    disks = ctx.facts.servers
    hosts = []
    for server in servers:
        port = find_boot_port(server.ports)
        if server.group in installations and port is not None:
            named = disks[server.name].system_disks if server.name in disks else ()
            wwns = tuple(disk for disk in named if disk.startswith(WWN_PREFIXES))
            serials = tuple(disk for disk in named if disk not in wwns)
            hosts.append(BootHost(server.name, server.group, port.name, port.mac, port.address, port.gateway, serials, wwns))
    accounts = tuple(Account(name, tuple(admin.keys), admin.password or "") for name, admin in sorted(asked.admins.items()))
    return Provisioning(
        boot_servers, segments, asked.unknown == "offer", True, accounts, tuple(installations.values()), tuple(hosts)
    )


def _name_servers(cluster: Cluster, chosen: tuple[ServerDraft, ...], servers: Sequence[Server]) -> tuple[BootServer, ...]:
    """Return the boot servers; where the intent names only addresses to relay to, those, with their names if they have any."""
    by_name = not cluster.networks.oob.dhcp_servers or (cluster.provisioning and cluster.provisioning.servers)
    if by_name:
        ports = ((draft.name, find_boot_port(draft.ports)) for draft in chosen)
        return tuple(BootServer(name, port.address.partition("/")[0]) for name, port in ports if port is not None)
    owners = {port.address.partition("/")[0]: server.name for server in servers for port in server.ports if port.network == "oob"}
    return tuple(BootServer(owners.get(str(address), ""), str(address)) for address in cluster.networks.oob.dhcp_servers)


def _list_segments(switches: Sequence[Switch], ports_per_leaf: int) -> tuple[Segment, ...]:
    found = []
    for switch in switches:
        for vlan in switch.vlans if switch.network == "oob" else ():
            whole = IPv4Network(vlan.prefix)
            first, last = int(whole[0]) + 2 + ports_per_leaf, int(whole[-1]) - 1
            spare = (str(IPv4Address(first)), str(IPv4Address(last))) if first <= last else ("", "")
            gateway = vlan.address.partition("/")[0]
            found.append(Segment(vlan.name, switch.name, vlan.id, vlan.prefix, gateway, *spare))
    return tuple(found)


def _plan_installation(ctx: Context, group: str) -> Installation | None:
    """Return how a group is installed, None where it is left alone."""
    asked = ctx.cluster.provisioning
    assert asked is not None
    own, shared = asked.groups.get(group, InstallationIntent()), asked.defaults
    os = own.os or shared.os or Os(kind="none" if _is_manager(ctx, group) else "image")
    if os.kind == "none":
        return None
    block: ServerBlock = ctx.servers[group].block
    firmware = own.firmware or shared.firmware or block.firmware
    disks = own.disks or shared.disks or Disks()
    arguments = own.kernel_arguments if own.kernel_arguments is not None else shared.kernel_arguments
    return Installation(
        group=group,
        method=os.kind,
        distribution=os.distribution,
        release=os.release,
        image=os.image or f"{os.distribution}-{os.release}{'-installer' if os.kind == 'autoinstall' else ''}",
        firmware=firmware,
        loader=own.loader or shared.loader or "tftp",
        kernel_arguments=KERNEL_ARGUMENTS if arguments is None else tuple(arguments),
        system_count=disks.system.count,
        system=_make_rule(disks.system),
        partitions=lay_out_partitions(disks, firmware),
        wipe=tuple(WipeRule(None if wipe.disks == "system" else _make_rule(wipe.disks), wipe.consent) for wipe in disks.wipe),
        where=f"provisioning.groups.{group}" if group in asked.groups else "provisioning.defaults",
    )


def _is_manager(ctx: Context, group: str) -> bool:
    intent = ctx.cluster.servers[group]
    return intent.manages is not None or (intent.role or group) == "fabric-manager"


def _make_rule(match: DiskMatch) -> DiskRule:
    return DiskRule(match.model or "", match.min_gb or 0, match.max_gb or 0)


def lay_out_partitions(disks: Disks, firmware: str) -> tuple[Partition, ...]:
    """Return the partitions of a system disk, in order: the loader's, swap, and the root, which takes the rest by default."""
    mirror = disks.system.count > 1
    parts = [
        Partition("esp", ESP_MIB, "esp", "vfat", "/boot/efi", False)
        if firmware == "uefi"
        else Partition("bios", 1, "bios", "", "", False)
    ]
    if disks.swap_gb:
        parts.append(Partition("swap", _to_mib(disks.swap_gb), "linux", "swap", "", mirror))
    parts.append(Partition("root", _to_mib(disks.root_gb or 0), "linux", disks.filesystem, "/", mirror))
    return tuple(parts)


def _to_mib(size_gb: int) -> int:
    return size_gb * 10**9 // 2**20
