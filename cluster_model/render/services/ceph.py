"""Ceph in the rendered tree: the CRUSH map as planned, what cephadm is told, and what can be stored in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cluster_model.catalogue.load import Catalogue
from cluster_model.plan.model import Plan
from cluster_model.render.ceph.capacity import describe_summary, summarize_capacity
from cluster_model.render.ceph.crush import render_crush
from cluster_model.render.ceph.objects import list_mounts, render_objects
from cluster_model.render.ceph.spec import render_spec
from cluster_model.render.services import RenderedService


def render_ceph(plan: Plan, _catalogue: Catalogue) -> Iterator[tuple[str, bytes]]:
    """Yield its files; none where the plan has no Ceph."""
    if plan.ceph.hosts:
        yield from render_crush(plan)
        yield from render_spec(plan)
        yield from render_objects(plan)


def summarize(plan: Plan) -> dict[str, Any]:
    """Return its capacity and waterline; nothing where the plan has no Ceph."""
    return summarize_capacity(plan.ceph)


def describe(plan: Plan) -> Iterator[str]:
    """Yield one line, where there is one."""
    if plan.ceph.hosts:
        yield f"\n{describe_summary(plan.ceph)}"


def list_groups(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield the servers with monitors, OSDs, metadata servers, gateways, mounts; and all by what brings daemons to them."""
    if plan.ceph.hosts:
        yield from (("ceph_monitor", monitor.name) for monitor in plan.ceph.monitors)
        yield from (("ceph_osd", host.name) for host in plan.ceph.hosts)
        servers = dict.fromkeys(server.name for files in plan.ceph.filesystems for server in files.servers)
        yield from (("ceph_mds", name) for name in servers)
        gateways = [server.name for server in plan.ceph.gateways]
        yield from (("ceph_rgw", name) for name in gateways)
        yield from (("ceph_client", name) for name in dict.fromkeys(name for each in list_mounts(plan) for name in each["hosts"]))
        names = [*(monitor.name for monitor in plan.ceph.monitors), *(host.name for host in plan.ceph.hosts), *servers]
        yield from ((f"ceph_{plan.ceph.deploy}", name) for name in dict.fromkeys([*names, *gateways]))


SERVICE = RenderedService("ceph", "ceph", render_ceph, summarize, describe, list_groups)
