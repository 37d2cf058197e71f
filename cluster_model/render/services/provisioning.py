"""Provisioning in the rendered tree: boot/, and who boots whom in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from cluster_model.plan.model import Plan
from cluster_model.render.boot.files import render_boot
from cluster_model.render.drawings.style import format_count
from cluster_model.render.services import RenderedService
from cluster_model.render.tables import Table


def summarize(plan: Plan) -> dict[str, Any]:
    """Return the boot servers by address, and how many hosts are installed with which image."""
    provisioning = plan.provisioning
    ways = {item.group: item.image for item in provisioning.installations}
    return {
        "servers": {server.address: server.name for server in provisioning.servers},
        "hosts": len(provisioning.hosts),
        "hosts_without_mac": sum(not host.mac for host in provisioning.hosts),
        "images": dict(sorted(Counter(ways[host.group] for host in provisioning.hosts).items())),
    }


def describe(plan: Plan) -> Iterator[str | Table]:
    """Yield how each group is installed, and who boots it; or what is missing for that."""
    provisioning = plan.provisioning
    rows = []
    for item in provisioning.installations:
        hosts = [host for host in provisioning.hosts if host.group == item.group]
        known = sum(bool(host.mac) for host in hosts)
        way = f"{item.method} {item.image}"
        rows.append((item.group, way, f"{item.firmware} by {item.loader}", f"{len(hosts):,}", f"{known:,}"))
    yield Table(("installed", "as", "boots", "servers", "MACs known"), tuple(rows), frozenset({3, 4}))
    boot, *others = provisioning.servers or (None,)
    if boot is None:
        yield "\nNobody answers DHCP: there are no control servers, and provisioning.servers names none."
        return
    who = f"{boot.name} at {boot.address}" if boot.name else boot.address
    more = f", with {format_count(len(others), 'more server')} for addresses and names" if others else ""
    yield f"\nBoot server: {who}{more}."
    if not provisioning.is_asked:
        yield "No server is installed: the intent has no provisioning."


def list_groups(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield the servers that boot others as the group `boot_servers`; one that is no server of the plan is in no group."""
    known = {server.name for server in plan.servers}
    for boot_server in plan.provisioning.servers:
        if boot_server.name in known:
            yield "boot_servers", boot_server.name


SERVICE = RenderedService("provisioning", "boot", render_boot, summarize, describe, list_groups)
